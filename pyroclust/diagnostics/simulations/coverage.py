"""Coverage of credible balls: how often the ball around the draws' centre contains the truth."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pyroclust.core.numbers import as_finite, check_count, check_seed
from pyroclust.diagnostics.draws.labels import checked_labels
from pyroclust.diagnostics.draws.losses import pairwise_loss
from pyroclust.diagnostics.simulations.sbc import rank_statistics
from pyroclust.diagnostics.simulations.uniformity import ecdf_test, goodness_of_fit, threshold_band

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
