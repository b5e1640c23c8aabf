"""What a comparison of a guide with MCMC holds: one data set, and draws of its partition."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pyroclust.arrays import without_gaps
from pyroclust.baselines import BASELINES, GRAPH_BASELINES, Baseline
from pyroclust.calibration.result import LocalCalibration
from pyroclust.calibration.training_world import TrainingWorld
from pyroclust.data.kinds import Kind
from pyroclust.data.point_masses import put_back
from pyroclust.data.shapes import Graph, PointShape
from pyroclust.data.standardise import (
    as_vectors,
    indicator_names,
    indicators,
    leading_components,
)
from pyroclust.data.tables import written
from pyroclust.diagnostics import Finding, LogEvidence
from pyroclust.diagnostics.simulations.witnesses import Witnesses
from pyroclust.results.constraints import Knowledge
from pyroclust.results.contents import RowsOfData, Source
from pyroclust.results.draws_summary import DrawsSummary
from pyroclust.results.partition_draws import PartitionDraws
from pyroclust.results.refinement import RefinedDraws
from pyroclust.text import listed

__all__ = [
    "ROWS_FILE",
    "Comparison",
    "CrossScored",
    "GuideOnData",
    "OnData",
    "PartitionDraws",
    "about_mcmc",
    "no_formula",
]

ROWS_FILE = "assignments.csv"
_COMPONENTS = 10


def about_mcmc(draws: PartitionDraws) -> dict[str, Any]:
    """Return what ``summary.json`` says of how MCMC drew.

    Args:
        draws: of MCMC.
    """
    num_chains, num_draws, _ = draws.assignments.shape
    return {
        "mcmc_kernel": draws.name,
        "mcmc_chains": num_chains,
        "mcmc_draws": num_draws,
        "mcmc_seconds": draws.seconds,
        "mcmc_seconds_warmup": draws.seconds_warmup,
    }


def no_formula(model_name: str) -> str:
    """Say why a model has no log joint, without a full stop.

    Args:
        model_name: of the model.
    """
    return f"the likelihood of a partition under '{model_name}' has no formula"


@dataclass(frozen=True)
class CrossScored:
    """Every k-th draw of MCMC with both densities, for estimates of the evidence that use MCMC.

    Attributes:
        log_joint: log p(assignments, data) in nats, ``(chains, draws)``.
        log_prob: log q(assignments | data) of the guide at the same draws, in nats, ``(chains, draws)``.
    """

    log_joint: np.ndarray
    log_prob: np.ndarray


@dataclass(frozen=True, kw_only=True)
class OnData:
    """One data set, and the model of its partition.

    Attributes:
        source: name of the data set.
        model_name: name of the model.
        columns: names of the D columns.
        data: the points as the model sees them, ``(N, D)``; the original is ``data * scale + location``.
        location: ``(D,)``, in the units of the columns.
        scale: ``(D,)``, in the units of the columns.
        model_in_words: which model it is, in words and as a formula; empty where nobody said.
        true_labels: known labels, ``(N,)``, or ``None``.
        row_names: names of the N rows, or ``None``.
        shape: what a point is where it is no row of columns; its numbers are the columns then.
        kinds: of the columns; numbers where nothing is said.
        levels: of the columns, their categories.
        notes: sentences that reports repeat, such as what was left out of the table.
        failures: why parts are missing, a sentence each.
        annealed: log p(data) by annealing over the points; empty where it was not needed, or not possible.
        knowledge: constraints on the rows, which all draws keep; ``None`` without any.
        model_description: what builds the model again, as cards have it; ``None`` where nothing does.

    Raises:
        ValueError: if the shapes do not fit.
    """

    source: str
    model_name: str
    columns: tuple[str, ...]
    data: np.ndarray
    location: np.ndarray
    scale: np.ndarray
    model_in_words: str = ""
    true_labels: np.ndarray | None = None
    row_names: tuple[str, ...] | None = None
    shape: PointShape | None = None
    kinds: tuple[Kind, ...] = ()
    levels: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    annealed: tuple[LogEvidence, ...] = ()
    knowledge: Knowledge | None = None
    model_description: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        """Check the shapes."""
        if self.data.ndim != 2 or self.data.shape[1] != len(self.columns):
            raise ValueError(f"data has shape {self.data.shape}, expected (N, {len(self.columns)})")
        if not self.kinds:
            object.__setattr__(self, "kinds", (Kind.NUMBER,) * len(self.columns))
        if not self.levels:
            object.__setattr__(self, "levels", ((),) * len(self.columns))

    @cached_property
    def complete(self) -> np.ndarray:
        """The points as vectors without gaps, for pictures and for what knows distances alone."""
        if self.shape is not None:
            return self.data
        whole = put_back(self.data, self.columns, self.kinds, location=self.location, scale=self.scale)
        return as_vectors(whole, kinds=self.kinds, levels=self.levels)

    @property
    def summarised(self) -> np.ndarray:
        """The points as they are compared with simulations: categories by indicators, without gaps."""
        return self.data if self.profiled is None else without_gaps(self.profiled)

    @property
    def described_by(self) -> tuple[str, ...]:
        """Names of the columns that describe clusters: one for each category."""
        return indicator_names(self.columns, kinds=self.kinds, levels=self.levels)

    @property
    def drawn_by(self) -> str:
        """What drew the partitions, as a name."""
        raise TypeError(f"{type(self).__name__} must define drawn_by")

    def __repr__(self) -> str:
        """Return the data set and what drew."""
        return f"{type(self).__name__}({self.source}: {len(self.data)} points, {self.drawn_by})"

    @property
    def shown(self) -> np.ndarray:
        """The points on the axes of pictures: in the units of the columns where there are at most two.

        The first two principal components of columns in different units would be those of one column.
        """
        if isinstance(self.shape, Graph):
            return self.shape.positions
        if self.complete.shape[1] > 2 or not all(kind is Kind.NUMBER for kind in self.kinds):
            return self.complete
        return self.complete * self.scale + self.location

    @property
    def profiled(self) -> np.ndarray | None:
        """The points whose columns describe clusters; ``None`` where columns are pixels or samples."""
        if self.shape is not None:
            return None
        return indicators(self.data, kinds=self.kinds, levels=self.levels)

    @property
    def vectors(self) -> np.ndarray:
        """The points as classical methods take them: images and waveforms by ten principal components."""
        as_they_are = self.shape is None or isinstance(self.shape, Graph)
        return self.complete if as_they_are else leading_components(self.data, _COMPONENTS)

    @property
    def classical(self) -> tuple[Baseline, ...]:
        """The classical methods for such points."""
        return GRAPH_BASELINES if isinstance(self.shape, Graph) else BASELINES

    @property
    def allowed(self) -> Callable[[np.ndarray], bool] | None:
        """Says whether a partition keeps the constraints; ``None`` without any."""
        return None if self.knowledge is None else self.knowledge.rows.allows

    @property
    def size_in_words(self) -> str:
        """How many points there are, and what they are."""
        kind = f"rows of {listed(self.columns)}" if self.shape is None else str(self.shape)
        known = "" if self.knowledge is None else f", {len(self.knowledge.rows.bound):,} of them constrained"
        return f"{len(self.data):,} {kind}{known}"

    @property
    def in_units(self) -> np.ndarray:
        """The points in the units of the columns."""
        return self.data * self.scale + self.location

    @property
    def rows(self) -> RowsOfData:
        """The rows in the units of the columns."""
        names = self.row_names or tuple(str(row + 1) for row in range(len(self.data)))
        if self.shape is not None:
            return RowsOfData(names, (), self.true_labels, ROWS_FILE)
        values = indicators(self.in_units, kinds=self.kinds, levels=self.levels)
        return RowsOfData(
            names,
            written(put_back(self.in_units, self.columns, self.kinds), self.columns, self.levels),
            self.true_labels,
            ROWS_FILE,
            tuple(zip(self.described_by, values.T, strict=True)),
        )

    def about(self) -> dict[str, Any]:
        """Return what ``summary.json`` says of the data and of what drew."""
        return {
            "source": self.source,
            "columns": list(self.columns if self.shape is None else ()),
            "points": "rows" if self.shape is None else str(self.shape),
            "num_points": len(self.data),
            "model": self.model_name,
            "model_in_words": self.model_in_words,
        }

    def source_of(
        self,
        name: str,
        draws: PartitionDraws,
        summary: DrawsSummary,
        *,
        effective_draws: float | None = None,
        made: PartitionDraws | None = None,
    ) -> Source:
        """Return draws as one of the sources of a page.

        Args:
            name: what pages call them.
            draws: that are shown.
            summary: of these.
            effective_draws: what independent draws are worth, nan where that is unknown; ``None`` for chains,
                which are worth what their slowest functional says.
            made: all draws that were made, where only some are shown: they have the cost.
        """
        paid = draws if made is None else made
        return Source(
            name,
            draws.assignments,
            summary,
            self.shown,
            ("across", "along") if isinstance(self.shape, Graph) else self.described_by,
            is_independent=effective_draws is not None,
            seconds=paid.seconds,
            effective_draws=summary.effective_draws if effective_draws is None else effective_draws,
            made=math.prod(paid.assignments.shape[:2]),
        )

    def _check_points(self, name: str, draws: PartitionDraws) -> None:
        if draws.assignments.shape[-1] != len(self.data):
            raise ValueError(
                f"{name} has draws of {draws.assignments.shape[-1]} points, expected {len(self.data)}"
            )


@dataclass(frozen=True, kw_only=True, repr=False)
class GuideOnData(OnData):
    """One data set, and draws of its partition from a guide.

    Attributes besides those of :class:`OnData`:
        guide_name: name of the guide.
        guide: draws of the guide, some of the proposals of the refined ones.
        world: simulations of the guide's model, or ``None`` where it cannot be simulated.
        calibration: of the guide on simulations near the data; ``None`` if not asked for, or failed.
        refined: the guide's draws after resampling and sweeps; ``None`` where that failed, was not asked
            for, or the model has no kernel.
        untold: questions that parts which failed leave open.

    Raises:
        ValueError: if the shapes do not fit.
    """

    guide_name: str
    guide: PartitionDraws
    world: TrainingWorld | None = None
    calibration: LocalCalibration | None = None
    refined: RefinedDraws | None = None
    untold: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        """Check the shapes."""
        super().__post_init__()
        self._check_points("guide", self.guide)
        if self.refined is not None:
            self._check_points("refined", self.refined.draws)
            self._check_points("refined", self.refined.proposals)

    @property
    def proposals(self) -> PartitionDraws:
        """All draws of the guide, which have the weights; ``guide`` may be some of them."""
        return self.guide if self.refined is None else self.refined.proposals

    @property
    def witnesses(self) -> Witnesses | None:
        """What the guide's weights say beside those on simulations; ``None`` where it has none."""
        return None if self.world is None else self.world.witnesses()

    @property
    def drawn_by(self) -> str:
        """The guide."""
        return self.guide_name

    def about(self) -> dict[str, Any]:
        """Return what ``summary.json`` says of the data and of what drew."""
        about = super().about() | {
            "guide": self.guide_name,
            "guide_draws": int(self.guide.assignments.shape[1]),
            "guide_seconds": self.guide.seconds,
        }
        if self.refined is None:
            return about
        return about | {
            "refined_draws": int(self.refined.draws.assignments.shape[1]),
            "refined_seconds": self.refined.draws.seconds,
        }


@dataclass(frozen=True, kw_only=True)
class Comparison(GuideOnData):
    """One data set, and draws of its partition from a guide and from MCMC on the same model.

    Where the model has a likelihood, the draws of both have ``log_joint``, and those of the guide
    ``log_prob``. Where it has none, no draws have ``log_joint``.

    Attributes besides those of :class:`GuideOnData`:
        mcmc: draws of MCMC.
        cross: some of them with the guide's log q; ``None`` where that is only estimated, or the refined
            draws have been scored instead.
        tolerance: limit on the difference of two co-assignment probabilities; ``None`` for the library's.

    Raises:
        ValueError: if the shapes do not fit, or only some draws come with what weights need.
    """

    mcmc: PartitionDraws
    cross: CrossScored | None = None
    tolerance: float | None = None

    def __post_init__(self) -> None:
        """Check the shapes, and what weights need."""
        super().__post_init__()
        self._check_points("mcmc", self.mcmc)
        proposals = self.proposals
        if len({one.log_joint is None for one in (self.guide, proposals, self.mcmc)}) > 1:
            raise ValueError(
                "some of guide, proposals and mcmc have no log_joint, expected log p of each draw, or "
                "of none: weights need all"
            )
        if self.has_weights and (self.guide.log_prob is None or proposals.log_prob is None):
            raise ValueError("guide has no log_prob, expected log q of each draw: weights need it")

    @property
    def has_weights(self) -> bool:
        """Whether the guide's draws have importance weights: whether the model has a likelihood."""
        return self.guide.log_joint is not None

    @property
    def missing(self) -> str:
        """What other comparisons have and this has not, and why, in one sentence; empty where nothing is."""
        if self.has_weights:
            return ""
        return (
            "There are no importance weights, no log joint and no log evidence: "
            f"{no_formula(self.model_name)}."
        )

    def __repr__(self) -> str:
        """Return the data set, the guide and what stands beside it."""
        return (
            f"Comparison({self.source}: {len(self.data)} points, {self.guide_name} beside {self.mcmc.name})"
        )

    def about(self) -> dict[str, Any]:
        """Return what ``summary.json`` says of the data and of what drew."""
        about = super().about() | about_mcmc(self.mcmc)
        return about | {"missing": self.missing} if self.missing else about
