"""What models and guides are to everything that uses them: attributes and methods, whatever the class."""

from collections.abc import Mapping
from typing import Any, Protocol, Self, runtime_checkable

from torch import Tensor
from torch.distributions import Distribution

from pyroclust.distributions.families.component import Component
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.priors.prior import PartitionPrior
from pyroclust.distributions.sequential.partition import OrderAveragedPartition, SequentialPartition
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
    Any such function becomes one of these by :class:`pyroclust.distributions.programs.Program`.
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
    """Say whether the points of a model are the nodes of graphs, data sets being ``(*batch, N, N)``.

    Such a model has the ``event_shape`` ``(-1,)``: as many numbers a node as there are nodes.
    """
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
