"""Normal clusters in vector units: of known variance, and normal-inverse-Wishart."""

import math
from typing import Any

import numpy as np

from pyroclust.core.compiling import inner
from pyroclust.distributions.families.normal_inverse_gamma import InverseGammaTables
from pyroclust.distributions.families.normal_inverse_wishart import InverseWishartTables
from pyroclust.distributions.families.normal_known_variance import KnownVarianceTables
from pyroclust.nn.compiled.lanes import CONSTANT, Shape, logarithms, logarithms_of_more, scatter

_RATIO, _POWER, _MEAN = 1, 2, 3
_ONE = np.float32(1.0)


@inner
def _gather(shape: Any, work: Any, needed: int) -> None:
    """Look up tables for the clusters in ``where``, turn so many of their sums, and make their means."""
    kappa = work.kappa
    for a in range(len(work.values)):
        size = work.sizes[work.where[a]]
        work.made[CONSTANT, a] = shape.constant[size]
        work.made[_RATIO, a] = shape.ratio[size]
        work.made[_POWER, a] = shape.power[size]
        kappa[a] = shape.kappa[size]
    for f in range(needed):
        turned = work.turned[f]
        for a in range(len(work.values)):
            turned[a] = work.sums[work.where[a], f]
    for d in range(shape.dim):
        mean, sums = work.made[_MEAN + d], work.turned[d]
        for a in range(len(work.values)):
            mean[a] = (sums[a] + shape.pull) / kappa[a]


@inner
def _refresh_normal(family: Any, shape: Any, work: Any, count: int) -> None:
    _gather(shape, work, shape.dim)
    scatter(work, count)


@inner
def _refresh_wishart(family: Any, shape: Any, work: Any, count: int) -> None:
    _gather(shape, work, len(work.turned))
    _factorise(shape, work)
    scatter(work, count)


@inner
def _factorise(shape: Any, work: Any) -> None:
    """Make the inverse Cholesky factors of scales, and take their determinants off the constants."""
    dim, kappa, constant = shape.dim, work.kappa, work.made[CONSTANT]
    for d in range(dim):
        one = work.made[_MEAN + d]
        for e in range(d + 1):
            sums, other = work.turned[dim + d * dim + e], work.made[_MEAN + e]
            entry = work.factor[d * (d + 1) // 2 + e]
            for a in range(len(work.values)):
                entry[a] = sums[a] + shape.square - kappa[a] * one[a] * other[a]
    for d in range(dim):
        diagonal = work.factor[d * (d + 1) // 2 + d]
        for a in range(len(work.values)):
            diagonal[a] = max(diagonal[a], 0.0) + shape.scale
        for e in range(d):
            entry, inverse = work.factor[d * (d + 1) // 2 + e], work.inverse[e]
            for c in range(e):
                left, right = work.factor[d * (d + 1) // 2 + c], work.factor[e * (e + 1) // 2 + c]
                for a in range(len(work.values)):
                    entry[a] -= left[a] * right[a]
            for a in range(len(work.values)):
                entry[a] *= inverse[a]
                diagonal[a] -= entry[a] * entry[a]
        inverse = work.inverse[d]
        for a in range(len(work.values)):
            pivot = max(diagonal[a], 1e-16 * shape.scale)
            work.spare[a] = np.float32(pivot) * (work.spare[a] if d % 2 else _ONE)
            inverse[a] = 1.0 / np.sqrt(pivot)
        # Of more than two a float32 might be too small for the product.
        if d % 2 or d + 1 == dim:
            for a in range(len(work.values)):
                work.values[a] = work.spare[a]
            logarithms(work)
            for a in range(len(work.values)):
                constant[a] -= 0.5 * np.float64(work.values[a])
    for d in range(dim):
        inverse, last = work.inverse[d], _MEAN + dim + d * (d + 1) // 2
        diagonal = work.made[last + d]
        for a in range(len(work.values)):
            diagonal[a] = inverse[a]
        for e in range(d):
            entry = work.made[last + e]
            for a in range(len(work.values)):
                entry[a] = 0.0
            for c in range(e, d):
                left, right = work.factor[d * (d + 1) // 2 + c], work.made[_MEAN + dim + c * (c + 1) // 2 + e]
                for a in range(len(work.values)):
                    entry[a] -= left[a] * right[a]
            for a in range(len(work.values)):
                entry[a] *= inverse[a]


@inner
def weigh_normal(shape: Any, work: Any, at: int, points: Any, found: Any) -> None:
    """Weigh points in clusters of known variance."""
    constant, ratio = work.state[CONSTANT], work.state[_RATIO]
    for a in range(len(work.values)):
        found[a] = 0.0
    for d in range(shape.dim):
        mean, place = work.state[_MEAN + d], points[d]
        for a in range(len(work.values)):
            offset = place[a] - mean[at + a]
            found[a] += offset * offset
    for a in range(len(work.values)):
        found[a] = constant[at + a] - ratio[at + a] * found[a]


@inner
def _weigh_wishart(shape: Any, work: Any, at: int, points: Any, found: Any) -> None:
    dim, offset = shape.dim, work.others
    constant, ratio, power = work.state[CONSTANT], work.state[_RATIO], work.state[_POWER]
    for a in range(len(work.values)):
        found[a] = 0.0
    for d in range(dim):
        last = _MEAN + dim + d * (d + 1) // 2
        for a in range(len(work.values)):
            offset[a] = 0.0
        for e in range(d + 1):
            mean, whiten, place = work.state[_MEAN + e], work.state[last + e], points[e]
            for a in range(len(work.values)):
                offset[a] += whiten[at + a] * (place[a] - mean[at + a])
        for a in range(len(work.values)):
            found[a] += offset[a] * offset[a]
    for a in range(len(work.values)):
        work.values[a] = ratio[at + a] * found[a]
    logarithms_of_more(work)
    for a in range(len(work.values)):
        found[a] = constant[at + a] - power[at + a] * work.values[a]


def normal_shape(shape: Shape, family: Any) -> tuple[Shape, tuple[Any, Any]] | None:
    """Complete a shape for normal clusters, with their functions; None where these are others."""
    contents: Any = getattr(family, "contents", ())
    one: Any = contents[0] if len(contents) == 1 else None
    join = shape.constant
    # Tables of the family go up to the points of all data sets.
    upto, power = slice(len(join)), shape.power
    if isinstance(one, KnownVarianceTables):
        functions = _refresh_normal, weigh_normal
        shape = shape._replace(pull=float(one.kappa[0] * one.hyper[0]), kappa=one.kappa)
    elif isinstance(one, InverseWishartTables):
        prior, kappa, _, scale = one.hyper.tolist()
        functions, power = (_refresh_wishart, _weigh_wishart), one.power[1:].copy()
        shape = shape._replace(pull=kappa * prior, square=kappa * prior**2, scale=scale, kappa=one.kappa)
    elif isinstance(one, InverseGammaTables) and one.data.shape[1] == 1 and not len(one.there):
        # In one dimension this is that, of twice the rate.
        prior, kappa, _, rate = one.hyper.tolist()
        functions, power = (_refresh_wishart, _weigh_wishart), one.power[1:].copy()
        join = join + 0.5 * math.log(2.0)
        shape = shape._replace(
            pull=kappa * prior, square=kappa * prior**2, scale=2.0 * rate, kappa=kappa + np.arange(len(join))
        )
    else:
        return None
    dim = one.data.shape[1]
    shape = shape._replace(
        is_other=0,
        dim=dim,
        num_rows=_MEAN + dim + dim * (dim + 1) // 2,
        points=one.data.astype(np.float32),
        constant=one.constant[upto] + join,
        ratio=one.with_point,
        power=power,
    )
    return shape, functions
