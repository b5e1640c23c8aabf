"""What all guides that label points one after the other share."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Self

import torch
from torch import Tensor

from pyroclust.core.numbers import check_count
from pyroclust.distributions.points import Points
from pyroclust.distributions.sequential.partition import OrderAveragedPartition, SequentialPartition
from pyroclust.distributions.sequential.scorer import ConstrainedScorer, Scorer
from pyroclust.guides.base import (
    AmortizedGuide,
    checked_order,
    checked_permutations,
    values_of_data_sets,
    visiting_order,
)
from pyroclust.nn import Order, RandomOrder
from pyroclust.nn.orders import antithetic_orders


class SequentialGuide(AmortizedGuide):
    """An amortized guide whose posterior labels points one after the other.

    Args:
        model: the Pyro model whose posterior is approximated.
        scorer: scores the candidates of each decision.
        order: rule for the visiting order.
        conditions: names of random hyperparameters of the model that :meth:`condition` sets.
        num_orders: random orders M that every posterior mixes, in antithetic pairs; see :meth:`mixed`.
    """

    def __init__(
        self,
        model: Any,
        *,
        scorer: Scorer[Any],
        order: Order,
        conditions: Sequence[str] = (),
        num_orders: int = 1,
    ) -> None:
        super().__init__(model, conditions=conditions)
        self.scorer, self.order = scorer, checked_order(order)
        self.num_orders = _checked_number(num_orders, order)

    @property
    def why_no_constraints(self) -> str:
        return ""

    @property
    def mixes_orders(self) -> bool:
        return self.num_orders > 1

    def mixed(self, num_orders: int) -> Self:
        r"""Return the guide whose posteriors mix visiting orders: a view with the same weights.

        .. math:: \bar q(c \mid x) = \frac{1}{M} \sum_{m=1}^{M} q(c \mid x, \pi_m)

        An exact distribution again, nearer to the posterior than most of its parts, over orders that are
        drawn anew for each data set, in antithetic pairs. Draws cost about the same; log-probabilities, and
        so draws with theirs, M times as much. ``mixed(1)`` is the guide for one order, as sequential Monte
        Carlo needs it.

        Example:
            >>> from pyroclust.guides import PredictiveFilter
            >>> from pyroclust.models import gaussian2d
            >>> mixture = PredictiveFilter(gaussian2d()).mixed(4).posterior(torch.zeros(3, 2))
            >>> every = torch.tensor([[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [0, 1, 2]])
            >>> mixture.log_prob(every).exp().sum().round(decimals=4)
            tensor(1., dtype=torch.float64)
        """
        view = copy.copy(self)
        view.num_orders = _checked_number(num_orders, self.order)
        return view

    def posterior(
        self, data: Points, *, order: Tensor | None = None
    ) -> SequentialPartition | OrderAveragedPartition:
        """Encode data sets once and return the distribution over their partitions.

        It is a mixture where the guide mixes orders or several are given, and else the law of one order.

        Args:
            data: ``(*batch, N, D)``.
            order: permutations ``(*batch, N)`` or ``(N,)`` to visit the points in, or several in front,
                ``(M, *batch, N)``, to be mixed; the guide's own rule otherwise.
        """
        data = self.points(data)
        if order is None and self.num_orders > 1:
            return self.order_averaged(data, self.num_orders)
        if order is not None and order.dim() > data.dim() - self.event_dim + 1:
            return OrderAveragedPartition(self.over_orders(data, order))
        flat, batch = self._flat(data)
        values = values_of_data_sets(self.condition_values, batch, data.device)
        visit = visiting_order(
            lambda points: self._known_first(self._visit(points, values)), flat, order, batch
        )
        every = torch.arange(len(flat), device=data.device)
        return self._sequential(flat, every, visit, every.view(batch), values)

    def order_averaged(self, data: Points, num_orders: int) -> OrderAveragedPartition:
        """Return the mixture of the guide over random orders in antithetic pairs, whatever its own rule."""
        data = self.points(data)
        order = self._known_first(antithetic_orders(num_orders, self._flat(data)[0]))
        return OrderAveragedPartition(
            self.over_orders(data, order.view(num_orders, *data.shape[: -self.event_dim + 1]))
        )

    def over_orders(self, data: Points, order: Tensor) -> SequentialPartition:
        """Return the posteriors for several orders of each data set, the orders in front.

        Shape:
            data: ``(*batch, N, D)``; order: ``(M, *batch, N)`` or ``(M, *ones, N)``; the batch_shape of the
                output: ``(M, *batch)``.
        """
        data = self.points(data)
        batch = torch.Size((len(order), *data.shape[: -self.event_dim]))
        flat = self._flat(data)[0]
        copies = torch.arange(len(flat), device=data.device).repeat(len(order))
        visit = checked_permutations(order.to(flat.device), num_points=flat.shape[1], batch=batch)
        dataset = torch.arange(len(copies), device=data.device).view(batch)
        values = values_of_data_sets(self.condition_values, batch, data.device)
        return self._sequential(flat, copies, visit, dataset, values)

    def _visit(self, flat: Tensor, values: Mapping[str, Tensor]) -> Tensor:
        """Apply the rule for the visiting order, ``(B, N, ...) -> (B, N)``."""
        return self.order(flat)

    def _known_first(self, order: Tensor) -> Tensor:
        """Visit points that something is known of before the others, where any order will do."""
        if (known := self.links) is None or not isinstance(self.order, RandomOrder):
            return order
        free = torch.ones(order.shape[-1], dtype=torch.uint8, device=order.device)
        free[known.over(order.shape[-1]).bound_points] = 0
        return order.gather(-1, free[order].argsort(dim=-1, stable=True))

    def _masked_scorer(self) -> Scorer[Any]:
        # Each access makes Pyro register all parameters again: one is enough.
        scorer: Scorer[Any] = self.scorer
        return scorer if self.links is None else ConstrainedScorer(scorer, self.links)

    def _sequential(
        self, flat: Tensor, copies: Tensor, visit: Tensor, dataset: Tensor, values: Mapping[str, Tensor]
    ) -> SequentialPartition:
        scorer = self._masked_scorer()
        encoding = scorer.encode_over_orders(flat, copies, visit, values)
        return SequentialPartition(scorer, encoding, order=visit, dataset=dataset)


def _checked_number(num_orders: int, order: Order) -> int:
    num_orders = check_count("num_orders", num_orders)
    if num_orders > 1 and not isinstance(order, RandomOrder):
        raise ValueError(
            f"num_orders is {num_orders} with order {type(order).__name__}, expected RandomOrder(): a rule "
            "gives one order"
        )
    return num_orders
