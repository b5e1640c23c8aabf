"""New points and replicated data sets, given posterior draws of the partition."""

import math
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

    def cluster_probs(self, points: Tensor, partition: Tensor) -> Tensor:
        r"""Return how likely points belong to the clusters of one partition, such as a point estimate.

        .. math:: P(j \mid x^*) = \frac{\sum_s \sum_k p(c^* = k, x^* \mid c^{(s)}, x) \,
            |k \cap j| / |k|}{\sum_s p(x^* \mid c^{(s)}, x)}

        A cluster of a draw counts for those of the partition by the shares of its points that lie in them:
        this is the probability that a companion of the new point, chosen at random, is in cluster j. The last
        column is that of a new cluster, and rows sum to 1. Cost O(S K (D + J)) a point.

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

    def log_prob_left_out(self, rows: Tensor, *, hidden: Tensor | None = None) -> Tensor:
        """Return the log predictive densities of points of the data, each left out."""
        raise TypeError(f"{type(self).__name__} must define log_prob_left_out")

    def _log_joint(self, points: Tensor) -> Tensor:
        """Return log p(c*, x* | draw), ``(M, D) -> (M, S, K + 1)``."""
        raise TypeError(f"{type(self).__name__} must define _log_joint")

    @property
    def _at_once(self) -> int:
        """How many points fit into the largest work array."""
        raise TypeError(f"{type(self).__name__} must define _at_once")

    def _checked(self, points: Tensor) -> Tensor:
        return points

    def _in_blocks(self, points: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply a function to few points at a time, ``(..., D) -> (points, ...)``."""
        return torch.cat(
            [function(some) for some in points.reshape(-1, points.shape[-1]).split(self._at_once)]
        )


class PosteriorPredictive(NewPoints, TorchDistribution):
    r"""The law of one more point given data, averaged over S posterior draws of the partition.

    .. math::
        p(x^* \mid x) \approx \frac{1}{S} \sum_s \Big[ \sum_{k \le K_s} \frac{V_{N+1}(K_s)}{V_N(K_s)} (n_k -
        d) \, p(x^* \mid x_k) + \frac{V_{N+1}(K_s + 1)}{V_N(K_s)} \, p(x^*) \Big]

    Given a draw, the point joins cluster k, or opens a new one, with the weights of the prior; its density
    there is the predictive density of the cluster's points. Exact but for the draws.

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
        r"""Draw the cells of the data that are missing, once for every draw of the partition.

        .. math:: \theta_k \sim p(\theta_k \mid x_k), \qquad x_{id} \sim F_d(\theta_{c_i})

        Cost O(S N D).

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
        r"""Return the log-probability of every cluster of a point, given each draw of the others' partition.

        .. math:: p(c^* = k \mid x^*, c, x) \propto p(c^* = k \mid c) \, p(x^* \mid x_k)

        Column k is cluster k of the draw; a draw with K clusters has the new cluster in column K, and minus
        infinity further on. Cost O(S K D) a point.

        Shape:
            points: ``(..., D)``; output: ``(..., S, largest K + 1)`` float64, normalised.
        """
        return self._log_joint(self._checked(points)).log_softmax(-1)

    def log_new_cluster_prob(self, points: Tensor) -> Tensor:
        r"""Return the log-probability that a point opens a cluster, given the point and averaged over draws.

        .. math:: p(\text{new} \mid x^*, x) =
            \frac{\sum_s p(\text{new} \mid c^{(s)}) \, p(x^*)}{\sum_s p(x^* \mid c^{(s)}, x)}

        Shape:
            points: ``(..., D)``; output: ``(...)`` float64, in nats.
        """
        points = self._checked(points)
        return self._in_blocks(points, self._log_new).reshape(points.shape[:-1])

    def log_prob_left_out(self, rows: Tensor, *, hidden: Tensor | None = None) -> Tensor:
        r"""Return the log predictive density of points of the data, each taken out of its cluster first.

        .. math:: \log \frac{1}{S} \sum_s p(x_i \mid x_{-i}, c^{(s)}_{-i})

        What :meth:`log_prob` says of new points like the data; a little more, as the partitions were drawn
        with the point. Rows with weights are left out with all their copies. Cost O(S K D) a point.

        Shape:
            rows: places of points, ``(M,)`` int64; hidden: ``(D,)`` of bool; output: ``(M,)`` float64, in
            nats.

        Args:
            rows: which points.
            hidden: columns that the density is not of, as of a point where they are missing.
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
        own = self._labels[:, rows].T.unsqueeze(-1)  # (M, S, 1)
        counts = self._counts.expand(len(rows), *self._counts.shape)
        counts = counts.scatter_add(-1, own, torch.full_like(own, -weight, dtype=counts.dtype))
        left = counts.gather(-1, own)
        taken = weight * self._component.moments(points).unsqueeze(1)
        moments = self._moments[draws, own.squeeze(-1)] - taken
        packed = self._component.predictive_parameters(left, moments.unsqueeze(-2))
        points = (points if hidden is None else points.masked_fill(hidden, torch.nan))[:, None, None]
        density = self._component.log_predictive(points, self._packed)
        density = density.scatter(-1, own, self._component.log_predictive(points, packed))
        clusters = self._clusters - (left.squeeze(-1) == 0).long()
        weights = next_cluster_log_weights(self._known, counts, clusters, new_at=self._clusters)
        return (density + weights).logsumexp((-1, -2)) - math.log(len(draws))

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Draw new points, each from a draw of the partition, a cluster, its parameters.

        Shape:
            output: ``(*sample_shape, D)``.
        """
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
    component's random hyperparameters where it has any; what is not given comes from the prior. New points
    are the site ``"replicated"``. Compare a statistic of theirs with the same of the data.

    Args:
        model: a mixture with a conjugate component.
        data: what to replicate.

    Shape:
        data: ``(*batch, N, D)``; replicates: the same.

    Raises:
        ValueError: if the component is not conjugate.

    Example:
        >>> import torch
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
