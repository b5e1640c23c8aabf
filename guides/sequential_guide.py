"""What all guides that label points one after the other share."""

from itertools import count
from typing import Any, Protocol

import pyro
import torch
from pyro.nn import PyroModule
from torch import Tensor

from pyroclust.distributions import ConjugateComponent, PartitionPrior
from pyroclust.distributions.scorer import Scorer
from pyroclust.distributions.sequential import OrderAveragedPartition, SequentialPartition
from pyroclust.nn import Order

__all__ = ["CollapsedModel", "SequentialGuide"]

_serial = count()


class CollapsedModel(Protocol):
    """What a guide asks of the Pyro model it is trained on."""

    prior: PartitionPrior
    component: ConjugateComponent
    name: str

    def __call__(self, data: Tensor) -> Tensor:
        """Run the Pyro program."""
        ...


class SequentialGuide(PyroModule):
    """An amortized guide whose posterior labels points one after the other.

    Every guide gets a name of its own, because Pyro's parameter store is keyed by names: two guides of one
    class would otherwise share, and not train, their parameters under ``pyro.infer.SVI``.

    Args:
        model: the Pyro model whose posterior is approximated.
        scorer: scores the candidates of each decision.
        order: rule for the visiting order.
    """

    event_dim = 2

    def __init__(self, model: CollapsedModel, *, scorer: Any, order: Order) -> None:
        super().__init__(name=f"{type(self).__name__}_{next(_serial)}")
        self.model, self.scorer, self.order = model, scorer, order

    def posterior(self, data: Tensor, *, order: Tensor | None = None) -> SequentialPartition:
        """Encode data sets once and return the distribution over their partitions.

        Args:
            data: ``(*batch, N, D)``, finite.
            order: permutations ``(*batch, N)`` or ``(N,)`` to visit the points in; the guide's own rule
                otherwise.

        Raises:
            ValueError: if the data are empty, not finite or of the wrong dimension, or the order is no
                permutation.

        Example:
            >>> from pyroclust.guides import PredictiveFilter
            >>> from pyroclust.models import gaussian2d
            >>> posterior = PredictiveFilter(gaussian2d()).posterior(torch.zeros(5, 2))
            >>> partitions, log_q = posterior.sample_and_log_prob((3,))
            >>> partitions.shape, log_q.shape
            (torch.Size([3, 5]), torch.Size([3]))
        """
        self._check(data)
        batch = data.shape[: -self.event_dim]
        flat = data.reshape(-1, *data.shape[-self.event_dim :])
        visit = self.order(flat) if order is None else _permutations(order, flat, batch)
        dataset = torch.arange(len(flat), device=data.device).view(batch)
        return self._sequential(flat, visit, dataset)

    def order_averaged(self, data: Tensor, num_orders: int) -> OrderAveragedPartition:
        """Return the mixture of the guide over random orders; log_prob costs ``num_orders`` times as much.

        Shape:
            data: ``(*batch, N, D)``.
        """
        if num_orders < 1:
            raise ValueError(f"num_orders is {num_orders}, expected at least 1")
        self._check(data)
        batch = data.shape[: -self.event_dim]
        flat = data.reshape(-1, *data.shape[-self.event_dim :]).expand(
            num_orders, *(-1,) * (self.event_dim + 1)
        )
        flat = flat.reshape(-1, *data.shape[-self.event_dim :])
        visit = torch.rand(flat.shape[:2], device=data.device).argsort(-1)
        dataset = torch.arange(len(flat), device=data.device).view(num_orders, *batch)
        return OrderAveragedPartition(self._sequential(flat, visit, dataset))

    def forward(self, data: Tensor) -> Tensor:
        """Sample the site ``"assignments"``: the Pyro guide."""
        with pyro.plate_stack("datasets", data.shape[: -self.event_dim]):
            return pyro.sample("assignments", self.posterior(data))

    def _sequential(self, flat: Tensor, visit: Tensor, dataset: Tensor) -> SequentialPartition:
        scorer: Scorer[Any] = self.scorer
        index = visit.reshape(*visit.shape, *(1,) * (flat.dim() - 2)).expand(flat.shape)
        encoding = scorer.encode(flat.gather(1, index))
        return SequentialPartition(scorer, encoding, order=visit, dataset=dataset)

    def _check(self, data: Tensor) -> None:
        dim = self.model.component.dim
        if data.dim() < self.event_dim or data.shape[-2] < 1 or data.shape[-1] != dim:
            raise ValueError(
                f"data has shape {tuple(data.shape)}, expected (..., N, {dim}) with at least one point"
            )
        if not bool(torch.isfinite(data).all()):
            raise ValueError(
                "data has NaN or infinite values, expected finite numbers; drop or impute them first"
            )


def _permutations(order: Tensor, flat: Tensor, batch: torch.Size) -> Tensor:
    points = flat.shape[1]
    if order.shape[-1:] != (points,) or not bool((order.sort(-1).values == torch.arange(points)).all()):
        raise ValueError(
            f"order has shape {tuple(order.shape)}, expected permutations of {points} points, (..., {points})"
        )
    return order.expand(*batch, points).reshape(-1, points)
