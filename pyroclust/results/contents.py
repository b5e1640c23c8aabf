"""What every result says of itself: the one protocol from which pages, terminal and files are made."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from pyroclust.data.shapes import PointShape
from pyroclust.diagnostics import (
    Agreement,
    Familiarity,
    Finding,
    LogEvidence,
    SourceComparison,
    Verdict,
    effective_draws,
    importance_efficiency,
    importance_weights,
    pareto_k,
)
from pyroclust.diagnostics.simulations.witnesses import Witnesses
from pyroclust.results.baseline_rows import BaselineRow, FailedRow
from pyroclust.results.constraints import ConstraintSummary
from pyroclust.results.draws_summary import DrawsSummary
from pyroclust.results.missing_cells import MissingCells
from pyroclust.results.orders import Orders
from pyroclust.results.partition_draws import PartitionDraws
from pyroclust.results.refinement import RefinedDraws

if TYPE_CHECKING:
    # It brings torch, which draws of other software do without.
    import pandas as pd

    from pyroclust.calibration.result import LocalCalibration

__all__ = [
    "Contents",
    "Refining",
    "Result",
    "RowsOfData",
    "Source",
    "Weighting",
    "WrittenResult",
    "posteriors_of_k",
]


@dataclass(frozen=True)
class Source:
    """One source's draws, with what pages show beside them.

    Attributes:
        name: what the source is called inside a sentence.
        draws: ``(chains, draws, N)``.
        summary: their figures.
        data: the points on the axes of pictures, ``(N, D)``, or ``None``.
        columns: names of the D columns.
        is_independent: whether the draws are independent: they have no chains that could fail to converge.
        seconds: wall time of all draws; ``None`` where unknown.
        effective_draws: what all draws are worth; nan where that is unknown.
        made: draws that the seconds are of and the effective draws come from, where only some of them are in
            ``draws``.
    """

    name: str
    draws: np.ndarray
    summary: DrawsSummary
    data: np.ndarray | None = None
    columns: tuple[str, ...] = ()
    is_independent: bool = False
    seconds: float | None = None
    effective_draws: float = math.nan
    made: int | None = None

    def __repr__(self) -> str:
        """Return the name and the numbers of chains and draws."""
        chains, draws, points = self.draws.shape
        return f"Source({self.name}: {chains} x {draws} draws of {points} points)"

    @property
    def points(self) -> np.ndarray:
        """The data, where there are some.

        Raises:
            ValueError: if there are none.
        """
        if self.data is None:
            raise ValueError(f"{self.name} has no data, expected a source with data")
        return self.data

    @property
    def num_draws(self) -> int:
        """Draws of all chains together."""
        return math.prod(self.draws.shape[:2])

    @property
    def num_made(self) -> int:
        """Draws that the seconds are of."""
        return self.num_draws if self.made is None else self.made

    @property
    def seconds_each(self) -> float:
        """Seconds per effective draw; nan where unknown."""
        return math.nan if self.seconds is None else self.seconds / self.effective_draws


@dataclass(frozen=True)
class Weighting:
    """A guide's draws as importance samples of the posterior.

    Attributes:
        log_weights: log p(c, x) - log q(c) in nats, ``(S,)``.
        weights: Pareto-smoothed and normalised, ``(S,)``.
        pareto_k: shape of the weights' tail; nan where it cannot be fitted, -inf where the weights are
            bounded.
        efficiency: effective share of the draws by the weights before smoothing, in (0, 1], as in
            certificates.
        effective_draws: of the smoothed weights, which are those that are used.
    """

    log_weights: np.ndarray
    weights: np.ndarray
    pareto_k: float
    efficiency: float
    effective_draws: float

    @classmethod
    def of(cls, draws: PartitionDraws) -> "Weighting":
        """Weigh draws of a guide.

        Args:
            draws: with log q and log p.

        Raises:
            ValueError: if they lack either.

        Example:
            >>> draws = np.zeros((1, 500, 2), dtype=np.int64)
            >>> same = np.zeros((1, 500))
            >>> Weighting.of(PartitionDraws("guide", draws, same, 1.0, log_prob=same))
            Weighting(500 draws worth 500)
        """
        if draws.log_joint is None or draws.log_prob is None:
            raise ValueError(f"{draws.name} has no log_joint or log_prob, expected both: weights need them")
        log_weights = np.ravel(draws.log_joint - draws.log_prob).astype(np.float64)
        weights = importance_weights(log_weights)
        return cls(
            log_weights,
            weights,
            pareto_k(log_weights),
            importance_efficiency(log_weights),
            effective_draws(weights),
        )

    def __repr__(self) -> str:
        """Return what the draws are worth."""
        return f"Weighting({len(self.weights):,} draws worth {self.effective_draws:.0f})"


@dataclass(frozen=True)
class Refining:
    """How refined draws came about, and how far from MCMC the draws of the guide are at each stage.

    Attributes:
        draws: with what is known of their sweeps.
        distances: agreement with MCMC, by the name of the draws.
        limits: on a co-assignment difference, by the same names.
        between: the refined draws beside those of MCMC; ``None`` without MCMC.
    """

    draws: RefinedDraws
    distances: Mapping[str, Agreement]
    limits: Mapping[str, float]
    between: SourceComparison | None


@dataclass(frozen=True)
class RowsOfData:
    """The rows that were clustered, in the units of their table.

    Attributes:
        names: of the rows.
        columns: title and values of each column; empty without a table.
        labels: known labels, or ``None``.
        file: the file that has all rows.
        indicators: the same columns in numbers, with one of 0 and 1 for each category; ``None`` where all
            hold numbers.
    """

    names: Sequence[str]
    columns: tuple[tuple[str, np.ndarray], ...]
    labels: Sequence[Any] | np.ndarray | None
    file: str
    indicators: tuple[tuple[str, np.ndarray], ...] | None = None

    @property
    def numbers(self) -> tuple[tuple[str, np.ndarray], ...]:
        """Title and numbers of what describes clusters."""
        return self.columns if self.indicators is None else self.indicators


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What a result has to show. A page has a section for everything that is there, in one order.

    Attributes:
        title: of the browser's tab.
        command: the command that made it.
        heading: what it is about, usually the name of the data.
        introduction: one or two sentences.
        footer: what words mean.
        notes: sentences on what was left out or changed.
        verdict: the answer.
        findings: every question that was asked, with its answer.
        sources: draws, one source or several; the last one is what others are compared with.
        reference: the source whose partition is shown, one of ``sources``.
        counts: posteriors of the number of clusters from ``counts_from`` on, by the name of their source.
        counts_from: the first number of clusters.
        rows: the rows that were clustered.
        seed: of everything random in pictures.
        between: the first source beside the last.
        weighting: the first source's importance weights.
        corrected: agreement of the weighted draws with the reference.
        estimates_rand: adjusted Rand index of the point estimates to that of the reference, by source.
        refined: how the refined draws came about.
        orders: figures of the guide's draws by each visiting order.
        evidences: estimates of log p(x).
        familiarity: where the data lie among simulations of the model.
        witnesses: what the guide's weights say beside those on simulations.
        calibration: of the guide on simulations near the data.
        baselines: classical clusterings, seen from the posterior of the reference.
        shape: what a point is where it is no row of columns.
        constraints: what is known of the rows, and what that changed.
        missing: what missing cells may hold.
    """

    title: str
    command: str
    heading: str
    introduction: str
    footer: str
    notes: tuple[str, ...]
    verdict: Verdict
    findings: tuple[Finding, ...]
    sources: tuple[Source, ...]
    reference: Source
    counts: Mapping[str, np.ndarray]
    counts_from: int
    rows: RowsOfData
    seed: int
    between: SourceComparison | None = None
    weighting: Weighting | None = None
    corrected: Agreement | None = None
    estimates_rand: Mapping[str, float] = field(default_factory=dict)
    refined: Refining | None = None
    orders: Orders | None = None
    evidences: tuple[LogEvidence, ...] = ()
    familiarity: Familiarity | None = None
    witnesses: Witnesses | None = None
    calibration: "LocalCalibration | None" = None
    baselines: tuple[BaselineRow | FailedRow, ...] = ()
    shape: PointShape | None = None
    constraints: ConstraintSummary | None = None
    missing: MissingCells | None = None


class Result(Protocol):
    """What an analysis returns: a verdict, what there is to show, and figures for JSON."""

    @property
    def verdict(self) -> Verdict:
        """The answer, with its findings."""
        ...

    def contents(self) -> Contents:
        """Return what there is to show."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return every figure, fit for JSON."""
        ...


class WrittenResult(Result, Protocol):
    """A result that can be written into a folder."""

    @property
    def rows_file(self) -> str:
        """Name of the file with the rows."""
        ...

    def frame(self) -> "pd.DataFrame":
        """Return one row a point: name, columns and label as given, cluster and uncertainty by source."""
        ...

    def with_failures(self, failures: tuple[str, ...]) -> Self:
        """Return the same result that also says which parts of its page are missing."""
        ...


def posteriors_of_k(sources: Sequence[Source]) -> tuple[int, dict[str, np.ndarray]]:
    """Return the fewest clusters and the posteriors of their number, on one support without gaps.

    Args:
        sources: whose draws.
    """
    low = min(int(one.summary.values[0]) for one in sources)
    high = max(int(one.summary.values[-1]) for one in sources)
    return low, {one.name: one.summary.marginals.counts[low : high + 1] for one in sources}
