"""Ranks of true functionals among draws of fresh data sets, and the averaged posterior of K."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pyroclust.calibration.rows import CalibrationRow, ClusterCountRow, CoverageRow, ReliabilityRow
from pyroclust.distributions.priors.gibbs_type import block_sizes
from pyroclust.infer.simulation import World
from pyroclust.partitions import canonical, num_clusters
from pyroclust.protocols import PartitionGuide

__all__ = [
    "CalibrationParts",
    "DrawnBlock",
    "PartitionChecks",
    "calibration_rows",
    "cluster_count_law",
    "cluster_count_row",
    "drawn_blocks",
    "neighbour_share",
    "partition_functionals",
    "tied",
]

_DRAWS_AT_ONCE = 20_000
# Values nearer than this tie: one partition may be scored twice with different float32 rounding.
_DECIMALS = 3


@dataclass(frozen=True)
class DrawnBlock:
    """Some data sets, each with its true partition and draws.

    Attributes:
        data: ``(B, N, ...)``.
        assignments: the truth in the first row, draws below it, ``(S + 1, B, N)``.
        values: functionals of each, ``(S + 1, B)`` by name.
    """

    data: Tensor
    assignments: Tensor
    values: dict[str, Tensor]


def drawn_blocks(world: World, num_draws: int) -> Iterator[DrawnBlock]:
    """Draw for some data sets at a time.

    Functionals: ``num_clusters``, ``entropy`` of the cluster shares in bits, ``together`` (do the first two
    points share a cluster), ``pairs`` (how many of N // 2 disjoint pairs do), ``neighbours`` (share of points
    in the cluster of their nearest neighbour), ``log_prob`` (log q, where the sampler is a guide) and
    ``log_joint`` (where the model has one).

    Args:
        world: data sets; its guide has ``posterior(data)``, or is a callable from data ``(B, N, ...)`` to
            draws ``(num_draws, B, N)``, a tensor or an array.
        num_draws: S, draws a data set.

    Raises:
        ValueError: if a callable gives draws of another shape.

    Example:
        >>> from pyroclust.infer.simulation import simulate_worlds
        >>> from pyroclust.models import gaussian2d
        >>> def one_cluster(data):
        ...     return torch.zeros(9, *data.shape[:2], dtype=torch.int64)
        >>> (world,) = simulate_worlds(gaussian2d(), one_cluster, None, num_datasets=4, num_points=6)
        >>> [block.assignments.shape for block in drawn_blocks(world, 9)]
        [torch.Size([10, 4, 6])]
    """
    joint = world.model.has_likelihood
    rows = max(1, _DRAWS_AT_ONCE // num_draws)
    for some, truth in zip(world.data.split(rows), world.assignments.split(rows), strict=True):
        every, log_prob = _drawn(world.guide, some, truth, num_draws)
        values = partition_functionals(every) | neighbour_share(some, every)
        if log_prob is not None:
            values["log_prob"] = log_prob
        if joint:
            values["log_joint"] = world.model.log_joint(some, every)
        yield DrawnBlock(some, every, values)


def partition_functionals(assignments: Tensor) -> dict[str, Tensor]:
    """Return functionals of partitions that do not look at the data.

    Shape:
        assignments: ``(S, B, N)``; output: ``(S, B)`` each.
    """
    sizes, num_points = block_sizes(assignments), assignments.shape[-1]
    share = sizes.double() / num_points
    found = {
        "num_clusters": num_clusters(assignments).double(),
        "entropy": -torch.xlogy(share, share).sum(-1) / math.log(2),
    }
    if num_points > 1:
        even = num_points - num_points % 2
        same = (assignments[..., 0:even:2] == assignments[..., 1:even:2]).double()
        found |= {"together": same[..., 0], "pairs": same.sum(-1)}
    return found


def neighbour_share(data: Tensor, assignments: Tensor) -> dict[str, Tensor]:
    """Return the share of points in the cluster of their nearest neighbour.

    It depends on the data: a guide that ignores them, and draws from the prior, is calibrated in all
    functionals of the partition alone.

    Shape:
        data: ``(B, N, ...)``; assignments: ``(S, B, N)``; output: ``(S, B)``, nothing for single points.
    """
    flat = data.reshape(*assignments.shape[1:], -1)
    if flat.shape[1] < 2:
        return {}
    far = torch.cdist(flat, flat).diagonal_scatter(flat.new_full(flat.shape[:2], torch.inf), dim1=1, dim2=2)
    nearest = far.argmin(-1).expand(assignments.shape)
    return {"neighbours": (assignments == assignments.gather(-1, nearest)).double().mean(-1)}


def tied(values: Tensor) -> Tensor:
    """Round values so that those of one partition are equal.

    Example:
        >>> tied(torch.tensor([1.0001, 1.0002])).unique().numel()
        1
    """
    return values.round(decimals=_DECIMALS)


def _drawn(sampler: Any, data: Tensor, truth: Tensor, num_draws: int) -> tuple[Tensor, Tensor | None]:
    """Return the truth above the draws, and log q of each where the sampler is a guide."""
    if isinstance(sampler, PartitionGuide):
        posterior = sampler.posterior(data)
        draws, log_prob = posterior.sample_and_log_prob((num_draws,))
        both = torch.cat([posterior.log_prob(truth).unsqueeze(0), log_prob])
        return torch.cat([truth.unsqueeze(0), draws]), both.double()
    draws = torch.as_tensor(sampler(data), device=truth.device)
    if draws.shape != (num_draws, *truth.shape):
        raise ValueError(
            f"the sampler gave draws of shape {tuple(draws.shape)}, expected {(num_draws, *truth.shape)}: "
            "num_draws labels of each point of each data set"
        )
    return torch.cat([truth.unsqueeze(0), canonical(draws)]), None


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
