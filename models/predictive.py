"""New points, averaged over draws of partitions, or of these and parameters of clusters; replicated data."""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, cast

import pyro
import torch
from pyro import poutine
from pyro.distributions import TorchDistribution
from torch import Size, Tensor
from torch.distributions import constraints

from pyroclust.core.random_state import seeded
from pyroclust.distributions import ConjugateComponent
from pyroclust.distributions.families.clustered_data import block_moments
from pyroclust.distributions.families.component import parameters_of_points
from pyroclust.distributions.points import Points, as_points, check_points, check_tensor
from pyroclust.distributions.protocols import takes_missing
from pyroclust.models.mixture import Mixture
from pyroclust.partitions import as_partitions, label_range

# Entries of the largest work array, 32 MiB of float64.
MAX_ENTRIES = 1 << 22


class NewPoints:
    """To which clusters new points belong, and how likely they are, averaged over S draws of partitions."""

    model: Mixture
    _labels: Tensor
    _counts: Tensor
    _clusters: Tensor

    def cluster_probs(self, points: Tensor, partition: Tensor) -> Tensor:
        r"""Return how likely points belong to the clusters of one partition, such as a point estimate.

        .. math:: P(j \mid x^*) = \frac{\sum_s \sum_k p(c^* = k, x^* \mid c^{(s)}, x) \,
            |k \cap j| / |k|}{\sum_s p(x^* \mid c^{(s)}, x)}

        A cluster of a draw counts for those of the partition by the shares of its points that lie in them.
        The last column is that of a new cluster, and rows sum to 1. Cost O(S K (D + J)) a point.

        Shape:
            points: ``(..., D)``; partition: canonical labels ``(N,)`` of J clusters; output: ``(..., J + 1)``
            float64.

        Raises:
            ValueError: if the partition is of other points, or not canonical.

        Example:
            >>> from pyroclust.models import gaussian2d
            >>> data = torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]])
            >>> law = PosteriorPredictive(gaussian2d(), data, torch.tensor([[0, 0, 1], [0, 1, 2]]))
            >>> law.cluster_probs(torch.zeros(2), torch.tensor([0, 0, 1])).mul(100).round()  # per cent
            tensor([99.,  0.,  1.], dtype=torch.float64)
        """
        points = self._checked(points)
        partition = as_partitions("partition", partition, num_points=self._labels.shape[-1])
        shares = shares_of_clusters(self._labels, self._counts, partition, weights=self.model.row_weights)
        shares = shares.flatten(0, 1)
        found = self._in_blocks(points, lambda some: self._log_joint(some).flatten(1).softmax(-1) @ shares)
        return found.reshape(*points.shape[:-1], shares.shape[-1])

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the log predictive density of points in nats, ``(..., D) -> (...)``; O(S K D) a point."""
        value = self._checked(value)
        total = self._in_blocks(value, lambda some: self._log_joint(some).logsumexp((-1, -2)))
        return (total - math.log(len(self._counts))).reshape(value.shape[:-1])

    @abstractmethod
    def log_prob_left_out(self, rows: Tensor, *, hidden: Tensor | None = None) -> Tensor:
        """Return the log predictive densities of points of the data, each left out."""

    @abstractmethod
    def _log_joint(self, points: Tensor) -> Tensor:
        """Return log p(c*, x* | draw), ``(M, D) -> (M, S, K + 1)``."""

    @property
    @abstractmethod
    def _at_once(self) -> int:
        """How many points fit into the largest work array."""

    def _left_by(self, rows: Tensor, weight: int, known: Mixture) -> tuple[Tensor, Tensor, Tensor]:
        """Return the clusters of points, their sizes without them, and the log-weights of all clusters."""
        own = self._labels[:, rows].T.unsqueeze(-1)  # (M, S, 1)
        counts = self._counts.expand(len(rows), *self._counts.shape)
        counts = counts.scatter_add(-1, own, torch.full_like(own, -weight, dtype=counts.dtype))
        left = counts.gather(-1, own)
        clusters = self._clusters - (left.squeeze(-1) == 0).long()
        return own, left, next_cluster_log_weights(known, counts, clusters, new_at=self._clusters)

    def _checked(self, points: Tensor) -> Tensor:
        return points

    def _in_blocks(self, points: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply a function to few points at a time, ``(..., D) -> (points, ...)``."""
        return torch.cat(
            [function(some) for some in points.reshape(-1, points.shape[-1]).split(self._at_once)]
        )


class PosteriorPredictive(NewPoints, TorchDistribution):
    r"""The law of one more point, averaged over S posterior draws of the partition.

    .. math::
        p(x^* \mid x) \approx \frac{1}{S} \sum_s \Big[ \sum_{k \le K_s} \frac{V_{N+1}(K_s)}{V_N(K_s)} (n_k -
        d) \, p(x^* \mid x_k) + \frac{V_{N+1}(K_s + 1)}{V_N(K_s)} \, p(x^*) \Big]

    Exact but for the draws.

    Args:
        model: a mixture with a conjugate component.
        data: points, ``(N, D)``.
        assignments: canonical labels, ``(..., N)``: draws of any sampler, every one weighed alike.
        hyperparameters: the random hyperparameters that came with the draws, ``(...)`` each, by name; those
            that integrate out may be left out, and those of the component are then drawn, one a partition.

    Shape:
        batch_shape: ``()``; event_shape: ``(D,)``.

    Raises:
        ValueError: if the component is not conjugate, shapes do not fit, or a random hyperparameter is
            missing.

    Example:
        >>> from pyroclust.models import gaussian2d
        >>> data = torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]])
        >>> law = PosteriorPredictive(gaussian2d(), data, torch.tensor([[0, 0, 1], [0, 1, 2]]))
        >>> law.log_cluster_probs(torch.zeros(2)).exp().mul(100).round().long()  # per cent
        tensor([[99,  0,  1,  0],
                [50, 50,  0,  1]])
        >>> law.sample((5,)).shape
        torch.Size([5, 2])
    """

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012

    def __init__(
        self,
        model: Mixture,
        data: Points,
        assignments: Tensor,
        *,
        hyperparameters: Mapping[str, Tensor] | None = None,
        validate_args: bool | None = None,
    ) -> None:
        hyper = {} if hyperparameters is None else hyperparameters
        data = as_points(data)
        _check(model, data, hyper)
        labels = as_partitions("assignments", assignments, num_points=len(data))
        _check_draws(labels, hyper)
        labels = labels.reshape(-1, len(data))
        self._labels = labels
        self._hyper = {name: one.detach().reshape(-1) for name, one in hyper.items()}
        if model.component.hyperpriors.keys() - hyper.keys():
            free = cast(ConjugateComponent, model.component)
            blocks = block_moments(free, data, labels, weights=model.row_weights)
            with seeded(0):
                drawn = {name: one.sample() for name, one in free.over_hyperparameters(*blocks).items()}
            self._hyper = drawn | self._hyper
        self.model, self._data = model, data
        self._known = known = model.given(self._hyper)
        self._component = cast(ConjugateComponent, known.component)
        counts, moments = block_moments(self._component, data, labels, weights=model.row_weights)
        self._counts = torch.nn.functional.pad(counts, (0, 1))
        self._moments = torch.nn.functional.pad(moments, (0, 0, 0, 1))
        self._packed = self._component.predictive_parameters(self._counts, self._moments)
        self._clusters = label_range(labels)
        self.log_weights = next_cluster_log_weights(known, self._counts, self._clusters)
        super().__init__(Size(), Size((data.shape[-1],)), validate_args=validate_args)

    @property
    def support(self) -> constraints.Constraint:
        """Where points lie."""
        return self._component.support

    def sample_missing(self) -> Tensor:
        r"""Draw the cells of the data that are missing, once for every draw of the partition, O(S N D).

        .. math:: \theta_k \sim p(\theta_k \mid x_k), \qquad x_{id} \sim F_d(\theta_{c_i})

        Shape:
            output: ``(S, missing cells)`` float64, cells in the order of ``data.isnan().nonzero()``.
        """
        lost = self._data.isnan()
        rows = lost.any(-1).nonzero().squeeze(-1)
        with torch.no_grad():
            drawn = self._component.sample_parameters(self._counts, self._moments)
            law = self._component.likelihood(parameters_of_points(drawn, self._labels[:, rows]))
            return law.sample()[:, lost[rows]].double()

    def log_cluster_probs(self, points: Tensor) -> Tensor:
        r"""Return the log-probability of every cluster of a point, for each draw of the others' partition.

        .. math:: p(c^* = k \mid x^*, c, x) \propto p(c^* = k \mid c) \, p(x^* \mid x_k)

        Column k is cluster k of the draw; a draw with K clusters has the new cluster in column K, and minus
        infinity further on. Cost O(S K D) a point.

        Shape:
            points: ``(..., D)``; output: ``(..., S, largest K + 1)`` float64, normalised.
        """
        return self._log_joint(self._checked(points)).log_softmax(-1)

    def log_new_cluster_prob(self, points: Tensor) -> Tensor:
        r"""Return the log-probability that points open a cluster, averaged over draws, ``(..., D) -> (...)``.

        .. math:: p(\text{new} \mid x^*, x) =
            \frac{\sum_s p(\text{new} \mid c^{(s)}) \, p(x^*)}{\sum_s p(x^* \mid c^{(s)}, x)}
        """
        points = self._checked(points)
        return self._in_blocks(points, self._log_new).reshape(points.shape[:-1])

    def log_prob_left_out(self, rows: Tensor, *, hidden: Tensor | None = None) -> Tensor:
        r"""Return the log predictive density of points of the data, each first taken out of its cluster.

        .. math:: \log \frac{1}{S} \sum_s p(x_i \mid x_{-i}, c^{(s)}_{-i})

        What :meth:`log_prob` says of new points like the data; a little more, as the partitions were drawn
        with the point. Rows with weights are left out with all their copies. Cost O(S K D) a point.

        Args:
            rows: places of points, ``(M,)`` int64.
            hidden: columns that the density is not of, ``(D,)`` of bool, as of a point where they are
                missing.
        """
        weights = self.model.row_weights
        each = torch.ones_like(rows) if weights is None else weights[rows]
        found = torch.empty(len(rows), dtype=torch.float64)
        for weight in each.unique().tolist():
            places = (each == weight).nonzero().squeeze(-1)
            alike = [self._left_out(some, weight, hidden) for some in rows[places].split(self._at_once)]
            found[places] = torch.cat(alike)
        return found

    def _left_out(self, rows: Tensor, weight: int, hidden: Tensor | None) -> Tensor:
        draws, points = torch.arange(len(self._labels)), self._data[rows].double()
        own, left, weights = self._left_by(rows, weight, self._known)
        taken = weight * self._component.moments(points).unsqueeze(1)
        moments = self._moments[draws, own.squeeze(-1)] - taken
        packed = self._component.predictive_parameters(left, moments.unsqueeze(-2))
        points = (points if hidden is None else points.masked_fill(hidden, torch.nan))[:, None, None]
        density = self._component.log_predictive(points, self._packed)
        density = density.scatter(-1, own, self._component.log_predictive(points, packed))
        return (density + weights).logsumexp((-1, -2)) - math.log(len(draws))

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Draw new points, each from a draw of the partition, a cluster, its parameters."""
        shape = Size(sample_shape)
        with torch.no_grad():
            draw = torch.randint(len(self._counts), (shape.numel(),))
            cluster = torch.multinomial(self.log_weights.exp()[draw], 1).squeeze(-1)
            own = {name: one[draw] for name, one in self._hyper.items()}
            component = cast(ConjugateComponent, self.model.given(own).component)
            counts, moments = self._counts[draw, cluster], self._moments[draw, cluster]
            parameters = component.sample_parameters(counts.unsqueeze(-1), moments.unsqueeze(-2))
            points = component.likelihood(parameters).sample()
        return points.reshape(*shape, -1).to(torch.get_default_dtype())

    def _checked(self, points: Tensor) -> Tensor:
        if self._validate_args:
            self._component.check(points)
        return points

    @property
    def _at_once(self) -> int:
        return max(1, MAX_ENTRIES // self._packed.numel())

    def _log_new(self, points: Tensor) -> Tensor:
        joint = self._log_joint(points)
        column = self._clusters.view(1, -1, 1).expand(len(joint), -1, 1)
        return joint.gather(-1, column).logsumexp((-1, -2)) - joint.logsumexp((-1, -2))

    def _log_joint(self, points: Tensor) -> Tensor:
        """Return log p(c*, x* | draw), ``(..., D) -> (..., S, K + 1)``."""
        density = self._component.log_predictive(points.double()[..., None, None, :], self._packed)
        return density + self.log_weights


def shares_of_clusters(
    labels: Tensor, counts: Tensor, partition: Tensor, *, weights: Tensor | None = None
) -> Tensor:
    """Return the shares of draws' clusters in those of a partition, ``(S, K + 1, J + 1)``, a new one last."""
    draws, slots, clusters = len(labels), counts.shape[-1], label_range(partition)
    width = int(clusters) + 1
    place = labels * width + partition
    both = place.new_zeros(draws, slots * width, dtype=torch.float64)
    each = torch.ones_like(place) if weights is None else weights.expand_as(place)
    both.scatter_add_(1, place, each.double())
    shares = both.view(draws, slots, width) / counts.clamp(min=1).unsqueeze(-1)
    shares[..., -1] = (counts == 0).double()
    return shares


def next_cluster_log_weights(
    known: Mixture, counts: Tensor, clusters: Tensor, *, new_at: Tensor | None = None
) -> Tensor:
    """Return the log-probabilities of the next point's cluster, before it is seen."""
    prior = known.prior
    num_points = int(counts.flatten(0, -2)[0].sum())
    column = torch.arange(counts.shape[-1])
    discount = prior.block_discount
    join = (counts - (discount.unsqueeze(-1) if discount.dim() else discount)).log()
    open_ = prior.log_opening_odds(num_points, clusters).unsqueeze(-1)
    is_new = column == (clusters if new_at is None else new_at).unsqueeze(-1)
    weights = torch.where(is_new, open_, torch.where(counts > 0, join, -torch.inf))
    return weights.log_softmax(-1)


def _check(model: Mixture, data: Tensor, hyper: Mapping[str, Tensor]) -> None:
    component = ConjugateComponent.of(
        model.component, otherwise="the predictive density of others has no formula"
    )
    if data.dim() != 2 or data.shape[-1] != component.dim:
        raise ValueError(f"data has shape {tuple(data.shape)}, expected (N, {component.dim})")
    component.check(data)
    missing = set(model.component.hyperpriors) - set(hyper) - component.integrated_names
    if missing:
        raise ValueError(
            f"hyperparameters lacks {', '.join(sorted(missing))}, expected the values that came with draws"
        )


def _check_draws(labels: Tensor, hyper: Mapping[str, Tensor]) -> None:
    if not len(labels.reshape(-1, labels.shape[-1])):
        raise ValueError(f"assignments has shape {tuple(labels.shape)}, expected some draws")
    for name, one in hyper.items():
        check_tensor(f"hyperparameters[{name!r}]", one)
        if one.shape != labels.shape[:-1]:
            raise ValueError(
                f"hyperparameters has {name!r} of shape {tuple(one.shape)}, "
                f"expected one value a draw, {tuple(labels.shape[:-1])}"
            )


class Replicated:
    r"""A Pyro program that replicates data: the same partition, new points.

    .. math:: \theta_k \mid c, x \sim p(\theta_k \mid x_{c = k}), \qquad x^{rep}_i \sim F(\theta_{c_i})

    Run it with ``pyro.infer.Predictive`` and posterior draws of the site ``"assignments"``, and of the
    component's random hyperparameters where it has any; what is missing comes from the prior. New points are
    the site ``"replicated"``, of the shape of the data.

    Args:
        model: a mixture with a conjugate component.
        data: what to replicate, ``(*batch, N, D)``.

    Raises:
        ValueError: if the component is not conjugate.

    Example:
        >>> from pyro.infer import Predictive
        >>> from pyroclust.models import gaussian2d
        >>> data = torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]])
        >>> draws = {"assignments": torch.tensor([[0, 0, 1], [0, 1, 2]])}
        >>> replicate = Predictive(Replicated(gaussian2d(), data), posterior_samples=draws, parallel=True)
        >>> replicate()["replicated"].shape
        torch.Size([2, 3, 2])

    References:
        Gelman, Meng & Stern (1996), Posterior predictive assessment of model fitness via realized
        discrepancies. https://www.jstor.org/stable/24306036
    """

    def __init__(self, model: Mixture, data: Points) -> None:
        component = ConjugateComponent.of(
            model.component, otherwise="parameters of others have no posterior in closed form"
        )
        self.model, self.data = model, as_points(data)
        check_points(self.data, model.event_shape, missing=takes_missing(model))
        component.check(self.data)

    def __call__(self) -> Tensor:
        with pyro.plate_stack("datasets", self.data.shape[:-2]):
            with poutine.block():
                prior = self.model.prior.sampled().partition(self.data.shape[-2])
            component = cast(ConjugateComponent, self.model.component.sampled())
            labels = pyro.sample("assignments", prior)
            counts, moments = block_moments(component, self.data, labels, weights=self.model.row_weights)
            draws = component.sample_parameters(counts, moments)
            parameters = {name: one.to(self.data.dtype) for name, one in draws.items()}
            law = component.likelihood(parameters_of_points(parameters, labels))
            return pyro.sample("replicated", law.to_event(1))


class SampledPredictive(NewPoints):
    r"""The law of one more point under a family that is not conjugate, averaged over S draws.

    .. math:: p(x^* \mid x) \approx \frac{1}{S} \sum_s \Big[ \sum_{k \le K_s} p(c^* = k \mid c^{(s)}) \,
        F(x^*; \theta_k^{(s)}) + p(\text{new} \mid c^{(s)}) \, \frac{1}{R} \sum_r F(x^*; \theta_r) \Big],
        \qquad \theta_r \sim G_0

    Args:
        model: a mixture, its hyperparameters known or integrated out.
        data: points, ``(N, D)``.
        assignments: draws of the partition, canonical labels ``(S, N)``.
        parameters: of the clusters of every draw, by name, ``(S, K, *event)``; K is the largest number of
            clusters, and rows of clusters that a draw lacks are passed over.
        num_prior: R.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> from pyroclust.models import gaussian2d
        >>> data, draws = torch.tensor([[0.0, 0.0], [30.0, 0.0]]), torch.tensor([[0, 1]])
        >>> centres = {"loc": torch.tensor([[[0.0, 0.0], [30.0, 0.0]]])}
        >>> law = SampledPredictive(gaussian2d(), data, draws, parameters=centres)
        >>> law.cluster_probs(torch.tensor([29.0, 0.0]), torch.tensor([0, 1])).round().tolist()
        [0.0, 1.0, 0.0]
    """

    def __init__(
        self,
        model: Mixture,
        data: Points,
        assignments: Tensor,
        *,
        parameters: Mapping[str, Tensor],
        num_prior: int = 1000,
    ) -> None:
        self.model, self._data, self._num_prior = model, as_points(data).double(), num_prior
        check_points(self._data, model.event_shape)
        self._labels = as_partitions("assignments", assignments, num_points=len(self._data))
        if self._labels.dim() != 2:
            raise ValueError(f"assignments has shape {tuple(assignments.shape)}, expected (S, N)")
        self._clusters = label_range(self._labels)
        draws, slots = len(self._labels), int(self._clusters.max())
        for name, value in parameters.items():
            if value.shape[:2] != (draws, slots):
                raise ValueError(
                    f"parameters has {name!r} of shape {tuple(value.shape)}, expected ({draws}, {slots}, ...)"
                )
        counts = torch.zeros(draws, slots + 1, dtype=torch.float64)
        self._counts = counts.scatter_add_(
            1, self._labels, torch.ones_like(self._labels, dtype=torch.float64)
        )
        self._parameters = {name: value.double().flatten(0, 1) for name, value in parameters.items()}
        # The law of a new cluster is the same whenever it is asked for.
        with seeded(0):
            drawn = model.component.sample_prior((num_prior,))
        self._prior = {name: value.double() for name, value in drawn.items()}
        self._log_weights = next_cluster_log_weights(model, self._counts, self._clusters)

    def log_prob_left_out(self, rows: Tensor, *, hidden: Tensor | None = None) -> Tensor:
        r"""Return the log predictive density of points of the data, each left out of it, in nats.

        .. math:: p(x_i \mid x_{-i}) = 1 \Big/ E\big[ 1 / p(x_i \mid c_{-i}, \theta) \,\big|\, x \big]

        with importance weights :math:`1 / p(x_i \mid c_{-i}, \theta)` that are truncated at their mean times
        the root of S. Cost O(S K D) a point.

        Args:
            rows: places of points, ``(M,)`` int64.
            hidden: of no use here: these families take no missing cells.

        References:
            Ionides (2008), Truncated importance sampling. https://doi.org/10.1198/106186008X320456
        """
        found = torch.cat([self._left_out(some) for some in rows.split(self._at_once)])
        draws = found.shape[-1]
        largest = (-found).logsumexp(-1, keepdim=True) - math.log(draws) + 0.5 * math.log(draws)
        weights = torch.minimum(-found, largest)
        return (weights + found).logsumexp(-1) - weights.logsumexp(-1)

    def _left_out(self, rows: Tensor) -> Tensor:
        """Return log p(x_i | c_{-i}, theta) of each draw, ``(M, S)``."""
        _, _, weights = self._left_by(rows, 1, self.model)
        return (self._log_density(self._data[rows]) + weights).logsumexp(-1)

    def _log_joint(self, points: Tensor) -> Tensor:
        return self._log_density(points.double()) + self._log_weights

    def _log_density(self, points: Tensor) -> Tensor:
        """Return the log density of points in all clusters of each draw, ``(M, S, K + 1)``."""
        draws, columns = self._counts.shape
        own = self._log_likelihood(points, self._parameters).unflatten(-1, (draws, columns - 1))
        new = self._log_likelihood(points, self._prior).logsumexp(-1) - math.log(self._num_prior)
        density = torch.cat([own, torch.full_like(own[..., :1], -torch.inf)], -1)
        at = self._clusters.view(1, -1, 1).expand(len(points), -1, 1)
        return density.scatter(-1, at, new.view(-1, 1, 1).expand_as(at).to(density))

    def _log_likelihood(self, points: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        law = self.model.component.likelihood(parameters)
        found: Tensor = law.log_prob(points.unsqueeze(-2)).double()
        return found.nan_to_num(nan=-torch.inf, posinf=-torch.inf, neginf=-torch.inf)

    @property
    def _at_once(self) -> int:
        each = self._counts.numel() + self._num_prior
        return max(1, MAX_ENTRIES // (each * self._data.shape[-1]))
