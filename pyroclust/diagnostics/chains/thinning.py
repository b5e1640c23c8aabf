"""Draws that can be taken as independent: thinned where they are autocorrelated, resampled where weighted."""

import math
from dataclasses import dataclass

import numpy as np

from pyroclust.core.numbers import check_seed
from pyroclust.diagnostics.chains.convergence import rhats_and_ess
from pyroclust.diagnostics.chains.functionals import functionals
from pyroclust.diagnostics.chains.partition_convergence import distance_rhat
from pyroclust.diagnostics.draws.labels import as_chains, checked_weights, flatten, labels_and_weights
from pyroclust.diagnostics.draws.losses import pairwise_loss
from pyroclust.diagnostics.weights.importance import effective_draws
from pyroclust.partitions.raw_labels import DrawsLike

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
    """How well a source of draws has mixed."""

    effective: float
    max_rhat: float
    constant: bool


def mixing(
    draws: DrawsLike, *, seed: int, weights: np.ndarray | None = None, row_weights: np.ndarray | None = None
) -> Mixing:
    """Return how many independent draws a source is worth, and whether its chains agree."""
    draws, weights = labels_and_weights("draws", draws, weights)
    draws = as_chains(draws)
    total = math.prod(draws.shape[:2])
    constant = bool((draws == draws[:1, :1]).all())
    if weights is not None:
        return Mixing(effective_draws(checked_weights(weights, total)), 1.0, constant)
    reference = central_draw(draws, row_weights=row_weights)
    values = functionals(draws, seed=seed, reference=reference, row_weights=row_weights)
    stacked = np.stack(list(values.values()), axis=-1)
    moving = stacked[..., ~(stacked == stacked[:1, :1]).all((0, 1))]
    distances = distance_rhat(draws, seed=seed, row_weights=row_weights)
    ratios, effective = rhats_and_ess(moving)
    fewest = np.nan_to_num(effective, nan=0.0).min(initial=float(total))
    largest = np.nan_to_num(ratios, nan=np.inf, posinf=np.inf).max(initial=1.0)
    return Mixing(min(float(fewest), distances.min_ess), max(float(largest), distances.rhat), constant)


def central_draw(draws: DrawsLike, *, row_weights: np.ndarray | None = None) -> np.ndarray:
    """Return the draw with the smallest summed variation of information to the others."""
    few = _spread(flatten(draws), _MAX_CENTRE_DRAWS)
    return few[pairwise_loss(few, few, row_weights=row_weights).sum(0).argmin()]


def independent_draws(
    draws: DrawsLike, *, seed: int, effective: float, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return draws of a source that can be taken as independent and equally weighted, at most 500."""
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
