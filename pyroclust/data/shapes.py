"""Points that are no rows of columns: images, waveforms and the nodes of a graph."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pyroclust.partitions.graph_spectra import node_positions


@dataclass(frozen=True)
class PointShape:
    """What a point is where it is no vector; as text, what all are, as ``images of 28 x 28 pixels``."""

    noun: ClassVar[str]  # what one point is called
    all_of_them: ClassVar[str]

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one point."""
        return tuple(vars(self).values())

    def fits(self, event_shape: tuple[int, ...]) -> bool:
        """Say whether a model whose points have a shape is for these points."""
        return event_shape == self.event_shape

    def __str__(self) -> str:
        return self.all_of_them.format(*self.event_shape)


@dataclass(frozen=True)
class Images(PointShape):
    """Points that are grey images, pixels in 0..1."""

    height: int
    width: int

    noun = "image"
    all_of_them = "images of {} x {} pixels"


@dataclass(frozen=True)
class Waveforms(PointShape):
    """Points that are pieces of a recording of several channels."""

    num_channels: int
    num_samples: int

    noun = "waveform"
    all_of_them = "waveforms of {} channels and {} samples"


@dataclass(frozen=True, eq=False)
class Graph(PointShape):
    """Points that are the nodes of a graph, each with its row of the adjacency matrix."""

    adjacency: NDArray[np.float64] = field(repr=False)

    noun = "node"
    all_of_them = "nodes of a graph"

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of the row of a node."""
        return (len(self.adjacency),)

    @cached_property
    def positions(self) -> NDArray[np.float64]:
        """Where the nodes are drawn, ``(N, 2)``."""
        return node_positions(self.adjacency)

    def fits(self, event_shape: tuple[int, ...]) -> bool:
        """Say whether a model is one of graphs, of whatever size."""
        return event_shape == (-1,)
