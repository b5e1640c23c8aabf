"""Exact Markov chain moves whose proposals come from a guide: the whole partition, or a block of points."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.counts import check_count
from pyroclust.distributions import PartitionDistribution
from pyroclust.distributions.protocols import JointModel, PointwiseGuide
from pyroclust.distributions.sequential.partition import OrderAveragedPartition
from pyroclust.infer.checks import log_joint_of

__all__ = [
    "MovedChains",
    "block_last",
    "block_steps",
    "independence_steps",
    "neighbour_blocks",
    "uniform_blocks",
]


@dataclass(frozen=True)
class MovedChains:
    """Where C chains are after some steps.

    Attributes:
        assignments: canonical labels, ``(C, N)`` int64.
        log_joint: log p(assignments, data) in nats, ``(C,)`` float64.
        log_q: log-probability of the assignments under the law of the proposals, ``(C,)`` float64.
        accepted: how many of the proposals were accepted, ``(C,)`` int64.
    """

    assignments: Tensor
    log_joint: Tensor
    log_q: Tensor
    accepted: Tensor


@torch.no_grad()
def independence_steps(
    model: JointModel,
    posterior: PartitionDistribution,
    data: Tensor,
    *,
    assignments: Tensor,
    log_joint: Tensor,
    log_q: Tensor,
    num_proposals: int,
    generator: np.random.Generator,
) -> MovedChains:
    r"""Propose whole partitions from a guide and accept them one after the other.

    .. math:: \min\Big(1, \frac{p(c', x) \, q(c \mid x)}{p(c, x) \, q(c' \mid x)}\Big)

    The posterior is left unchanged however poor the guide, provided that q is positive wherever p is. All
    P C proposals are drawn and scored in one batch: O(N K) candidates of the guide each.

    Args:
        model: a model with ``log_joint``.
        posterior: law of the partition of one data set, with exact log-probabilities; batch_shape ``()``.
        data: one data set, ``(N, D)``.
        assignments: where the chains are, ``(C, N)`` canonical.
        log_joint: their log p(assignments, data), ``(C,)`` in nats.
        log_q: their log-probabilities under ``posterior``, ``(C,)`` in nats.
        num_proposals: P, steps of each chain.
        generator: for acceptance; the guide draws with torch's own generator.

    Raises:
        ValueError: if ``num_proposals`` is below 1.
    """
    check_count("num_proposals", num_proposals)
    draws, drawn_log_q = posterior.sample_and_log_prob((num_proposals, len(assignments)))
    drawn_log_joint = log_joint_of(model, data, draws)
    labels = torch.cat([assignments.unsqueeze(0), draws])
    joint = torch.cat([log_joint.unsqueeze(0), drawn_log_joint])
    return _settle(labels, joint, torch.cat([log_q.unsqueeze(0), drawn_log_q.double()]), generator)


@torch.no_grad()
def block_steps(
    model: JointModel,
    guide: PointwiseGuide,
    data: Tensor,
    *,
    assignments: Tensor,
    log_joint: Tensor,
    block: Tensor,
    order: Tensor,
    num_proposals: int,
    generator: np.random.Generator,
) -> MovedChains:
    r"""Re-draw a block of points from a guide given the others, and accept the proposals one after the other.

    .. math::
        \min\Big(1, \frac{p(c', x) \, q(c_{\text{block}} \mid c_{\text{rest}}, x)}
        {p(c, x) \, q(c'_{\text{block}} \mid c_{\text{rest}}, x)}\Big)

    The guide visits the rest in its own order, then the block. The posterior is left unchanged however poor
    the guide, provided that the block is chosen without looking at the chains. Cost: one encoding a chain,
    and for each of the F points of the block one batched step over the P C proposals, equal ones merged; the
    rest is absorbed at once.

    Args:
        model: a model with ``log_joint``.
        guide: a guide that labels points one after the other.
        data: one data set, ``(N, D)``.
        assignments: where the chains are, ``(C, N)`` canonical.
        log_joint: their log p(assignments, data), ``(C,)`` in nats.
        block: the points to re-draw, ``(C, F)`` int64, distinct in each row; see :func:`uniform_blocks` and
            :func:`neighbour_blocks`.
        order: the guide's visiting order of the data set, ``(N,)``, as ``guide.posterior(data).order[0]``.
        num_proposals: P, steps of each chain.
        generator: for acceptance; the guide draws with torch's own generator.

    Returns:
        The chains; ``log_q`` is that of the block given the rest.

    Raises:
        ValueError: if ``num_proposals`` is below 1, or the block has no points.
    """
    check_count("num_proposals", num_proposals)
    check_count("block size", block.shape[-1])
    copies = data.to(torch.get_default_dtype()).expand(len(assignments), *data.shape)
    posterior = guide.posterior(copies, order=block_last(order, block))
    if isinstance(posterior, OrderAveragedPartition):
        raise ValueError(
            "guide.posterior(data, order=...) mixes several orders, expected a SequentialPartition"
        )
    law = posterior.given(assignments, num_free=block.shape[-1])
    draws, drawn_log_q, log_q = law.propose(num_proposals)
    labels = torch.cat([assignments.unsqueeze(0), draws])
    joint = torch.cat([log_joint.unsqueeze(0), log_joint_of(model, data, draws)])
    return _settle(labels, joint, torch.cat([log_q.unsqueeze(0), drawn_log_q]), generator)


def block_last(order: Tensor, block: Tensor) -> Tensor:
    """Move the points of each block to the end of a visiting order, both parts keeping their order.

    Shape:
        order: ``(N,)``; block: ``(C, F)``; output: ``(C, N)``.

    Example:
        >>> block_last(torch.tensor([3, 1, 0, 2]), torch.tensor([[0, 1], [3, 2]])).tolist()
        [[3, 2, 1, 0], [1, 0, 3, 2]]
    """
    free = torch.zeros(len(block), len(order), dtype=torch.int64, device=order.device).scatter_(1, block, 1)
    return order[free[:, order].argsort(dim=-1, stable=True)]


def uniform_blocks(
    num_chains: int, num_points: int, *, block_size: int, generator: np.random.Generator
) -> Tensor:
    """Choose a uniform random subset of the points for every chain, ``(num_chains, block_size)``; O(C N).

    Raises:
        ValueError: if ``block_size`` is not between 1 and the number of points.

    Example:
        >>> uniform_blocks(2, 3, block_size=3, generator=np.random.default_rng(0)).sort(-1).values.tolist()
        [[0, 1, 2], [0, 1, 2]]
    """
    _check_block_size(block_size, num_points)
    noise = generator.random((num_chains, num_points))
    return torch.from_numpy(noise.argpartition(block_size - 1, axis=-1)[:, :block_size].copy())


def neighbour_blocks(
    data: Tensor, num_chains: int, *, block_size: int, generator: np.random.Generator
) -> Tensor:
    """Choose a uniform random point for every chain, and its nearest neighbours in data space; O(C N D).

    Shape:
        data: ``(N, D)``; output: ``(num_chains, block_size)``.

    Raises:
        ValueError: if ``block_size`` is not between 1 and the number of points.

    Example:
        >>> data = torch.tensor([[0.0], [0.1], [5.0], [5.1]])
        >>> generator = np.random.default_rng(0)
        >>> neighbour_blocks(data, 1, block_size=2, generator=generator).sort(-1).values.tolist()
        [[2, 3]]
    """
    _check_block_size(block_size, len(data))
    centre = torch.from_numpy(generator.integers(len(data), size=num_chains))
    distance = torch.cdist(data[centre].double(), data.double())
    return distance.topk(block_size, largest=False).indices


def _settle(labels: Tensor, joint: Tensor, log_q: Tensor, generator: np.random.Generator) -> MovedChains:
    """Step through the proposals of all chains; row 0 is where the chains are, ``(P + 1, C, ...)``."""
    # A chain outside the support of the model accepts whatever is inside.
    weights = torch.where(joint == -torch.inf, -torch.inf, joint - log_q).cpu().numpy()
    patience = -generator.exponential(size=weights[1:].shape)
    current, chosen = weights[0], np.zeros(weights.shape[1], dtype=np.int64)
    accepted = np.zeros_like(chosen)
    for step, (weight, log_uniform) in enumerate(zip(weights[1:], patience, strict=True), start=1):
        accept = current + log_uniform < weight
        current, chosen = np.where(accept, weight, current), np.where(accept, step, chosen)
        accepted += accept
    row, chain = torch.from_numpy(chosen), torch.arange(len(chosen))
    taken = labels[row, chain], joint[row, chain], log_q[row, chain]
    return MovedChains(*taken, torch.from_numpy(accepted))


def _check_block_size(block_size: int, num_points: int) -> None:
    if not 1 <= block_size <= num_points:
        raise ValueError(f"block_size is {block_size}, expected 1 to {num_points}, the number of points")
