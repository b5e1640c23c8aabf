"""True partitions and draws of fresh data sets, with the functionals that calibration looks at."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pyroclust.distributions.block_counts import block_sizes
from pyroclust.infer.likelihood import has_likelihood
from pyroclust.infer.simulation import World
from pyroclust.partitions import canonical, num_clusters

__all__ = ["DrawnBlock", "drawn_blocks", "neighbour_share", "partition_functionals", "tied"]

_DRAWS_AT_ONCE = 20_000
# Values nearer than this tie: one partition may be scored twice with different float32 rounding.
_DECIMALS = 3


@dataclass(frozen=True)
class DrawnBlock:
    """Some data sets, each with its true partition and draws.

    Attributes:
        data: ``(B, N, ...)``.
        assignments: the truth in the first row, draws below it, ``(S + 1, B, N)``.
        values: functionals of each, ``(S + 1, B)`` by name.
    """

    data: Tensor
    assignments: Tensor
    values: dict[str, Tensor]


def drawn_blocks(world: World, num_draws: int) -> Iterator[DrawnBlock]:
    """Draw for some data sets at a time.

    Functionals: ``num_clusters``, ``entropy`` of the cluster shares in bits, ``together`` (do the first two
    points share a cluster), ``pairs`` (how many of N // 2 disjoint pairs do), ``neighbours`` (share of points
    in the cluster of their nearest neighbour), ``log_prob`` (log q, where the sampler is a guide) and
    ``log_joint`` (where the model has one).

    Args:
        world: data sets; its guide has ``posterior(data)``, or is a callable from data ``(B, N, ...)`` to
            draws ``(num_draws, B, N)``, a tensor or an array.
        num_draws: S, draws a data set.

    Raises:
        ValueError: if a callable gives draws of another shape.

    Example:
        >>> from pyroclust.infer.simulation import simulate_worlds
        >>> from pyroclust.models import gaussian2d
        >>> def one_cluster(data):
        ...     return torch.zeros(9, *data.shape[:2], dtype=torch.int64)
        >>> (world,) = simulate_worlds(gaussian2d(), one_cluster, None, num_datasets=4, num_points=6)
        >>> [block.assignments.shape for block in drawn_blocks(world, 9)]
        [torch.Size([10, 4, 6])]
    """
    joint = has_likelihood(world.model)
    rows = max(1, _DRAWS_AT_ONCE // num_draws)
    for some, truth in zip(world.data.split(rows), world.assignments.split(rows), strict=True):
        every, log_prob = _drawn(world.guide, some, truth, num_draws)
        values = partition_functionals(every) | neighbour_share(some, every)
        if log_prob is not None:
            values["log_prob"] = log_prob
        if joint:
            values["log_joint"] = world.model.log_joint(some, every)
        yield DrawnBlock(some, every, values)


def partition_functionals(assignments: Tensor) -> dict[str, Tensor]:
    """Return functionals of partitions that do not look at the data.

    Shape:
        assignments: ``(S, B, N)``; output: ``(S, B)`` each.
    """
    sizes, num_points = block_sizes(assignments), assignments.shape[-1]
    share = sizes.double() / num_points
    found = {
        "num_clusters": num_clusters(assignments).double(),
        "entropy": -torch.xlogy(share, share).sum(-1) / math.log(2),
    }
    if num_points > 1:
        even = num_points - num_points % 2
        same = (assignments[..., 0:even:2] == assignments[..., 1:even:2]).double()
        found |= {"together": same[..., 0], "pairs": same.sum(-1)}
    return found


def neighbour_share(data: Tensor, assignments: Tensor) -> dict[str, Tensor]:
    """Return the share of points in the cluster of their nearest neighbour.

    It depends on the data: a guide that ignores them, and draws from the prior, is calibrated in all
    functionals of the partition alone.

    Shape:
        data: ``(B, N, ...)``; assignments: ``(S, B, N)``; output: ``(S, B)``, nothing for single points.
    """
    flat = data.reshape(*assignments.shape[1:], -1)
    if flat.shape[1] < 2:
        return {}
    far = torch.cdist(flat, flat).diagonal_scatter(flat.new_full(flat.shape[:2], torch.inf), dim1=1, dim2=2)
    nearest = far.argmin(-1).expand(assignments.shape)
    return {"neighbours": (assignments == assignments.gather(-1, nearest)).double().mean(-1)}


def tied(values: Tensor) -> Tensor:
    """Round values so that those of one partition are equal.

    Example:
        >>> tied(torch.tensor([1.0001, 1.0002])).unique().numel()
        1
    """
    return values.round(decimals=_DECIMALS)


def _drawn(sampler: Any, data: Tensor, truth: Tensor, num_draws: int) -> tuple[Tensor, Tensor | None]:
    """Return the truth above the draws, and log q of each where the sampler is a guide."""
    if hasattr(sampler, "posterior"):
        posterior = sampler.posterior(data)
        draws, log_prob = posterior.sample_and_log_prob((num_draws,))
        both = torch.cat([posterior.log_prob(truth).unsqueeze(0), log_prob])
        return torch.cat([truth.unsqueeze(0), draws]), both.double()
    draws = torch.as_tensor(sampler(data), device=truth.device)
    if draws.shape != (num_draws, *truth.shape):
        raise ValueError(
            f"the sampler gave draws of shape {tuple(draws.shape)}, expected {(num_draws, *truth.shape)}: "
            "num_draws labels of each point of each data set"
        )
    return torch.cat([truth.unsqueeze(0), canonical(draws)]), None
