"""A Gaussian mixture of vectors that a network turns into points: variational deep embedding."""

from collections.abc import Sequence
from typing import Any

import pyro
import pyro.distributions as dist
import torch
from torch import Tensor, nn

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions import Observation
from pyroclust.distributions.points import check_shape
from pyroclust.distributions.protocols import Model
from pyroclust.models.deep_mixture import DeepModel
from pyroclust.nn.deep_parts import Decoder
from pyroclust.nn.modules import evaluating
from pyroclust.partitions import canonical


@register(Model, name="embedded_mixture")
class EmbeddedMixture(DeepModel):
    r"""Points that a decoder makes of vectors, which are a mixture of diagonal Gaussians.

    .. math::
        c_i \sim \text{Categorical}(\pi), \qquad z_i \sim N\big(\mu_{c_i}, \text{diag}(\sigma_{c_i}^2)\big),
        \qquad x_i \sim p\big(x \mid o_\theta(z_i)\big)

    All of :math:`\pi, \mu, \sigma` and the decoder are parameters, trained with the guide,
    :class:`~pyroclust.guides.EmbeddedMixtureGuide`, on one collection of data. Sites: ``"cluster"``,
    ``"embedding"``, ``"data"`` and ``"assignments"``.

    Args:
        event_shape: shape of one point.
        num_clusters: K.
        embedding_dim: E.
        decoder: a module ``(R, E) -> (R, *event_shape)``; dense layers by default.
        observation: as of :class:`~pyroclust.models.DeepMixture`.

    Raises:
        ValueError: if the decoder takes another number of latent numbers.

    Example:
        >>> from pyro import poutine
        >>> model = EmbeddedMixture((8, 8), num_clusters=10)
        >>> trace = poutine.trace(poutine.uncondition(model)).get_trace(torch.empty(3, 20, 8, 8))
        >>> {name: tuple(trace.nodes[name]["value"].shape) for name in ("embedding", "assignments", "data")}
        {'embedding': (3, 20, 10), 'assignments': (3, 20), 'data': (3, 20, 8, 8)}

    References:
        Jiang et al. (2017), Variational deep embedding. https://arxiv.org/abs/1611.05148
    """

    def __init__(
        self,
        event_shape: Sequence[int],
        *,
        num_clusters: int = 10,
        embedding_dim: int = 10,
        decoder: Decoder | None = None,
        observation: Observation | None = None,
    ) -> None:
        clusters = check_count("num_clusters", num_clusters)
        dim = check_count("embedding_dim", embedding_dim)
        super().__init__(event_shape, dim, decoder=decoder, observation=observation, name="embedded_mixture")
        self.num_clusters, self.embedding_dim = clusters, dim
        self.logits = nn.Parameter(torch.zeros(num_clusters))
        self.means = nn.Parameter(torch.randn(num_clusters, embedding_dim))
        self.log_scales = nn.Parameter(torch.zeros(num_clusters, embedding_dim))

    def forward(self, data: Tensor) -> Tensor:
        """Run the Pyro program on data sets, or on a template of their shape, and return the data."""
        return self._program(data, collapsed=False)

    def collapsed(self, data: Tensor) -> Tensor:
        """Run the program with the clusters summed out of the law of the embedding: the model for ``SVI``."""
        return self._program(data, collapsed=True)

    def log_joint_of_clusters(self, embedding: Tensor) -> Tensor:
        """Return log p(z, c) of vectors for every cluster, ``(*any, E) -> (*any, K)``."""
        law = dist.Normal(self.means, self.log_scales.exp()).to_event(1)
        found: Tensor = self.logits.log_softmax(-1) + law.log_prob(embedding.unsqueeze(-2))
        return found

    def log_likelihood(self, data: Tensor, embedding: Tensor) -> Tensor:
        """Return log p(x | z) of every point, ``(*batch, N)``."""
        found: Tensor = self._law(self._decoded(embedding)).log_prob(data)
        return found

    @torch.no_grad()
    def set_clusters(self, weights: Tensor, means: Tensor, scales: Tensor) -> None:
        """Set weights ``(K,)``, means and standard deviations ``(K, E)``: where a training starts."""
        self.logits.copy_(weights.log())
        self.means.copy_(means)
        self.log_scales.copy_(scales.log())

    @torch.no_grad()
    def generate(self, noise: Tensor) -> Tensor:
        """Return the means of clusters, so many deviations off, ``(S, E) -> (K, S, *event_shape)``."""
        places = self.means.unsqueeze(1) + self.log_scales.exp().unsqueeze(1) * noise
        with evaluating(self):
            return self._mean(self._decoded(places))

    def _program(self, data: Tensor, *, collapsed: bool) -> Tensor:
        check_shape(data, self.event_shape)
        pyro.module(self._pyro_name, self)
        place = data.dim() - self.event_dim
        choice = dist.Categorical(logits=self.logits)
        scales = self.log_scales.exp()
        cluster = None
        with (
            pyro.plate_stack("datasets", data.shape[:place], rightmost_dim=-2),
            pyro.plate("points", data.shape[place], dim=-1),
        ):
            if collapsed:
                law: Any = dist.MixtureSameFamily(choice, dist.Normal(self.means, scales).to_event(1))
            else:
                cluster = pyro.sample("cluster", choice)
                law = dist.Normal(self.means[cluster], scales[cluster]).to_event(1)
            embedding = pyro.sample("embedding", law)
            found: Tensor = pyro.sample("data", self._law(self._decoded(embedding)), obs=data)
        if cluster is not None and cluster.shape == data.shape[: place + 1]:
            pyro.deterministic("assignments", canonical(cluster))
        return found
