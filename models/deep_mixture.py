"""Deep generative clustering: points that a network makes of a cluster and a style."""

import math
from collections.abc import Sequence
from typing import Any

import pyro
import pyro.distributions as dist
import torch
from torch import Tensor, nn

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions import NormalObservation, Observation, PartitionPrior
from pyroclust.distributions.points import broadcast_shapes, check_shape
from pyroclust.distributions.protocols import Model, SimulatedModel, checked_shape, own_name
from pyroclust.models.companion import StickBreaking, component_weights
from pyroclust.nn import DenseDecoder
from pyroclust.nn.deep_parts import Decoder
from pyroclust.nn.modules import evaluating
from pyroclust.partitions import canonical


class LearnedWeights(nn.Module):
    r"""Weights of T components that are parameters: equal ones, or sticks of a process under their prior.

    Sticks are learned on the logit scale. What a training maximises has besides the likelihood

    .. math:: \log p(v) + \sum_k \log v_k (1 - v_k)

    their log-density there, whose mode is no corner. All points together count it once: a batch of N points
    has N / ``num_points`` of it.
    """

    equal: Tensor
    betas: Tensor

    def __init__(
        self, num_components: int, *, prior: PartitionPrior | None = None, num_points: int | None = None
    ) -> None:
        super().__init__()
        equal = torch.full((num_components,), -math.log(num_components))
        self.register_buffer("equal", equal, persistent=False)
        self.sticks: nn.Parameter | None = None
        if prior is None:
            return
        if num_points is None:
            raise ValueError("num_points is None, expected how many points there are: the prior counts once")
        self.num_points = check_count("num_points", num_points)
        process = component_weights(prior, num_components)
        if not isinstance(process, StickBreaking):
            raise ValueError(
                f"prior is a {type(prior).__name__}, expected a process of sticks with known numbers, as "
                "ChineseRestaurantPrior(1.0) or PitmanYorPrior(0.25, 1.0)"
            )
        law = process.law()
        betas = torch.stack([law.concentration1, law.concentration0]).to(equal)
        self.register_buffer("betas", betas, persistent=False)
        # At the start all weights are equal.
        left = torch.arange(num_components - 1, 0, -1)
        self.sticks = nn.Parameter(-left.to(equal).log())

    def log_weights(self) -> Tensor:
        """Return the log-weights, ``(T,)``."""
        return self.equal if self.sticks is None else StickBreaking.weights_of(self.sticks.sigmoid())

    def log_prior(self, num_points: int) -> Tensor:
        """Return what so many points have of the sticks' log-density, ``()``; 0 for equal weights."""
        if self.sticks is None:
            return self.equal.new_zeros(())
        sticks = self.sticks.sigmoid()
        found = dist.Beta(*self.betas).log_prob(sticks) + sticks.log() + (-sticks).log1p()
        return found.sum() * (num_points / self.num_points)


class DeepModel(SimulatedModel, nn.Module):
    """A model that makes points of latent numbers by a decoder, whose weights are trained with a guide.

    Subclasses are Pyro programs, and register themselves in them by ``pyro.module(self._pyro_name, self)``.
    """

    typical_scale = 1.0
    is_trained_with_guide = True

    def __init__(
        self,
        event_shape: Sequence[int],
        latent_dim: int,
        *,
        decoder: Decoder | None,
        observation: Observation | None,
        name: str,
    ) -> None:
        nn.Module.__init__(self)
        self._pyro_name = own_name(type(self))
        self.name = name
        self.event_shape = checked_shape("event_shape", event_shape)
        self.observation = NormalObservation() if observation is None else observation
        self.decoder: Any = DenseDecoder(latent_dim, self.event_shape) if decoder is None else decoder
        if self.decoder.dim != latent_dim:
            raise ValueError(
                f"decoder takes {self.decoder.dim} numbers, expected {latent_dim}, the latent numbers of a "
                f"{type(self).__name__}"
            )

    def _decoded(self, latents: Tensor) -> Tensor:
        """Decode latent numbers, ``(*any, L) -> (*any, *event_shape)``."""
        outputs: Tensor = self.decoder(latents.reshape(-1, latents.shape[-1]))
        return outputs.view(*latents.shape[:-1], *self.event_shape)

    def _law(self, outputs: Tensor) -> Any:
        """Return the law of points given what the decoder says."""
        return self.observation.law(outputs, event_dim=len(self.event_shape))

    def _mean(self, outputs: Tensor) -> Tensor:
        """Return the means of points given what the decoder says."""
        return self.observation.mean(outputs, event_dim=len(self.event_shape))


@register(Model, name="deep_mixture")
class DeepMixture(DeepModel):
    r"""Points that a decoder makes of a cluster and a style, both unseen.

    .. math::
        c_i \sim \text{Categorical}(\pi), \qquad z_i \sim N(0, I), \qquad
        x_i \sim p\big(x \mid o_\theta(z_i, e_{c_i})\big)

    The decoder's weights are trained with those of the guide, :class:`~pyroclust.guides.DeepMixtureGuide`, on
    one collection of data, by stock ``SVI`` or by :func:`pyroclust.infer.fit`. All K clusters are equally
    likely; with a ``prior`` their weights are its first K sticks, learned under their prior (maximum a
    posteriori), so that clusters may become empty.

    Sites: ``"style"``, ``"code"`` (one-hot), ``"data"``, and ``"assignments"``, the partition that the codes
    make. Points are a plate, so that ``TraceEnum_ELBO`` sums over codes. Cost O(N) decodings.

    Args:
        event_shape: shape of one point.
        num_clusters: K; with a prior the truncation.
        style_dim: how many numbers a style has.
        decoder: a module ``(R, style_dim + K) -> (R, *event_shape)``; dense layers by default.
        observation: how points scatter around what the decoder says; normal with standard deviation 1 by
            default.
        prior: a process of sticks, of known numbers: a
            :class:`~pyroclust.distributions.ChineseRestaurantPrior` or
            :class:`~pyroclust.distributions.PitmanYorPrior`.
        num_points: how many points the collection has, for which a prior counts once.

    Raises:
        ValueError: if the decoder takes another number of latent numbers, the prior is no process of sticks,
            or it comes without the number of points.

    Example:
        >>> from pyro import poutine
        >>> model = DeepMixture((8, 8), num_clusters=10)
        >>> trace = poutine.trace(poutine.uncondition(model)).get_trace(torch.empty(3, 20, 8, 8))
        >>> {name: tuple(trace.nodes[name]["value"].shape) for name in ("code", "assignments", "data")}
        {'code': (3, 20, 10), 'assignments': (3, 20), 'data': (3, 20, 8, 8)}

    References:
        Arias Figueroa and Ramirez Rivera (2017), Is simple better? Revisiting simple generative models for
        unsupervised clustering. NIPS workshop on Bayesian deep learning.
        Kingma et al. (2014), Semi-supervised learning with deep generative models.
        https://arxiv.org/abs/1406.5298
    """

    def __init__(
        self,
        event_shape: Sequence[int],
        *,
        num_clusters: int = 10,
        style_dim: int = 10,
        decoder: Decoder | None = None,
        observation: Observation | None = None,
        prior: PartitionPrior | None = None,
        num_points: int | None = None,
    ) -> None:
        clusters = check_count("num_clusters", num_clusters, at_least=2)
        style = check_count("style_dim", style_dim)
        super().__init__(
            event_shape, style + clusters, decoder=decoder, observation=observation, name="deep_mixture"
        )
        self.num_clusters, self.style_dim = clusters, style
        self.prior, self.num_points = prior, num_points
        self.weights = LearnedWeights(self.num_clusters, prior=prior, num_points=num_points)

    @property
    def log_weights(self) -> Tensor:
        """Log of the clusters' weights, ``(K,)``."""
        return self.weights.log_weights()

    def forward(self, data: Tensor) -> Tensor:
        """Run the Pyro program on data sets, or on a template of their shape, and return the data."""
        return self._program(data, with_prior=True)

    def reconstruction(self, data: Tensor, known: Tensor | None = None) -> Tensor:
        """Run the program without the densities of style and code, for ``SVI`` with relaxed codes.

        Args:
            data: ``(*batch, N, *event_shape)``.
            known: labels for the guide, which ``SVI`` hands to both; not looked at.
        """
        return self._program(data, with_prior=False)

    def outputs(self, style: Tensor, code: Tensor) -> Tensor:
        """Decode styles ``(*any, Z)`` and codes ``(*any, K)``, one-hot or relaxed."""
        shape = broadcast_shapes(style.shape[:-1], code.shape[:-1])
        return self._decoded(torch.cat([style.expand(*shape, -1), code.expand(*shape, -1)], -1))

    def log_likelihood(self, data: Tensor, style: Tensor, code: Tensor) -> Tensor:
        """Return log p(x | z, c) of every point, ``(*any, *batch, N)``."""
        found: Tensor = self._law(self.outputs(style, code)).log_prob(data)
        return found

    @torch.no_grad()
    def generate(self, style: Tensor) -> Tensor:
        """Return the means of every cluster in given styles, ``(S, Z) -> (K, S, *event_shape)``.

        Example:
            >>> DeepMixture((8, 8), num_clusters=3).generate(torch.randn(5, 10)).shape
            torch.Size([3, 5, 8, 8])
        """
        codes = torch.eye(self.num_clusters, dtype=style.dtype, device=style.device).unsqueeze(1)
        with evaluating(self):
            return self._mean(self.outputs(style, codes))

    def _program(self, data: Tensor, *, with_prior: bool) -> Tensor:
        check_shape(data, self.event_shape)
        pyro.module(self._pyro_name, self)
        place = data.dim() - self.event_dim
        # Simulations have the dtype and device of the decoder, templates those of the CPU.
        zero = self.log_weights.new_zeros(self.style_dim)
        style_law: Any = dist.Normal(zero, 1.0).to_event(1)
        code_law: Any = dist.OneHotCategorical(logits=self.log_weights)
        if not with_prior:
            style_law, code_law = style_law.mask(False), code_law.mask(False)
        if self.prior is not None:
            pyro.factor("weights", self.weights.log_prior(data.shape[: place + 1].numel()))
        with (
            pyro.plate_stack("datasets", data.shape[:place], rightmost_dim=-2),
            pyro.plate("points", data.shape[place], dim=-1),
        ):
            style = pyro.sample("style", style_law)
            code = pyro.sample("code", code_law)
            found: Tensor = pyro.sample("data", self._law(self.outputs(style, code)), obs=data)
        labels = code.argmax(-1)
        # Of enumerated codes every point has all clusters: there is no partition then.
        if labels.shape == data.shape[: place + 1]:
            pyro.deterministic("assignments", canonical(labels))
        return found


@register(Model, name="semi_supervised_clustering")
class SemiSupervisedClustering(DeepMixture):
    r"""A :class:`DeepMixture` of features and one of K classes, of which some points have a label.

    .. math::
        c_i \sim \text{Categorical}(1/K), \qquad f_i \sim N(0, I), \qquad
        x_i \sim N\big(o_\theta(f_i, e_{c_i}), \tfrac{D}{2} I\big)

    The variance makes the loss of a point its mean squared error per number, on the scale of the other terms
    of :class:`~pyroclust.guides.SemiSupervisedGuide`. The law of the features is there for simulations alone.

    Args:
        event_shape: shape of one point, of D numbers.
        num_classes: K, as many as there are labels.
        feature_dim: how many features there are.
        decoder: a module ``(R, feature_dim + K) -> (R, *event_shape)``; dense layers by default.

    Raises:
        ValueError: as :class:`DeepMixture`.

    Example:
        >>> SemiSupervisedClustering((8, 8), num_classes=10)
        SemiSupervisedClustering(semi_supervised_clustering, points of 8 x 8 numbers, simulation only)

    References:
        Arias Figueroa and Ramirez Rivera (2017), Learning to cluster with auxiliary tasks: a semi-supervised
        approach. SIBGRAPI. https://doi.org/10.1109/SIBGRAPI.2017.29
    """

    def __init__(
        self,
        event_shape: Sequence[int],
        *,
        num_classes: int,
        feature_dim: int = 150,
        decoder: Decoder | None = None,
    ) -> None:
        shape = checked_shape("event_shape", event_shape)
        super().__init__(
            shape,
            num_clusters=num_classes,
            style_dim=feature_dim,
            decoder=decoder,
            observation=NormalObservation(math.sqrt(math.prod(shape) / 2)),
        )
        self.name = "semi_supervised_clustering"
        self.num_classes, self.feature_dim = self.num_clusters, self.style_dim
