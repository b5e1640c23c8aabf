"""The mixture: any partition prior with any component family, as a Pyro program."""

import copy
from collections.abc import Mapping, Sequence
from typing import Self, cast

import numpy as np
import pyro
import torch
from torch import Size, Tensor
from torch.distributions import Distribution

from pyroclust.core.numbers import checked_weights
from pyroclust.distributions import (
    ClusteredData,
    Component,
    ConjugateComponent,
    ConstrainedPartition,
    PartitionDistribution,
    PartitionPrior,
)
from pyroclust.distributions.points import as_points, broadcast_shapes, check_shape
from pyroclust.distributions.priors.constrained import check_enough_clusters
from pyroclust.partitions import check_num_points
from pyroclust.partitions.constraints import Constraints, Pairs


class Mixture:
    r"""A mixture model over partitions, cluster parameters integrated out.

    .. math::
        c \sim \text{prior}, \qquad
        x \mid c \sim \prod_k \int \prod_{i: c_i=k} F(x_i; \theta) G_0(d\theta)

    Calling it runs the Pyro program, with sites ``"assignments"`` and ``"data"``, and one for every random
    hyperparameter, inside one plate a batch dimension: each data set has its own.

    Args:
        prior: partition prior.
        component: component family.
        name: what reports call the model.

    Raises:
        ValueError: if prior and component are other things, or swapped, or both have a random hyperparameter
            of the same name.

    Example:
        >>> import pyro.poutine as poutine
        >>> from pyro.distributions import Gamma
        >>> from pyroclust.distributions import ChineseRestaurantPrior, NormalInverseGamma
        >>> component = NormalInverseGamma(2, 0.1, shape=2.0, rate=Gamma(2.0, 10.0))
        >>> model = Mixture(ChineseRestaurantPrior(Gamma(2.0, 4.0)), component)
        >>> trace = poutine.trace(poutine.uncondition(model)).get_trace(torch.empty(3, 20, 2))
        >>> [(name, tuple(trace.nodes[name]["value"].shape)) for name in trace.stochastic_nodes[1:]]
        [('concentration', (3,)), ('rate', (3,)), ('assignments', (3, 20)), ('data', (3, 20, 2))]
    """

    event_dim = 2

    def __init__(self, prior: PartitionPrior, component: Component, *, name: str = "mixture") -> None:
        if not isinstance(prior, PartitionPrior) or not isinstance(component, Component):
            swapped = isinstance(prior, Component) and isinstance(component, PartitionPrior)
            raise ValueError(
                f"prior is a {type(prior).__name__} and component a {type(component).__name__}, expected a "
                f"partition prior and a component family{': swap them' if swapped else ''}"
            )
        self.prior, self.component, self.name = prior, component, name
        self.constraints: Constraints | None = None
        self.row_weights: Tensor | None = None
        both = sorted(prior.hyperpriors.keys() & component.hyperpriors.keys())
        if both:
            raise ValueError(
                f"{', '.join(both)} is random in both prior and component, expected different names: "
                "fix one of them to a number"
            )

    @property
    def event_shape(self) -> tuple[int]:
        """Shape of one point."""
        return (self.component.dim,)

    @property
    def partition_prior(self) -> PartitionPrior:
        """The law of the partitions."""
        return self.prior

    @property
    def typical_scale(self) -> float:
        """A typical standard deviation within a cluster, in data units."""
        return self.component.typical_scale

    @property
    def scale_is_known(self) -> bool:
        """Whether all clusters have the same known covariance, ``typical_scale**2`` times the identity."""
        return self.component.scale_is_known

    @property
    def is_conjugate(self) -> bool:
        """Whether the parameters of clusters integrate out."""
        return isinstance(self.component, ConjugateComponent)

    @property
    def has_likelihood(self) -> bool:
        """Whether :meth:`log_joint` can be evaluated: conjugate, and what is random integrates out."""
        if not isinstance(self.component, ConjugateComponent):
            return False
        return self.hyperpriors.keys() <= self.prior.integrated_names | self.component.integrated_names

    @property
    def hyperpriors(self) -> dict[str, Distribution]:
        """Priors of the random hyperparameters, those of the partition prior first."""
        return self.prior.hyperpriors | self.component.hyperpriors

    def given(self, values: Mapping[str, Tensor | float]) -> Self:
        """Return the model with some hyperparameters set to numbers or to batches ``(*batch)``.

        A name that prior and component share goes to the one where it is random.

        Raises:
            ValueError: if a name is unknown, belongs to both and is random in neither, or a value is outside
                its range.

        Example:
            >>> from pyroclust.models import sensitivity2d
            >>> known = sensitivity2d().given({"concentration": 0.7, "prior_scale": 10.0})
            >>> known.log_joint(torch.zeros(3, 2), torch.tensor([0, 0, 1])).item()
            -17.3...
        """
        if not isinstance(values, Mapping):
            raise ValueError(f"values is of type {type(values).__name__}, expected numbers by name")
        new = copy.copy(self)
        for name, value in values.items():
            owner = self._owner(name)
            setattr(new, owner, getattr(new, owner).given({name: value}))
        return new

    def constrained(
        self,
        *,
        must_link: Pairs | None = None,
        cannot_link: Pairs | None = None,
        labels: Tensor | np.ndarray | Sequence[int] | None = None,
        clusters: int | tuple[int, int] | None = None,
    ) -> Self:
        r"""Return the model of one data set, of whose partition something is known.

        .. math:: p(c, x \mid C) \propto p(c, x) \, 1[c \in C]

        with C the partitions that have all that is known. :meth:`log_joint` is restricted to C and not
        normalised: the evidence of this model is :math:`\log p(x, C)`. Less that of the free model it is
        :math:`\log p(C \mid x)`, less :meth:`log_prob_constraints` it is :math:`\log p(x \mid C)`.

        Enumeration, collapsed Gibbs sampling, splits and merges, sequential Monte Carlo, importance weights
        and refining keep to the constraints; guides do by their own ``constrained``. Known constraints are
        joined by the new ones.

        Args:
            must_link: pairs of points that are in one cluster, counted from 0.
            cannot_link: pairs of points that are in different clusters.
            labels: ``(N,)`` integers, negative where nothing is known: points of equal labels are together,
                points of different labels apart.
            clusters: how many clusters there are, a number or ``(fewest, most)``.

        Raises:
            ValueError: if the constraints contradict one another, or the prior may have too few clusters.

        Example:
            >>> from pyroclust.infer import log_evidence
            >>> from pyroclust.models import gaussian2d
            >>> model, data = gaussian2d(), torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]])
            >>> known = model.constrained(cannot_link=[(0, 1)])
            >>> (log_evidence(known, data) - log_evidence(model, data)).exp() < 0.02  # P(apart | data)
            tensor(True)
        """
        found = Constraints.of(must_link=must_link, cannot_link=cannot_link, labels=labels, clusters=clusters)
        return self.under(found if self.constraints is None else self.constraints.joined(found))

    def under(self, constraints: Constraints | None) -> Self:
        """Return the model under other constraints, or under none.

        Raises:
            ValueError: if the prior may have too few clusters for them.
        """
        if constraints is not None:
            check_enough_clusters(self.prior, constraints)
        new = copy.copy(self)
        new.constraints = constraints
        return new

    def weighted(self, weights: Tensor | np.ndarray | Sequence[int] | None) -> Self:
        r"""Return the model of one data set whose rows each stand for several equal ones.

        .. math:: p(c, x) = V_M(K) \prod_k w(n_k) \int \prod_{i: c_i = k} F(x_i; \theta)^{w_i} G_0(d\theta),
            \qquad n_k = \sum_{i: c_i = k} w_i, \quad M = \sum_i w_i

        This is the model of the repeated table whose copies of a row stay together, at the cost of the
        distinct rows. Enumeration and the kernels that take constraints count weights; data cannot be
        simulated, and guides do not take them.

        Args:
            weights: ``(N,)`` whole numbers of at least 1; None for one each.

        Raises:
            ValueError: if they are other numbers, or the component is not conjugate.

        Example:
            >>> from pyroclust.models import gaussian2d
            >>> model, once = gaussian2d(), torch.tensor([[0.0, 0.0], [3.0, 0.0]])
            >>> repeated, known = once[[0, 0, 0, 1]], [(0, 1), (1, 2)]
            >>> a = model.weighted([3, 1]).log_joint(once, torch.tensor([0, 1]))
            >>> b = model.constrained(must_link=known).log_joint(repeated, torch.tensor([0, 0, 0, 1]))
            >>> torch.isclose(a, b)
            tensor(True)
        """
        ConjugateComponent.of(self.component, otherwise="clusters of others know no equal rows")
        new = copy.copy(self)
        new.row_weights = None if weights is None else torch.from_numpy(checked_weights("weights", weights))
        return new

    def log_prob_constraints(self) -> Tensor:
        r"""Return the prior log-probability of the constraints in nats, :math:`\log \sum_{c \in C} p(c)`.

        Exact, by enumeration of the allowed partitions of the points that something is known of; 0 without
        any.

        Raises:
            ValueError: if there are too many of these, a hyperparameter is random, or rows have weights.
        """
        if self.row_weights is not None:
            raise ValueError("model has weights of rows, expected none: copies of a row are not listed")
        if self.constraints is None:
            return torch.zeros(self.prior.batch_shape, dtype=torch.float64)
        return ConstrainedPartition(self.prior, self.constraints).log_normaliser

    def _partition(self, prior: PartitionPrior, num_points: int) -> PartitionDistribution:
        if self.row_weights is not None:
            raise ValueError(
                "model has weights of rows, which belong to one data set, expected none: data cannot be "
                "simulated with rows that stand for equal ones"
            )
        if self.constraints is None:
            return prior.partition(num_points)
        if self.prior.hyperpriors:
            raise ValueError(
                f"{', '.join(self.prior.hyperpriors)} is random and the model has constraints, expected a "
                "number: whether constraints hold says something of it; set it with model.given"
            )
        return ConstrainedPartition(prior, self.constraints.over(num_points))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mixture):
            return NotImplemented
        return (
            self.prior == other.prior
            and self.component == other.component
            and self.constraints == other.constraints
            and (self.row_weights is None) == (other.row_weights is None)
            and (self.row_weights is None or torch.equal(self.row_weights, cast(Tensor, other.row_weights)))
        )

    def __hash__(self) -> int:
        return hash((self.prior, self.component))

    def __repr__(self) -> str:
        known = "" if self.constraints is None else f", {self.constraints!r}"
        if self.row_weights is not None:
            known += f", {len(self.row_weights)} rows that stand for {int(self.row_weights.sum())}"
        return f"{type(self).__name__}({self.prior!r}, {self.component!r}{known})"

    def __call__(self, data: Tensor) -> Tensor:
        """Run the program on data sets (or a template of their shape) and return the data."""
        check_shape(data, self.event_shape)
        if 0 in data.shape:
            raise ValueError(f"data has shape {tuple(data.shape)}, expected at least one data set")
        with pyro.plate_stack("datasets", data.shape[: -self.event_dim]):
            prior, component = self.prior.sampled(), self.component.sampled()
            assignments = pyro.sample("assignments", self._partition(prior, data.shape[-2]))
            return pyro.sample("data", ClusteredData(component, assignments), obs=data)

    def log_joint(self, data: Tensor, assignments: Tensor) -> Tensor:
        """Return log p(assignments, data) in nats, float64; a ``GammaConcentration`` is integrated out.

        Under constraints it is minus infinity where a partition breaks them.

        Shape:
            data: ``(..., N, D)``; assignments: ``(..., N)`` canonical; output: the broadcast of both batches
            and of hyperparameters that are batches. Cost O(N F) a partition with F sufficient statistics.

        Raises:
            ValueError: if the shapes do not fit, the labels are not canonical, a hyperparameter is random,
                the component is not conjugate, or (under validation) data lie outside its support.
        """
        data = as_points(data)
        check_shape(data, self.event_shape)
        check_num_points("assignments", assignments, data.shape[-2])
        batch = self._joint_batch(data, assignments)
        # The prior refuses labels that are not canonical.
        log_prior = self.prior.log_prob(assignments, weights=self._weights_of(data.shape[-2]))
        labels = assignments.long().expand(*batch, -1)
        likelihood = ClusteredData(self.component, labels, weights=self.row_weights)
        found = log_prior + likelihood.log_prob(data)
        if self.constraints is None:
            return found
        return torch.where(self.constraints.allows(assignments), found, -torch.inf)

    def _weights_of(self, num_points: int) -> Tensor | None:
        if self.row_weights is not None and len(self.row_weights) != num_points:
            raise ValueError(
                f"data has {num_points} points, and the model {len(self.row_weights)} weights of rows, "
                "expected as many: they belong to one data set"
            )
        return self.row_weights

    def _joint_batch(self, data: Tensor, assignments: Tensor) -> Size:
        """Return the broadcast batch of data and assignments; hyperparameters have to broadcast with it."""
        batches = data.shape[: -self.event_dim], assignments.shape[:-1]
        own = [part.batch_shape for part in (self.prior, self.component) if not part.hyperpriors]
        try:
            broadcast_shapes(*batches, *own)
        except ValueError:
            raise ValueError(
                f"data has shape {tuple(data.shape)} and assignments {tuple(assignments.shape)}, with "
                f"hyperparameters of shapes {', '.join(str(tuple(one)) for one in own)}, expected "
                "(*batch, N, "
                f"{self.component.dim}) and (*batch, N) with batches that broadcast"
            ) from None
        return broadcast_shapes(*batches)

    def _owner(self, name: str) -> str:
        """Say which part a hyperparameter belongs to."""
        parts = {"prior": self.prior, "component": self.component}
        owners = [part for part, one in parts.items() if name in one.hyperpriors]
        owners = owners or [part for part, one in parts.items() if name in one.hyper_names]
        if len(owners) != 1:
            known = sorted({*self.hyperpriors, *self.prior.hyper_names, *self.component.hyper_names})
            raise ValueError(
                f"values has the name {name!r} of both prior and component, expected a name of one: call "
                "given on that part"
                if owners
                else f"values has the name {name!r}, expected some of {', '.join(known) or 'none'}"
            )
        return owners[0]
