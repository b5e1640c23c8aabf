"""Partitions drawn from the light scorer, and scored, in compiled code."""

from typing import Any

import torch
from torch import Tensor

from pyroclust.distributions import ChineseRestaurantPrior, NormalKnownVariance
from pyroclust.distributions.compiled.pointers import Address
from pyroclust.distributions.sequential.filter import FilterEncoding, FilterScorer
from pyroclust.nn.cluster_shape import AdaptiveShape, FixedShape
from pyroclust.nn.compiled.filter_tables import array_of, can_foresee
from pyroclust.nn.compiled.foresight import Foresight
from pyroclust.nn.compiled.light_loops import Light, put, see
from pyroclust.nn.compiled.prefix_sampler import PrefixSampler

__all__ = ["label_points"]


def label_points(
    scorer: Any, encoding: Any, dataset: Tensor, known: Tensor | None
) -> tuple[Tensor, Tensor] | None:
    """Draw partitions, or score known ones, as the scorer would; None where compiled code cannot."""
    some_known = known is not None and known.shape[1] < encoding.positions.shape[1]
    if some_known or not _can_compile(scorer, encoding):
        return None
    # Without a filter there has to be something that is never asked.
    foresight = encoding.foresight or Foresight(encoding.filter or _nothing(), 0)
    kernels, dim = scorer.look_at_mean, encoding.positions.shape[-1]
    looked = encoding.positions[:, :: kernels.stride(encoding.positions.shape[1])]
    sampler = PrefixSampler(
        scorer,
        foresight,
        moments=encoding.moments,
        context=encoding.context,
        num_kept=dim + dim**2,
        skip=scorer.shape.num_moments,
        most=scorer.width,
        put=put,
        see=see,
        own=lambda *_: Address(Light.of(scorer, encoding, array_of(looked))),
    )
    return sampler.label(dataset, known)


def _can_compile(scorer: Any, encoding: Any) -> bool:
    """Return whether all is float32 on a processor, of kinds that are compiled."""
    if encoding.positions.device.type != "cpu" or encoding.positions.dtype != torch.float32:
        return False
    known = isinstance(scorer.shape, AdaptiveShape | FixedShape)
    return known and (scorer.filter is None or can_foresee(scorer.filter))


def _nothing() -> FilterEncoding:
    """Return the filter of a point."""
    return FilterScorer(ChineseRestaurantPrior(1.0), NormalKnownVariance(1)).encode(torch.zeros(1, 1, 1))
