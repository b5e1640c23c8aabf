"""What deep models share: a decoder, a law of observations, and a name of their own in Pyro's store."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from pyroclust.distributions import NormalObservation, Observation
from pyroclust.distributions.programs import SimulatedModel, checked_shape, own_name
from pyroclust.nn import DenseDecoder
from pyroclust.nn.deep.decoders import Decoder

__all__ = ["DeepModel"]


class DeepModel(SimulatedModel, nn.Module):
    """A model that makes points of latent numbers by a decoder, whose weights are trained with a guide.

    Subclasses are Pyro programs, and register themselves in them by ``pyro.module(self._pyro_name, self)``.

    Args:
        event_shape: shape of one point.
        latent_dim: how many latent numbers the decoder takes.
        decoder: a module ``(R, latent_dim) -> (R, *event_shape)``; dense layers by default.
        observation: how points scatter around what the decoder says; normal with standard deviation 1 by
            default.
        name: what reports call the model.

    Raises:
        ValueError: if the decoder takes another number of latent numbers.
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
        self._event_shape = checked_shape("event_shape", event_shape)
        self.observation = NormalObservation() if observation is None else observation
        self.decoder: Any = DenseDecoder(latent_dim, self._event_shape) if decoder is None else decoder
        if self.decoder.dim != latent_dim:
            raise ValueError(
                f"decoder takes {self.decoder.dim} numbers, expected {latent_dim}, the latent numbers of a "
                f"{type(self).__name__}"
            )

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one point."""
        return self._event_shape

    def _decoded(self, latents: Tensor) -> Tensor:
        """Decode latent numbers, ``(*any, L) -> (*any, *event_shape)``."""
        outputs: Tensor = self.decoder(latents.reshape(-1, latents.shape[-1]))
        return outputs.view(*latents.shape[:-1], *self._event_shape)

    def _law(self, outputs: Tensor) -> Any:
        """Return the law of points given what the decoder says."""
        return self.observation.law(outputs, event_dim=len(self._event_shape))

    def _mean(self, outputs: Tensor) -> Tensor:
        """Return the means of points given what the decoder says."""
        return self.observation.mean(outputs, event_dim=len(self._event_shape))
