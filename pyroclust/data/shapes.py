"""Points that are no rows of columns: images and waveforms."""

from dataclasses import dataclass
from typing import Protocol

__all__ = ["Images", "PointShape", "Waveforms"]


class PointShape(Protocol):
    """What a point is where it is no vector."""

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one point."""
        ...

    @property
    def noun(self) -> str:
        """What one point is called."""
        ...

    def __str__(self) -> str:
        """Say what the points are, as ``images of 28 x 28 pixels``."""
        ...


@dataclass(frozen=True)
class Images:
    """Points that are grey images, pixels in 0..1.

    Attributes:
        height: H.
        width: W.
    """

    height: int
    width: int

    noun = "image"

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one image."""
        return (self.height, self.width)

    def __str__(self) -> str:
        """Say what the points are."""
        return f"images of {self.height} x {self.width} pixels"


@dataclass(frozen=True)
class Waveforms:
    """Points that are pieces of a recording of several channels.

    Attributes:
        num_channels: C.
        num_samples: T.
    """

    num_channels: int
    num_samples: int

    noun = "waveform"

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one waveform."""
        return (self.num_channels, self.num_samples)

    def __str__(self) -> str:
        """Say what the points are."""
        return f"waveforms of {self.num_channels} channels and {self.num_samples} samples"
