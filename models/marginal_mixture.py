"""The mixture of K diagonal Gaussians with explicit parameters and the labels summed out."""

from typing import Any

import pyro
from pyro.distributions import ImproperUniform
from torch import Tensor
from torch.distributions import constraints

from pyroclust.core.counts import check_count
from pyroclust.distributions import DiagonalMixture
from pyroclust.distributions.points import check_shape

__all__ = ["MarginalMixture"]


class MarginalMixture:
    r"""K diagonal Gaussians, labels summed out: the Pyro model of amortized maximum likelihood.

    .. math::
        p(\pi, \mu, \sigma) \propto 1, \qquad
        x_i \sim \sum_k \pi_k \, N\big(\mu_k, \mathrm{diag}(\sigma_k^2)\big)

    Sites: ``"log_weights"`` ``(*batch, K)``, ``"means"`` and ``"scales"`` ``(*batch, K, D)``, with flat
    priors, and ``"data"``. The evidence lower bound of a guide that is a point, as
    :class:`~pyroclust.guides.SetTransformerMixture`, is then the log-likelihood: stock
    ``SVI(MarginalMixture(4), guide, optim, Trace_ELBO())`` on simulated data sets trains it. Data cannot be
    simulated from flat priors: take them from another model.

    Args:
        num_components: K.
        dim: D.

    Shape:
        data: ``(*batch, N, D)``.

    Example:
        >>> import torch
        >>> from pyro.infer import SVI, Trace_ELBO
        >>> from pyro.optim import Adam
        >>> from pyroclust.guides import SetTransformerMixture
        >>> from pyroclust.infer import simulate
        >>> from pyroclust.models import set_transformer_clusters
        >>> clusters = set_transformer_clusters(4)
        >>> guide = SetTransformerMixture(clusters)
        >>> svi = SVI(MarginalMixture(4), guide, Adam({"lr": 1e-3}), Trace_ELBO())
        >>> svi.step(simulate(clusters, torch.empty(3, 50, 2))[0]) > 0
        True
    """

    def __init__(self, num_components: int, *, dim: int = 2) -> None:
        self.num_components, self.dim = check_count("num_components", num_components), check_count("dim", dim)

    def __call__(self, data: Tensor) -> Any:
        """Run the program."""
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
