"""Networks from the nodes of graphs to vectors: GraphSAGE and a residual gated convolution."""

import torch
from torch import Tensor, nn

from pyroclust.core.numbers import check_count
from pyroclust.core.registry import register
from pyroclust.nn.encoders import Encoder
from pyroclust.partitions.adjacency import leading_eigenvectors, linked_neighbours

_LARGEST = 1024


class _NodeEncoder(nn.Module):
    """What both have in common: features of the nodes, layers, and a last linear map."""

    takes_graphs = True

    def __init__(self, dim: int, *, width: int, num_layers: int, num_eigenvectors: int) -> None:
        super().__init__()
        self.dim = check_count("dim", dim, at_most=_LARGEST)
        self.width = check_count("width", width, at_most=_LARGEST)
        self.num_layers = check_count("num_layers", num_layers, at_most=64)
        self.num_eigenvectors = check_count("num_eigenvectors", num_eigenvectors, at_most=_LARGEST)
        self.first = nn.Linear(self.num_eigenvectors + 4, self.width)
        self.layers = nn.ModuleList(self._layer() for _ in range(self.num_layers))
        self.last = nn.Sequential(nn.LayerNorm(self.width), nn.Linear(self.width, self.dim))

    def _layer(self) -> nn.Module:
        raise NotImplementedError

    def forward(self, graphs: Tensor) -> Tensor:
        graphs = graphs.to(self.first.weight.dtype)
        hidden = self.first(self._features(graphs))
        for layer in self.layers:
            hidden = layer(hidden, graphs)
        vectors: Tensor = self.last(hidden)
        return vectors

    def _features(self, graphs: Tensor) -> Tensor:
        """Return eigenvectors, degrees, and how many neighbours know one another, ``(B, N, F)``."""
        degree = graphs.sum(-1)
        nodes = max(1, graphs.shape[-1] - 1)
        rate = degree / nodes
        centred = rate - rate.mean(-1, keepdim=True)
        own = torch.stack([rate, 3 * centred, degree.log1p() / 3, linked_neighbours(graphs)], -1)
        return torch.cat([leading_eigenvectors(graphs, self.num_eigenvectors).to(own), own], -1)


@register(Encoder)
class GraphEncoder(_NodeEncoder):
    r"""Turn every node of a graph into a vector by means over neighbours (GraphSAGE), trained with the guide.

    .. math::
        h_i \leftarrow h_i + \text{silu}\big(A\,\text{norm}(h_i) + B\,\text{mean}_{j \sim i}\,\text{norm}(h_j)
        + C\,\text{mean}_j\,\text{norm}(h_j)\big)

    from the leading eigenvectors of the normalised adjacency, degrees and the share of neighbours that know
    one another. Cost O(N^2 W + N W^2) a graph and layer, and O(N^3) for the eigenvectors.

    Args:
        dim: E, of the vectors.
        width: W, of the layers.
        num_layers: steps that a node sees in the graph.
        num_eigenvectors: of the normalised adjacency, the first left out.

    Shape:
        graphs: ``(B, N, N)``; output: ``(B, N, E)``. Renumbering the nodes renumbers the vectors.

    Example:
        >>> GraphEncoder(5)(torch.ones(2, 7, 7) - torch.eye(7)).shape
        torch.Size([2, 7, 5])

    References:
        Hamilton, Ying & Leskovec (2017), Inductive representation learning on large graphs.
        https://arxiv.org/abs/1706.02216
    """

    def __init__(
        self, dim: int = 16, *, width: int = 48, num_layers: int = 4, num_eigenvectors: int = 20
    ) -> None:
        super().__init__(dim, width=width, num_layers=num_layers, num_eigenvectors=num_eigenvectors)

    def _layer(self) -> nn.Module:
        return _MeanLayer(self.width)


@register(Encoder)
class GatedGraphEncoder(_NodeEncoder):
    r"""Turn every node of a graph into a vector by gated sums over neighbours, trained with the guide.

    .. math::
        h_i \leftarrow h_i + \text{silu}\Big(A\,\bar h_i + \frac{\sum_{j \sim i} \eta_{ij} \odot B \bar h_j}
        {\sum_{j \sim i} \eta_{ij} + 1}\Big), \qquad
        \eta_{ij} = \sigma(C \bar h_i + D \bar h_j), \quad \bar h = \text{norm}(h)

    Gates of every edge tell neighbours of one's own kind from others. Features, arguments and shapes are
    those of :class:`GraphEncoder`; time and memory O(N^2 W) a layer.

    Example:
        >>> GatedGraphEncoder(5)(torch.ones(2, 7, 7) - torch.eye(7)).shape
        torch.Size([2, 7, 5])

    References:
        Bresson & Laurent (2017), Residual gated graph ConvNets. https://arxiv.org/abs/1711.07553
    """

    def __init__(
        self, dim: int = 16, *, width: int = 32, num_layers: int = 3, num_eigenvectors: int = 20
    ) -> None:
        super().__init__(dim, width=width, num_layers=num_layers, num_eigenvectors=num_eigenvectors)

    def _layer(self) -> nn.Module:
        return _GatedLayer(self.width)


class _MeanLayer(nn.Module):
    """Add to a node what it, the mean over its neighbours and the mean over all nodes make."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mix = nn.Linear(3 * width, width)

    def forward(self, hidden: Tensor, graphs: Tensor) -> Tensor:
        normed = self.norm(hidden)
        near = (graphs @ normed) / graphs.sum(-1, keepdim=True).clamp(min=1)
        every = normed.mean(-2, keepdim=True).expand_as(normed)
        return hidden + nn.functional.silu(self.mix(torch.cat([normed, near, every], -1)))


class _GatedLayer(nn.Module):
    """Add to a node what it and the gated sum over its neighbours make."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.four = nn.Linear(width, 4 * width)

    def forward(self, hidden: Tensor, graphs: Tensor) -> Tensor:
        own, sent, gate_here, gate_there = self.four(self.norm(hidden)).chunk(4, -1)
        gates = (gate_here.unsqueeze(-2) + gate_there.unsqueeze(-3)).sigmoid() * graphs.unsqueeze(-1)
        total = torch.einsum("bijw,bjw->biw", gates, sent)
        return hidden + nn.functional.silu(own + total / (gates.sum(-2) + 1))
