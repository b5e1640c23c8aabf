"""Clusterwise clustering processes: one cluster at a time, around an anchor; with attention, or without."""

import copy
from collections.abc import Callable
from typing import Any, Self

import pyro
import torch
from pyro.distributions import Delta
from torch import Tensor

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.distributions.clusterwise_partition import ClusterwisePartition
from pyroclust.distributions.clusterwise_steps import ClusterwiseScorer
from pyroclust.distributions.points import Points
from pyroclust.distributions.protocols import Model, as_model
from pyroclust.guides.base import AmortizedGuide, bandwidths, checked_order, num_columns, visiting_order
from pyroclust.guides.exact_filters import filter_scorer
from pyroclust.nn import Order
from pyroclust.nn.attention import SetEncoder
from pyroclust.nn.encoders import Encoder
from pyroclust.nn.networks.clusterwise_network import AttentivePool, ClusterwiseNetwork, GatedPool, SummedPool
from pyroclust.nn.networks.latents import DiscreteLatents, GaussianLatents


@register(AmortizedGuide)
class ClusterwiseClusteringProcess(AmortizedGuide):
    r"""Clusterwise clustering process: O(K) network calls a draw, memberships independent given a latent.

    .. math::
        q(c \mid x) = E_{\text{anchors}} \prod_{k=1}^{K} \int p_\phi(z_k \mid d_k, x, c_{<k})
        \prod_i p_\phi(b_{ki} \mid z_k, d_k, x, c_{<k}) \, dz_k

    Log-probabilities are estimates, see :class:`~pyroclust.distributions.ClusterwisePartition`; in training
    their negative is the importance-weighted bound, with doubly reparameterised gradients.

    Args:
        model: the Pyro model whose posterior is approximated.
        network: what describes anchors and asks points; one that fits the model by default.
        order: rule for the visiting order, whose first unassigned point is the anchor; None for anchors that
            are uniform among the unassigned points, anew for every draw.
        num_particles: latents averaged over in log-probabilities; too few make these too low, and weights
            heavy-tailed.
        training_particles: latents averaged over in training; as many by default.
        num_orders: orders averaged over in log-probabilities where anchors are uniform; training uses one.

    Example:
        >>> from pyroclust.models import gaussian2d
        >>> guide = ClusterwiseClusteringProcess(gaussian2d())
        >>> guide.posterior(torch.zeros(2, 6, 2)).sample((3,)).shape
        torch.Size([3, 2, 6])

    References:
        Pakman et al. (2020), Neural Clustering Processes. https://arxiv.org/abs/1901.00409
    """

    network_argument = "network"

    def __init__(
        self,
        model: Model | Callable[[Tensor], Any],
        *,
        network: ClusterwiseScorer | None = None,
        order: Order | None = None,
        num_particles: int = 16,
        num_orders: int = 8,
        training_particles: int | None = None,
    ) -> None:
        super().__init__(model)
        self.order = None if order is None else checked_order(order)
        self.network: Any = self.default_network(self.model) if network is None else network
        self.num_particles = check_count("num_particles", num_particles)
        self.num_orders = check_count("num_orders", num_orders)
        self.training_particles = (
            None if training_particles is None else check_count("training_particles", training_particles)
        )

    @classmethod
    def default_network(cls, model: Model) -> ClusterwiseScorer:
        """Return an untrained network that fits the model."""
        return ClusterwiseNetwork(num_columns(model), model.typical_scale)

    @property
    def why_no_constraints(self) -> str:
        if not self.network.is_exact:
            return "its latents are continuous, so that log-probabilities are estimates"
        if self.order is None:
            return "its anchors are drawn anew for every draw, so that log-probabilities are estimates"
        return ""

    def estimated_with(self, *, num_particles: int | None = None, num_orders: int | None = None) -> Self:
        """Return a view whose log-probabilities average over other numbers of latents and orders."""
        view = copy.copy(self)
        view.num_particles = self.num_particles if num_particles is None else num_particles
        view.num_orders = self.num_orders if num_orders is None else num_orders
        return view

    def posterior(self, data: Points, *, order: Tensor | None = None) -> ClusterwisePartition:
        """Encode data sets once and return the distribution over their partitions.

        Orders ``(*batch, N)`` or ``(N,)`` to take anchors from stand in the place of the rule.
        """
        data = self.points(data)
        flat, batch = self._flat(data)
        network, uniform = self.network, order is None and self.order is None
        visit = None if uniform else visiting_order(self.order, flat, order, batch)
        trains = torch.is_grad_enabled() and self.training
        in_training = self.num_particles if self.training_particles is None else self.training_particles
        return ClusterwisePartition(
            network,
            network.encode(flat),
            order=visit,
            dataset=torch.arange(len(flat), device=data.device).view(batch),
            num_points=flat.shape[1],
            num_particles=in_training if trains else self.num_particles,
            num_orders=1 if trains else self.num_orders,
            constraints=self.links,
        )

    def forward(self, data: Points) -> Tensor:
        """Sample the sites ``"assignments"`` and, auxiliary, ``"latents"``: the Pyro guide."""
        data = self.points(data)
        with pyro.plate_stack("datasets", data.shape[: -self.event_dim]):
            posterior = self.posterior(data)
            assignments = pyro.sample("assignments", posterior)
            with torch.no_grad():
                latents = posterior.latents(assignments)
            pyro.sample("latents", Delta(latents, event_dim=2), infer={"is_auxiliary": True})
            return assignments


@register(ClusterwiseClusteringProcess, name="clusterwise")
def clusterwise_network_for(
    model: Model | Callable[[Tensor], Any],
    *,
    width: int = 48,
    decoder_width: int = 32,
    num_latents: int = 6,
    num_values: int = 0,
    num_bandwidths: int = 4,
    differences: bool = True,
    gates: bool = True,
    encoder: Encoder | None = None,
    foresight: bool = False,
) -> ClusterwiseNetwork:
    """Return an untrained network that fits a model."""
    return ClusterwiseNetwork(
        **_fitted_to(model, encoder, num_latents, num_values, num_bandwidths, foresight=foresight),
        width=width,
        decoder_width=decoder_width,
        pool=GatedPool if gates else SummedPool,
        differences=differences,
    )


def _fitted_to(
    model: Any,
    encoder: Encoder | None,
    num_latents: int,
    num_values: int,
    num_bandwidths: int,
    *,
    foresight: bool,
) -> dict[str, Any]:
    """Return what networks with and without attention take from a model, its encoder and filter."""
    model = as_model(model)
    return {
        "dim": num_columns(model) if encoder is None else encoder.dim,
        "scale": model.typical_scale if encoder is None else 1.0,
        "encoder": encoder,
        "latents": DiscreteLatents(num_latents, num_values) if num_values else GaussianLatents(num_latents),
        "bandwidths": bandwidths(num_bandwidths),
        "filter": filter_scorer(model) if foresight else None,
    }


@register(AmortizedGuide)
class AttentiveClusteringProcess(ClusterwiseClusteringProcess):
    """Clusterwise clustering process whose points see one another by attention (ACP, and ACP-S).

    ACP lets the anchor and the unassigned points attend to one another anew for every cluster, ACP-S all
    points once, before any anchor is chosen, which is cheaper by the number of clusters and draws. The
    default network is that of ACP. All else is as in :class:`~pyroclust.guides.ClusterwiseClusteringProcess`.

    Example:
        >>> import torch
        >>> from pyroclust.models import gaussian2d
        >>> model = gaussian2d()
        >>> guide = AttentiveClusteringProcess(model, network=attentive_network_for(model, anchored=False))
        >>> guide.posterior(torch.zeros(2, 6, 2)).sample((3,)).shape
        torch.Size([3, 2, 6])

    References:
        Wang et al. (2020), Attentive clustering processes. https://arxiv.org/abs/2010.15727
    """

    @classmethod
    def default_network(cls, model: Model) -> ClusterwiseNetwork:
        return attentive_network_for(model)


@register(AttentiveClusteringProcess, name="attentive")
def attentive_network_for(
    model: Model | Callable[[Tensor], Any],
    *,
    anchored: bool = True,
    width: int = 48,
    decoder_width: int = 32,
    num_blocks: int = 1,
    num_inducing: int = 16,
    num_latents: int = 6,
    num_values: int = 0,
    num_bandwidths: int = 4,
    differences: bool = True,
    encoder: Encoder | None = None,
    foresight: bool = False,
) -> ClusterwiseNetwork:
    """Return an untrained network with attention that fits a model."""
    attention = SetEncoder(width, num_blocks=num_blocks, num_inducing=num_inducing)
    return ClusterwiseNetwork(
        **_fitted_to(model, encoder, num_latents, num_values, num_bandwidths, foresight=foresight),
        width=width,
        decoder_width=decoder_width,
        pool=AttentivePool,
        differences=differences,
        up_front=None if anchored else attention,
        each_step=attention if anchored else None,
    )
