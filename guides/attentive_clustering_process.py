"""The attentive clustering process: the clusterwise form with set attention."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from pyroclust.core.registry import register
from pyroclust.distributions.programs import as_model
from pyroclust.distributions.protocols import Model
from pyroclust.guides.base import AmortizedGuide, bandwidths, num_columns
from pyroclust.guides.clusterwise_clustering_process import (
    ClusterwiseClusteringProcess,
    filter_for,
    latents_for,
)
from pyroclust.nn.attention import SetEncoder
from pyroclust.nn.encoders.encoder import Encoder
from pyroclust.nn.networks.clusterwise_network import ClusterwiseNetwork
from pyroclust.nn.networks.pools import AttentivePool

__all__ = ["AttentiveClusteringProcess", "attentive_network_for"]


@register(AmortizedGuide)
class AttentiveClusteringProcess(ClusterwiseClusteringProcess):
    """Clusterwise clustering process whose points see one another by attention (ACP, and ACP-S).

    ACP lets the anchor and the unassigned points attend to one another anew for every cluster. ACP-S does so
    once for all points of a data set, before any anchor is chosen: cheaper by the number of clusters and
    draws. Unassigned points, those that join and those that do not are pooled by attention in both.

    Arguments, methods and estimates are those of
    :class:`~pyroclust.guides.ClusterwiseClusteringProcess`; the default network is that of ACP, and
    :func:`attentive_network_for` makes that of ACP-S.

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
        """Return an untrained network of ACP that fits the model."""
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
    """Return an untrained network with attention that fits a model.

    Args:
        model: a mixture, or any Pyro program.
        anchored: attend among the anchor and the unassigned points for every cluster (ACP), or once among
            all points (ACP-S).
        width: of points and contexts.
        decoder_width: of the network that asks each point.
        num_blocks: blocks of induced attention.
        num_inducing: inducing points of a block.
        num_latents: dimensions of a cluster's latent.
        num_values: values of a discrete latent, with exact probabilities; 0 for a Gaussian latent.
        num_bandwidths: kernels, 0.7 times powers of two of the model's scale; 0 for none.
        differences: see points relative to anchors and centres.
        encoder: maps points of any shape to vectors whose differences are looked at in units of 1; None for
            vectors.
        foresight: let the exact filter of a conjugate model label the points that are left, see
            :class:`~pyroclust.nn.ClusterwiseNetwork`.

    Raises:
        ValueError: if there is no filter to look ahead with.
    """
    attention = SetEncoder(width, num_blocks=num_blocks, num_inducing=num_inducing)
    model = as_model(model)
    return ClusterwiseNetwork(
        num_columns(model) if encoder is None else encoder.dim,
        model.typical_scale if encoder is None else 1.0,
        encoder=encoder,
        width=width,
        decoder_width=decoder_width,
        latents=latents_for(num_latents, num_values),
        pool=AttentivePool,
        bandwidths=bandwidths(num_bandwidths),
        differences=differences,
        filter=filter_for(model) if foresight else None,
        up_front=None if anchored else attention,
        each_step=attention if anchored else None,
    )
