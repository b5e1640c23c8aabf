"""The loss of given simulations and its gradients, over visiting orders, a few data sets at a time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pyroclust.core.counts import check_count, check_number
from pyroclust.nn.orders import antithetic_orders, random_orders

__all__ = ["VisitingOrders", "backward_in_chunks", "losses_over_orders"]

# Larger weights leave the range of float32 once they meet a variance.
_MAX_CONSISTENCY = 1e6


@dataclass(frozen=True)
class VisitingOrders:
    r"""How many orders each simulated data set is visited in, and what their disagreement costs.

    .. math::
        \ell = -\frac{1}{M} \sum_{m=1}^{M} \log q_\phi(c \mid x, \pi_m) + \lambda \,
        \mathrm{Var}_m \big[\log q_\phi(c \mid x, \pi_m)\big]

    The posterior knows no order, so the penalty is 0 where q is exact, for every data set and without noise,
    while the first term keeps the entropy of the posterior. Both grow about as N, so one weight does for all
    sizes. Let :math:`d_m` be the deviation of log q from its mean over the orders; then the gradient of an
    order has the weight :math:`1/M - 2 \lambda d_m / (M - 1)` instead of 1 / M: orders in which the partition
    came out too probable are pushed less, or down.

    Attributes:
        number: M.
        antithetic: orders come in pairs, one the reverse of the other.
        consistency: the weight :math:`\lambda` per nat, 0 for no penalty, at most 1e6; the variance has the
            divisor M - 1.

    Raises:
        ValueError: if a number is not possible, or one order is to come in pairs or to be penalised.

    Example:
        >>> import torch
        >>> orders = VisitingOrders(2, consistency=0.5)
        >>> orders.penalty(torch.tensor([[-1.0, -3.0], [-2.0, -3.0]]))
        tensor([0.2500, 0.0000])

    References:
        Chelly et al. (2025), Consistent Amortized Clustering via Generative Flow Networks.
        https://arxiv.org/abs/2502.19337
    """

    number: int = 1
    antithetic: bool = False
    consistency: float = 0.0

    def __post_init__(self) -> None:
        """Check ranges."""
        check_count("number", self.number)
        check_number("consistency", self.consistency, at_least=0, at_most=_MAX_CONSISTENCY)
        for name in ("antithetic", "consistency"):
            if getattr(self, name) and self.number < 2:
                raise ValueError(
                    f"{name} is {getattr(self, name)} with one visiting order, expected at least 2 orders"
                )

    def draw(self, data: Tensor) -> Tensor:
        """Draw the orders, ``(B, N, ...) -> (M, B, N)``."""
        return (antithetic_orders if self.antithetic else random_orders)(self.number, data)

    def penalty(self, log_prob: Tensor) -> Tensor:
        """Return the weighted variance over orders, ``(M, B) -> (B,)`` nats."""
        if not self.consistency:
            return log_prob.new_zeros(log_prob.shape[1:])
        return self.consistency * log_prob.var(0)


def backward_in_chunks(
    guide: Any,
    data: Tensor,
    *,
    assignments: Tensor,
    conditions: Mapping[str, Tensor] | None = None,
    orders: VisitingOrders | None = None,
    scale: float = 1.0,
    candidates_at_once: int = 1 << 14,
) -> Tensor:
    r"""Return the losses of simulated data sets, the gradients added to the guide's parameters.

    .. math:: \ell_b = -\frac{1}{M} \sum_{m=1}^{M} \log q_\phi(c_b \mid x_b, \pi_{bm})

    The gradients are those of ``scale`` times the mean over data sets of the loss and the penalty of
    ``orders``, but forward and backward pass of some data sets are done before the next ones begin: memory is
    bounded whatever the batch, and activations stay in the processor's cache. The orders of a data set share
    what depends on single points. Cost O(M N K) candidates a data set.

    Args:
        guide: a sequential guide, in training mode.
        data: ``(B, N, D)``.
        assignments: the partitions that the data were simulated from.
        conditions: values of the guide's conditions, one a data set; None where it has none.
        orders: the visiting orders, M; one by default, by the guide's rule.
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
        >>> backward_in_chunks(guide, data, assignments=assignments, orders=VisitingOrders(6)).shape
        torch.Size([3])
    """
    orders = VisitingOrders() if orders is None else orders
    if data.dim() < 3 or assignments.shape != data.shape[:2]:
        raise ValueError(
            f"data and assignments have shapes {tuple(data.shape)} and {tuple(assignments.shape)}, "
            "expected (B, N, ...) and (B, N)"
        )
    candidates = int((assignments.cummax(-1).values + 2).sum()) * orders.number
    datasets = max(1, len(data) * candidates_at_once // max(1, candidates))
    losses = []
    for rows in torch.arange(len(data), device=data.device).split(datasets):
        known = {name: value[rows] for name, value in (conditions or {}).items()}
        loss, penalty = losses_over_orders(
            guide, data[rows], assignments=assignments[rows], conditions=known, orders=orders
        )
        ((loss + penalty).sum() * (scale / len(data))).backward()
        losses.append(loss.detach())
    return torch.cat(losses)


def losses_over_orders(
    guide: Any,
    data: Tensor,
    *,
    assignments: Tensor,
    conditions: Mapping[str, Tensor],
    orders: VisitingOrders,
) -> tuple[Tensor, Tensor]:
    """Return the loss and the penalty of each data set, with gradients.

    Shape:
        data: ``(B, N, D)``; assignments: ``(B, N)``; conditions: ``(B,)``; output: ``(B,)`` each, in nats.

    Raises:
        ValueError: if several orders are asked of a guide that has a rule.
    """
    given = (guide.condition(**conditions) if conditions else guide).mixed(orders.number)
    if orders.number > 1:
        posterior = given.over_orders(data, orders.draw(data))
    else:
        posterior = given.posterior(data).expand((1, len(data)))
    log_prob = posterior.log_prob(assignments)
    return -log_prob.mean(0), orders.penalty(log_prob)
