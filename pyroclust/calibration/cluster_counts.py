"""The prior of the number of clusters against the posterior averaged over simulated data sets."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from pyroclust.calibration.rows import ClusterCountRow
from pyroclust.diagnostics import total_variation
from pyroclust.infer.simulation import SimulatedBatch

__all__ = ["cluster_count_law", "cluster_count_row"]

# Numbers of clusters beyond this quantile of the prior share a bar.
_TAIL = 1e-3


def cluster_count_row(prior: Tensor | None, clusters: np.ndarray, *, num_points: int) -> ClusterCountRow:
    """Compare numbers of clusters with their prior.

    Shape:
        clusters: of the truth and the draws, ``(S + 1, B)``.

    Args:
        prior: probabilities of 1, ..., N clusters; ``None`` where they are unknown.
        clusters: numbers of clusters, those of the truth first.
        num_points: N.

    Example:
        >>> row = cluster_count_row(torch.tensor([0.5, 0.5]), np.array([[1, 2], [1, 1]]), num_points=2)
        >>> row.simulated, row.averaged, row.total_variation
        ((0.5, 0.5), (1.0, 0.0), 0.5)
    """
    counts = torch.as_tensor(clusters)
    truth, drawn = counts[0], counts[1:]
    if prior is None:
        width = int(counts.max())
    else:
        # Above the prior's upper tail one bar is enough.
        width = min(num_points, int((prior.cumsum(0) < 1 - _TAIL).sum()) + 1)
        prior = torch.cat([prior[: width - 1], prior[width - 1 :].sum().unsqueeze(0)])
    values = torch.arange(1, width + 1)
    by_dataset = (drawn.clamp(max=width).unsqueeze(-1) == values).double().mean(0)
    averaged, error = by_dataset.mean(0), by_dataset.std(0, correction=0) / len(truth) ** 0.5
    single = torch.bincount(drawn[0].clamp(max=width), minlength=width + 1)[1:]
    simulated = torch.bincount(truth.clamp(max=width), minlength=width + 1)[1:].double() / len(truth)
    return ClusterCountRow(
        num_points=num_points,
        num_datasets=len(truth),
        num_draws=len(drawn),
        prior=None if prior is None else tuple(prior.tolist()),
        simulated=tuple(simulated.tolist()),
        averaged=tuple(averaged.tolist()),
        averaged_se=tuple(error.tolist()),
        single_counts=tuple(single.tolist()),
        total_variation=None if prior is None else total_variation(averaged.numpy(), prior.numpy()),
        # The mean of |normal| is sqrt(2 / pi) standard deviations.
        total_variation_noise=0.5 * math.sqrt(2 / math.pi) * error.sum().item(),
    )


def cluster_count_law(worlds: Sequence[SimulatedBatch]) -> Tensor | None:
    """Return the law of the number of clusters over all worlds; ``None`` where it is unknown.

    Shape:
        output: ``(N,)``, probabilities of 1, ..., N clusters.
    """
    points, total = worlds[0].assignments.shape[-1], sum(len(one.data) for one in worlds)
    laws = []
    for one in worlds:
        prior = one.model.partition_prior
        if prior is None:
            return None
        try:
            law = prior.log_prob_num_clusters(points).exp().cpu()
        except ValueError:
            # A random hyperparameter that is not integrated out.
            return None
        laws.append(len(one.data) / total * law)
    return torch.stack(laws).sum(0)
