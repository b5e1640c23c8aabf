"""Diagonal Gaussians with all their parameters as sites: generators of benchmarks, and flat priors."""

import math
from typing import Any

import pyro
import torch
from pyro.distributions import (
    Bernoulli,
    Categorical,
    Delta,
    Dirichlet,
    ImproperUniform,
    LogNormal,
    Normal,
    Uniform,
)
from torch import Tensor
from torch.distributions import Binomial, constraints

from pyroclust.core.numbers import check_count, check_number
from pyroclust.core.registry import register
from pyroclust.distributions import (
    DiagonalMixture,
    DirichletMultinomialPrior,
    FiniteMixturesPrior,
    PartitionPrior,
)
from pyroclust.distributions.points import check_shape
from pyroclust.distributions.protocols import Model, SimulatedFromArguments
from pyroclust.partitions import canonical


@register(Model, name="gaussian_clusters")
class GaussianClusters(SimulatedFromArguments):
    r"""Points of finitely many diagonal Gaussians, whose weights, means and scales are sites of the program.

    .. math::
        \pi \sim \text{Dirichlet}(\alpha), \quad \mu_k \sim U(-w, w)^D \text{ or } N(0, w^2 I), \quad
        \log \sigma_{kd} \sim N(\log s, \tau^2), \quad x_i \sim N(\mu_{c_i}, \mathrm{diag}(\sigma_{c_i}^2))

    With ``optional`` components each after the first is there with probability one half, and the weights are
    renormalised over them. The model of benchmarks that ask what the true parameters are worth; with
    parameters integrated out the law is a :class:`~pyroclust.models.Mixture`.

    Sites: ``"weights"`` ``(*batch, K)``, 0 where a component is not there; ``"means"`` and ``"scales"``
    ``(*batch, K, D)``; ``"labels"``, components ``(*batch, N)``; ``"assignments"``; ``"data"``.

    Args:
        num_components: K, at most.
        dim: D.
        optional: whether components after the first may be missing.
        concentration: alpha of the weights.
        half_width: w of uniform means; None for normal ones.
        centre_scale: w of normal means; None for uniform ones.
        scale: s.
        scale_spread: tau; 0 for known scales.
        name: what reports call the model.

    Raises:
        ValueError: if a number is out of range, or both or none of ``half_width`` and ``centre_scale`` are
            set.

    Example:
        >>> from pyro import poutine
        >>> model = GaussianClusters(4, half_width=4.0)
        >>> trace = poutine.trace(poutine.uncondition(model)).get_trace(torch.empty(3, 20, 2))
        >>> {name: tuple(trace.nodes[name]["value"].shape) for name in ("weights", "means", "data")}
        {'weights': (3, 4), 'means': (3, 4, 2), 'data': (3, 20, 2)}
    """

    def __init__(
        self,
        num_components: int,
        *,
        dim: int = 2,
        optional: bool = False,
        concentration: float = 1.0,
        half_width: float | None = None,
        centre_scale: float | None = None,
        scale: float = 0.3,
        scale_spread: float = 0.0,
        name: str = "gaussian_clusters",
    ) -> None:
        self.num_components = check_count("num_components", num_components, at_most=1000)
        self.dim, self.optional, self.name = check_count("dim", dim, at_most=1000), bool(optional), name
        self.concentration = check_number("concentration", concentration, above=0)
        if (half_width is None) == (centre_scale is None):
            raise ValueError(
                f"half_width is {half_width} and centre_scale {centre_scale}, expected one of them: "
                "means are either uniform or normal"
            )
        self.half_width, self.centre_scale = half_width, centre_scale
        if centre_scale is None:
            width = check_number("half_width", half_width, above=0)
            self._means: Any = Uniform(-width, width)
        else:
            self._means = Normal(0.0, check_number("centre_scale", centre_scale, above=0))
        self.scale = check_number("scale", scale, above=0)
        self.scale_spread = check_number("scale_spread", scale_spread, at_least=0, at_most=10)
        self.event_shape, self.typical_scale = (self.dim,), self.scale
        half = Binomial(self.num_components - 1, torch.tensor(0.5))
        self.partition_prior: PartitionPrior = (
            FiniteMixturesPrior(self.concentration, half)
            if self.optional
            else DirichletMultinomialPrior(self.num_components, self.concentration)
        )

    def __call__(self, data: Tensor) -> Tensor:
        check_shape(data, self.event_shape)
        components, points = self.num_components, data.shape[-2]
        with pyro.plate_stack("datasets", data.shape[:-2]):
            weights = self._weights(data)
            sizes = [components, self.dim]
            means = pyro.sample("means", self._means.expand(sizes).to_event(2)).to(data.device)
            scales = pyro.sample("scales", self._scales().expand(sizes).to_event(2)).to(data.device)
            law = Categorical(weights.unsqueeze(-2).expand(*weights.shape[:-1], points, -1)).to_event(1)
            labels = pyro.sample("labels", law)
            pyro.sample("assignments", Delta(canonical(labels), event_dim=1))
            place = labels.unsqueeze(-1).expand(*labels.shape, self.dim)
            centre, scale = (
                one.expand(*labels.shape[:-1], *sizes).gather(-2, place) for one in (means, scales)
            )
            return pyro.sample("data", Normal(centre, scale).to_event(2), obs=data)

    def _weights(self, data: Tensor) -> Tensor:
        weights = pyro.sample(
            "all_weights", Dirichlet(torch.full((self.num_components,), self.concentration))
        )
        if self.optional:
            half = torch.full((self.num_components,), 0.5)
            half[0] = 1.0
            weights = weights * pyro.sample("present", Bernoulli(half).to_event(1))
            weights = weights / weights.sum(-1, keepdim=True)
        return pyro.deterministic("weights", weights.to(data.device), event_dim=1)

    def _scales(self) -> Any:
        if not self.scale_spread:
            return Delta(torch.tensor(self.scale))
        return LogNormal(math.log(self.scale), self.scale_spread)


def set_transformer_clusters(num_components: int = 4) -> GaussianClusters:
    """Return the generator of the set transformer's experiments: uniform means, one known scale.

    Means uniform in the square from -4 to 4, standard deviation 0.3, weights uniform. Published sets have
    100 to 500 points of 4 components, or 1,000 to 5,000 of 6.

    Args:
        num_components: K.

    References:
        Lee et al. (2019), Set Transformer. https://arxiv.org/abs/1810.00825
    """
    return GaussianClusters(num_components, half_width=4.0, scale=0.3, name="set_transformer_clusters")


def filtering_clusters(num_components: int = 4) -> GaussianClusters:
    """Return the generator of deep amortized clustering's experiments: normal means, random scales.

    Means of standard deviation 3, log standard deviations around log 0.25 with deviation 0.1, weights
    uniform over the components that are there, each after the first with probability one half. Published
    training sets have 4 components at most, test sets 12.

    Args:
        num_components: K, at most.

    References:
        Lee, Lee & Teh (2019), Deep amortized clustering. https://arxiv.org/abs/1909.13433
    """
    return GaussianClusters(
        num_components,
        optional=True,
        centre_scale=3.0,
        scale=0.25,
        scale_spread=0.1,
        name="filtering_clusters",
    )


class MarginalMixture:
    r"""K diagonal Gaussians, labels summed out: the Pyro model of amortized maximum likelihood.

    .. math::
        p(\pi, \mu, \sigma) \propto 1, \qquad
        x_i \sim \sum_k \pi_k \, N\big(\mu_k, \mathrm{diag}(\sigma_k^2)\big)

    Sites: ``"log_weights"`` ``(*batch, K)``, ``"means"`` and ``"scales"`` ``(*batch, K, D)``, with flat
    priors, and ``"data"``. The evidence lower bound of a guide that is a point is then the log-likelihood.
    Data are simulated from another model.

    Args:
        num_components: K.
        dim: D.

    Example:
        >>> from pyro.infer import SVI, Trace_ELBO
        >>> from pyro.optim import Adam
        >>> from pyroclust.guides import SetTransformerMixture
        >>> from pyroclust.infer import simulate
        >>> clusters = set_transformer_clusters(4)
        >>> guide = SetTransformerMixture(clusters)
        >>> svi = SVI(MarginalMixture(4), guide, Adam({"lr": 1e-3}), Trace_ELBO())
        >>> svi.step(simulate(clusters, torch.empty(3, 50, 2))[0]) > 0
        True
    """

    def __init__(self, num_components: int, *, dim: int = 2) -> None:
        self.num_components, self.dim = check_count("num_components", num_components), check_count("dim", dim)

    def __call__(self, data: Tensor) -> Any:
        check_shape(data, (self.dim,))
        components = self.num_components
        sizes = (components, self.dim)
        positive = constraints.independent(constraints.positive, 2)
        anywhere = constraints.independent(constraints.real, 2)
        with pyro.plate_stack("datasets", data.shape[:-2]):
            weights = constraints.independent(constraints.less_than(1e-6), 1)
            log_weights = pyro.sample("log_weights", ImproperUniform(weights, (), (components,)))
            means = pyro.sample("means", ImproperUniform(anywhere, (), sizes))
            scales = pyro.sample("scales", ImproperUniform(positive, (), sizes))
            law = DiagonalMixture(log_weights, means, scales, num_points=data.shape[-2])
            return pyro.sample("data", law, obs=data)
