"""What chains are worth: functionals of partitions, R-hat and effective draws of them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from pyroclust.core.machine import check_memory
from pyroclust.core.numbers import as_finite, check_count, check_seed, overflow_scale
from pyroclust.diagnostics.labels import as_chains, checked_row_weights, cluster_sums
from pyroclust.diagnostics.limits import GOOD_ESS, GOOD_RHAT, LARGE_ROWS, LARGE_SHARE
from pyroclust.diagnostics.losses import PartitionLoss, VariationOfInformation, pairwise_loss
from pyroclust.diagnostics.point_estimates import point_estimate
from pyroclust.partitions.raw_labels import DrawsLike

_MAX_PAIRS = 100_000
# Of a log joint density in nats, and of entropies and distances in bits; the rest is rounding.
_DIGITS, _DIGITS_OF_BITS = 6, 9

_WORDS = {
    "num_clusters": "number of clusters",
    "entropy": "entropy",
    "largest_share": "largest cluster's share",
    "distance": "distance to a likely partition",
    "distance_to_reference": "distance to the estimate",
    "together": "points 1 and 2 together",
    "pairs": "pairs together",
    "neighbours": "neighbours together",
    "log_prob": "log q",
    "log_joint": "log joint",
    "log_joint_with_parameters": "log joint with the parameters",
}


def shares(assignments: np.ndarray, *, row_weights: np.ndarray | None = None) -> np.ndarray:
    """Return the share of the rows in each cluster, 0 for labels that a partition lacks."""
    width = int(assignments.max()) + 1
    flat = assignments.reshape(-1, assignments.shape[-1])
    rows = assignments.shape[-1] if row_weights is None else row_weights.sum()
    return cluster_sums(flat, row_weights, width).reshape(*assignments.shape[:-1], width) / rows


def least_rows(num_rows: int) -> int:
    """Return the rows from which on a cluster is a large one."""
    return max(LARGE_ROWS, math.ceil(LARGE_SHARE * num_rows))


def num_large_clusters(assignments: np.ndarray, *, row_weights: np.ndarray | None = None) -> np.ndarray:
    """Return the number of clusters that are no single rows, nor hold fewer than one in a hundred."""
    num_rows = assignments.shape[-1] if row_weights is None else int(row_weights.sum())
    # Shares are rounded.
    return (shares(assignments, row_weights=row_weights) * num_rows > least_rows(num_rows) - 0.5).sum(-1)


def cluster_share_entropy(share: np.ndarray) -> np.ndarray:
    r"""Return the entropy of cluster shares in bits, :math:`-\sum_k s_k \log_2 s_k`."""
    return -(share * np.log2(share, out=np.zeros_like(share), where=share > 0)).sum(-1) + 0.0


def pairs_together(assignments: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return 1 where the two points of a pair share a cluster, and 0 elsewhere."""
    first, second = np.asarray(pairs).T
    return (assignments[..., first] == assignments[..., second]).astype(np.float64)


def functional_name(name: str) -> str:
    """Write the name of a functional for people; unknown names stay as they are."""
    pair = name.removeprefix("together_").split("_")
    if name.startswith("together_") and len(pair) == 2 and all(point.isdigit() for point in pair):
        return f"points {int(pair[0]) + 1} and {int(pair[1]) + 1} together"
    return _WORDS.get(name, name)


def functionals(
    draws: DrawsLike,
    *,
    seed: int = 0,
    reference: np.ndarray | None = None,
    num_pairs: int = 5,
    row_weights: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """Return the functionals on which convergence is judged, each ``(chains, draws)``.

    ``num_clusters``; ``entropy`` of the cluster shares, in bits; ``largest_share``;
    ``distance_to_reference``, the variation of information to a reference partition, in bits; and
    ``together_i_j``, 1 where the points i and j share a cluster, for random pairs. Callers with a model add
    ``log_joint``.

    Args:
        draws: ``(chains, draws, N)`` or ``(S, N)``.
        seed: of the pairs, and of the reference where none is given.
        reference: labels to measure distances from, ``(N,)``; the point estimate of the draws by default.
        num_pairs: how many pairs of points; fewer where the points have fewer pairs.
        row_weights: how many equal rows each point stands for, ``(N,)``; one by default.

    Example:
        >>> values = functionals(np.array([[[0, 0, 1, 1], [0, 0, 0, 0]]]))
        >>> values["num_clusters"].tolist(), values["entropy"].tolist()
        ([[2.0, 1.0]], [[1.0, 0.0]])
    """
    draws = as_chains(draws)
    num_pairs = check_count("num_pairs", num_pairs, at_least=0, at_most=_MAX_PAIRS)
    row_weights = checked_row_weights(row_weights, draws.shape[-1])
    if reference is None:
        reference = point_estimate(draws, seed=seed, row_weights=row_weights)
    share = shares(draws, row_weights=row_weights)
    values = {
        "num_clusters": (share > 0).sum(-1).astype(np.float64),
        "entropy": bits_without_rounding(cluster_share_entropy(share)),
        "largest_share": share.max(-1),
        "distance_to_reference": bits_without_rounding(
            VariationOfInformation()(draws, reference, row_weights=row_weights)
        ),
    }
    pairs = _pairs(draws.shape[-1], num_pairs, seed)
    together = pairs_together(draws, pairs)
    names = (f"together_{i}_{j}" for i, j in pairs)
    return values | {name: together[..., place] for place, name in enumerate(names)}


def _pairs(num_points: int, num_pairs: int, seed: int) -> np.ndarray:
    if num_points < 2:
        return np.empty((0, 2), dtype=np.int64)
    rng = np.random.default_rng(check_seed(seed))
    # Enough tries to find as many different pairs as there are, or as are wanted.
    tries = np.sort(rng.integers(num_points, size=(20 * num_pairs, 2)), axis=1)
    tries = tries[tries[:, 0] < tries[:, 1]]
    _, first = np.unique(tries, axis=0, return_index=True)
    return tries[np.sort(first)[:num_pairs]]


@dataclass(frozen=True)
class Convergence:
    """How well chains agree on one functional.

    Attributes:
        name: of the functional.
        mean: over all draws, in the functional's unit.
        sd: standard deviation over all draws.
        rhat: split rank-normalised R-hat; nan where undefined (constant, or fewer than four draws).
        ess_bulk: effective draws for the centre; nan where undefined.
        ess_tail: effective draws for the 5 % and 95 % quantiles, the fewer; nan where undefined.
        constant: whether every draw has the same value: R-hat and ESS then say nothing.
    """

    name: str
    mean: float
    sd: float
    rhat: float
    ess_bulk: float
    ess_tail: float
    constant: bool

    @property
    def is_good(self) -> bool:
        """Whether R-hat is at most 1.01; not where it is undefined."""
        return bool(self.rhat <= GOOD_RHAT)


def rhat(x: np.ndarray) -> float:
    """Return the split rank-normalised R-hat of chains ``(chains, draws)``: 1 at convergence.

    nan for a constant, fewer than four draws a chain, or halves that each stand still; inf for chains that
    each stand still at different values.

    References:
        Vehtari et al. (2021), Rank-normalization, folding, and localization.
        https://doi.org/10.1214/20-BA1221

    Example:
        >>> rhat(np.random.default_rng(0).standard_normal((4, 500))) < 1.01
        True
    """
    x = _checked(x)
    return float(rhats_and_ess((x / overflow_scale(x))[..., None])[0][0])


def ess(x: np.ndarray) -> float:
    """Return the bulk effective sample size of chains ``(chains, draws)``; nan where it is undefined.

    Example:
        >>> ess(np.random.default_rng(0).standard_normal((4, 500))) > 1500
        True
    """
    x = _checked(x)
    return float(rhats_and_ess((x / overflow_scale(x))[..., None])[1][0])


def rhats_and_ess(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return :func:`rhat` and :func:`ess` of many functionals at once."""
    undefined, still = _undefined(x), (x == x[:, :1]).all((0, 1))
    ratios = np.where(still & ~undefined, np.inf, np.nan)
    effective = np.full(x.shape[-1], np.nan)
    if not undefined.all():
        halves = _halves(x[..., ~undefined])
        scores = normal_scores(halves)
        effective[~undefined] = _effective(scores)
        moving = ~still[~undefined]
        if moving.any():
            halves = halves[..., moving]
            folded = normal_scores(np.abs(halves - np.median(halves, axis=(0, 1))))
            # The folded part is nan where deviations from the median are constant, as for a fair coin.
            both = (_ratio(part, is_one_chain=len(x) == 1) for part in (scores[..., moving], folded))
            ratios[~undefined & ~still] = np.fmax(*both)
    return ratios, effective


def convergence(values: Mapping[str, np.ndarray]) -> tuple[Convergence, ...]:
    """Return one row of convergence figures a functional, from chains ``(chains, draws)`` by name.

    Raises:
        ValueError: if one of the functionals is not a finite matrix.

    Example:
        >>> convergence({"num_clusters": np.full((4, 100), 3.0)})[0].constant
        True
    """
    if not isinstance(values, Mapping):
        raise ValueError(
            f"values is of type {type(values).__name__}, expected a dictionary of (chains, draws): give "
            '{"x": x} for one functional'
        )
    return tuple(_row(name, _checked(x, name=str(name))) for name, x in values.items())


def max_rhat(rows: Sequence[Convergence]) -> float:
    """Return the largest R-hat of the functionals that vary; 1 when none does, inf where one is undefined."""
    found = [row.rhat for row in rows if not row.constant]
    return max((math.inf if math.isnan(value) else value for value in found), default=1.0)


def min_ess(rows: Sequence[Convergence]) -> float:
    """Return the fewest bulk effective draws of the functionals that vary; inf when none does."""
    found = [row.ess_bulk for row in rows if not row.constant]
    return min((0.0 if math.isnan(value) else value for value in found), default=math.inf)


def have_converged_well(rows: Sequence[Convergence]) -> bool:
    """Return whether all functionals that vary have R-hat at most 1.01 and 400 effective draws or more."""
    return max_rhat(rows) <= GOOD_RHAT and min_ess(rows) >= GOOD_ESS


def can_converge_well(num_draws: int) -> bool:
    """Return whether so many draws can be 400 effective ones, which :func:`have_converged_well` asks for."""
    return num_draws >= GOOD_ESS


def normal_scores(x: np.ndarray) -> np.ndarray:
    """Replace numbers by the normal quantiles of their ranks; equal ones share the mean of their ranks."""
    flat = x.reshape(-1, x.shape[-1])
    ranks = np.empty(flat.shape)
    # A quarter of the time of scipy's rankdata.
    for column, rank in zip(flat.T, ranks.T, strict=True):
        order = column.argsort()
        rising = column[order]
        first = np.flatnonzero(np.r_[True, rising[1:] != rising[:-1]])
        size = np.diff(first, append=len(flat))
        rank[order] = np.repeat(first + (size + 1) / 2, size)
    return ndtri((ranks - 0.375) / (len(flat) + 0.25)).reshape(x.shape)


def _halves(x: np.ndarray) -> np.ndarray:
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, -half:]])


def _ratio(x: np.ndarray, *, is_one_chain: bool) -> np.ndarray:
    with np.errstate(all="ignore"):
        within, between = x.var(1, ddof=1).mean(0), x.mean(1).var(0, ddof=1)
        ratio = np.sqrt(between / within + (x.shape[1] - 1) / x.shape[1])
    return np.where(within > 0, ratio, np.nan) if is_one_chain else ratio


def _effective(x: np.ndarray) -> np.ndarray:
    """Return effective draws of the means of functionals, by Geyer's initial monotone sequences."""
    chains, draws, _ = x.shape
    length = 1 << (2 * draws - 1).bit_length()
    power = (np.abs(np.fft.rfft(x - x.mean(1, keepdims=True), length, axis=1)) ** 2).mean(0)
    covariance = np.fft.irfft(power, length, axis=0)[:draws] / draws
    variance = covariance[0] * draws / (draws - 1)
    total = covariance[0] + (x.mean(1).var(0, ddof=1) if chains > 1 else 0.0)
    with np.errstate(all="ignore"):
        correlation = 1 - (variance - covariance) / total
    correlation[0] = 1.0
    pairs = correlation[: draws // 2 * 2].reshape(-1, 2, x.shape[-1]).sum(1)
    # The sums of pairs that count are those before the first that is not positive; of that one, or of the
    # last, the even lag counts where it is positive, and in the last one always.
    last = max(0, (draws - 3) // 2)
    stops = pairs[: last + 1] <= 0
    stops[last] = True
    stop, every = stops.argmax(0), np.arange(x.shape[-1])
    even = correlation[2 * stop, every]
    even = np.where((even > 0) | (pairs[stop, every] >= 0), even, 0.0)
    falling = np.minimum.accumulate(pairs[: last + 1])
    counted = np.where(np.arange(last + 1)[:, None] < stop, falling, 0.0).sum(0)
    size = chains * draws
    found = size / np.maximum(2 * counted + even - 1, 1 / np.log10(size))
    return np.where(np.ptp(x, axis=(0, 1)) < np.finfo(float).resolution, size, found)


def _row(name: str, x: np.ndarray) -> Convergence:
    unit = overflow_scale(x)
    x = x / unit
    ratio, bulk = rhats_and_ess(x[..., None])
    tail = float("nan")
    if not _undefined(x[..., None])[0]:
        beyond = x[..., None] <= np.quantile(x, (0.05, 0.95))
        tail = float(_effective(_halves(beyond.astype(np.float64))).min())
    constant = bool((x == x.flat[0]).all())
    mean, sd = (unit * float(one) for one in (x.mean(), x.std()))
    return Convergence(name, mean, sd, float(ratio[0]), float(bulk[0]), tail, constant)


def _checked(x: np.ndarray, *, name: str = "x") -> np.ndarray:
    x = as_finite(name, x)
    if x.ndim != 2 or x.size == 0:
        raise ValueError(f"{name} has shape {x.shape}, expected (chains, draws)")
    return x


def _undefined(x: np.ndarray) -> np.ndarray:
    return (x.shape[1] < 4) | (x == x[:1, :1]).all((0, 1))


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
    return convergence(values | {name: without_rounding(log_joint)})


def without_rounding(log_joint: np.ndarray) -> np.ndarray:
    """Return log densities without the digits in which sums of one partition differ: ranks see them."""
    return np.asarray(log_joint, dtype=np.float64).round(_DIGITS)


def bits_without_rounding(bits: np.ndarray) -> np.ndarray:
    """Return entropies or distances without the digits that depend on the order of the clusters."""
    return bits.round(_DIGITS_OF_BITS)


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
    distances = bits_without_rounding(distances).T.reshape(chains, length, num_references)
    found, effective = rhats_and_ess(distances)
    varies = ~(distances == distances[:1, :1]).all((0, 1))
    undefined_is_worst = np.nan_to_num(found[varies], nan=np.inf, posinf=np.inf)
    return DistanceRhat(references, found, effective, float(undefined_is_worst.max(initial=1.0)))
