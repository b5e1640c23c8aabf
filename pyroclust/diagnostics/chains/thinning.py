"""Draws that can be taken as independent: thinned where they are autocorrelated, resampled where weighted."""

import math
from dataclasses import dataclass

import numpy as np

from pyroclust.core.counts import check_seed
from pyroclust.diagnostics.chains.convergence import rhats_and_ess
from pyroclust.diagnostics.chains.functionals import functionals
from pyroclust.diagnostics.chains.partition_convergence import distance_rhat
from pyroclust.diagnostics.draws.labels import as_chains, checked_weights, flatten, labels_and_weights
from pyroclust.diagnostics.draws.losses import pairwise_loss
from pyroclust.diagnostics.weights.importance import effective_draws
from pyroclust.partitions.raw_labels import DrawsLike

__all__ = ["Mixing", "central_draw", "independent_draws", "mixing"]

MAX_TEST_DRAWS = 500
MIN_TEST_DRAWS = 20
# One draw in two effective ones: an autoregression thinned to its effective size still has a correlation of
# exp(-2) between neighbours, which makes permutation tests reject too often; at half of it exp(-4).
SPACING = 2.0
# Share of the total weight that may be cut off so that no draw has to be taken twice.
MAX_CUT_WEIGHT = 0.02
_MAX_CENTRE_DRAWS = 200


@dataclass(frozen=True)
class Mixing:
    """How well a source of draws has mixed.

    Attributes:
        effective: how many independent draws it is worth, in [0, S]; 0 where too few draws say nothing.
        max_rhat: largest R-hat over the functionals and distances that vary; 1 where weights are given, as
            such draws are taken as independent, and where nothing varies.
        constant: whether all draws are the same partition.
    """

    effective: float
    max_rhat: float
    constant: bool


def mixing(draws: DrawsLike, *, seed: int, weights: np.ndarray | None = None) -> Mixing:
    """Return how many independent draws a source is worth, and whether its chains agree.

    Without weights the fewest bulk effective draws over :func:`functionals` and over the distances of
    :func:`distance_rhat`, at most the number of draws, and this number where nothing varies. With weights
    the draws are taken as independent ones of another distribution, worth one over the sum of the squared
    weights.

    Cost: some 17 effective sample sizes and R-hats, each a few sorts and Fourier transforms of the chains.

    Shape:
        draws: ``(chains, draws, N)`` or ``(S, N)``; weights: S entries.

    Args:
        draws: posterior draws.
        seed: of the pairs and reference partitions.
        weights: importance weights; equal by default.

    Raises:
        ValueError: if the labels are not integers from 0 to N - 1, or the weights do not fit.

    Example:
        >>> draws = np.random.default_rng(0).integers(2, size=(4, 100, 5))
        >>> slow = np.repeat(draws, 10, axis=1)
        >>> mixing(draws, seed=0).effective > 200, mixing(slow, seed=0).effective < 800
        (True, True)
    """
    draws, weights = labels_and_weights("draws", draws, weights)
    draws = as_chains(draws)
    total = math.prod(draws.shape[:2])
    constant = bool((draws == draws[:1, :1]).all())
    if weights is not None:
        return Mixing(effective_draws(checked_weights(weights, total)), 1.0, constant)
    values = functionals(draws, seed=seed, reference=central_draw(draws))
    stacked = np.stack(list(values.values()), axis=-1)
    moving = stacked[..., ~(stacked == stacked[:1, :1]).all((0, 1))]
    distances = distance_rhat(draws, seed=seed)
    ratios, effective = rhats_and_ess(moving)
    fewest = np.nan_to_num(effective, nan=0.0).min(initial=float(total))
    largest = np.nan_to_num(ratios, nan=np.inf, posinf=np.inf).max(initial=1.0)
    return Mixing(min(float(fewest), distances.min_ess), max(float(largest), distances.rhat), constant)


def central_draw(draws: DrawsLike, *, row_weights: np.ndarray | None = None) -> np.ndarray:
    """Return the draw with the smallest summed variation of information to the others.

    Taken among, and measured against, 200 draws spread evenly over the chains: a reference, not an estimate.

    Shape:
        draws: ``(chains, draws, N)`` or ``(S, N)``; row_weights: ``(N,)``; output: ``(N,)``.

    Raises:
        ValueError: if the labels are not integers from 0 to N - 1.

    Example:
        >>> central_draw(np.array([[0, 0, 1], [0, 0, 1], [0, 1, 2]])).tolist()
        [0, 0, 1]
    """
    few = _spread(flatten(draws), _MAX_CENTRE_DRAWS)
    return few[pairwise_loss(few, few, row_weights=row_weights).sum(0).argmin()]


def independent_draws(
    draws: DrawsLike, *, seed: int, effective: float, weights: np.ndarray | None = None
) -> np.ndarray:
    r"""Return draws of a source that can be taken as independent and equally weighted, at most 500.

    Without weights, every so many draws such that half as many stay as are effective (and at least 20, where
    there are that many: with fewer than 40 effective draws what is returned is still autocorrelated).

    With weights, n draws by systematic sampling with inclusion probabilities :math:`\min(1, n w_s)`: no draw
    comes twice, and n is the largest number, up to the effective draws, for which at most 2 % of the weight
    is cut off.

    Shape:
        draws: ``(chains, draws, N)`` or ``(S, N)``; weights: S entries; output: ``(n, N)``.

    Args:
        draws: posterior draws.
        seed: of the systematic sampling.
        effective: how many independent draws they are worth, from :func:`mixing`.
        weights: importance weights; equal by default.

    Raises:
        ValueError: if the labels are not integers from 0 to N - 1, or the weights do not fit.

    References:
        Ionides (2008), Truncated importance sampling. https://doi.org/10.1198/106186008X320456

    Example:
        >>> draws = np.arange(100)[:, None] * np.zeros((1, 3), dtype=int)
        >>> independent_draws(draws, seed=0, effective=60.0).shape
        (30, 3)
    """
    draws, weights = labels_and_weights("draws", draws, weights)
    flat = flatten(draws)
    if weights is None:
        wanted = max(MIN_TEST_DRAWS, int(effective / SPACING))
        return _spread(flat, min(wanted, MAX_TEST_DRAWS))
    share = checked_weights(weights, len(flat))
    return flat[_systematic(share, _uncut(share, effective), seed)]


def _spread(flat: np.ndarray, wanted: int) -> np.ndarray:
    wanted = min(wanted, len(flat))
    return flat[((np.arange(wanted) + 0.5) * len(flat) / wanted).astype(np.int64)]


def _uncut(share: np.ndarray, effective: float) -> int:
    sizes = np.arange(1, max(1, min(int(effective), MAX_TEST_DRAWS)) + 1)
    largest_first = np.sort(share)[::-1]
    mass = np.concatenate([[0.0], np.cumsum(largest_first)])
    above = np.searchsorted(-largest_first, -1 / sizes)
    return int(sizes[mass[above] - above / sizes <= MAX_CUT_WEIGHT][-1])


def _systematic(share: np.ndarray, size: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(check_seed(seed))
    order = rng.permutation(len(share))
    edges = np.cumsum(np.minimum(share * size, 1.0)[order])
    # A little less than the last edge, so that rounding cannot ask for a draw beyond it.
    ticks = np.arange(rng.random(), edges[-1] * (1 - 1e-12), 1.0)
    return order[np.searchsorted(edges, ticks, side="right")]
