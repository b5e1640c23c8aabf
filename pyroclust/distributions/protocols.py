"""What models and guides are to everything that uses them, and any Pyro program as a model."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from types import FunctionType
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import torch
from pyro import poutine
from pyro.distributions import TorchDistribution
from torch import Size, Tensor
from torch.distributions import Distribution

from pyroclust.core.numbers import check_count, check_number
from pyroclust.core.random_state import seeded
from pyroclust.core.registry import arguments_of
from pyroclust.distributions.families.component import Component
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.priors.prior import PartitionPrior
from pyroclust.distributions.sequential.partition import OrderAveragedPartition, SequentialPartition
from pyroclust.partitions import is_canonical
from pyroclust.partitions.constraints import Constraints


@runtime_checkable
class JointModel(Protocol):
    """A model whose joint density of partition and data can be evaluated."""

    @property
    def event_dim(self) -> int: ...  # dimensions of a data set: of its points and of a point, 2 for vectors

    def log_joint(self, data: Tensor, assignments: Tensor) -> Tensor:
        """Return log p(assignments, data) in nats, batched over leading dimensions."""
        ...


@runtime_checkable
class Model(Protocol):
    """A Pyro program of data sets and their partitions, in plates that lie to the left of the points.

    Called with data, or with a template of their shape under ``poutine.uncondition``, it has the sites
    ``"assignments"``, canonical labels ``(*batch, N)``, and ``"data"``, points ``(*batch, N, *event_shape)``.
    Any such function becomes one of these by :class:`pyroclust.distributions.protocols.Program`.
    """

    @property
    def name(self) -> str: ...  # what reports call the model

    @property
    def event_shape(self) -> tuple[int, ...]: ...  # of one point, (D,) for vectors

    @property
    def event_dim(self) -> int: ...  # dimensions of a data set: of its points and of a point, 2 for vectors

    @property
    def typical_scale(self) -> float:
        """A typical standard deviation within a cluster, in data units: where networks start looking."""
        ...

    @property
    def scale_is_known(self) -> bool:
        """Whether all clusters have the same known covariance, ``typical_scale**2`` times the identity."""
        ...

    @property
    def has_likelihood(self) -> bool: ...  # whether this is a JointModel

    @property
    def is_conjugate(self) -> bool: ...  # whether this is a CollapsedModel of a conjugate family

    @property
    def partition_prior(self) -> PartitionPrior | None: ...  # None where there is no formula for it

    @property
    def hyperpriors(self) -> Mapping[str, Distribution]: ...  # of random hyperparameters, by site

    def given(self, values: Mapping[str, Tensor | float]) -> Self:
        """Return the model with some hyperparameters set to numbers or to batches ``(*batch)``."""
        ...

    def __call__(self, data: Tensor) -> Any: ...


class CollapsedModel(Model, JointModel, Protocol):
    """A partition prior with a component family: what kernels, filters and conjugate guides ask for.

    :class:`pyroclust.models.Mixture` is one.
    """

    prior: PartitionPrior
    component: Component

    @property
    def constraints(self) -> Constraints | None:
        """Constraints on the partition, if there are any."""
        ...

    @property
    def row_weights(self) -> Tensor | None:
        """How many rows each row of the data stands for, ``(N,)`` int64; None for one each."""
        ...


class CompanionProgram(Protocol):
    """A mixture with explicit parameters and labels to enumerate, as :class:`pyroclust.models.Companion`."""

    @property
    def mixture(self) -> CollapsedModel: ...  # the model that it spells out

    @property
    def num_components(self) -> int: ...  # T

    @property
    def discrete_sites(self) -> tuple[str, ...]: ...  # what is enumerated; one is "labels", (N,)

    def __call__(self, data: Tensor) -> Tensor: ...  # on one data set, each site in one plate at most


@runtime_checkable
class LawOfModels(Protocol):
    """A law of data sets each batch of which has a model of its own, and the guide's for that model."""

    def draw_model(self) -> Any:
        """Draw a law of data sets, a Pyro program, whose attribute ``model`` is the model they come from."""
        ...


@runtime_checkable
class PartitionGuide(Protocol):
    """Whatever has an approximate posterior of the partition: all that importance weights need."""

    def posterior(self, data: Tensor) -> PartitionDistribution: ...


@runtime_checkable
class Guide(PartitionGuide, Protocol):
    """An amortized guide; :class:`pyroclust.guides.AmortizedGuide` is the base class of all."""

    @property
    def model(self) -> Any: ...  # whose posterior is approximated

    @property
    def conditions(self) -> tuple[str, ...]: ...  # names of hyperparameters that the guide must be told

    @property
    def mixes_orders(self) -> bool: ...  # whether its posteriors are mixtures over visiting orders

    def condition(self, **values: float | Tensor) -> Self:
        """Return the guide for known hyperparameters, with the model given them."""
        ...


class PointwiseGuide(Protocol):
    """A guide that labels points one after the other, in any order; without one it may mix several."""

    def posterior(
        self, data: Tensor, *, order: Tensor | None = None
    ) -> SequentialPartition | OrderAveragedPartition: ...


def is_of_graphs(model: Any) -> bool:
    """Say whether points are the nodes of graphs ``(*batch, N, N)``: the ``event_shape`` is ``(-1,)``."""
    return tuple(getattr(model, "event_shape", ())) == (-1,)


def points_shape(event_shape: tuple[int, ...], num_points: int) -> tuple[int, ...]:
    """Return the shape of a data set of so many points of a shape, -1 being their number."""
    return (num_points, *(num_points if size == -1 else size for size in event_shape))


def data_shape(model: Any, num_points: int) -> tuple[int, ...]:
    """Return the shape of a data set of so many points, that of a template."""
    return points_shape(tuple(model.event_shape), num_points)


def some_points(model: Any, data: Tensor, index: Tensor | slice) -> Tensor:
    """Return some points of data sets ``(*batch, N, *event_shape)``; of graphs nodes and their edges."""
    if is_of_graphs(model):
        return data[..., index, :][..., index]
    return data[(..., index, *(slice(None),) * len(model.event_shape))]


def takes_missing(model: object) -> bool:
    """Return whether cells of a model's points may be missing, nan."""
    return bool(getattr(getattr(model, "component", None), "takes_missing", False))


_serial = count()
_GUESSES = ((1,), (2,))
_SMALL, _LARGE = (2, 5), (64, 30)


class SimulatedModel:
    """What models have in common that can be simulated and do nothing else: no likelihood, no filter."""

    has_likelihood = False
    is_conjugate = False
    scale_is_known = False
    is_trained_with_guide = False
    name: str
    # Of one point.
    event_shape: tuple[int, ...]
    # The law of the partitions, where it is known.
    partition_prior: PartitionPrior | None = None

    @property
    def event_dim(self) -> int:
        """Dimensions of a data set: that of its points and those of a point."""
        return 1 + len(self.event_shape)

    @property
    def hyperpriors(self) -> Mapping[str, Distribution]:
        return {}

    def given(self, values: Mapping[str, Tensor | float]) -> Self:
        """Return the model itself, which has no hyperparameters."""
        if values:
            raise ValueError(
                f"values has {', '.join(values)}, expected none: model '{self.name}' has no hyperparameters "
                "that it knows by name"
            )
        return self

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.event_shape))
        return f"{type(self).__name__}({self.name}, points of {shape} numbers, simulation only)"


class SimulatedFromArguments(SimulatedModel):
    """A simulated model that is the same as another where all arguments of their constructors are."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and arguments_of(self) == arguments_of(other)

    def __hash__(self) -> int:
        return hash(type(self))


class LawWithoutDensity(TorchDistribution):
    """A distribution that can only be drawn from; subclasses write ``_draw`` and ``expand``."""

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Draw, ``(*sample_shape, *batch_shape, *event_shape)``."""
        with torch.no_grad():
            return self._draw(self._extended_shape(Size(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        """Refuse: there is no formula.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no log_prob: it can only be simulated; train a guide on its draws "
            "with InclusiveKL"
        )

    def _draw(self, shape: Size) -> Tensor:
        raise TypeError(f"{type(self).__name__} must define _draw")


class Program(SimulatedModel):
    """A Pyro program with the sites ``"assignments"`` and ``"data"``, as guides and training see it.

    The program takes data sets, ``(*batch, N, *event_shape)``, or a template of their shape, and samples
    inside of ``pyro.plate_stack("datasets", data.shape[:-2])``: canonical labels ``(*batch, N)``, and points
    that are observed with the argument. It has no likelihood for this package: guides of it can be trained,
    drawn from and calibrated; exact posteriors, importance weights and Markov chains need a
    :class:`~pyroclust.models.Mixture`. What is not given is found by running it on templates of a few points.

    Args:
        program: the Pyro program, a function or a module.
        event_shape: shape of one point, ``(D,)`` for vectors; needed where the program takes points of any.
        typical_scale: a typical standard deviation within a cluster, in data units.
        name: what reports call the model; that of the function by default.

    Raises:
        ValueError: if the program cannot be run on a template, its sites are missing or of other shapes, its
            labels are not canonical, or the shape of a point cannot be found.

    Example:
        >>> import pyro
        >>> from pyro.distributions import Normal
        >>> from pyroclust.distributions import ChineseRestaurantProcess
        >>> def line(data):
        ...     with pyro.plate_stack("datasets", data.shape[:-2]):
        ...         labels = pyro.sample("assignments", ChineseRestaurantProcess(1.0, data.shape[-2]))
        ...         pyro.sample("data", Normal(5.0 * labels.unsqueeze(-1), 1.0).to_event(2), obs=data)
        >>> Program(line)
        Program(line, points of 1 numbers, simulation only)
    """

    def __init__(
        self,
        program: Callable[[Tensor], Any],
        *,
        event_shape: Sequence[int] | None = None,
        typical_scale: float | None = None,
        name: str | None = None,
    ) -> None:
        if typical_scale is not None:
            typical_scale = check_number("typical_scale", typical_scale, above=0)
        self.program = program
        self.name = _name_of(program) if name is None else name
        shape = self._find_event_shape() if event_shape is None else event_shape
        self.event_shape = checked_shape("event_shape", shape)
        self.typical_scale = self._find_scale() if typical_scale is None else typical_scale

    def __call__(self, data: Tensor) -> Any:
        """Run the program."""
        return self.program(data)

    def __eq__(self, other: object) -> bool:
        """Two programs are the same if they run the same function; one may also be compared with that."""
        return self.program is (other.program if isinstance(other, Program) else other)

    def __hash__(self) -> int:
        return hash(self.program)

    def _find_event_shape(self) -> tuple[int, ...]:
        """Run the program on points of one and of two numbers, and see what comes out."""
        found, failures = [], []
        for guess in _GUESSES:
            try:
                found.append(self._run(_SMALL, guess))
            except Exception as error:
                failures.append(error)
        if not found:
            reason = " ".join(f"{type(failures[0]).__name__}: {failures[0]}".split())[:200]
            raise ValueError(
                f"model '{self.name}' does not run on templates of shape (2, 5, 1) and (2, 5, 2) ({reason}), "
                "expected a program of data (*batch, N, D): if its points have another shape, pass "
                "Program(model, event_shape=...)"
            ) from failures[0]
        shapes = [tuple(self._sites(nodes, _SMALL)[0].shape[2:]) for nodes in found]
        if shapes == list(_GUESSES):
            raise ValueError(
                f"model '{self.name}' takes points of any dimension, expected a known one: pass "
                "Program(model, event_shape=(D,))"
            )
        return shapes[0]

    def _find_scale(self) -> float:
        """Return the median standard deviation per column within simulated clusters."""
        data, labels = self._sites(self._run(_LARGE, self.event_shape), _LARGE)
        flat = data.flatten(2).double()
        member = torch.nn.functional.one_hot(labels).double()
        counts = member.sum(1)
        means = (member.mT @ flat) / counts.clamp(min=1).unsqueeze(-1)
        squares = (flat - means.gather(1, labels.unsqueeze(-1).expand_as(flat))).square().mean(-1)
        total = (member * squares.unsqueeze(-1)).sum(1)
        several = counts > 1
        within = (total[several] / (counts[several] - 1)).sqrt()
        scale = float(within.median() if len(within) else flat.std())
        if not 0 < scale < math.inf:
            raise ValueError(
                f"model '{self.name}' simulates clusters of standard deviation {scale:g}, expected a "
                "positive number: pass Program(model, typical_scale=...)"
            )
        return scale

    def _run(self, size: tuple[int, int], event_shape: tuple[int, ...]) -> Any:
        """Run the program on a template and return the nodes of its trace."""
        with seeded(0):
            return sampled(self.program, torch.zeros(*size, *event_shape))

    def _sites(self, nodes: Any, size: tuple[int, int]) -> tuple[Tensor, Tensor]:
        """Return data and labels, if they are what a guide expects."""
        if "data" not in nodes or "assignments" not in nodes:
            names = [name for name, one in nodes.items() if one["type"] == "sample"]
            own = ", ".join(name for name in names if name not in ("_INPUT", "_RETURN"))
            raise ValueError(
                f"model '{self.name}' has the sites {own or 'none'}, expected 'assignments' and 'data' among "
                "them"
            )
        data, labels = nodes["data"]["value"], nodes["assignments"]["value"]
        if labels.shape != size or data.shape[:2] != size or data.dim() < 3:
            raise ValueError(
                f"model '{self.name}' has assignments of shape {tuple(labels.shape)} and data of shape "
                f"{tuple(data.shape)} for a template of {size[0]} data sets of {size[1]} points, expected "
                f"{size} and ({size[0]}, {size[1]}, D): sample both inside "
                "pyro.plate_stack('datasets', data.shape[:-2])"
            )
        if not bool(is_canonical(labels.long()).all()):
            raise ValueError(
                f"model '{self.name}' samples assignments that are not canonical, expected clusters numbered "
                "0, 1, 2, ... in order of first appearance: sample labels at another site, and "
                "Delta(canonical(labels), event_dim=1) at 'assignments'"
            )
        return data, labels.long()


def sampled(program: Callable[..., Any], template: Tensor) -> Any:
    """Run a program without its conditions, without gradients, and unseen by handlers around it."""
    with torch.no_grad(), poutine.block():
        return poutine.trace(poutine.uncondition(program)).get_trace(template).nodes


def checked_shape(name: str, shape: Any) -> tuple[int, ...]:
    """Return the shape of a point: positive whole numbers, in a sequence or a tensor."""
    sizes = (
        shape.tolist()
        if isinstance(shape, Tensor | np.ndarray) and not getattr(shape, "is_meta", 0)
        else shape
    )
    if not isinstance(sizes, list | tuple):
        raise ValueError(f"{name} is of type {type(shape).__name__}, expected a shape, such as (2,)")
    return tuple(check_count(f"{name}[{place}]", one) for place, one in enumerate(sizes))


def own_name(kind: type) -> str:
    """Return a name that no other guide or model of this process has."""
    return f"{kind.__name__}_{next(_serial)}"


def as_model(model: Model | Callable[[Tensor], Any]) -> Model:
    """Return a model as it is, and any other Pyro program as a :class:`Program`."""
    # A module inside of a guide is trained and saved with it.
    apart = isinstance(model, torch.nn.Module) and not getattr(model, "is_trained_with_guide", False)
    if isinstance(model, Model) and not apart:
        return model
    if not callable(model):
        raise ValueError(
            f"model is a {type(model).__name__}, expected a Pyro program of data with the sites "
            "'assignments' and 'data'"
        )
    return Program(model)


def _name_of(program: Any) -> str:
    name = program.__name__ if isinstance(program, FunctionType) else type(program).__name__
    return str(name)
