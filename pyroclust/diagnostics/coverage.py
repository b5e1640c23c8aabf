"""Do credible balls hold the truth as often as they say, and pairs share a cluster as often?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from pyroclust.core.compiling import compiled
from pyroclust.core.numbers import as_finite, check_count, check_number, check_seed
from pyroclust.diagnostics.labels import checked_labels
from pyroclust.diagnostics.losses import pairwise_loss
from pyroclust.diagnostics.ranks import ecdf_test, goodness_of_fit, rank_statistics, threshold_band

_LEVELS = tuple(round(0.05 * step, 2) for step in range(1, 20))
# Distances nearer than this tie: the same sum may be rounded differently.
_DECIMALS = 9


@dataclass(frozen=True)
class BallCoverage:
    """Nominal against observed coverage of credible balls.

    Attributes:
        levels: nominal, ``(L,)``.
        observed: share of the data sets whose ball of that level contains the truth, ``(L,)``.
        low: lower limit of the band that holds all observed shares of exact posteriors together, ``(L,)``.
        high: upper limit of that band, ``(L,)``.
        num_datasets: B.
        num_draws: S.
        ranks: of the truth's distance to the centre among the draws', 0 (nearest), ..., S, ``(B,)``.
        p_value: that observed coverage is nominal: distribution function and chi-square, by Bonferroni.
        band_level: probability of the band.
    """

    levels: np.ndarray
    observed: np.ndarray
    low: np.ndarray
    high: np.ndarray
    num_datasets: int
    num_draws: int
    ranks: np.ndarray
    p_value: float
    band_level: float

    def __repr__(self) -> str:
        size = f"{self.num_datasets} data sets, {self.num_draws} draws each"
        return f"BallCoverage({size}: p = {self.p_value:.2g})"


def ball_coverage(
    truth: np.ndarray,
    draws: np.ndarray,
    *,
    seed: int,
    levels: Sequence[float] | np.ndarray = _LEVELS,
    band_level: float = 0.95,
    num_candidates: int = 100,
) -> BallCoverage:
    r"""Say for each data set and level whether the credible ball of the draws contains the truth.

    The ball's centre is a medoid under the variation of information, of the draws *and* the truth, and a ball
    of level l holds the share l of them:

    .. math::
        c_0 = c,\quad m = \arg\min_{c_j} \sum_{i=0}^S VI(c_j, c_i),\quad
        u = \frac{\#\{s: d_s < d_0\} + T + U}{S + 1},\quad d_s = VI(c_s, m),\quad
        \text{covered at } l \iff u \le l

    with T uniform on 0, ..., the number of draws at the truth's distance, and U uniform on (0, 1).

    *Exactness.* If the truth is one more draw, c_0, ..., c_S are exchangeable given the data. Centre,
    distances and ranks are functions of their shuffled sequence, made without knowing which is the truth: its
    rank is uniform on 0, ..., S, for any S, and however often partitions repeat. A centre of the draws alone
    would not do: the draws would lie nearer to it than the truth does.

    Cost O(B S min(S, num_candidates) N) in compiled code.

    Args:
        truth: the partition that each data set was simulated from, ``(B, N)`` labels 0 to N - 1.
        draws: posterior draws of each data set, ``(S, B, N)``.
        seed: of shuffles and ties.
        levels: nominal levels, rising between 0 and 1.
        band_level: probability of the band.
        num_candidates: partitions that may become the centre.

    Raises:
        ValueError: if shapes or labels do not fit, or the levels do not rise between 0 and 1.

    References:
        Wade and Ghahramani (2018), Bayesian cluster analysis: point estimation and credible balls.
        https://doi.org/10.1214/17-BA1073

    Example:
        >>> rng = np.random.default_rng(0)
        >>> partitions = rng.integers(2, size=(100, 400, 5))
        >>> found = ball_coverage(partitions[0], partitions[1:], seed=0, levels=[0.5, 0.9])
        >>> bool((found.low <= found.observed).all() and (found.observed <= found.high).all())
        True
    """
    every = truth_and_draws(truth, draws)
    num_candidates = check_count("num_candidates", num_candidates)
    num_draws, num_datasets = len(every) - 1, every.shape[1]
    grid = as_finite("levels", levels)
    if grid.ndim != 1 or not len(grid) or not (np.diff(grid, prepend=0, append=1) > 0).all():
        raise ValueError(f"levels has shape {grid.shape}, expected (L,) of rising numbers between 0 and 1")
    low, high = threshold_band(num_datasets, grid, level=band_level)
    order, ties, within = (int(one) for one in np.random.SeedSequence(check_seed(seed)).generate_state(3))
    distances = _distances_to_centre(every, num_candidates, order)
    ranks = rank_statistics(distances[0], distances[1:], seed=ties)
    places = (ranks + np.random.default_rng(check_seed(within)).random(num_datasets)) / (num_draws + 1)
    below = (places[:, None] <= grid).sum(0)
    return BallCoverage(
        levels=grid,
        observed=below / num_datasets,
        low=low,
        high=high,
        num_datasets=num_datasets,
        num_draws=num_draws,
        ranks=ranks,
        p_value=_p_value(below, grid, num_datasets),
        band_level=band_level,
    )


def truth_and_draws(truth: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Put true partitions before their draws, ``(S + 1, B, N)`` int64, after checking both."""
    truth, draws = checked_labels("truth", truth), checked_labels("draws", draws)
    if truth.ndim != 2 or draws.ndim != 3 or draws.shape[1:] != truth.shape:
        raise ValueError(
            f"truth and draws have shapes {truth.shape} and {draws.shape}, expected (B, N) and (S, B, N)"
        )
    return np.concatenate([truth[None], draws])


def _distances_to_centre(every: np.ndarray, num_candidates: int, seed: int) -> np.ndarray:
    """Return the distances of the truth and the draws to their medoid, ``(S + 1, B)``."""
    rows = every.shape[0]
    shuffled = np.random.default_rng(check_seed(seed)).random((every.shape[1], rows)).argsort(1)
    sequence = np.take_along_axis(every.transpose(1, 0, 2), shuffled[..., None], 1)
    found = _medoid_distances(sequence, min(num_candidates, rows))
    # Back into the order of the rows: the truth first.
    back = np.empty_like(found)
    np.put_along_axis(back, shuffled, found, 1)
    return back.T.round(_DECIMALS)


def _p_value(below: np.ndarray, levels: np.ndarray, num_datasets: int) -> float:
    counts = np.diff(below, prepend=0, append=num_datasets)
    shares = np.diff(levels, prepend=0.0, append=1.0)
    ecdf = ecdf_test(below, levels, num_values=num_datasets)
    return min(1.0, 2 * min(ecdf, goodness_of_fit(counts, shares)))


def _medoid_distances(sequence: np.ndarray, num_candidates: int) -> np.ndarray:
    """Return each partition's VI to the medoid of its data set; sequence ``(B, R, N)``, output ``(B, R)``."""
    found = np.empty(sequence.shape[:2])
    for place, rows in enumerate(sequence):
        apart = pairwise_loss(rows[:num_candidates], rows)
        total = apart.sum(1)
        # Rounding must not decide between candidates that are the same partition.
        found[place] = apart[(total <= total.min() + 1e-9).argmax()]
    return found


_MAX_BINS, _MAX_SHUFFLES = 1000, 100_000


@dataclass(frozen=True)
class PairReliability:
    """Predicted against observed co-assignment, over the pairs of points of all data sets.

    Attributes:
        predicted: mean predicted probability of the pairs in each bin that has any, ``(M,)``.
        observed: share of these pairs that do share a cluster, ``(M,)``.
        low: lower limit of the band that holds all observed shares of exact posteriors together, ``(M,)``.
        high: upper limit of that band, ``(M,)``.
        counts: pairs in each bin, ``(M,)``.
        z_scores: observed minus predicted over its standard deviation, ``(M,)``; 0 where there is none.
        brier: mean squared difference of outcomes and probabilities, these from the draws alone.
        brier_prior: the same with the base rate of the outcomes for every pair.
        ece: expected calibration error: mean over pairs of their bin's ``|observed - predicted|``.
        ece_noise: what exact posteriors would have, on average.
        p_value: that the probabilities are calibrated, all bins at once.
        num_datasets: B.
        num_draws: S.
        band_level: probability of the band.
    """

    predicted: np.ndarray
    observed: np.ndarray
    low: np.ndarray
    high: np.ndarray
    counts: np.ndarray
    z_scores: np.ndarray
    brier: float
    brier_prior: float
    ece: float
    ece_noise: float
    p_value: float
    num_datasets: int
    num_draws: int
    band_level: float

    def __repr__(self) -> str:
        size = f"{self.num_datasets} data sets, {self.num_draws} draws each"
        return f"PairReliability({size}: p = {self.p_value:.2g}, calibration error {self.ece:.4f})"


def pair_reliability(
    truth: np.ndarray,
    draws: np.ndarray,
    *,
    num_bins: int = 10,
    seed: int = 0,
    band_level: float = 0.95,
    num_shuffles: int = 999,
) -> PairReliability:
    r"""Compare the probabilities that two points share a cluster with how often they do.

    .. math::
        p_{ij} = \frac{1}{S + 1} \sum_{s=0}^S o^{(s)}_{ij},\quad o^{(s)}_{ij} = 1[c_{s,i} = c_{s,j}],\quad
        c_0 = c, \qquad R_{sbm} = \sum_{ij \in \text{bin } m} (o^{(s)}_{ij} - p_{ij})

    *Exactness.* Probabilities are shares among the draws *and* the truth. If the truth is one more draw, each
    of the S + 1 partitions of a data set is the truth with the same probability: the outcome has the mean p
    exactly, and the truth's deviation in a bin is a uniform choice among :math:`R_{0bm}, \ldots, R_{Sbm}`.
    Covariances C of the bins are sums over data sets of those of these choices. The truth's role is given to
    random partitions, and the p-value is the rank of the deviations among theirs, measured by the smaller
    chi-square tail of :math:`R^\top C^{-1} R` over all bins and over their intercept and slope alone.

    Cost O(B S N^2) in compiled code.

    Args:
        truth: the partition that each data set was simulated from, ``(B, N)`` labels 0 to N - 1.
        draws: posterior draws of each data set, ``(S, B, N)``.
        num_bins: equal bins of probabilities; bins without pairs are left out.
        seed: of the random partitions that take the truth's role.
        band_level: probability of the band.
        num_shuffles: how often; the smallest p-value is 1 / (num_shuffles + 1).

    Raises:
        ValueError: if shapes or labels do not fit, there are fewer than two points, or a number is not
            positive.

    References:
        Bröcker and Smith (2007), Increasing the reliability of reliability diagrams.
        https://doi.org/10.1175/WAF993.1

    Example:
        >>> rng = np.random.default_rng(0)
        >>> partitions = rng.integers(2, size=(100, 50, 8))
        >>> found = pair_reliability(partitions[0], partitions[1:])
        >>> bool((found.low <= found.observed).all() and (found.observed <= found.high).all())
        True
    """
    every = truth_and_draws(truth, draws)
    if every.shape[2] < 2:
        raise ValueError(f"truth has shape {every.shape[1:]}, expected (B, N) with at least two points")
    num_bins = check_count("num_bins", num_bins, at_most=_MAX_BINS)
    num_shuffles = check_count("num_shuffles", num_shuffles, at_most=_MAX_SHUFFLES)
    band_level = check_number("band_level", band_level, above=0, below=1)
    residual, mass, true, pairs, brier = _residuals(np.ascontiguousarray(every.transpose(1, 2, 0)), num_bins)
    used = pairs > 0
    residual, mass, true, pairs = residual[..., used], mass[used], true[used], pairs[used]
    chosen = np.random.default_rng(check_seed(seed)).integers(len(every), size=(num_shuffles, every.shape[1]))
    sums, null = residual[:, 0].sum(0), _chosen_sums(residual, chosen)
    covariance = np.einsum("bsm,bsn->mn", residual, residual) / len(every)
    spread = np.sqrt(covariance.diagonal())
    z_scores, null_scores = _scores(sums, spread), _scores(null, spread)
    widest = np.quantile(np.abs(null_scores).max(-1), band_level, method="higher")
    # On the edge is inside, whatever the rounding.
    reach = widest * (1 + 1e-9) * spread / pairs
    predicted, observed, total = mass / pairs, true / pairs, pairs.sum()
    rate = float(true.sum() / total)
    return PairReliability(
        predicted=predicted,
        observed=observed,
        low=np.clip(predicted - reach, 0, 1),
        high=np.clip(predicted + reach, 0, 1),
        counts=pairs,
        z_scores=z_scores,
        brier=brier / float(total),
        brier_prior=rate * (1 - rate),
        ece=float(np.abs(sums).sum() / total),
        ece_noise=float(np.abs(null).sum(-1).mean() / total),
        p_value=_reliability_p_value(sums, null, covariance, predicted),
        num_datasets=every.shape[1],
        num_draws=len(every) - 1,
        band_level=band_level,
    )


def _scores(sums: np.ndarray, spread: np.ndarray) -> np.ndarray:
    return np.divide(sums, spread, out=np.zeros_like(sums), where=spread > 0)


def _reliability_p_value(
    own: np.ndarray, null: np.ndarray, covariance: np.ndarray, predicted: np.ndarray
) -> float:
    """Rank the deviations among the shuffled ones: all bins, and intercept and slope over the bins."""
    every = np.vstack([own, null])
    lines = np.stack([np.ones_like(predicted), predicted - predicted.mean()], 1)
    tails = np.minimum(_log_tails(every, covariance), _log_tails(every @ lines, lines.T @ covariance @ lines))
    return float((tails <= tails[0] + 1e-9).mean())


def _log_tails(sums: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return log chi-square tail probabilities of the squared lengths in the metric of the covariance."""
    spread = np.sqrt(np.maximum(covariance.diagonal(), 0))
    scale = np.where(spread > 0, spread, 1.0)
    correlation = covariance / np.outer(scale, scale)
    rank = int(np.linalg.matrix_rank(correlation, rtol=1e-6, hermitian=True))
    if not rank:
        return np.zeros(len(sums))
    metric = np.linalg.pinv(correlation, rcond=1e-6, hermitian=True)
    lengths = np.einsum("rm,mn,rn->r", sums / scale, metric, sums / scale)
    return scipy.stats.chi2.logsf(np.maximum(lengths, 0), rank)


@compiled(fastmath=False)
def _residuals(
    labels: np.ndarray, num_bins: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
    """Sum deviations by data set, partition and bin; labels ``(B, N, S + 1)``, the truth first."""
    datasets, points, rows = labels.shape
    residual = np.zeros((datasets, rows, num_bins))
    mass, brier = np.zeros(num_bins), 0.0
    true, pairs = np.zeros(num_bins, dtype=np.int64), np.zeros(num_bins, dtype=np.int64)
    same = np.zeros(rows, dtype=np.int64)
    for b in range(datasets):
        for i in range(points):
            for j in range(i):
                together = 0
                for s in range(rows):
                    same[s] = labels[b, i, s] == labels[b, j, s]
                    together += same[s]
                bin_ = min(num_bins - 1, together * num_bins // rows)
                share = together / rows
                for s in range(rows):
                    residual[b, s, bin_] += same[s] - share
                mass[bin_] += share
                true[bin_] += same[0]
                pairs[bin_] += 1
                brier += (same[0] - (together - same[0]) / max(1, rows - 1)) ** 2
    return residual, mass, true, pairs, brier


@compiled(fastmath=False)
def _chosen_sums(residual: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Sum deviations over data sets, with a chosen partition of each; ``(shuffles, M)``."""
    shuffles, datasets = chosen.shape
    sums = np.zeros((shuffles, residual.shape[2]))
    for r in range(shuffles):
        for b in range(datasets):
            for m in range(residual.shape[2]):
                sums[r, m] += residual[b, chosen[r, b], m]
    return sums
