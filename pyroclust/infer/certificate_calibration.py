"""Simulation-based calibration of a guide: ranks of true functionals, and the averaged posterior of K."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pyroclust.infer.certificate_draws import drawn_blocks, tied
from pyroclust.infer.certificate_rows import CalibrationRow, ClusterCountRow, CoverageRow, ReliabilityRow
from pyroclust.infer.simulation import World
from pyroclust.partitions import num_clusters

__all__ = [
    "CalibrationParts",
    "PartitionChecks",
    "calibration_rows",
    "cluster_count_law",
    "cluster_count_row",
]

PartitionChecks = Callable[[Tensor], tuple[CoverageRow, ReliabilityRow | None]]
"""From true partitions above their draws, ``(S + 1, B, N)``, to coverage and reliability."""

# Numbers of clusters beyond this quantile of the prior share a bar.
_TAIL = 1e-3


@dataclass(frozen=True)
class CalibrationParts:
    """What one set of draws says of calibration.

    Attributes:
        rows: ranks of the truth, a row a functional.
        num_clusters: prior against averaged posterior of K.
        coverage: of credible balls; ``None`` where it was not asked for.
        reliability: of pair probabilities; ``None`` where it was not asked for, or for single points.
    """

    rows: tuple[CalibrationRow, ...] = ()
    num_clusters: ClusterCountRow | None = None
    coverage: CoverageRow | None = None
    reliability: ReliabilityRow | None = None


def calibration_rows(
    worlds: Sequence[World], *, num_draws: int, num_bins: int, checks: PartitionChecks | None = None
) -> CalibrationParts:
    r"""Rank the true partition's functionals among draws, and average the posterior of K.

    If the guide is the posterior, each rank is uniform on 0, ..., S, ties broken at random, and the averaged
    posterior of K is its prior.

    Args:
        worlds: data sets and the guide.
        num_draws: S, draws a data set.
        num_bins: equal bins of the ranks.
        checks: finds coverage and reliability in the same draws; ``None`` leaves both out.

    References:
        Talts et al. (2018), Validating Bayesian inference algorithms with simulation-based calibration.
        https://arxiv.org/abs/1804.06788
        Modrák et al. (2023), Simulation-based calibration checking for Bayesian computation: the choice of
        test quantities shapes sensitivity. https://doi.org/10.1214/23-BA1404
    """
    ranks: dict[str, list[Tensor]] = {}
    partitions = []
    for world in worlds:
        for block in drawn_blocks(world, num_draws):
            for name, found in block.values.items():
                ranks.setdefault(name, []).append(_ranks(found))
            partitions.append(block.assignments)
    every = torch.cat(partitions, 1)
    shape = (every.shape[2], every.shape[1], num_draws)
    calibrated = tuple(
        CalibrationRow(name, *shape, _histogram(torch.cat(found), num_draws + 1, num_bins))
        for name, found in ranks.items()
    )
    clusters = cluster_count_row(cluster_count_law(worlds), num_clusters(every), shape[0])
    found_by_checks = (None, None) if checks is None else checks(every)
    return CalibrationParts(calibrated, clusters, *found_by_checks)


def _ranks(values: Tensor) -> Tensor:
    """Return the rank of the first row among the others, ties broken at random, ``(B,)``."""
    truth, draws = tied(values)[0], tied(values)[1:]
    ties = (draws == truth).sum(0)
    return (draws < truth).sum(0) + (torch.rand(truth.shape, device=truth.device) * (ties + 1)).long()


def _histogram(ranks: Tensor, num_ranks: int, num_bins: int) -> tuple[int, ...]:
    return tuple(torch.bincount(ranks * num_bins // num_ranks, minlength=num_bins).tolist())


def cluster_count_row(prior: Tensor | None, clusters: Tensor, num_points: int) -> ClusterCountRow:
    """Compare numbers of clusters with their prior.

    Shape:
        clusters: of the truth and the draws, ``(S + 1, B)``.

    Args:
        prior: probabilities of 1, ..., N clusters; ``None`` where they are unknown.
        clusters: numbers of clusters, those of the truth first.
        num_points: N.
    """
    truth, drawn = clusters[0], clusters[1:]
    if prior is None:
        width = int(clusters.max())
    else:
        # Above the prior's upper tail one bar is enough.
        width = min(num_points, int((prior.cumsum(0) < 1 - _TAIL).sum()) + 1)
        prior = torch.cat([prior[: width - 1], prior[width - 1 :].sum().unsqueeze(0)])
    values = torch.arange(1, width + 1, device=drawn.device)
    by_dataset = (drawn.clamp(max=width).unsqueeze(-1) == values).double().mean(0)
    averaged, error = by_dataset.mean(0), by_dataset.std(0, correction=0) / len(truth) ** 0.5
    single = torch.bincount(drawn[0].clamp(max=width), minlength=width + 1)[1:]
    simulated = torch.bincount(truth.clamp(max=width), minlength=width + 1)[1:].double() / len(truth)
    distance = None if prior is None else 0.5 * (averaged - prior).abs().sum().item()
    return ClusterCountRow(
        num_points=num_points,
        num_datasets=len(truth),
        num_draws=len(drawn),
        prior=None if prior is None else tuple(prior.tolist()),
        simulated=tuple(simulated.tolist()),
        averaged=tuple(averaged.tolist()),
        averaged_se=tuple(error.tolist()),
        single_counts=tuple(single.tolist()),
        total_variation=distance,
        # The mean of |normal| is sqrt(2 / pi) standard deviations.
        total_variation_noise=0.5 * math.sqrt(2 / math.pi) * error.sum().item(),
    )


def cluster_count_law(worlds: Sequence[World]) -> Tensor | None:
    """Return the law of the number of clusters over all worlds; ``None`` where it is unknown."""
    points, total = worlds[0].assignments.shape[-1], sum(len(one.data) for one in worlds)
    laws = []
    # Labelled tables draw again what does not fit: their partitions do not follow their prior.
    if not all(hasattr(one.model, "log_joint") for one in worlds):
        return None
    for one in worlds:
        try:
            law = one.model.prior.log_prob_num_clusters(points).exp().cpu()
        except ValueError:
            # A random hyperparameter that is not integrated out.
            return None
        laws.append(len(one.data) / total * law)
    return torch.stack(laws).sum(0)
