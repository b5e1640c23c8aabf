"""The loss of given simulations and its gradients, a few data sets at a time."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from pyroclust.distributions.sequential import SequentialPartition
from pyroclust.nn import RandomOrder, SummedScorer

__all__ = ["backward_in_chunks"]


def backward_in_chunks(
    guide: Any,
    data: Tensor,
    *,
    assignments: Tensor,
    conditions: Mapping[str, Tensor] | None = None,
    num_orders: int = 1,
    scale: float = 1.0,
    candidates_at_once: int = 1 << 14,
) -> Tensor:
    r"""Return the losses of simulated data sets, their mean's gradients added to the guide's parameters.

    .. math:: \ell_b = -\frac{1}{M} \sum_{m=1}^{M} \log q_\phi(c_b \mid x_b, \pi_{bm})

    The gradients are those of ``scale * losses.mean()``, but forward and backward pass of some data sets are
    done before the next ones begin: memory is bounded whatever the batch, and activations stay in the
    processor's cache. With the published scorer, the orders of a data set share what depends on single
    points. Cost O(M N K) candidates a data set.

    Args:
        guide: a sequential guide, in training mode.
        data: ``(B, N, D)``.
        assignments: the partitions that the data were simulated from.
        conditions: values of the guide's conditions, one a data set; None where it has none.
        num_orders: random visiting orders a data set, M; a guide with another rule has one.
        scale: factor of the gradients.
        candidates_at_once: candidates of decisions that are evaluated together, about; at least one data set
            is.

    Shape:
        assignments: ``(B, N)`` canonical; conditions: ``(B,)``; output: ``(B,)`` nats, no gradients.

    Raises:
        ValueError: if the shapes do not fit, or several orders are asked of a guide that has a rule.

    Example:
        >>> from pyroclust.guides import NeuralClusteringProcess
        >>> from pyroclust.models import gaussian2d
        >>> from pyroclust.nn import RandomOrder
        >>> guide = NeuralClusteringProcess(gaussian2d(), order=RandomOrder())
        >>> data, assignments = torch.zeros(3, 5, 2), torch.zeros(3, 5, dtype=torch.int64)
        >>> backward_in_chunks(guide, data, assignments=assignments, num_orders=6).shape
        torch.Size([3])
    """
    if data.dim() < 3 or assignments.shape != data.shape[:2]:
        raise ValueError(
            f"data and assignments have shapes {tuple(data.shape)} and {tuple(assignments.shape)}, "
            "expected (B, N, ...) and (B, N)"
        )
    if num_orders < 1 or (num_orders > 1 and not isinstance(guide.order, RandomOrder)):
        raise ValueError(
            f"num_orders is {num_orders}, expected 1, or more for a guide that visits points in random order"
        )
    candidates = int((assignments.cummax(-1).values + 2).sum()) * num_orders
    datasets = max(1, len(data) * candidates_at_once // max(1, candidates))
    losses = []
    for rows in torch.arange(len(data), device=data.device).split(datasets):
        given = guide
        if conditions:
            given = guide.condition(**{name: value[rows] for name, value in conditions.items()})
        loss = -_orders(given, data[rows], num_orders).log_prob(assignments[rows]).mean(0)
        (loss.sum() * (scale / len(data))).backward()
        losses.append(loss.detach())
    return torch.cat(losses)


def _orders(guide: Any, data: Tensor, num_orders: int) -> SequentialPartition:
    """Return the guide's posteriors for several orders, ``(M, B)``."""
    scorer = guide.scorer
    if num_orders == 1:
        posterior: SequentialPartition = guide.posterior(data)
        return posterior.expand((1, len(data)))
    if not isinstance(scorer, SummedScorer) or getattr(guide, "condition_values", None):
        several: SequentialPartition = guide.order_averaged(data, num_orders).orders
        return several
    order = torch.rand(num_orders * len(data), data.shape[1], device=data.device).argsort(-1)
    dataset = torch.arange(len(data), device=data.device).repeat(num_orders)
    encoding = scorer.arrange(scorer.encode_points(data), dataset, order)
    row = torch.arange(len(order), device=data.device).view(num_orders, len(data))
    return SequentialPartition(scorer, encoding, order=order, dataset=row)
