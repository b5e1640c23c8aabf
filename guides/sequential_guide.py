"""What all guides that label points one after the other share."""

import copy
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, Protocol, Self

import pyro
import torch
from pyro.nn import PyroModule
from torch import Tensor
from torch.distributions import Distribution

from pyroclust.distributions import ConjugateComponent, PartitionPrior
from pyroclust.distributions.scorer import Scorer
from pyroclust.distributions.sequential import OrderAveragedPartition, SequentialPartition
from pyroclust.guides.condition_values import checked_values, values_of_data_sets
from pyroclust.nn import Order

__all__ = ["CollapsedModel", "SequentialGuide"]

_serial = count()


class CollapsedModel(Protocol):
    """What a guide asks of the Pyro model it is trained on."""

    prior: PartitionPrior
    component: ConjugateComponent
    name: str

    @property
    def hyperpriors(self) -> dict[str, Distribution]:
        """Priors of the random hyperparameters."""
        ...

    def given(self, values: Mapping[str, Tensor | float]) -> Self:
        """Return the model with some hyperparameters set."""
        ...

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
        conditions: names of random hyperparameters of the model that :meth:`condition` sets.

    Attributes:
        conditions: the names that are still to be set.
        condition_values: those that were set, numbers or one a data set.
    """

    event_dim = 2

    def __init__(
        self, model: CollapsedModel, *, scorer: Any, order: Order, conditions: Sequence[str] = ()
    ) -> None:
        super().__init__(name=f"{type(self).__name__}_{next(_serial)}")
        self.model, self.scorer, self.order = model, scorer, order
        self.conditions = tuple(conditions)
        self.condition_values: dict[str, float | Tensor] = {}

    def condition(self, **values: float | Tensor) -> Self:
        """Return the guide for known hyperparameters: a view with the same weights, nothing is copied.

        Its model is the guide's model given the values; posteriors, importance sampling and Markov chains
        take it as any other guide.

        Args:
            **values: every condition by name: a number, or one a data set, ``(*batch)``.

        Raises:
            ValueError: if the guide has no conditions, a name is unknown or missing, or a value lies outside
                the support of its prior.

        Example:
            >>> from pyroclust.guides import PredictiveFilter
            >>> from pyroclust.models import sensitivity2d
            >>> guide = PredictiveFilter(sensitivity2d(), conditions=["concentration", "prior_scale"])
            >>> known = guide.condition(concentration=torch.tensor([0.1, 5.0]), prior_scale=10.0)
            >>> known.posterior(torch.zeros(2, 3, 2)).log_prob(torch.tensor([0, 1, 2])).exp()
            tensor([1.9...e-06, 4.2...e-03], dtype=torch.float64)
        """
        if not self.conditions:
            raise ValueError(f"guide {_why_no_conditions(self.condition_values)}")
        known = checked_values(values, names=self.conditions, hyperpriors=self.model.hyperpriors)
        view = copy.copy(self)
        view.model, view.conditions, view.condition_values = self.model.given(known), (), known
        return view

    def posterior(self, data: Tensor, *, order: Tensor | None = None) -> SequentialPartition:
        """Encode data sets once and return the distribution over their partitions.

        Args:
            data: ``(*batch, N, D)``, finite.
            order: permutations ``(*batch, N)`` or ``(N,)`` to visit the points in; the guide's own rule
                otherwise.

        Raises:
            ValueError: if the data are empty, not finite or of the wrong dimension, the order is no
                permutation, or the guide has conditions that were not set.

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
        values = values_of_data_sets(self.condition_values, batch, data.device)
        visit = self._visit(flat, values) if order is None else _permutations(order, flat, batch)
        dataset = torch.arange(len(flat), device=data.device).view(batch)
        return self._sequential(flat, visit, dataset, values)

    def order_averaged(self, data: Tensor, num_orders: int) -> OrderAveragedPartition:
        """Return the mixture of the guide over random orders; log_prob costs ``num_orders`` times as much.

        Shape:
            data: ``(*batch, N, D)``.
        """
        if num_orders < 1:
            raise ValueError(f"num_orders is {num_orders}, expected at least 1")
        self._check(data)
        batch = torch.Size((num_orders, *data.shape[: -self.event_dim]))
        flat = data.expand(num_orders, *data.shape).reshape(-1, *data.shape[-self.event_dim :])
        values = values_of_data_sets(self.condition_values, batch, data.device)
        visit = torch.rand(flat.shape[:2], device=data.device).argsort(-1)
        dataset = torch.arange(len(flat), device=data.device).view(batch)
        return OrderAveragedPartition(self._sequential(flat, visit, dataset, values))

    def forward(self, data: Tensor) -> Tensor:
        """Sample the site ``"assignments"``: the Pyro guide."""
        with pyro.plate_stack("datasets", data.shape[: -self.event_dim]):
            return pyro.sample("assignments", self.posterior(data))

    def _visit(self, flat: Tensor, values: Mapping[str, Tensor]) -> Tensor:
        """Apply the rule for the visiting order, ``(B, N, ...) -> (B, N)``."""
        return self.order(flat)

    def _encode(self, scorer: Any, flat: Tensor, values: Mapping[str, Tensor]) -> Any:
        """Encode data sets in visiting order; conditions are ``()`` or ``(B,)``."""
        return scorer.encode(flat, values) if values else scorer.encode(flat)

    def _sequential(
        self, flat: Tensor, visit: Tensor, dataset: Tensor, values: Mapping[str, Tensor]
    ) -> SequentialPartition:
        # Each access makes Pyro register all parameters again: one is enough.
        scorer: Scorer[Any] = self.scorer
        index = visit.reshape(*visit.shape, *(1,) * (flat.dim() - 2)).expand(flat.shape)
        encoding = self._encode(scorer, flat.gather(1, index), values)
        return SequentialPartition(scorer, encoding, order=visit, dataset=dataset)

    def _check(self, data: Tensor) -> None:
        if self.conditions:
            call = ", ".join(f"{name}=..." for name in self.conditions)
            raise ValueError(
                f"guide has the conditions {', '.join(self.conditions)}, expected numbers for them: call "
                f"guide.condition({call}) first"
            )
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
    points, order = flat.shape[1], order.to(flat.device)
    straight = torch.arange(points, device=flat.device)
    if order.shape[-1:] != (points,) or not bool((order.sort(-1).values == straight).all()):
        raise ValueError(
            f"order has shape {tuple(order.shape)}, expected permutations of {points} points, (..., {points})"
        )
    return order.expand(*batch, points).reshape(-1, points)


def _why_no_conditions(values: Mapping[str, float | Tensor]) -> str:
    if values:
        return f"is conditioned on {', '.join(values)} already, expected the guide that it is a view of"
    return "has no conditions, expected one that was built with conditions=[...]"
