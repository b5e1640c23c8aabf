"""What one source's draws of a partition say, without a model: each part is computed when it is asked for."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from pyroclust import diagnostics
from pyroclust.attempts import Attempts
from pyroclust.baselines.scores import PartitionScores, scores_where_known
from pyroclust.diagnostics import (
    ClusterProfiles,
    CoMembershipEss,
    Convergence,
    CredibleBall,
    DistanceRhat,
    Finding,
    PartitionEntropy,
    PartitionModes,
    RankedPartitions,
    Verdict,
)
from pyroclust.diagnostics.differences.agreement import Marginals, Noise, marginals_and_noise
from pyroclust.diagnostics.draws.labels import as_chains
from pyroclust.diagnostics.draws.num_clusters import count_clusters
from pyroclust.diagnostics.estimates.membership import membership
from pyroclust.diagnostics.verdicts.findings import (
    Question,
    clarity_finding,
    labels_finding,
    num_doubtful,
    untold,
)
from pyroclust.partitions import Draws

__all__ = ["DrawsSummary", "Estimate"]

# Draws among which the most central one is sought, and from which on those of an estimate are thinned.
_CANDIDATES, _ENOUGH_FOR_AN_ESTIMATE = 1000, 1000

Made = TypeVar("Made")


@dataclass(frozen=True)
class Estimate:
    """One partition that stands for a source's draws.

    Attributes:
        assignments: the point estimate under variation of information, ``(N,)`` canonical.
        uncertainty: for each point the probability of being apart from its companions, ``(N,)``.
        scores: against the known labels, or ``None``.
    """

    assignments: np.ndarray
    uncertainty: np.ndarray
    scores: PartitionScores | None = None

    def __repr__(self) -> str:
        """Return the number of clusters, and how sure they are."""
        return f"Estimate({self.num_clusters} clusters, mean uncertainty {self.uncertainty.mean():.2f})"

    @property
    def num_clusters(self) -> int:
        """Number of clusters of the estimate."""
        return int(self.assignments.max()) + 1

    @property
    def truth_rand(self) -> float | None:
        """Adjusted Rand index to the known labels, or ``None``."""
        return None if self.scores is None else self.scores.adjusted_rand

    @property
    def num_doubtful(self) -> int:
        """Points that are apart from their companions more often than with them."""
        return num_doubtful(self.uncertainty)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Whether the estimate is clear, and where there are known labels whether it is near them."""
        clear = clarity_finding(self.uncertainty)
        return (clear,) if self.truth_rand is None else (clear, labels_finding(self.truth_rand))

    def figures(self) -> dict[str, object]:
        """Return what ``summary.json`` says of it."""
        return {
            "num_clusters": self.num_clusters,
            "mean_uncertainty": self.uncertainty.mean(),
            "adjusted_rand_to_labels": self.truth_rand,
            "scores": None if self.scores is None else asdict(self.scores),
        }


class DrawsSummary:
    """The posterior of a partition as one source's draws have it; a part that fails is ``None``."""

    def __init__(
        self,
        draws: Draws,
        *,
        name: str,
        seed: int,
        data: np.ndarray | None = None,
        true_labels: Any = None,
        allowed: Callable[[np.ndarray], bool] | None = None,
    ) -> None:
        self.name, self.seed = name, seed
        self.labels = as_chains(draws.assignments)
        self.log_joint = draws.log_joint
        self._data, self._true_labels, self._allowed = data, true_labels, allowed
        self._known: np.ndarray | None = None
        self._tries = Attempts()

    def __repr__(self) -> str:
        """Return the source, its size, and the likeliest number of clusters."""
        chains, draws, points = self.shape
        return (
            f"DrawsSummary({self.name}: {chains} x {draws} draws of {points} points, likeliest number of "
            f"clusters {self.likeliest} with probability {self.probabilities.max():.2f})"
        )

    def _make(self, what: str, part: Callable[[], Made]) -> Made | None:
        return self._tries.make(f"{what} of {self.name}", part)

    def _around(self, what: str, part: Callable[[np.ndarray], Made]) -> Made | None:
        """Make what needs the point estimate."""

        def made() -> Made:
            if self.estimate is None:
                raise ValueError("there is no point estimate")
            return part(self.estimate.assignments)

        return self._make(what, made)

    @property
    def failures(self) -> tuple[str, ...]:
        """Why parts that were asked for are missing, a sentence each."""
        return self._tries.failures

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

    @property
    def values(self) -> np.ndarray:
        """Numbers of clusters among the draws, without gaps, ``(V,)``."""
        found = np.flatnonzero(self.marginals.counts)
        return np.arange(found[0], found[-1] + 1)

    @property
    def probabilities(self) -> np.ndarray:
        """Their probabilities, ``(V,)``."""
        return self.marginals.counts[self.values]

    @property
    def likeliest(self) -> int:
        """The most probable number of clusters."""
        return int(self.marginals.counts.argmax())

    @property
    def co_assignment(self) -> np.ndarray:
        """Posterior similarity matrix of the paired points, ``(M, M)``."""
        return self.marginals.together

    @property
    def paired_points(self) -> np.ndarray:
        """The points that the similarity matrix is of, ``(M,)``: all of them up to 2,000."""
        return np.arange(self.shape[2]) if self.marginals.points is None else self.marginals.points

    @cached_property
    def _some(self) -> np.ndarray:
        """As many draws as an estimate needs, spread evenly over the chains."""
        flat = self.labels.reshape(-1, self.shape[2])
        return flat[:: max(1, len(flat) // _ENOUGH_FOR_AN_ESTIMATE)]

    def set_estimate(self, assignments: np.ndarray) -> None:
        """Take a point estimate that was found before, instead of searching for one."""
        self._known = assignments

    @cached_property
    def estimate(self) -> Estimate | None:
        """The point estimate, and how sure it is of each point."""

        def search() -> np.ndarray:
            if self._known is not None:
                return self._known
            best = diagnostics.point_estimate(self._some, seed=self.seed)
            if self._allowed is None or self._allowed(best):
                return best
            return diagnostics.point_estimate(
                self._some, seed=self.seed, search=diagnostics.DrawsSearch(_CANDIDATES)
            )

        found = self._make("The point estimate", search)
        if found is None:
            return None
        scores = self._make(
            "The scores against the known labels", lambda: scores_where_known(self._true_labels, found)
        )
        return self._make(
            "The uncertainty of the point estimate",
            lambda: Estimate(found, diagnostics.point_uncertainty(self.labels, found), scores),
        )

    @cached_property
    def membership(self) -> np.ndarray | None:
        """Probabilities of the points to be in each cluster of the estimate, ``(N, J)``; rows sum to 1."""
        return self._around("The membership of the rows", lambda found: membership(self._some, found))

    @cached_property
    def ball(self) -> CredibleBall | None:
        """95 % credible ball around the estimate, under variation of information."""
        return self._around("The credible ball", lambda found: diagnostics.credible_ball(self.labels, found))

    @cached_property
    def ranked(self) -> RankedPartitions | None:
        """The most probable partitions."""
        return self._make("The most probable partitions", lambda: diagnostics.ranked_partitions(self.labels))

    @cached_property
    def entropy(self) -> PartitionEntropy | None:
        """Of the posterior of the partition, in bits."""
        return self._make("The entropy", lambda: diagnostics.partition_entropy(self.labels))

    @cached_property
    def modes(self) -> PartitionModes | None:
        """Partitions around which the draws gather, with their weights."""
        return self._make("The modes", lambda: diagnostics.partition_modes(self.labels, seed=self.seed))

    @cached_property
    def functionals(self) -> dict[str, np.ndarray]:
        """By name, ``(chains, draws)``, with ``log_joint`` where it is known."""
        first = {} if self.log_joint is None else {"log_joint": np.asarray(self.log_joint, dtype=np.float64)}

        def values() -> dict[str, np.ndarray]:
            known = None if self.estimate is None else self.estimate.assignments
            reference = self.labels[0, 0] if known is None else known
            every = diagnostics.functionals(self.labels, seed=self.seed, reference=reference)
            return {
                name: one
                for name, one in every.items()
                if known is not None or name != "distance_to_reference"
            }

        found = self._make("The functionals", values)
        return {} if found is None else first | found

    @cached_property
    def convergence(self) -> tuple[Convergence, ...] | None:
        """One row a functional."""
        if not self.functionals:
            return None
        return self._make("The convergence", lambda: diagnostics.convergence(self.functionals))

    @cached_property
    def co_membership(self) -> CoMembershipEss | None:
        """Effective draws for the co-memberships of pairs."""
        return self._make(
            "The effective draws of pairs",
            lambda: diagnostics.co_membership_ess(self.labels, seed=self.seed),
        )

    @cached_property
    def distance_rhat(self) -> DistanceRhat | None:
        """Convergence of the distances to reference partitions."""
        return self._make(
            "The R-hat of distances", lambda: diagnostics.distance_rhat(self.labels, seed=self.seed)
        )

    @cached_property
    def profiles(self) -> ClusterProfiles | None:
        """What the estimate's clusters are like; ``None`` without data."""
        data = self._data
        if data is None:
            return None
        return self._around(
            "The profiles of the clusters",
            lambda found: diagnostics.cluster_profiles(self.labels, found, data=data),
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
    def effective_draws(self) -> float:
        """Fewest bulk effective draws of functionals that vary; nan when none does."""
        return self.min_ess if math.isfinite(self.min_ess) else math.nan

    @property
    def untold(self) -> tuple[Finding, ...]:
        """Questions that parts which failed leave open."""
        if self.estimate is not None:
            why = self._tries.reason(f"The scores against the known labels of {self.name}")
            return () if why is None else (untold(Question.LABELS, why),)
        reason = self._tries.reason
        why = reason(f"The point estimate of {self.name}") or reason(
            f"The uncertainty of the point estimate of {self.name}"
        )
        questions = (Question.CLEAR, *((Question.LABELS,) if self._true_labels is not None else ()))
        return tuple(untold(one, why) for one in questions)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Whether the point estimate is clear, and near the known labels where there are some."""
        return (*(() if self.estimate is None else self.estimate.findings), *self.untold)

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
        one = self.estimate
        return {
            "name": self.name,
            "chains": self.shape[0],
            "draws": self.shape[1],
            "points": self.shape[2],
            "num_clusters": {"values": self.values, "probabilities": self.probabilities},
            "point_estimate": None if one is None else one.figures() | {"assignments": one.assignments},
        }

    def figures(self) -> dict[str, Any]:
        """Return the figures without matrices and draws; numbers may be those of numpy, or not finite."""
        ranked, rows = self.ranked, self.convergence
        return {
            **self.short_figures(),
            "credible_ball": None if self.ball is None else _of_ball(self.ball),
            "most_probable": None
            if ranked is None
            else {"probabilities": ranked.probabilities, "distinct": ranked.num_distinct},
            "entropy_bits": None if self.entropy is None else asdict(self.entropy),
            "modes": None if self.modes is None else _of_modes(self.modes),
            "convergence": None if rows is None else [asdict(row) for row in rows],
            "co_membership_ess": None if self.co_membership is None else _of_pairs(self.co_membership),
            "distance_rhat": None if self.distance_rhat is None else self.distance_rhat.rhat,
        }


def _of_ball(ball: CredibleBall) -> dict[str, Any]:
    return {
        "level": ball.level,
        "coverage": ball.coverage,
        "radius": ball.radius,
        "horizontal_clusters": count_clusters(ball.horizontal),
        "upper_clusters": count_clusters(ball.upper),
        "lower_clusters": count_clusters(ball.lower),
    }


def _of_modes(modes: PartitionModes) -> dict[str, Any]:
    return {
        "weights": modes.weights,
        "spread": modes.spread,
        "num_clusters": count_clusters(modes.partitions),
    }


def _of_pairs(found: CoMembershipEss) -> dict[str, Any]:
    return {
        "pairs": len(found.pairs),
        "constant": found.num_constant,
        "min": found.min,
        "median": found.median,
    }
