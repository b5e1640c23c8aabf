"""The guide of variational deep embedding: a vector for every point, and the mixture's shares of it."""

from collections.abc import Callable
from typing import Any

import pyro
import pyro.distributions as dist
import torch
from torch import Tensor, nn

from pyroclust.core.numbers import check_number, check_seed, short_seed
from pyroclust.core.registry import register
from pyroclust.distributions.points import Points
from pyroclust.distributions.protocols import Model
from pyroclust.guides.base import AmortizedGuide
from pyroclust.guides.deep_mixture_guide import DeepGuide, encoder_for, scale_of
from pyroclust.nn.encoders import Encoder

# Vectors start with little noise: an autoencoder's training has left none.
_FIRST_SCALE = 0.1


@register(AmortizedGuide)
class EmbeddedMixtureGuide(DeepGuide):
    r"""The guide of :class:`~pyroclust.models.EmbeddedMixture`: variational deep embedding (VaDE).

    .. math::
        q(z_i \mid x_i) = N\big(m_\phi(x_i), s_\phi(x_i)^2\big), \qquad
        q(c_i \mid x_i) = p\big(c \mid z = m_\phi(x_i)\big)

    The loss is :math:`-\log p(x \mid z) + w \, [\log q(z \mid x) - \log p(z)]` at a sample z, with the
    clusters summed out of p(z): the bound of the paper with the best q(c | x, z), and with a weight of 1
    ``SVI(model.collapsed, guide, optim, Trace_ELBO())``. With a weight of 0 it is an autoencoder. As in the
    paper a training starts as one, then sets the clusters by :meth:`start_clusters`, and goes on with weight
    1: without a start all points stay in few clusters.

    Args:
        model: an :class:`~pyroclust.models.EmbeddedMixture`.
        encoder: dense layers by default.
        embedding_weight: w; may be set to another number.

    Raises:
        ValueError: if the model is no embedded mixture, or the weight is negative.

    Example:
        >>> from pyroclust.models import EmbeddedMixture
        >>> guide = EmbeddedMixtureGuide(EmbeddedMixture((8, 8), num_clusters=4))
        >>> guide.start_clusters(torch.rand(50, 8, 8))
        >>> guide.posterior(torch.rand(20, 8, 8)).sample((3,)).shape
        torch.Size([3, 20])

    References:
        Jiang et al. (2017), Variational deep embedding. https://arxiv.org/abs/1611.05148
    """

    def __init__(
        self,
        model: Model | Callable[[Tensor], Any],
        *,
        encoder: Encoder | None = None,
        embedding_weight: float = 1.0,
    ) -> None:
        super().__init__(model)
        if not hasattr(self.model, "embedding_dim"):
            raise ValueError(f"model is '{self.model.name}', expected a pyroclust.models.EmbeddedMixture")
        self.encoder = encoder_for(self.model, encoder)
        self.embedding_weight = check_number("embedding_weight", embedding_weight, at_least=0)
        self.head = nn.Linear(self.encoder.dim, 2 * self.model.embedding_dim)

    @torch.no_grad()
    def start_clusters(self, data: Points, *, seed: int = 0) -> None:
        """Set the clusters to those of a Gaussian mixture that is fitted to the embedded points.

        Args:
            data: one data set ``(N, *event_shape)``, N at least K.
            seed: of the fit.
        """
        from sklearn.mixture import GaussianMixture

        model = self.model
        vectors = self.features(data)
        fitted = GaussianMixture(
            model.num_clusters,
            covariance_type="diag",
            n_init=5,
            reg_covar=1e-3,
            random_state=short_seed(check_seed(seed)),
        ).fit(vectors.double().cpu().numpy())
        parts = (fitted.weights_, fitted.means_, fitted.covariances_**0.5)
        model.set_clusters(*(torch.as_tensor(one).to(vectors) for one in parts))

    def loss_terms(self, data: Tensor, known: Tensor | None = None) -> dict[str, Tensor]:
        model = self.model
        data = self.points(data)
        mean, scale = self._embedded(data)
        if self.embedding_weight == 0:
            return {"reconstruction": -model.log_likelihood(data, mean).sum(-1)}
        law = dist.Normal(mean, scale).to_event(1)
        embedding = law.rsample()
        divergence = law.log_prob(embedding) - model.log_joint_of_clusters(embedding).logsumexp(-1)
        return {
            "reconstruction": -model.log_likelihood(data, embedding).sum(-1),
            "embedding": self.embedding_weight * divergence.sum(-1),
        }

    def forward(self, data: Points) -> Tensor:
        """Sample the site ``"embedding"``.

        Raises:
            ValueError: if the weight of the embedding is not 1.
        """
        if self.embedding_weight != 1:
            raise ValueError(
                f"embedding_weight is {self.embedding_weight:g}, expected 1 in a Pyro program: train by "
                "pyroclust.infer.fit with other weights"
            )
        mean, scale = self._embedded(self.points(data))
        with (
            pyro.plate_stack("datasets", mean.shape[:-2], rightmost_dim=-2),
            pyro.plate("points", mean.shape[-2], dim=-1),
        ):
            found: Tensor = pyro.sample("embedding", dist.Normal(mean, scale).to_event(1))
            return found

    def _features(self, data: Tensor) -> Tensor:
        return self._embedded(data)[0]

    def _shares(self, features: Tensor) -> Tensor:
        found: Tensor = self.model.log_joint_of_clusters(features).log_softmax(-1)
        return found

    def _embedded(self, data: Tensor) -> tuple[Tensor, Tensor]:
        """Return means and standard deviations of the embedding."""
        mean, raw = self.head(self._encode(data)).chunk(2, -1)
        return mean, scale_of(raw, first=_FIRST_SCALE)
