"""Everything that one source's draws of a partition say, without a model."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
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
from pyroclust.diagnostics.differences.agreement import Marginals, marginals
from pyroclust.diagnostics.draws.labels import as_chains
from pyroclust.diagnostics.draws.num_clusters import count_clusters
from pyroclust.diagnostics.verdicts.findings import (
    Question,
    clarity_finding,
    labels_finding,
    num_doubtful,
    untold,
)

__all__ = ["DrawsSummary", "Estimate", "summarise_draws"]

_ESTIMATE, _SCORES = "The point estimate of {}", "The scores of {} against the known labels"
# Draws among which the most central one is sought.
_CANDIDATES = 1000

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
    scores: PartitionScores | None

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

    def __repr__(self) -> str:
        """Return the number of clusters, and how sure they are."""
        return f"Estimate({self.num_clusters} clusters, mean uncertainty {self.uncertainty.mean():.2f})"

    def figures(self) -> dict[str, object]:
        """Return what ``summary.json`` says of it."""
        return {
            "num_clusters": self.num_clusters,
            "mean_uncertainty": self.uncertainty.mean(),
            "adjusted_rand_to_labels": self.truth_rand,
            "scores": None if self.scores is None else asdict(self.scores),
        }


@dataclass(frozen=True)
class DrawsSummary:
    """The posterior of a partition as one source's draws have it; a part that failed is ``None``.

    Attributes:
        name: what reports call the source.
        shape: numbers of chains, draws a chain, and points.
        marginals: posterior of the number of clusters, and posterior similarity matrix of at most 2,000
            points, see :func:`~pyroclust.diagnostics.draws.pairs.paired_points`.
        estimate: the point estimate, and how sure it is of each point.
        ball: 95 % credible ball around it, under variation of information.
        ranked: the most probable partitions.
        entropy: of the posterior of the partition, in bits.
        modes: partitions around which the draws gather, with their weights.
        functionals: name -> ``(chains, draws)``, with ``log_joint`` where it is known.
        convergence: one row a functional.
        co_membership: effective draws for the co-memberships of pairs.
        distance_rhat: convergence of the distances to reference partitions.
        profiles: what the estimate's clusters are like; ``None`` without data.
        failures: why parts are missing, a sentence each.
        untold: questions that parts which failed leave open.
    """

    name: str
    shape: tuple[int, int, int]
    marginals: Marginals
    estimate: Estimate | None
    ball: CredibleBall | None
    ranked: RankedPartitions | None
    entropy: PartitionEntropy | None
    modes: PartitionModes | None
    functionals: dict[str, np.ndarray]
    convergence: tuple[Convergence, ...] | None
    co_membership: CoMembershipEss | None
    distance_rhat: DistanceRhat | None
    profiles: ClusterProfiles | None
    failures: tuple[str, ...] = ()
    untold: tuple[Finding, ...] = ()

    @property
    def values(self) -> np.ndarray:
        """Numbers of clusters that occur, ``(V,)``."""
        return np.flatnonzero(self.marginals.counts)

    @property
    def probabilities(self) -> np.ndarray:
        """Probabilities of ``values``, ``(V,)``."""
        return self.marginals.counts[self.values]

    @property
    def co_assignment(self) -> np.ndarray:
        """Posterior similarity matrix, ``(M, M)``, of :attr:`paired_points`."""
        return self.marginals.together

    @property
    def paired_points(self) -> np.ndarray:
        """The points of which the similarity matrix is, ``(M,)``: all of them up to 2,000."""
        return np.arange(self.shape[2]) if self.marginals.points is None else self.marginals.points

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

    def __repr__(self) -> str:
        """Return the source, its size, and the likeliest number of clusters."""
        chains, draws, points = self.shape
        likeliest = self.values[self.probabilities.argmax()]
        return (
            f"DrawsSummary({self.name}: {chains} x {draws} draws of {points} points, likeliest number of "
            f"clusters {likeliest} with probability {self.probabilities.max():.2f})"
        )

    def figures(self) -> dict[str, Any]:
        """Return the figures without matrices and draws; numbers may be those of numpy, or not finite."""
        estimate, ranked = self.estimate, self.ranked
        of_estimate = None
        if estimate is not None:
            of_estimate = estimate.figures() | {"assignments": estimate.assignments}
        probable = None
        if ranked is not None:
            probable = {"probabilities": ranked.probabilities, "distinct": ranked.num_distinct}
        rows = self.convergence
        return {
            "name": self.name,
            "chains": self.shape[0],
            "draws": self.shape[1],
            "points": self.shape[2],
            "num_clusters": {"values": self.values, "probabilities": self.probabilities},
            "point_estimate": of_estimate,
            "credible_ball": None if self.ball is None else _of_ball(self.ball),
            "most_probable": probable,
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


def summarise_draws(
    assignments: np.ndarray,
    *,
    name: str,
    seed: int,
    log_joint: np.ndarray | None = None,
    data: np.ndarray | None = None,
    true_labels: np.ndarray | None = None,
    allowed: Callable[[np.ndarray], bool] | None = None,
) -> DrawsSummary:
    """Compute everything that draws of a partition say by themselves.

    A part that fails is left out, with a sentence in ``failures``; the number of clusters and the
    co-assignment matrix have to be there.

    Cost: one co-assignment matrix of at most 2,000 points, one search for the point estimate, and the modes;
    about two seconds at N = 300 and 4000 draws.

    Shape:
        assignments: ``(chains, draws, N)`` labels 0 to N - 1; log_joint: ``(chains, draws)``;
        data: ``(N, D)``; true_labels: ``(N,)``.

    Args:
        assignments: the draws.
        name: what reports call their source.
        seed: of the search, and of the random pairs and references.
        log_joint: log p(assignments, data) of each draw in nats, where it is known.
        data: the points, for the profiles of the clusters.
        true_labels: known labels, ``None`` for points without one.
        allowed: says whether a partition keeps what is known of the points, as all draws do; where the point
            estimate would not, it is the most central draw.

    Raises:
        ValueError: if the labels are not integers from 0 to N - 1, or shapes do not fit.

    Example:
        >>> draws = np.random.default_rng(0).integers(2, size=(2, 50, 6))
        >>> summarise_draws(draws, name="mine", seed=0).estimate.assignments.shape
        (6,)
    """
    draws = as_chains(assignments)
    every, tries = marginals(draws), Attempts()
    estimate = _estimate(draws, tries, name=name, seed=seed, true_labels=true_labels, allowed=allowed)
    parts = _Parts(draws, name, seed, None if estimate is None else estimate.assignments, tries)
    values = parts.functionals(log_joint)
    return DrawsSummary(
        name=name,
        shape=(draws.shape[0], draws.shape[1], draws.shape[2]),
        marginals=every,
        estimate=estimate,
        ball=parts.around("The credible ball", lambda found: diagnostics.credible_ball(draws, found)),
        ranked=parts.make("The most probable partitions", lambda: diagnostics.ranked_partitions(draws)),
        entropy=parts.make("The entropy", lambda: diagnostics.partition_entropy(draws)),
        modes=parts.make("The modes", lambda: diagnostics.partition_modes(draws, seed=seed)),
        functionals=values or {},
        convergence=parts.convergence(values),
        co_membership=parts.make(
            "The effective draws of pairs", lambda: diagnostics.co_membership_ess(draws, seed=seed)
        ),
        distance_rhat=parts.make(
            "The R-hat of distances", lambda: diagnostics.distance_rhat(draws, seed=seed)
        ),
        profiles=None
        if data is None
        else parts.around(
            "The profiles of the clusters",
            lambda found: diagnostics.cluster_profiles(draws, found, data=data),
        ),
        failures=tries.failures,
        untold=_untold(tries, name, estimate, has_labels=true_labels is not None),
    )


@dataclass(frozen=True)
class _Parts:
    """Tries the parts of one source's summary."""

    draws: np.ndarray
    name: str
    seed: int
    found: np.ndarray | None
    tries: Attempts

    def make(self, what: str, part: Callable[[], Made]) -> Made | None:
        return self.tries.make(f"{what} of {self.name}", part)

    def around(self, what: str, part: Callable[[np.ndarray], Made]) -> Made | None:
        """Make what needs the point estimate."""
        return self.make(what, lambda: part(self._estimate()))

    def functionals(self, log_joint: np.ndarray | None) -> dict[str, np.ndarray] | None:
        """Compute the functionals, the log joint first where it is known."""
        first = {} if log_joint is None else {"log_joint": np.asarray(log_joint, dtype=np.float64)}
        found = self.make("The functionals", self._functionals)
        return None if found is None else first | found

    def _functionals(self) -> dict[str, np.ndarray]:
        if self.found is not None:
            return diagnostics.functionals(self.draws, seed=self.seed, reference=self.found)
        every = diagnostics.functionals(self.draws, seed=self.seed, reference=self.draws[0, 0])
        return {name: values for name, values in every.items() if name != "distance_to_reference"}

    def convergence(self, values: dict[str, np.ndarray] | None) -> tuple[Convergence, ...] | None:
        """Judge the functionals where there are some."""
        if values is None:
            return None
        return self.make("The convergence", lambda: diagnostics.convergence(values))

    def _estimate(self) -> np.ndarray:
        if self.found is None:
            raise ValueError("there is no point estimate")
        return self.found


def _estimate(
    draws: np.ndarray,
    tries: Attempts,
    *,
    name: str,
    seed: int,
    true_labels: np.ndarray | None,
    allowed: Callable[[np.ndarray], bool] | None,
) -> Estimate | None:
    def search() -> np.ndarray:
        best = diagnostics.point_estimate(draws, seed=seed)
        if allowed is None or allowed(best):
            return best
        return diagnostics.point_estimate(draws, seed=seed, search=diagnostics.DrawsSearch(_CANDIDATES))

    found = tries.make(_ESTIMATE.format(name), search)
    if found is None:
        return None
    scores = tries.make(_SCORES.format(name), lambda: scores_where_known(true_labels, found))
    return tries.make(
        _ESTIMATE.format(name),
        lambda: Estimate(found, diagnostics.point_uncertainty(draws, found), scores),
    )


def _untold(
    tries: Attempts, name: str, estimate: Estimate | None, *, has_labels: bool
) -> tuple[Finding, ...]:
    why = tries.reason(_ESTIMATE.format(name))
    if estimate is None:
        clear = untold(Question.CLEAR, why)
        return (clear, untold(Question.LABELS, why)) if has_labels else (clear,)
    why = tries.reason(_SCORES.format(name))
    return () if why is None else (untold(Question.LABELS, why),)
