"""Parameters of the clusters of draws of partitions, for families that are not conjugate."""

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.random_state import seeded
from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.infer.mcmc.parameters.clusters import ChainClusters, ChainFamilies
from pyroclust.infer.mcmc.parameters.updates import SliceParameters
from pyroclust.partitions import as_partitions

__all__ = ["parameters_of_draws"]

_SWEEPS = 50


def parameters_of_draws(
    model: CollapsedModel,
    data: Tensor,
    draws: Tensor,
    *,
    generator: np.random.Generator,
    sweeps: int = _SWEEPS,
) -> dict[str, Tensor]:
    r"""Draw the parameters of every cluster given its points, by slice moves.

    .. math:: \theta_k \mid x, c \sim p(\theta_k) \prod_{i: c_i = k} F(x_i; \theta_k)

    One draw of the parameters for each draw of the partition, after so many sweeps over all coordinates from
    a guess at the points of the cluster. Cost O(T S N D P) for P coordinates and T sweeps.

    Args:
        model: a mixture, its hyperparameters known or integrated out.
        data: one data set, ``(N, D)``.
        draws: canonical labels.
        generator: of all random numbers.
        sweeps: T.

    Shape:
        draws: ``(S, N)``; output: ``(S, K, *event)`` float64 by name, K the largest number of clusters; rows
        of clusters that a draw lacks repeat its last one.

    Example:
        >>> from pyroclust.models import gaussian2d
        >>> data = torch.tensor([[0.0, 0.0], [9.0, 0.0]], dtype=torch.float64)
        >>> draws = torch.tensor([[0, 1], [0, 0]])
        >>> parameters_of_draws(gaussian2d(), data, draws, generator=np.random.default_rng(0))["loc"].shape
        torch.Size([2, 2, 2])
    """
    labels = as_partitions("draws", draws, num_points=len(data))
    with seeded(int(generator.integers(2**31))), torch.no_grad():
        moves = SliceParameters().bind(model.component, data, dtype=torch.float64, generator=generator)
        clusters = moves.start(ChainClusters.of(labels))
        families = ChainFamilies(model)
        for _ in range(sweeps):
            clusters = moves.draw(clusters, families)
    counts = labels.amax(-1) + 1
    first = counts.cumsum(0) - counts
    column = torch.arange(int(counts.max()))
    rows = first.unsqueeze(-1) + torch.minimum(column, counts.unsqueeze(-1) - 1)
    return {name: value[rows].double() for name, value in clusters.parameters.items()}
