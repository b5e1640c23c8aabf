"""Mixture fitting in one forward pass: a set transformer that says the parameters of a mixture."""

import math
from collections.abc import Callable
from typing import Any

import pyro
import torch
from pyro.distributions import Delta
from torch import Tensor

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions import DiagonalMixture
from pyroclust.distributions.component_labels import ComponentLabels
from pyroclust.distributions.points import Points
from pyroclust.distributions.protocols import Model, as_model
from pyroclust.guides.base import AmortizedGuide, num_columns
from pyroclust.nn.attention import FullSetEncoder, PointEncoder, SetEncoder
from pyroclust.nn.networks.mixture_network import (
    AttentiveDecoder,
    MeanDecoder,
    MixtureNetwork,
    MixtureParameters,
    RecurrentDecoder,
)


@register(AmortizedGuide)
class SetTransformerMixture(AmortizedGuide):
    r"""A guide that says the parameters of a mixture of diagonal Gaussians: amortized maximum likelihood.

    .. math::
        (\hat\pi, \hat\mu, \hat\sigma) = f_\phi(x), \qquad
        L(\phi) = -E_x \log p(x \mid \hat\pi, \hat\mu, \hat\sigma), \qquad
        q(c \mid x) = \sum_{\text{names}} \prod_i p(c_i \mid x_i, \hat\pi, \hat\mu, \hat\sigma)

    As a Pyro guide it is a point of the parameters of :class:`~pyroclust.models.MarginalMixture`, trained by
    ``SVI`` with ``Trace_ELBO`` on simulated data sets; :func:`pyroclust.infer.fit` minimises the same loss.
    Its posterior takes the parameters as known: it is too sure, at few points most of all.

    With ``varied`` every data set of a training has a number of components of its own, uniform between 1 and
    K, and a posterior takes the number of lowest Bayesian information criterion.

    Args:
        model: whose simulations it is trained on, points in vectors.
        network: from a set to parameters; one that fits the model by default.
        em_step: whether one step of expectation maximisation follows the network.
        varied: whether the number of components varies.

    Raises:
        ValueError: if the network takes points of another dimension.

    Example:
        >>> from pyroclust.models import set_transformer_clusters
        >>> guide = SetTransformerMixture(set_transformer_clusters(4))
        >>> guide.posterior(torch.randn(3, 50, 2)).sample((5,)).shape
        torch.Size([5, 3, 50])

    References:
        Lee et al. (2019), Set Transformer. https://arxiv.org/abs/1810.00825
    """

    network_argument = "network"

    def __init__(
        self,
        model: Model | Callable[[Tensor], Any],
        *,
        network: MixtureNetwork | None = None,
        em_step: bool = False,
        varied: bool = False,
    ) -> None:
        super().__init__(model)
        self.network: Any = mixture_network_for(self.model) if network is None else network
        if self.network.dim != num_columns(self.model):
            raise ValueError(
                f"network takes points of {self.network.dim} numbers, expected {num_columns(self.model)}, "
                "those of the model"
            )
        self.em_step, self.varied = bool(em_step), bool(varied)

    def parameters_of(
        self, data: Points, *, num_components: int | Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return weights, means and scales of the mixture of each data set; those beyond K have weight 0.

        Args:
            data: ``(*batch, N, D)``.
            num_components: K, one number, or one a data set ``(*batch)``, of a guide whose number varies;
                that of lowest Bayesian information criterion by default.

        Shape:
            output: ``(*batch, K)``, ``(*batch, K, D)`` and ``(*batch, K, D)``.
        """
        data = self.points(data)
        found = self.mixture_of(data, num_components=num_components)
        return found.log_weights.exp(), found.means, found.scales

    def mixture_of(self, data: Points, *, num_components: int | Tensor | None = None) -> DiagonalMixture:
        """Return the mixture of each data set as a distribution; see :meth:`parameters_of`."""
        data = self.points(data)
        if num_components is not None:
            return self._mixture(data, self._checked_number(num_components, data))
        return self._chosen(data) if self.varied else self._mixture(data, None)

    def posterior(self, data: Points) -> ComponentLabels:
        """Return the law of the partition of each data set, the parameters taken as known."""
        data = self.points(data)
        return ComponentLabels(self.mixture_of(data).log_joint(data).log_softmax(-1))

    def losses(self, data: Tensor, assignments: Tensor) -> Tensor:
        """Return what a training minimises, the negative log-likelihoods in nats, ``(*batch)``."""
        number = None
        if self.varied:
            most = self.network.num_components
            number = torch.randint(1, most + 1, data.shape[:-2]).to(data.device)
        return -self._mixture(data, number).log_prob(data)

    def forward(self, data: Points) -> Tensor:
        """Sample the sites of :class:`~pyroclust.models.MarginalMixture`: the Pyro guide, a point."""
        data = self.points(data)
        with pyro.plate_stack("datasets", data.shape[:-2]):
            found = self.mixture_of(data)
            pyro.sample("log_weights", Delta(found.log_weights, event_dim=1))
            pyro.sample("scales", Delta(found.scales, event_dim=2))
            means: Tensor = pyro.sample("means", Delta(found.means, event_dim=2))
            return means

    def _mixture(self, data: Tensor, number: Tensor | None) -> DiagonalMixture:
        """Return the mixture of so many components, ``(*batch)``, or of all."""
        batch, most = data.shape[:-2], self.network.num_components
        present = None
        if number is not None:
            present = (torch.arange(most, device=data.device) < number.unsqueeze(-1)).reshape(-1, most)
        flat: MixtureParameters = self.network(data.reshape(-1, *data.shape[-2:]), present)
        found = DiagonalMixture(
            *(one.view(*batch, *one.shape[1:]) for one in flat), num_points=data.shape[-2]
        )
        return found.after_one_step(data) if self.em_step else found

    def _chosen(self, data: Tensor) -> DiagonalMixture:
        """Return the mixture of the number of components with the lowest Bayesian information criterion."""
        batch, (points, dim), most = data.shape[:-2], data.shape[-2:], self.network.num_components
        flat = data.reshape(-1, points, dim)
        numbers = torch.arange(1, most + 1, device=data.device).unsqueeze(-1)
        tried = flat.expand(most, *flat.shape)
        every = self._mixture(tried, numbers.expand(tried.shape[:2]))
        free = numbers * (1 + 2 * dim) - 1
        best = (every.log_prob(tried) - 0.5 * free * math.log(points)).argmax(0)
        parts = (every.log_weights, every.means, every.scales)
        chosen = [one[best, torch.arange(len(flat), device=data.device)] for one in parts]
        return DiagonalMixture(*(one.view(*batch, *one.shape[1:]) for one in chosen), num_points=points)

    def _checked_number(self, num_components: int | Tensor, data: Tensor) -> Tensor:
        most = self.network.num_components
        if not self.varied:
            raise ValueError(
                f"num_components is given, expected none: this guide has {most} components, and one whose "
                "number varies is built with varied=True"
            )
        number = torch.as_tensor(num_components, device=data.device)
        if number.is_floating_point() or int(number.min()) < 1 or int(number.max()) > most:
            raise ValueError(f"num_components is {num_components}, expected whole numbers from 1 to {most}")
        try:
            return number.expand(data.shape[:-2])
        except RuntimeError:
            raise ValueError(
                f"num_components has shape {tuple(number.shape)}, expected one number, or one a data set, "
                f"{tuple(data.shape[:-2])}"
            ) from None


@register(SetTransformerMixture, name="set_transformer")
def mixture_network_for(
    model: Model | Callable[[Tensor], Any],
    *,
    num_components: int | None = None,
    width: int = 128,
    num_heads: int = 4,
    encoder: SetEncoder | FullSetEncoder | PointEncoder | None = None,
    decoder: AttentiveDecoder | MeanDecoder | RecurrentDecoder | None = None,
) -> MixtureNetwork:
    """Return an untrained network that fits a model: the published one by default.

    Args:
        model: whose points it takes, vectors.
        num_components: K, 4 by default, or that of the decoder.
        width: W of points and components.
        num_heads: heads of the attention.
        encoder: of that width; two blocks of induced attention through 16 points by default.
        decoder: of that width; one seed of attention a component by default.

    Raises:
        ValueError: if the decoder has another number of components.
    """
    model = as_model(model)
    check_count("width", width)
    encoder = SetEncoder(width, num_blocks=2, num_heads=num_heads) if encoder is None else encoder
    if decoder is None:
        components = 4 if num_components is None else num_components
        decoder = AttentiveDecoder(width, components, num_heads=num_heads)
    elif num_components not in (None, decoder.num_components):
        raise ValueError(
            f"num_components is {num_components}, expected {decoder.num_components}, that of the decoder"
        )
    return MixtureNetwork(num_columns(model), model.typical_scale, encoder=encoder, decoder=decoder)
