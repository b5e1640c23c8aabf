"""What guides of deep models share, and that of deep mixtures: cluster and style by heads of one encoder."""

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import pyro
import pyro.distributions as dist
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pyroclust.core.numbers import check_number
from pyroclust.core.registry import register
from pyroclust.distributions.component_labels import ComponentLabels
from pyroclust.distributions.points import Points
from pyroclust.distributions.protocols import Model
from pyroclust.guides.base import AmortizedGuide
from pyroclust.nn import DenseEncoder, GumbelSoftmax, Views
from pyroclust.nn.deep_parts import Relaxation
from pyroclust.nn.encoders import Encoder
from pyroclust.nn.modules import evaluating

# Logarithms of standard deviations stay finite.
_SMALLEST_SCALE = 1e-4


class DeepGuide(AmortizedGuide):
    """A guide from a point to the shares of its clusters, trained with its model on one collection of data.

    Subclasses write :meth:`loss_terms`. Posteriors take the trained networks
    as known; they, features and shares are those of evaluation mode, whatever mode the guide is in.

    Attributes:
        encoder: the first module of the features.
    """

    encoder: Any
    model: Any
    views: Views | None = None
    code_head: Any

    def points(self, data: Points) -> Tensor:
        points = super().points(data)
        self.model.observation.check(points)
        return points

    def features(self, data: Points) -> Tensor:
        """Return the features of points, ``(*batch, N, E)``."""
        with evaluating(self):
            return self._features(self.points(data))

    def log_shares(self, data: Points) -> Tensor:
        """Return log q of every cluster for every point, ``(*batch, N, K)``."""
        with evaluating(self):
            return self._shares(self._features(self.points(data)))

    def _features(self, data: Tensor) -> Tensor:
        """Return the features of points that fit, ``(*batch, N, E)``."""
        return self._encode(data)

    def _shares(self, features: Tensor) -> Tensor:
        """Return log q of every cluster given features, ``(*batch, N, K)``."""
        found: Tensor = self.code_head(features).log_softmax(-1)
        return found

    @abstractmethod
    def loss_terms(self, data: Tensor, known: Tensor) -> dict[str, Tensor]:
        """Return the terms of what a training minimises, by name.

        Shape:
            data: ``(*batch, N, *event_shape)``; known: ``(*batch, N)`` int64, negative where a label is
            unknown; output: ``(*batch)`` each.
        """

    def losses(self, data: Tensor, assignments: Tensor) -> Tensor:
        """Return what a training minimises, the sum of :meth:`loss_terms`, ``(*batch)``."""
        return torch.stack(list(self.loss_terms(data, assignments).values())).sum(0)

    def posterior(self, data: Points) -> ComponentLabels:
        """Return the law of the partition: points choose their clusters independently, the networks known."""
        return ComponentLabels(self.log_shares(data).double().log_softmax(-1))

    def _of_views(self, data: Tensor, log_shares: Tensor) -> dict[str, Tensor]:
        """Return the terms of deformed copies, which there are in training where there are views."""
        views = self.views
        if views is None or not self.training:
            return {}
        of_view = self._shares(self._features(views.deformation(data)))
        return views.terms(log_shares, of_view, self.model.log_weights)

    def _encode(self, data: Tensor) -> Tensor:
        """Run the encoder on data sets of any batch shape, ``(*batch, N, E)``."""
        place = data.dim() - self.event_dim
        flat = data.reshape(-1, *data.shape[place:])
        found: Tensor = self.encoder(flat)
        return found.view(*data.shape[: place + 1], found.shape[-1])


def scale_of(raw: Tensor, *, first: float) -> Tensor:
    """Return standard deviations that are ``first`` where a network says 0, and never quite 0."""
    return F.softplus(raw + math.log(math.expm1(first))) + _SMALLEST_SCALE


def encoder_for(model: Any, encoder: Encoder | None) -> Any:
    """Return the encoder of a guide: dense layers that fit the model by default."""
    found: Any = DenseEncoder(model.event_shape) if encoder is None else encoder
    if not isinstance(getattr(found, "dim", None), int) or not isinstance(found, nn.Module):
        raise ValueError(
            f"encoder is a {type(found).__name__}, expected a module with an attribute dim, the length of "
            "its vectors, as DenseEncoder or ImageEncoder"
        )
    return found


@register(AmortizedGuide)
class DeepMixtureGuide(DeepGuide):
    r"""The guide of :class:`~pyroclust.models.DeepMixture`.

    .. math::
        h_i = g_\phi(x_i), \quad q(z_i \mid x_i) = N\big(m(h_i), s(h_i)^2\big), \quad
        q(c_i \mid x_i) = \text{softmax}(l(h_i))

    The loss has these terms, in nats, each of them logged in a training:

    .. math::
        \underbrace{-\log p(x_i \mid z_i, c_i)}_{\text{reconstruction}}
        + \underbrace{w_G \, KL\big(q(z_i \mid x_i) \,\|\, N(0, I)\big)}_{\text{style}}
        + \underbrace{w_C \sum_k q_{ik} \log (q_{ik} / \pi_k)}_{\text{code}}

    with relaxed codes in the first, as published for equal weights and :math:`w_C = 1`. In stock Pyro it is
    ``SVI(model.reconstruction, guide, optim, Trace_ELBO())``: the sites ``"style"`` and ``"code"`` have no
    densities, and the other terms are factors. With :class:`~pyroclust.nn.ExactSum` it is ``SVI(model, guide,
    optim, TraceEnum_ELBO(max_plate_nesting=1))``, at K times the cost of the decoder.

    Args:
        model: a :class:`~pyroclust.models.DeepMixture`.
        encoder: g; dense layers by default.
        relaxation: how the loss goes through the choice of a cluster; Gumbel-softmax by default.
        style_weight: :math:`w_G`.
        code_weight: :math:`w_C`.
        views: terms of deformed copies, :class:`~pyroclust.nn.Views`; none by default, as published.

    Raises:
        ValueError: if the model is no deep mixture, or a weight is negative.

    Example:
        >>> from pyroclust.models import DeepMixture
        >>> guide = DeepMixtureGuide(DeepMixture((8, 8), num_clusters=10))
        >>> guide.posterior(torch.rand(20, 8, 8)).sample((3,)).shape
        torch.Size([3, 20])

    References:
        Arias Figueroa and Ramirez Rivera (2017), Is simple better? Revisiting simple generative models for
        unsupervised clustering. NIPS workshop on Bayesian deep learning.
    """

    def __init__(
        self,
        model: Model | Callable[[Tensor], Any],
        *,
        encoder: Encoder | None = None,
        relaxation: Relaxation | None = None,
        style_weight: float = 1.0,
        code_weight: float = 1.0,
        views: Views | None = None,
    ) -> None:
        super().__init__(model)
        if not hasattr(self.model, "style_dim") or not hasattr(self.model, "log_likelihood"):
            raise ValueError(f"model is '{self.model.name}', expected a pyroclust.models.DeepMixture")
        self.encoder = encoder_for(self.model, encoder)
        self.relaxation = GumbelSoftmax() if relaxation is None else relaxation
        self.style_weight = check_number("style_weight", style_weight, at_least=0)
        self.code_weight = check_number("code_weight", code_weight, at_least=0)
        self.views = views
        self.style_head = nn.Linear(self.encoder.dim, 2 * self.model.style_dim)
        self.code_head = nn.Linear(self.encoder.dim, self.model.num_clusters)

    def styles(self, data: Points) -> tuple[Tensor, Tensor]:
        """Return means and standard deviations of q(z | x), ``(*batch, N, Z)`` each."""
        features = self.features(data)
        return self._style(features)

    def loss_terms(self, data: Tensor, known: Tensor | None = None) -> dict[str, Tensor]:
        """Return the terms of the loss in nats, with one fresh sample a point; labels are not looked at."""
        model = self.model
        data = self.points(data)
        features = self._features(data)
        log_shares, (mean, scale) = self._shares(features), self._style(features)
        style = mean + scale * torch.randn_like(mean)
        expected = self.relaxation.expect(log_shares, lambda code: model.log_likelihood(data, style, code))
        divergences = self._divergences(log_shares, mean, scale)
        terms = {"reconstruction": -expected.sum(-1)}
        terms |= {name: weight * divergences[name].sum(-1) for name, weight in self._weights.items()}
        terms |= self._of_views(data, log_shares)
        if model.prior is not None:
            terms["weights"] = -model.weights.log_prior(mean.shape[-2]).expand(mean.shape[:-2])
        return terms

    def forward(self, data: Points) -> Tensor:
        """Sample the sites ``"style"`` and ``"code"``, and add the other terms of the loss as factors."""
        points = self.points(data)
        features = self._features(points)
        log_shares, (mean, scale) = self._shares(features), self._style(features)
        exact = self.relaxation.is_exact
        views = self._of_views(points, log_shares)
        with pyro.plate_stack("datasets", mean.shape[:-2], rightmost_dim=-2):
            for name, one in views.items():
                pyro.factor(f"{name}_term", one.unsqueeze(-1), has_rsample=True)
            with pyro.plate("points", mean.shape[-2], dim=-1):
                law: Any = dist.Normal(mean, scale).to_event(1)
                pyro.sample("style", law if exact else law.mask(False))
                code = self.relaxation.sample("code", log_shares)
                for name, one in self._divergences(log_shares, mean, scale).items():
                    # Where the sites have densities, these hold each divergence once.
                    pyro.factor(f"{name}_term", (self._weights[name] - exact) * one, has_rsample=True)
        return code

    @property
    def _weights(self) -> dict[str, float]:
        return {"style": self.style_weight, "code": self.code_weight}

    def _style(self, features: Tensor) -> tuple[Tensor, Tensor]:
        mean, raw = self.style_head(features).chunk(2, -1)
        return mean, scale_of(raw, first=1.0)

    def _divergences(self, log_shares: Tensor, mean: Tensor, scale: Tensor) -> dict[str, Tensor]:
        """Return the divergences of style and code from their priors, ``(*batch, N)`` each."""
        model = self.model
        prior = dist.Normal(torch.zeros_like(mean), 1.0)
        style = torch.distributions.kl_divergence(dist.Normal(mean, scale), prior).sum(-1)
        code = (log_shares.exp() * (log_shares - model.log_weights)).sum(-1)
        return {"style": style, "code": code}
