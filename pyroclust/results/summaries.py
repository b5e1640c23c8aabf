"""What one source's draws of a partition say, without a model: each part is computed when it is asked for."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from pyroclust import diagnostics
from pyroclust.baselines.scores import adjusted_rand_where_known
from pyroclust.core.messages import Attempts
from pyroclust.diagnostics import Finding, Verdict
from pyroclust.diagnostics.chains import least_rows, num_large_clusters, without_rounding
from pyroclust.diagnostics.clusters import membership as membership_in
from pyroclust.diagnostics.differences import Marginals, Noise, marginals_and_noise
from pyroclust.diagnostics.findings import (
    Question,
    clarity_finding,
    labels_finding,
    num_doubtful,
    unavailable,
)
from pyroclust.diagnostics.frequencies import count_clusters
from pyroclust.diagnostics.labels import as_chains
from pyroclust.partitions import Draws

OF_THE_GUIDE = ("guide", "weighted")
"""Names of the draws of a guide."""

# Draws among which the most central one is sought, and from which on those of an estimate are thinned; those
# of large tables to so many labels, but no fewer draws than the last.
_CANDIDATES, _ENOUGH_FOR_AN_ESTIMATE, _MOST_LABELS, _FEWEST = 1000, 1000, 100_000_000, 100
_ESTIMATE, _UNCERTAINTY = "The point estimate", "The uncertainty of the point estimate"
_SCORES = "The adjusted Rand index to the known labels"
_OF_THE_ESTIMATE = (_ESTIMATE, _UNCERTAINTY, _SCORES)

Made = TypeVar("Made")


@dataclass(frozen=True)
class Estimate:
    """One partition that stands for a source's draws."""

    assignments: np.ndarray  # the point estimate under variation of information, (N,) canonical
    uncertainty: np.ndarray  # for each point the probability of being apart from its companions, (N,)
    adjusted_rand: float | None = None  # to the known labels, or None
    row_weights: np.ndarray | None = None  # how many equal rows each point stands for, (N,); None for one

    def __repr__(self) -> str:
        return f"Estimate({self.num_clusters} clusters, mean uncertainty {self.mean_uncertainty:.2f})"

    @property
    def num_clusters(self) -> int:
        return int(self.assignments.max()) + 1

    @property
    def mean_uncertainty(self) -> float:
        return float(np.average(self.uncertainty, weights=self.row_weights))

    @property
    def num_doubtful(self) -> int:
        """Rows that are apart from their companions more often than with them."""
        return num_doubtful(self.uncertainty, row_weights=self.row_weights)

    def figures(self) -> dict[str, object]:
        return {
            "num_clusters": self.num_clusters,
            "mean_uncertainty": self.mean_uncertainty,
            "adjusted_rand_to_labels": self.adjusted_rand,
        }


def _part(what: str, compute: Callable[["DrawsSummary"], Made]) -> "cached_property[Made | None]":
    """Return a part of a summary that is computed when it is first asked for; ``None`` where that fails."""
    return cached_property(lambda summary: summary.make(what, lambda: compute(summary)))


@dataclass(repr=False, eq=False)
class DrawsSummary:
    """The posterior of a partition as one source's draws have it; a part that fails is ``None``."""

    draws: Draws
    name: str
    seed: int
    key: str = ""  # in the analysis
    data: np.ndarray | None = None  # columns that describe clusters, in units, (N, D)
    true_labels: Any = None
    allowed: Callable[[np.ndarray], bool] | None = None  # whether constraints allow a partition
    row_weights: np.ndarray | None = None  # how many equal rows each point stands for, (N,)
    known: np.ndarray | None = None  # a point estimate that was found before
    tries: Attempts = field(default_factory=Attempts)

    def __post_init__(self) -> None:
        self.labels = as_chains(self.draws.assignments)

    def __repr__(self) -> str:
        (chains, draws, points), counts = self.shape, self.marginals.counts
        return (
            f"DrawsSummary({self.name}: {chains} x {draws} draws of {points} points, likeliest number of "
            f"clusters {counts.argmax()} with probability {counts.max():.2f})"
        )

    def make(self, what: str, part: Callable[[], Made]) -> Made | None:
        """Return a part, or ``None`` where it cannot be made."""
        return self.tries.value_or_none(f"{what} of {self.name}", part)

    @property
    def is_independent(self) -> bool:
        """Whether the draws have no chains that could fail to converge."""
        return self.key in (*OF_THE_GUIDE, "refined", "forest")

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of chains, of draws a chain, and of points."""
        return self.labels.shape  # type: ignore[return-value]

    @cached_property
    def _marginals(self) -> tuple[Marginals, Noise]:
        return marginals_and_noise(self.labels)

    @property
    def marginals(self) -> Marginals:
        """Posterior of the number of clusters, and posterior similarity matrix of at most 2,000 points."""
        return self._marginals[0]

    @property
    def noise(self) -> Noise:
        """How far two halves of the draws are apart."""
        return self._marginals[1]

    @cached_property
    def large_counts(self) -> np.ndarray:
        """Posterior of the number of clusters of at least ``least_rows``, from 0 on, ``(V,)``."""
        counts = np.bincount(num_large_clusters(self.labels, row_weights=self.row_weights).ravel())
        return counts / counts.sum()

    @property
    def least_rows(self) -> int:
        """Rows of the clusters that are counted there."""
        return least_rows(self.shape[2] if self.row_weights is None else int(self.row_weights.sum()))

    @property
    def co_assignment(self) -> np.ndarray:
        """Posterior similarity matrix of the paired points, ``(M, M)``."""
        return self.marginals.together

    @property
    def paired_points(self) -> np.ndarray:
        """The points that the similarity matrix is of, ``(M,)``: all of them up to 2,000."""
        return np.arange(self.shape[2]) if self.marginals.points is None else self.marginals.points

    @cached_property
    def some(self) -> np.ndarray:
        """As many draws as an estimate needs, spread evenly over the chains, ``(S, N)``."""
        flat = self.labels.reshape(-1, self.shape[2])
        enough = min(_ENOUGH_FOR_AN_ESTIMATE, max(_FEWEST, _MOST_LABELS // self.shape[2]))
        return flat[:: max(1, len(flat) // enough)]

    @property
    def enough(self) -> np.ndarray:
        """All draws ``(chains, draws, N)``; of a large table :attr:`some`, for what copies them."""
        return self.labels if self.labels.size <= _MOST_LABELS else self.some

    @cached_property
    def estimate(self) -> Estimate | None:
        """The point estimate, and how sure it is of each point."""
        found = self.make(_ESTIMATE, self._search)
        if found is None:
            return None
        times = self.row_weights
        rand = self.make(
            _SCORES, lambda: adjusted_rand_where_known(self.true_labels, found, row_weights=times)
        )

        def of_rows() -> Estimate:
            apart = diagnostics.point_uncertainty(self.labels, found, row_weights=times)
            return Estimate(found, apart, rand, times)

        return self.make(_UNCERTAINTY, of_rows)

    def _search(self) -> np.ndarray:
        if self.known is not None:
            return self.known
        find = partial(diagnostics.point_estimate, self.some, seed=self.seed, row_weights=self.row_weights)
        best = find()
        if self.allowed is None or self.allowed(best):
            return best
        return find(search=diagnostics.DrawsSearch(_CANDIDATES))

    @property
    def assignments(self) -> np.ndarray:
        """The point estimate, ``(N,)``; an error where there is none."""
        if self.estimate is None:
            raise ValueError("there is no point estimate")
        return self.estimate.assignments

    @property
    def sizes(self) -> np.ndarray:
        """Rows of each cluster of the point estimate, which count by their weights, ``(J,)``."""
        return np.bincount(self.assignments, self.row_weights).astype(np.int64)

    # Probabilities of the points to be in each cluster of the estimate, ``(N, J)``; rows sum to 1.
    membership = _part(
        "The membership of the rows",
        lambda of: membership_in(of.some, of.assignments, row_weights=of.row_weights),
    )

    @property
    def own_membership(self) -> np.ndarray | None:
        """Probability of each point to be in its cluster of the estimate, ``(N,)``."""
        member = self.membership
        return None if member is None else member[np.arange(len(member)), self.assignments]

    # 95 % credible ball around the estimate, under variation of information.
    ball = _part(
        "The credible ball",
        lambda of: diagnostics.credible_ball(of.enough, of.assignments, row_weights=of.row_weights),
    )
    ranked = _part("The most probable partitions", lambda of: diagnostics.ranked_partitions(of.enough))
    # Of the posterior of the partition, in bits.
    entropy = _part("The entropy", lambda of: diagnostics.partition_entropy(of.enough))
    modes = _part(
        "The modes",
        lambda of: diagnostics.partition_modes(of.enough, seed=of.seed, row_weights=of.row_weights),
    )
    # Effective draws for the co-memberships of pairs.
    co_membership = _part(
        "The effective draws of pairs", lambda of: diagnostics.co_membership_ess(of.labels, seed=of.seed)
    )
    distance_rhat = _part(
        "The R-hat of distances",
        lambda of: diagnostics.distance_rhat(of.labels, seed=of.seed, row_weights=of.row_weights),
    )

    # What the estimate's clusters are like; None without data.
    profiles = _part(
        "The profiles of the clusters",
        lambda of: (
            None
            if of.data is None
            else diagnostics.cluster_profiles(
                of.enough, of.assignments, data=of.data, row_weights=of.row_weights
            )
        ),
    )

    @cached_property
    def functionals(self) -> dict[str, np.ndarray]:
        """By name, ``(chains, draws)``, with ``log_joint`` where it is known."""
        joint = self.draws.log_joint
        first = {} if joint is None else {"log_joint": without_rounding(joint)}

        def values() -> dict[str, np.ndarray]:
            reference = self.labels[0, 0] if self.estimate is None else self.assignments
            found = diagnostics.functionals(
                self.labels, seed=self.seed, reference=reference, row_weights=self.row_weights
            )
            if self.estimate is None:
                del found["distance_to_reference"]
            return found

        found = self.make("The functionals", values)
        return {} if found is None else first | found

    # One row a functional.
    convergence = _part(
        "The convergence", lambda of: diagnostics.convergence(of.functionals) if of.functionals else None
    )

    @property
    def max_rhat(self) -> float:
        """Largest R-hat, of functionals and distances that vary; 1 when none does, nan where one failed."""
        if self.convergence is None or self.distance_rhat is None:
            return math.nan
        return max(diagnostics.max_rhat(self.convergence), np.nan_to_num(self.distance_rhat.rhat, nan=1.0))

    @property
    def min_ess(self) -> float:
        """Fewest bulk effective draws of functionals that vary; inf when none does, nan if they failed."""
        return math.nan if self.convergence is None else diagnostics.min_ess(self.convergence)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Whether the point estimate is clear, and near the known labels where there are some."""
        why = {name: self.tries.reasons.get(f"{name} of {self.name}") for name in _OF_THE_ESTIMATE}
        if self.estimate is None:
            asked = (Question.CLEAR, *((Question.LABELS,) if self.true_labels is not None else ()))
            return tuple(unavailable(one, why[_ESTIMATE] or why[_UNCERTAINTY]) for one in asked)
        clear = clarity_finding(self.estimate.uncertainty, row_weights=self.row_weights)
        if self.estimate.adjusted_rand is not None:
            return clear, labels_finding(self.estimate.adjusted_rand)
        return (clear,) if why[_SCORES] is None else (clear, unavailable(Question.LABELS, why[_SCORES]))

    @property
    def verdict(self) -> Verdict:
        """Whether the draws have converged, and what they are worth."""
        return diagnostics.judge_draws(
            self.name,
            num_chains=self.shape[0],
            num_draws=math.prod(self.shape[:2]),
            max_rhat=self.max_rhat,
            min_ess=self.min_ess,
        )

    def short_figures(self) -> dict[str, Any]:
        """Return what is said of a source beside the one whose clusters are shown."""
        drawn = np.flatnonzero(self.marginals.counts)
        values = np.arange(drawn[0], drawn[-1] + 1)
        return {
            "name": self.name,
            **dict(zip(("chains", "draws", "points"), self.shape, strict=True)),
            "num_clusters": {"values": values, "probabilities": self.marginals.counts[values]},
            "num_large_clusters": {
                "least_rows": self.least_rows,
                "values": np.arange(len(self.large_counts)),
                "probabilities": self.large_counts,
            },
            "point_estimate": _of(
                self.estimate, lambda one: one.figures() | {"assignments": one.assignments}
            ),
        }

    def figures(self) -> dict[str, Any]:
        """Return the figures without matrices and draws; numbers may be those of numpy, or not finite."""
        return {
            **self.short_figures(),
            "credible_ball": _of(
                self.ball,
                lambda ball: {
                    "level": ball.level,
                    "coverage": ball.coverage,
                    "radius": ball.radius,
                    "horizontal_clusters": count_clusters(ball.horizontal),
                    "upper_clusters": count_clusters(ball.upper),
                    "lower_clusters": count_clusters(ball.lower),
                },
            ),
            "most_probable": _of(
                self.ranked, lambda one: {"probabilities": one.probabilities, "distinct": one.num_distinct}
            ),
            "entropy_bits": _of(self.entropy, asdict),
            "modes": _of(
                self.modes,
                lambda modes: {
                    "weights": modes.weights,
                    "spread": modes.spread,
                    "num_clusters": count_clusters(modes.partitions),
                },
            ),
            "convergence": _of(self.convergence, lambda rows: [asdict(row) for row in rows]),
            "co_membership_ess": _of(
                self.co_membership,
                lambda found: {
                    "pairs": len(found.pairs),
                    "constant": found.num_constant,
                    "min": found.min,
                    "median": found.median,
                },
            ),
            "distance_rhat": _of(self.distance_rhat, lambda found: found.rhat),
        }


def _of(part: Made | None, figures: Callable[[Made], Any]) -> Any:
    return None if part is None else figures(part)
