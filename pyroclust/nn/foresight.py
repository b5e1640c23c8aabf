"""What the points to come would say of a decision: how much likelier each candidate makes them."""

import math
from concurrent.futures import ThreadPoolExecutor
from functools import singledispatch
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pyroclust.compiling import compiled, lean
from pyroclust.distributions import NormalInverseGamma, NormalInverseWishart, NormalKnownVariance
from pyroclust.distributions.sequential.filter import FilterEncoding
from pyroclust.distributions.sequential.scorer import Candidates
from pyroclust.threads import num_threads

__all__ = ["NUM_FEATURES", "can_foresee", "foresee"]

NUM_FEATURES = 4
"""Numbers that describe what a candidate does to the points to come."""
_WISHART, _GAMMA, _NORMAL = range(3)
# Where every density underflows, no candidate is better than another.
_TINY = 1e-300
# Fewer densities than this are not worth a thread.
_DENSITIES_A_THREAD = 1 << 16


@singledispatch
def _packing(component: Any) -> int:
    """Return how a family packs its predictive density, -1 where that is not compiled."""
    return -1


@_packing.register
def _(component: NormalInverseWishart) -> int:
    return _WISHART


@_packing.register
def _(component: NormalInverseGamma) -> int:
    return _GAMMA


@_packing.register
def _(component: NormalKnownVariance) -> int:
    return _NORMAL


def can_foresee(component: Any) -> bool:
    """Return whether the predictive densities of a family are compiled.

    Example:
        >>> can_foresee(NormalKnownVariance(2, prior_scale=1.0, scale=1.0))
        True
    """
    return _packing(component) >= 0


@torch.no_grad()
def foresee(
    encoding: FilterEncoding, candidates: Candidates, *, references: int, skip: int = 0
) -> tuple[Tensor, Tensor]:
    r"""Describe what each candidate of a decision does to the points to come.

    .. math:: \Delta_{kj} = \log p(x_j \mid x_{\le n}, c_{<n}, c_n = k) - \log p(x_j \mid x_{<n}, c_{<n}),
        \qquad j > n

    with the exact predictive density of one point, all clusters and a new one summed over. For a single point
    to come, the exact posterior of the decision is the filter's times :math:`e^{\Delta_k}`; for many, sums of
    :math:`\Delta_{kj}` over j say too much, as these points are not independent, and a network has to learn
    how far to trust them. With P and M the sums of the positive and of the negative gains, the features are
    :math:`\operatorname{arcsinh}(P - M)`, :math:`(P - M) / \sqrt{N - n}`, :math:`\log(1 + P)` and
    :math:`\log(1 + M)`. They have no gradients.

    Cost O(R D^2) a candidate for R points that are looked at, about 40 ns each in two dimensions.

    Args:
        encoding: data sets of a family for which :func:`can_foresee` holds, without conditions.
        candidates: what there is to decide.
        references: R; where more points are to come, every k-th stands for k.
        skip: how many of the candidates' moments come before the filter's.

    Shape:
        output: of joining ``(M, 4)`` and of opening ``(Q, 4)``, float64.

    References:
        Fearnhead (2004), Particle filters for mixture models with an unknown number of components.
        https://doi.org/10.1023/B:STCO.0000009418.04621.cd
    """
    component, discount = encoding.component, float(encoding.discount)
    dataset, step, clusters = candidates.dataset, candidates.step, candidates.clusters
    counts = candidates.counts.flatten().index_select(0, candidates.place)
    moments = candidates.moments.flatten(0, 1).index_select(0, candidates.place)[:, skip:]
    own = encoding.moments[dataset, step]
    odds = torch.stack(
        [
            encoding.odds(dataset, step=step + seen, clusters=clusters + more).exp()
            for seen, more in ((0, 0), (1, 0), (1, 1))
        ],
        -1,
    )
    arrays = [
        np.ascontiguousarray(one.cpu().numpy())
        for one in (
            encoding.points,
            encoding.opening.exp(),
            dataset,
            step,
            torch.cat([clusters.new_zeros(1), clusters.cumsum(0)]),
            counts - discount,
            component.predictive_parameters(counts, moments),
            component.predictive_parameters(counts + 1, moments + own.index_select(0, candidates.decision)),
            component.predictive_parameters(own.new_ones(len(own)), own),
            odds,
        )
    ]
    found = np.empty((len(counts) + len(own), 2))
    kind = _packing(component)

    def run(first: int, last: int) -> None:
        _gains(kind, discount, references, *arrays, first, last, found)

    threads = min(num_threads(), max(1, len(counts) * references // _DENSITIES_A_THREAD))
    if threads == 1:
        run(0, len(own))
    else:
        cuts = np.linspace(0, len(own), threads + 1).astype(int).tolist()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda part: run(*part), pairwise(cuts)))
    joining, opening = torch.from_numpy(found).to(own.device).tensor_split((len(counts),))
    to_come = (encoding.points.shape[1] - 1 - step).double()
    return _features(joining, to_come.index_select(0, candidates.decision)), _features(opening, to_come)


def _features(gains: Tensor, to_come: Tensor) -> Tensor:
    """Bring gains and losses, ``(..., 2)``, to the scale of a network."""
    net = gains[..., 0] - gains[..., 1]
    return torch.cat(
        [torch.stack([net.asinh(), net / (1 + to_come).sqrt()], -1), gains.log1p()],
        -1,
    )


@lean
def _density(kind: int, points: np.ndarray, row: int, point: int, packed: np.ndarray, at: int) -> float:
    """Return the predictive density that packed parameters give to a point."""
    dim, last = points.shape[2], packed.shape[1] - 1
    total = 0.0
    if kind == _WISHART:
        for a in range(dim):
            projection = 0.0
            for b in range(a + 1):
                projection += packed[at, dim + a * dim + b] * (points[row, point, b] - packed[at, b])
            total += projection * projection
        total = math.log(1.0 + total)
    elif kind == _GAMMA:
        for a in range(dim):
            offset = points[row, point, a] - packed[at, a]
            total += math.log(1.0 + offset * offset * packed[at, dim + a])
    else:
        for a in range(dim):
            offset = points[row, point, a] - packed[at, a]
            total += offset * offset
    return math.exp(packed[at, last] - packed[at, last - 1] * total)


@lean
def _add_gain(found: np.ndarray, at: int, gain: float) -> None:
    if gain > 0.0:
        found[at, 0] += gain
    else:
        found[at, 1] -= gain


@compiled
def _gains(
    kind: int,
    discount: float,
    references: int,
    points: np.ndarray,
    apart: np.ndarray,
    dataset: np.ndarray,
    step: np.ndarray,
    starts: np.ndarray,
    weights: np.ndarray,
    now: np.ndarray,
    grown: np.ndarray,
    alone: np.ndarray,
    odds: np.ndarray,
    first: int,
    last: int,
    found: np.ndarray,
) -> None:
    """Sum positive and negative gains over the points to come, for some decisions."""
    number, candidates = points.shape[1], len(weights)
    widest = 0
    for d in range(first, last):
        widest = max(widest, starts[d + 1] - starts[d])
    held = np.empty(widest)
    for d in range(first, last):
        row, seen, begin, end = dataset[d], step[d], starts[d], starts[d + 1]
        for m in range(begin, end):
            found[m] = 0.0
        found[candidates + d] = 0.0
        to_come = number - seen - 1
        if to_come == 0:
            continue
        stride = -(-to_come // references)
        looked_at = -(-to_come // stride)
        # Of all three the total weight of the candidates that the next point will have.
        before = seen - discount * (end - begin) + odds[d, 0]
        after = before + 1.0 - odds[d, 0] + odds[d, 1]
        opened = before + 1.0 - discount - odds[d, 0] + odds[d, 2]
        for j in range(seen + 1, number, stride):
            total = 0.0
            for m in range(begin, end):
                held[m - begin] = weights[m] * _density(kind, points, row, j, now, m)
                total += held[m - begin]
            base = max(total + odds[d, 0] * apart[row, j], _TINY) / before
            for m in range(begin, end):
                density = (weights[m] + 1.0) * _density(kind, points, row, j, grown, m)
                rest = max(total - held[m - begin], 0.0) + odds[d, 1] * apart[row, j]
                _add_gain(found, m, math.log(max(density + rest, _TINY) / after / base))
            density = (1.0 - discount) * _density(kind, points, row, j, alone, d)
            rest = total + odds[d, 2] * apart[row, j]
            _add_gain(found, candidates + d, math.log(max(density + rest, _TINY) / opened / base))
        for m in range(begin, end):
            found[m, 0] *= to_come / looked_at
            found[m, 1] *= to_come / looked_at
        found[candidates + d, 0] *= to_come / looked_at
        found[candidates + d, 1] *= to_come / looked_at
