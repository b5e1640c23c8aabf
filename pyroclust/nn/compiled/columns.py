"""Partitions drawn from the column scorer, and scored, in compiled code."""

from typing import Any

import torch
from torch import Tensor

from pyroclust.distributions.compiled.columns import column_functions
from pyroclust.distributions.compiled.pointers import Address
from pyroclust.nn.compiled.column_loops import Columns, put, see
from pyroclust.nn.compiled.filter_tables import array_of, can_foresee
from pyroclust.nn.compiled.foresight import Foresight
from pyroclust.nn.compiled.foresight_loops import ROOM
from pyroclust.nn.compiled.prefix_sampler import PrefixSampler

__all__ = ["label_points"]


def label_points(
    scorer: Any, encoding: Any, dataset: Tensor, known: Tensor | None
) -> tuple[Tensor, Tensor] | None:
    """Draw partitions, or score known ones, as the scorer would; None where compiled code cannot."""
    context, some_known = encoding.context, known is not None and known.shape[1] < encoding.moments.shape[1]
    is_other = context.device.type != "cpu" or context.dtype != torch.float32
    if some_known or is_other or not can_foresee(scorer.filter):
        return None
    foresight = encoding.foresight or Foresight(encoding.filter, 0)
    family: Any = foresight.parts(ROOM + 2, 1)[0][0].content
    functions = column_functions(family)
    if functions is None:
        return None
    groups, there = scorer.groups.num_groups, encoding.there.double()
    cohesion = encoding.cohesion.unsqueeze(1).expand_as(encoding.whole)
    with torch.no_grad():
        opening = array_of(scorer.own_of_new(encoding.whole, encoding.there, cohesion).flatten(0, 1))
    sampler = PrefixSampler(
        scorer,
        foresight,
        # Gains of cells are no sums over points: they are added as points come.
        moments=torch.cat([torch.zeros_like(there), there, encoding.filter.moments], -1),
        context=context,
        num_kept=groups,
        skip=2 * groups,
        most=groups * scorer.column_width,
        put=put,
        see=see,
        own=lambda family, lanes: Address(
            Columns.of(scorer, encoding, opening, functions, family.content, lanes.content)
        ),
    )
    return sampler.label(dataset, known)
