"""What all guides that label points one after the other share."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Self

import pyro
import torch
from pyro.nn import PyroModule
from torch import Size, Tensor
from torch.distributions import Distribution

from pyroclust.distributions.sequential.partition import OrderAveragedPartition, SequentialPartition
from pyroclust.distributions.sequential.scorer import Scorer
from pyroclust.guides.base import check_event, checked_permutations, own_name
from pyroclust.nn import Order, RandomOrder, SummedScorer
from pyroclust.nn.orders import antithetic_orders
from pyroclust.protocols import CollapsedModel

__all__ = ["SequentialGuide", "checked_values", "values_of_data_sets"]


def checked_values(
    values: Mapping[str, float | Tensor], *, names: Sequence[str], hyperpriors: Mapping[str, Distribution]
) -> dict[str, float | Tensor]:
    """Return the values in the order of the names, numbers as floats.

    Raises:
        ValueError: if a name is unknown or missing, or a value lies outside the support of its prior.

    Example:
        >>> from pyro.distributions import Gamma
        >>> priors = {"concentration": Gamma(2.0, 4.0)}
        >>> checked_values({"concentration": 1}, names=["concentration"], hyperpriors=priors)
        {'concentration': 1.0}
    """
    wanted = ", ".join(names)
    for name in values:
        if name not in names:
            raise ValueError(f"condition was given {name!r}, expected the guide's conditions: {wanted}")
    missing = [name for name in names if name not in values]
    if missing:
        raise ValueError(f"condition was not given {', '.join(missing)}, expected all conditions: {wanted}")
    return {name: _checked(name, values[name], hyperpriors[name]) for name in names}


def values_of_data_sets(
    values: Mapping[str, float | Tensor], batch: Size, device: torch.device
) -> dict[str, Tensor]:
    """Return numbers as scalars, and batches flat: one value a data set.

    Shape:
        values: numbers, or tensors that broadcast with ``(*batch)``; output: ``()`` or ``(B,)``.

    Raises:
        ValueError: if a value does not broadcast with the batch of the data.
    """
    found = {}
    for name, one in values.items():
        if not isinstance(one, Tensor):
            found[name] = torch.tensor(one, dtype=torch.float64, device="cpu")
            continue
        try:
            found[name] = one.to(device).expand(batch).reshape(-1)
        except RuntimeError:
            raise ValueError(
                f"{name} has shape {tuple(one.shape)}, expected one number, or one a data set, {tuple(batch)}"
            ) from None
    return found


def _checked(name: str, value: float | Tensor, prior: Distribution) -> float | Tensor:
    given = torch.as_tensor(value)
    if not given.is_floating_point():
        given = given.to(torch.get_default_dtype())
    support = prior.support
    inside = given.isfinite() & (torch.ones_like(given) if support is None else support.check(given)).bool()
    if not bool(inside.all()):
        worst = given[~inside].reshape(-1)[0].item()
        raise ValueError(
            f"{name} is {worst:g}, expected a number{_bounds(prior)}, in the support of its prior "
            f"{type(prior).__name__}"
        )
    return given if given.dim() else float(value)


def _bounds(prior: Distribution) -> str:
    low, high = (getattr(prior.support, f"{side}_bound", None) for side in ("lower", "upper"))
    if low is None:
        return ""
    return f" above {float(low):g}" if high is None else f" from {float(low):g} to {float(high):g}"


class SequentialGuide(PyroModule):
    """An amortized guide whose posterior labels points one after the other.

    Args:
        model: the Pyro model whose posterior is approximated.
        scorer: scores the candidates of each decision.
        order: rule for the visiting order.
        conditions: names of random hyperparameters of the model that :meth:`condition` sets.
        num_orders: random orders M that every posterior mixes, in antithetic pairs; see :meth:`mixed`.

    Raises:
        ValueError: if ``num_orders`` is below 1, or above it and ``order`` is a rule.

    Attributes:
        conditions: the names that are still to be set.
        condition_values: those that were set, numbers or one a data set.
    """

    def __init__(
        self,
        model: CollapsedModel,
        *,
        scorer: Any,
        order: Order,
        conditions: Sequence[str] = (),
        num_orders: int = 1,
    ) -> None:
        super().__init__(name=own_name(type(self)))
        self.model, self.scorer, self.order = model, scorer, order
        self.num_orders = _checked_number(num_orders, order)
        self.conditions = tuple(conditions)
        self.condition_values: dict[str, float | Tensor] = {}

    @property
    def mixes_orders(self) -> bool:
        """Whether its posteriors are mixtures over visiting orders."""
        return self.num_orders > 1

    @property
    def event_dim(self) -> int:
        """Dimensions of a data set: that of its points and those of a point, 2 for vectors."""
        return 1 + len(self.model.event_shape)

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

    def mixed(self, num_orders: int) -> Self:
        r"""Return the guide whose posteriors mix visiting orders: a view with the same weights.

        .. math:: \bar q(c \mid x) = \frac{1}{M} \sum_{m=1}^{M} q(c \mid x, \pi_m)

        An exact distribution again, nearer to the posterior than most of its parts, and hardly dependent on
        the orders, which are drawn anew for each data set whenever a posterior is made. Draws cost about the
        same; log-probabilities, and so draws with theirs, M times as much. ``mixed(1)`` is the guide for one
        order, as sequential Monte Carlo needs it.

        Args:
            num_orders: M, in antithetic pairs.

        Raises:
            ValueError: if ``num_orders`` is below 1, or above it and the guide's order is a rule.

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
        self, data: Tensor, *, order: Tensor | None = None
    ) -> SequentialPartition | OrderAveragedPartition:
        """Encode data sets once and return the distribution over their partitions.

        It is a mixture where the guide mixes orders or several are given, and else the law of one order.

        Args:
            data: ``(*batch, N, D)``, finite.
            order: permutations ``(*batch, N)`` or ``(N,)`` to visit the points in, or several in front,
                ``(M, *batch, N)``, to be mixed; the guide's own rule otherwise.

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
        if order is None and self.num_orders > 1:
            return self.order_averaged(data, self.num_orders)
        if order is not None and order.dim() > data.dim() - self.event_dim + 1:
            return OrderAveragedPartition(self.over_orders(data, order))
        self._check(data)
        batch = data.shape[: -self.event_dim]
        flat = data.reshape(-1, *data.shape[-self.event_dim :])
        values = values_of_data_sets(self.condition_values, batch, data.device)
        visit = (
            self._visit(flat, values)
            if order is None
            else checked_permutations(order.to(flat.device), num_points=flat.shape[1], batch=batch)
        )
        dataset = torch.arange(len(flat), device=data.device).view(batch)
        return self._sequential(flat, visit, dataset, values)

    def order_averaged(self, data: Tensor, num_orders: int) -> OrderAveragedPartition:
        """Return the mixture of the guide over random orders in antithetic pairs, whatever its own rule.

        Shape:
            data: ``(*batch, N, D)``.

        Raises:
            ValueError: as :meth:`posterior`, or if ``num_orders`` is below 1.
        """
        self._check(data)
        order = antithetic_orders(num_orders, data.reshape(-1, *data.shape[-self.event_dim :]))
        return OrderAveragedPartition(
            self.over_orders(data, order.view(num_orders, *data.shape[: -self.event_dim + 1]))
        )

    def over_orders(self, data: Tensor, order: Tensor) -> SequentialPartition:
        """Return the posteriors for several orders of each data set, the orders in front.

        Shape:
            data: ``(*batch, N, D)``; order: ``(M, *batch, N)`` or ``(M, *ones, N)``; the batch_shape of the
                output: ``(M, *batch)``.

        Raises:
            ValueError: as :meth:`posterior`.
        """
        self._check(data)
        batch = torch.Size((len(order), *data.shape[: -self.event_dim]))
        flat = data.reshape(-1, *data.shape[-self.event_dim :])
        copies = torch.arange(len(flat), device=data.device).repeat(len(order))
        visit = checked_permutations(order.to(flat.device), num_points=flat.shape[1], batch=batch)
        dataset = torch.arange(len(copies), device=data.device).view(batch)
        scorer = self.scorer
        if isinstance(scorer, SummedScorer) and not self.condition_values:
            encoding = scorer.arrange(scorer.encode_points(flat), copies, visit)
            return SequentialPartition(scorer, encoding, order=visit, dataset=dataset)
        values = values_of_data_sets(self.condition_values, batch, data.device)
        return self._sequential(flat[copies], visit, dataset, values)

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
        check_event(data, self.model.event_shape)


def _checked_number(num_orders: int, order: Order) -> int:
    if num_orders < 1:
        raise ValueError(f"num_orders is {num_orders}, expected at least 1")
    if num_orders > 1 and not isinstance(order, RandomOrder):
        raise ValueError(
            f"num_orders is {num_orders} with order {type(order).__name__}, expected RandomOrder(): a rule "
            "gives one order"
        )
    return num_orders


def _why_no_conditions(values: Mapping[str, float | Tensor]) -> str:
    if values:
        return f"is conditioned on {', '.join(values)} already, expected the guide that it is a view of"
    return "has no conditions, expected one that was built with conditions=[...]"
