"""Ranks of true values among posterior draws, the raw material of simulation-based calibration."""

import numpy as np

__all__ = ["rank_counts", "rank_statistics"]


def rank_statistics(truth: np.ndarray, draws: np.ndarray, *, seed: int) -> np.ndarray:
    r"""Return the rank of each true value among its draws, ties broken at random.

    .. math:: r = \sum_s 1[f_s < f] + u, \qquad u \sim U\{0, \ldots, \sum_s 1[f_s = f]\}

    If the truth is one more draw from the same distribution, ranks are uniform on 0, ..., S: with discrete
    functionals too, thanks to the random part. Cost O(S B).

    Shape:
        truth: ``(B,)``; draws: ``(S, B)``; output: ``(B,)`` int64.

    Args:
        truth: functional of the simulated partition of each data set.
        draws: the same functional of its posterior draws.
        seed: of the ties.

    Raises:
        ValueError: if the shapes do not fit, or a value is nan.

    References:
        Talts et al. (2018), Validating Bayesian inference algorithms with simulation-based calibration.
        https://arxiv.org/abs/1804.06788

    Example:
        >>> rank_statistics(np.array([0.5, 9.0]), np.array([[0.0, 1.0], [1.0, 2.0]]), seed=0).tolist()
        [1, 2]
    """
    truth, draws = np.asarray(truth), np.asarray(draws)
    if truth.ndim != 1 or draws.ndim != 2 or draws.shape[1:] != truth.shape:
        raise ValueError(
            f"truth and draws have shapes {truth.shape} and {draws.shape}, expected (B,) and (S, B)"
        )
    if np.isnan(truth).any() or np.isnan(draws).any():
        raise ValueError("truth or draws hold nan, expected numbers that can be ranked")
    ties = (draws == truth).sum(0)
    return (draws < truth).sum(0) + np.random.default_rng(seed).integers(ties + 1)


def rank_counts(ranks: np.ndarray, *, num_draws: int, num_bins: int) -> np.ndarray:
    """Count ranks in equal bins of 0, ..., S.

    Shape:
        ranks: any shape, integers; output: ``(num_bins,)`` int64.

    Args:
        ranks: from :func:`rank_statistics`.
        num_draws: S; one less than a multiple of ``num_bins``.
        num_bins: how many bins.

    Raises:
        ValueError: if the bins would not be equal, or a rank lies outside 0, ..., S.

    Example:
        >>> rank_counts(np.array([0, 1, 4, 9]), num_draws=9, num_bins=5).tolist()
        [2, 0, 1, 0, 1]
    """
    if num_bins < 1 or (num_draws + 1) % num_bins:
        raise ValueError(
            f"num_bins is {num_bins}, expected a divisor of the {num_draws + 1} possible ranks: "
            "bins must be equally probable"
        )
    ranks = np.ravel(ranks)
    if ranks.size and not (ranks.min() >= 0 and ranks.max() <= num_draws):
        raise ValueError(f"ranks run from {ranks.min()} to {ranks.max()}, expected 0 to {num_draws}")
    return np.bincount(ranks.astype(np.int64) * num_bins // (num_draws + 1), minlength=num_bins)
