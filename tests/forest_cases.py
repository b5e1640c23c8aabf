"""Similarities of few points, and the components of a forest by networkx."""

import networkx
import numpy as np
import torch

from pyroclust.partitions import canonical


def similarity_of(num_points: int, *, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    torch.manual_seed(seed)
    points = torch.randn(num_points, 2, dtype=dtype)
    return -torch.cdist(points, points, compute_mode="donot_use_mm_for_euclid_dist").square()


def components_of(num_points: int, edges) -> torch.Tensor:
    graph = networkx.Graph()
    graph.add_nodes_from(range(num_points))
    graph.add_edges_from(edges)
    labels = np.empty(num_points, int)
    for name, members in enumerate(networkx.connected_components(graph)):
        labels[list(members)] = name
    return canonical(torch.from_numpy(labels))
