"""The base class of all guides, one method to write; and a trained guide carried over to another model."""

import copy
import inspect
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
import pyro
import torch
from pyro.nn import PyroModule
from torch import Size, Tensor
from torch.distributions import Distribution

from pyroclust.core.numbers import as_numbers, check_count
from pyroclust.core.registry import name_of, rebuild
from pyroclust.distributions import Component
from pyroclust.distributions.hyperparameters import as_number, shown
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.points import Points, as_points, check_points
from pyroclust.distributions.protocols import (
    CollapsedModel,
    Model,
    as_model,
    is_of_graphs,
    own_name,
    takes_missing,
)
from pyroclust.nn.modules import MAX_BLOCKS, check_bandwidths, check_scale
from pyroclust.partitions.adjacency import as_adjacency
from pyroclust.partitions.constraints import Constraints, Pairs


class AmortizedGuide(PyroModule):
    """An amortized guide: from data sets to distributions over their partitions, by weights trained once.

    Subclasses write :meth:`posterior`, and begin it with ``data = self.points(data)``. The Pyro guide, the
    name in Pyro's parameter store, conditions, and checks of the data come from here.

    Args:
        model: the Pyro program whose posterior is approximated: a mixture, or any program with the sites
            ``"assignments"`` and ``"data"``, see :class:`~pyroclust.models.Program`.
        conditions: names of random hyperparameters of the model that :meth:`condition` sets.

    Raises:
        ValueError: if rows of the model have weights.

    Attributes:
        network_argument: which argument of the constructor takes what a recipe's table of a network makes;
            ``None`` for guides that no recipe makes from such a table.
        model: the model; a :class:`~pyroclust.models.Program` where a function was given.
        conditions: the names that are still to be set; empty for most guides.
        condition_values: those that were set, numbers or one a data set.
        constraints: what is known of the partition; None for nothing.

    Example:
        >>> from pyroclust.distributions import ChineseRestaurantProcess
        >>> from pyroclust.models import gaussian2d
        >>> class PriorGuide(AmortizedGuide):
        ...     def posterior(self, data):
        ...         data = self.points(data)
        ...         return ChineseRestaurantProcess(0.7, data.shape[-2]).expand(data.shape[:-2])
        >>> PriorGuide(gaussian2d())(torch.zeros(3, 5, 2)).shape
        torch.Size([3, 5])
    """

    network_argument: ClassVar[str | None] = None

    def __init__(self, model: Any, *, conditions: Sequence[str] = ()) -> None:
        super().__init__(name=own_name(type(self)))
        self.model: Model = as_model(model)
        if getattr(self.model, "row_weights", None) is not None:
            raise ValueError(
                "model has weights of rows, which guides do not count by, expected none: use MCMC, as "
                "CollapsedGibbs or MergeSplit"
            )
        self.conditions = checked_names(conditions)
        self.condition_values: dict[str, float | Tensor] = {}
        self.constraints: Constraints | None = getattr(self.model, "constraints", None)

    def posterior(self, data: Points) -> PartitionDistribution:
        """Encode ``(*batch, N, *event_shape)`` once and return the distribution over the partitions.

        Raises:
            ValueError: if the data do not fit the model, or the guide has conditions that were not set.
        """
        raise TypeError(f"{type(self).__name__} must define posterior(data)")

    def with_hyperparameters_of(self, data: Points) -> "AmortizedGuide":
        """Return a guide for these data sets alone that has found random hyperparameters once, or itself."""
        return self

    @classmethod
    def model_of_network(cls, model: Any, arguments: Mapping[str, Any]) -> Any:
        """Return the model that parts of the network are made of, by arguments of the constructor."""
        return model

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the constructor but the model, as attributes of these names have them."""
        refuse_a_view(self.condition_values)
        names = inspect.signature(type(self)).parameters
        return {name: getattr(self, name) for name in names if name != "model"}

    @property
    def event_dim(self) -> int:
        """Dimensions of a data set: that of its points and those of a point, 2 for vectors."""
        return self.model.event_dim

    @property
    def mixes_orders(self) -> bool:
        """Whether its posteriors are mixtures over visiting orders."""
        return False

    @property
    def why_no_constraints(self) -> str:
        """Why posteriors cannot be held to constraints; empty where they can."""
        return "its partitions are not made of decisions of which some could be ruled out"

    @property
    def fits_any_model(self) -> bool:
        """Whether :meth:`of` gives a guide with the same weights for other models."""
        return False

    def of(self, model: Any) -> Self:
        """Return the guide of another model, a view with the same weights, where they fit any.

        Raises:
            ValueError: if the weights are those of one model.
        """
        raise ValueError(
            f"guide is a {type(self).__name__} of one model, expected one that fits any: carry it over to a "
            "model of the same shape with retarget"
        )

    def forward(self, data: Points) -> Tensor:
        """Sample the site ``"assignments"``: the Pyro guide.

        ``guide.posterior(data).sample((200,))``, or ``Predictive(guide, num_samples=200, parallel=True)``,
        encode the data once, 50 times as fast as 200 runs of the guide.
        """
        points = self.points(data)
        with pyro.plate_stack("datasets", points.shape[: -self.event_dim]):
            return pyro.sample("assignments", self.posterior(points))

    def condition(self, **values: float | Tensor) -> Self:
        """Return the guide for known hyperparameters: a view with the same weights, nothing is copied.

        Its model is the guide's model given the values.

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

    def constrained(
        self,
        *,
        must_link: Pairs | None = None,
        cannot_link: Pairs | None = None,
        labels: Tensor | np.ndarray | Sequence[int] | None = None,
    ) -> Self:
        """Return the guide of one data set, of whose partition something is known: a view, same weights.

        Its posteriors have the allowed partitions alone, with exact log-probabilities that sum to one over
        these. Its model is the guide's model under the same constraints.

        Args:
            must_link: pairs of points that are in one cluster, counted from 0.
            cannot_link: pairs of points that are in different clusters.
            labels: ``(N,)`` integers, negative where nothing is known: points of equal labels are together,
                points of different labels apart.

        Raises:
            ValueError: if the constraints contradict one another, the prior may have too few clusters for
                them, or the guide cannot be held to any.

        Example:
            >>> from pyroclust.guides import PredictiveFilter
            >>> from pyroclust.models import gaussian2d
            >>> known = PredictiveFilter(gaussian2d()).constrained(must_link=[(0, 2)], cannot_link=[(0, 1)])
            >>> known.posterior(torch.zeros(3, 2)).sample((2,)).tolist()
            [[0, 1, 0], [0, 1, 0]]
        """
        found = Constraints.of(must_link=must_link, cannot_link=cannot_link, labels=labels)
        return self.under(found if self.constraints is None else self.constraints.joined(found))

    def under(self, constraints: Constraints | None) -> Self:
        """Return the guide under other constraints, or under none: a view with the same weights.

        Posteriors do not keep to a number of clusters: draws of others have no weight under the model, and
        are left out by what draws from guides.
        """
        view = copy.copy(self)
        view.constraints = constraints
        view._check_constraints()
        under = getattr(self.model, "under", None)
        if under is not None:
            view.model = under(constraints)
        return view

    def _flat(self, data: Tensor) -> tuple[Tensor, Size]:
        """Return data sets in a row, ``(B, N, *event_shape)``, and the shape of their batch."""
        batch, inside = data.shape[: -self.event_dim], data.shape[-self.event_dim :]
        return data.reshape(-1, *inside), batch

    @property
    def links(self) -> Constraints | None:
        """What is known of points, which decisions keep to; of the number of clusters they know nothing."""
        return None if self.constraints is None else self.constraints.of_points

    def _check_constraints(self) -> None:
        if self.links is not None and self.why_no_constraints:
            raise ValueError(
                f"guide is a {type(self).__name__}, which cannot be held to constraints: "
                f"{self.why_no_constraints}; take a guide that labels vectors one after the other"
            )

    def points(self, data: Points) -> Tensor:
        """Return data sets as a tensor, once all conditions are set and the data fit the model.

        A tensor is returned as it is; an array, a data frame or lists take dtype and device of the weights.

        Raises:
            ValueError: if a condition is not set, or the data are no numbers of that shape that the model's
                family can make.
        """
        if self.conditions:
            call = ", ".join(f"{name}=..." for name in self.conditions)
            raise ValueError(
                f"guide has the conditions {', '.join(self.conditions)}, expected numbers for them: call "
                f"guide.condition({call}) first"
            )
        self._check_constraints()
        if is_of_graphs(self.model):
            graphs = as_adjacency(data, name="data")
            weight = next(self.parameters(), None)
            return graphs if weight is None else graphs.to(weight)
        points = as_points(data, like=next(self.parameters(), None))
        check_points(points, self.model.event_shape, missing=takes_missing(self.model))
        if isinstance(component := getattr(self.model, "component", None), Component):
            component.check(points)
        return points

    def __repr__(self) -> str:
        weights = sum(one.numel() for one in self.parameters())
        details = "".join(f", {name}=..." for name in self.conditions)
        details += "" if self.constraints is None else f", {self.constraints!r}"
        size = f"{weights:,} weights" if weights else "no weights"
        return f"{type(self).__name__}(model={self.model.name}, {size}{details})"


def bandwidths(number: int, *, ratio: float = 2.0) -> tuple[float, ...]:
    """Return the bandwidths that kernels of a network start with, in units of a typical cluster's scale."""
    number = check_count("num_bandwidths", number, at_least=0, at_most=MAX_BLOCKS)
    ratio = check_scale("bandwidth_ratio", ratio)
    try:
        return check_bandwidths([0.7 * ratio**place for place in range(number)])
    except OverflowError:
        raise ValueError(f"bandwidth_ratio is {ratio:g}, expected one whose powers are finite") from None


def num_columns(model: Model) -> int:
    """Return how many numbers a point has."""
    return prod(model.event_shape)


def visiting_order(rule: Any, flat: Tensor, order: Tensor | None, batch: Size) -> Tensor:
    """Return permutations of the points of flat data sets, ``(B, N)``: those of the user, or by the rule."""
    if order is not None:
        return checked_permutations(order.to(flat.device), num_points=flat.shape[1], batch=batch)
    visit: Tensor = rule(flat)
    return visit


def checked_permutations(order: Tensor, *, num_points: int, batch: Size) -> Tensor:
    """Return permutations of the points of flat data sets, ``(B, N)``."""
    straight = torch.arange(num_points, device=order.device)
    if order.is_floating_point() or order.dtype == torch.bool or order.is_complex():
        raise ValueError(f"order has dtype {order.dtype}, expected permutations in whole numbers")
    if order.shape[-1:] != (num_points,) or not bool((order.sort(-1).values == straight).all()):
        raise ValueError(
            f"order has shape {tuple(order.shape)}, expected permutations of {num_points} points, "
            f"(..., {num_points})"
        )
    try:
        return order.long().expand(*batch, num_points).reshape(-1, num_points)
    except RuntimeError:
        raise ValueError(
            f"order has shape {tuple(order.shape)}, expected one permutation, or one a data set, "
            f"{(*batch, num_points)}"
        ) from None


def checked_names(conditions: Any) -> tuple[str, ...]:
    """Return the names of conditions."""
    given = conditions if isinstance(conditions, list | tuple | set | frozenset | Mapping) else [None]
    names = tuple(conditions) if all(isinstance(one, str) for one in given) else ()
    if len(names) != len(given) or len(set(names)) != len(names):
        raise ValueError(
            f"conditions is {shown(conditions)}, expected different names of hyperparameters, such as "
            "['concentration']"
        )
    return names


def checked_order(order: Any) -> Any:
    """Return a rule for the visiting order."""
    if not callable(order):
        raise ValueError(
            f"order is of type {type(order).__name__}, expected a rule, such as pyroclust.nn.RandomOrder(): "
            "give permutations to posterior(data, order=...)"
        )
    return order


def refuse_a_view(condition_values: Mapping[str, Any]) -> None:
    """Refuse to save or rebuild a guide that was conditioned."""
    if condition_values:
        raise ValueError(
            f"guide is conditioned on {', '.join(condition_values)}, expected the guide it is a view of: "
            "save that one, and condition it when it is loaded"
        )


def checked_values(
    values: Mapping[str, float | Tensor], *, names: Sequence[str], hyperpriors: Mapping[str, Distribution]
) -> dict[str, float | Tensor]:
    """Return the values in the order of the names, numbers as floats."""
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
    """Return numbers as scalars, and batches flat: one value a data set."""
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
    if isinstance(value, np.ndarray | list | tuple):
        value = torch.from_numpy(np.array(as_numbers(name, value)))
    given = as_number(name, value)
    if isinstance(value, Tensor):
        given = value
    else:
        value = given.item()
        given = given.to(torch.get_default_dtype())
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


def _why_no_conditions(values: Mapping[str, float | Tensor]) -> str:
    if values:
        return f"is conditioned on {', '.join(values)} already, expected the guide that it is a view of"
    return "has no conditions, expected one that was built with conditions=[...]"


GuideT = TypeVar("GuideT", bound=AmortizedGuide)


def retarget(guide: GuideT, model: Any) -> GuideT:
    """Return a new guide of another model that starts with the weights of a trained one.

    The network keeps its weights and its visiting order; what it takes from the model, as the exact filter's
    log-weights, comes from the new model. Train it further by ``fit(new.model, new, ...)``: where prior or
    hyperparameters have moved a little, a few hundred steps do. The guide given is not changed.

    Args:
        guide: a trained guide.
        model: another model with points of the same shape, which those of a guide that fits any model may
            lack.

    Raises:
        ValueError: if the guide cannot be made anew from its arguments, or the shapes of points or the
            networks do not agree.

    Example:
        >>> from pyroclust.guides import NeuralClusteringProcess
        >>> from pyroclust.models import gaussian2d, overlap2d
        >>> trained = NeuralClusteringProcess(gaussian2d())
        >>> retarget(trained, overlap2d()).model.name, trained.model.name
        ('overlap2d', 'gaussian2d')

    References:
        Le, Baydin & Wood (2017), Inference compilation. https://arxiv.org/abs/1610.09900
    """
    if name_of(guide) is None and not hasattr(guide, "arguments"):
        raise ValueError(
            f"guide is a {type(guide).__name__}, expected a registered class, or one with arguments: build a "
            "new guide of the model and load the weights with load_state_dict"
        )
    model = as_model(model)
    # Networks would take points of another shape and as many numbers, and see nonsense.
    shape, expected = tuple(model.event_shape), tuple(guide.model.event_shape)
    if shape != expected and not guide.fits_any_model:
        raise ValueError(
            f"model has points of shape {shape}, expected {expected} as the guide's own model "
            f"'{guide.model.name}': train a new guide"
        )
    new: GuideT = rebuild(guide, parts_of(model))
    _copy_weights(guide, new)
    return new.train(guide.training)


def parts_of(model: Model) -> dict[str, Any]:
    """Return what guides and their parts may ask for when they are built: the model and its two parts."""
    if not model.is_conjugate:
        return {"model": model}
    mixture = cast(CollapsedModel, model)
    return {"model": model, "prior": mixture.prior, "component": mixture.component}


def _copy_weights(source: AmortizedGuide, target: AmortizedGuide) -> None:
    weights = {name: value.detach().clone() for name, value in source.state_dict().items()}
    for name, value in target.state_dict().items():
        if name not in weights or weights[name].shape != value.shape:
            found = tuple(weights[name].shape) if name in weights else "missing"
            raise ValueError(
                f"guide has the weight '{name}' {found}, expected shape {tuple(value.shape)} for this model: "
                "train a new guide"
            )
    target.load_state_dict(weights)
    reference = next(source.parameters(), None)
    if reference is not None:
        target.to(reference.device)
