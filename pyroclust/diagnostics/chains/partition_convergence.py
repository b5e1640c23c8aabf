"""Convergence on the space of partitions: co-memberships of pairs, and distances to reference partitions."""

import math
from dataclasses import dataclass

import numpy as np

from pyroclust.core.machine import check_memory
from pyroclust.core.numbers import check_count, check_seed
from pyroclust.diagnostics.chains.convergence import Convergence, convergence, rhats_and_ess
from pyroclust.diagnostics.chains.functionals import functionals
from pyroclust.diagnostics.draws.labels import as_chains
from pyroclust.diagnostics.draws.losses import PartitionLoss, VariationOfInformation, pairwise_loss
from pyroclust.partitions.raw_labels import DrawsLike


def convergence_with_log_joint(
    draws: np.ndarray,
    log_joint: np.ndarray,
    *,
    name: str = "log_joint",
    row_weights: np.ndarray | None = None,
) -> tuple[Convergence, ...]:
    """Return one row of convergence figures a functional, and one of the log joint density."""
    if not np.isfinite(log_joint).all():
        return convergence(functionals(draws, reference=draws[0, -1], row_weights=row_weights))
    best = np.unravel_index(log_joint.argmax(), log_joint.shape)
    values = functionals(draws, reference=draws[best], row_weights=row_weights)
    return convergence(values | {name: log_joint})


@dataclass(frozen=True)
class CoMembershipEss:
    """Effective draws of the co-memberships of some pairs of points.

    Attributes:
        pairs: the points of each pair, the smaller index first, ``(P, 2)``.
        ess: bulk effective draws of each pair's indicator, ``(P,)``; nan where it is constant or undefined.
        num_constant: pairs that are together in every draw or apart in every draw: these say nothing.
        min: the fewest effective draws of a pair that varies, 0 where one is undefined, inf when none varies.
        median: the median over the pairs that vary, counted likewise.
    """

    pairs: np.ndarray
    ess: np.ndarray
    num_constant: int
    min: float
    median: float


def co_membership_ess(draws: DrawsLike, *, num_pairs: int = 100, seed: int) -> CoMembershipEss:
    """Return the bulk effective draws of the indicators that random pairs of points share a cluster.

    The number of clusters and other functionals can mix well while some points hardly move: this looks at the
    co-assignment matrix itself.

    Args:
        draws: ``(chains, draws, N)`` or ``(S, N)``.
        num_pairs: how many pairs of points, drawn without replacement; all pairs where there are fewer.
        seed: of the pairs.

    Example:
        >>> found = co_membership_ess(np.random.default_rng(0).integers(2, size=(4, 100, 5)), seed=0)
        >>> len(found.pairs), found.num_constant, found.min > 200
        (10, 0, True)
    """
    num_pairs = check_count("num_pairs", num_pairs)
    draws = as_chains(draws)
    pairs = _random_pairs(draws.shape[-1], num_pairs, seed)
    together = (draws[..., pairs[:, 0]] == draws[..., pairs[:, 1]]).astype(np.float64)
    constant = (together == together[:1, :1]).all((0, 1))
    _, found = rhats_and_ess(together)
    moving = np.nan_to_num(found[~constant], nan=0.0)
    fewest, middle = (moving.min(), np.median(moving)) if moving.size else (math.inf, math.inf)
    return CoMembershipEss(pairs, found, int(constant.sum()), float(fewest), float(middle))


def _random_pairs(num_points: int, num_pairs: int, seed: int) -> np.ndarray:
    total = num_points * (num_points - 1) // 2
    if not total:
        return np.empty((0, 2), dtype=np.int64)
    code = np.random.default_rng(check_seed(seed)).choice(total, size=min(num_pairs, total), replace=False)
    # Pair (i, j) with i < j has the number j (j - 1) / 2 + i.
    larger = ((1 + np.sqrt(8.0 * code + 1)) / 2).astype(np.int64)
    smaller = code - larger * (larger - 1) // 2
    return np.stack([smaller, larger], axis=-1)


_DEFAULT_LOSS = VariationOfInformation()


@dataclass(frozen=True)
class DistanceRhat:
    """Convergence of the distances to each of some reference partitions.

    Attributes:
        references: partitions taken from the draws, ``(R, N)``.
        rhats: R-hat of the distances to each, ``(R,)``; as :func:`rhat` where it is undefined.
        ess: bulk effective draws of the same, ``(R,)``; nan where undefined.
        rhat: the largest R-hat of distances that vary, inf where one is undefined; 1 when none varies.
    """

    references: np.ndarray
    rhats: np.ndarray
    ess: np.ndarray
    rhat: float

    @property
    def min_ess(self) -> float:
        """The fewest effective draws; inf when all distances are constant."""
        moving = self.ess[~np.isnan(self.ess)]
        return float(moving.min()) if moving.size else math.inf


def distance_rhat(
    draws: DrawsLike,
    *,
    num_references: int = 8,
    seed: int,
    loss: PartitionLoss = _DEFAULT_LOSS,
    row_weights: np.ndarray | None = None,
) -> DistanceRhat:
    r"""Return the R-hat of the distances of each draw to reference partitions taken from the draws.

    .. math:: x^{(r)}_{m,t} = L(c^{(r)}, c_{m,t}), \qquad \hat R = \max_r \hat R(x^{(r)})

    Chains stuck in different modes can have equal numbers of clusters and equal cluster sizes, but not equal
    distances to a partition of one of the modes. The references are spread evenly over the chains, a random
    draw each. Cost: O(chains draws R N) in compiled code.

    Args:
        draws: ``(chains, draws, N)`` or ``(S, N)``.
        num_references: R, how many reference partitions.
        seed: of the choice of the references.
        loss: the distance.
        row_weights: how many equal rows each point stands for, ``(N,)``; one by default.

    References:
        Lanfear, Hua and Warren (2016), Estimating the effective sample size of tree topologies from Bayesian
        phylogenetic analyses. https://doi.org/10.1093/gbe/evw171

    Example:
        >>> stuck = np.repeat([[[0, 0, 1, 1]], [[0, 1, 0, 1]]], 100, axis=1)
        >>> distance_rhat(stuck, seed=0).rhat
        inf
    """
    num_references = check_count("num_references", num_references)
    draws = as_chains(draws)
    chains, length, points = draws.shape
    check_memory(
        8 * num_references * (points + chains * length),
        f"num_references is {num_references}: their distances",
        remedy="measure from fewer",
    )
    chain = np.arange(num_references) % chains
    references = draws[chain, np.random.default_rng(check_seed(seed)).integers(length, size=num_references)]
    flat = draws.reshape(-1, points)
    distances = pairwise_loss(references, flat, loss=loss, row_weights=row_weights)
    distances = distances.round(9).T.reshape(chains, length, num_references)
    found, effective = rhats_and_ess(distances)
    varies = ~(distances == distances[:1, :1]).all((0, 1))
    undefined_is_worst = np.nan_to_num(found[varies], nan=np.inf, posinf=np.inf)
    return DistanceRhat(references, found, effective, float(undefined_is_worst.max(initial=1.0)))
