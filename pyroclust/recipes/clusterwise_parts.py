"""The tables of a recipe that make clusterwise guides."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyroclust.guides import AttentiveClusteringProcess, ClusterwiseClusteringProcess
from pyroclust.guides.arguments import build_order
from pyroclust.nn.attention import SetEncoder
from pyroclust.nn.clusterwise_network import ClusterwiseNetwork
from pyroclust.nn.latents import DiscreteLatents, GaussianLatents
from pyroclust.nn.pools import AttentivePool, GatedPool, PointPool, SummedPool
from pyroclust.recipes.parts import GuidePart

__all__ = ["AttentivePart", "ClusterwisePart"]


@dataclass(frozen=True)
class ClusterwisePart:
    """``[clusterwise]``: a clusterwise guide; without ``[order]`` its anchors are uniform.

    Attributes:
        width: of points and contexts.
        decoder_width: of the network that asks each point.
        num_latents: dimensions of a cluster's latent.
        num_values: values of a discrete latent, with exact probabilities; 0 for a Gaussian latent.
        num_particles: latents averaged over in training and in log-probabilities.
        num_orders: orders averaged over in log-probabilities where anchors are uniform.
        num_bandwidths: kernels, 0.7 times powers of two of the model's scale; 0 for none.
        differences: see points relative to anchors and centres.
        gates: pool by learned gates; else by plain sums.
    """

    width: int = 48
    decoder_width: int = 32
    num_latents: int = 6
    num_values: int = 0
    num_particles: int = 16
    num_orders: int = 8
    num_bandwidths: int = 4
    differences: bool = True
    gates: bool = True

    @property
    def pool(self) -> PointPool:
        """What pools points."""
        return GatedPool if self.gates else SummedPool

    def encoders(self) -> dict[str, SetEncoder]:
        """Return what lets points see one another, by the name of its place."""
        return {}

    def network(self, model: Any) -> ClusterwiseNetwork:
        """Build the untrained network."""
        latents = (
            DiscreteLatents(self.num_latents, self.num_values)
            if self.num_values
            else GaussianLatents(self.num_latents)
        )
        return ClusterwiseNetwork(
            model.component.dim,
            model.component.typical_scale,
            width=self.width,
            decoder_width=self.decoder_width,
            latents=latents,
            pool=self.pool,
            bandwidths=tuple(0.7 * 2.0**i for i in range(self.num_bandwidths)),
            differences=self.differences,
            **self.encoders(),
        )

    def make(
        self, model: Any, guide: GuidePart, order: Mapping[str, Any] | None
    ) -> ClusterwiseClusteringProcess:
        """Build the untrained guide.

        Raises:
            ValueError: if ``[guide]`` asks for what clusterwise guides do not have.
        """
        if guide != GuidePart():
            raise ValueError("[guide] has entries, expected none for a clusterwise guide; remove them")
        return self._kind(
            model,
            network=self.network(model),
            order=None if order is None else build_order(order),
            num_particles=self.num_particles,
            num_orders=self.num_orders,
        )

    @property
    def _kind(self) -> type[ClusterwiseClusteringProcess]:
        return ClusterwiseClusteringProcess


@dataclass(frozen=True)
class AttentivePart(ClusterwisePart):
    """``[attentive]``: a clusterwise guide with attention; entries of ``[clusterwise]`` and these.

    Attributes:
        anchored: attend among anchor and unassigned points for every cluster (ACP), or once among all points
            (ACP-S).
        num_blocks: blocks of induced attention.
        num_inducing: inducing points of a block.
    """

    anchored: bool = True
    num_blocks: int = 1
    num_inducing: int = 16

    @property
    def pool(self) -> PointPool:
        """What pools points."""
        return AttentivePool

    def encoders(self) -> dict[str, SetEncoder]:
        """Return what lets points see one another, by the name of its place."""
        encoder = SetEncoder(self.width, num_blocks=self.num_blocks, num_inducing=self.num_inducing)
        return {"each_step" if self.anchored else "up_front": encoder}

    @property
    def _kind(self) -> type[ClusterwiseClusteringProcess]:
        return AttentiveClusteringProcess
