"""Simulation-based calibration of a guide: ranks of true functionals, and the averaged posterior of K."""

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from pyroclust.distributions.block_counts import block_sizes
from pyroclust.infer.certificate_rows import CalibrationRow, ClusterCountRow
from pyroclust.infer.likelihood import has_likelihood
from pyroclust.infer.simulation import World
from pyroclust.partitions import num_clusters

__all__ = ["calibration_rows"]

_DRAWS_AT_ONCE = 20_000
# Values nearer than this tie: one partition may be scored twice with different float32 rounding.
_DECIMALS = 3
# Numbers of clusters beyond this quantile of the prior share a bar.
_TAIL = 1e-3


def calibration_rows(
    worlds: Sequence[World], *, num_draws: int, num_bins: int
) -> tuple[tuple[CalibrationRow, ...], ClusterCountRow]:
    r"""Rank the true partition's functionals among draws, and average the posterior of K.

    If the guide is the posterior, each rank is uniform on 0, ..., S, ties broken at random, and the averaged
    posterior of K is its prior.

    References:
        Talts et al. (2018), Validating Bayesian inference algorithms with simulation-based calibration.
        https://arxiv.org/abs/1804.06788
        Modrák et al. (2023), Simulation-based calibration checking for Bayesian computation: the choice of
        test quantities shapes sensitivity. https://doi.org/10.1214/23-BA1404
    """
    ranks: dict[str, list[Tensor]] = {}
    clusters = []
    for world in worlds:
        for every, values in _blocks(world, num_draws):
            for name, found in values.items():
                ranks.setdefault(name, []).append(_ranks(found))
            clusters.append(num_clusters(every))
    drawn = torch.cat(clusters, 1)
    shape = (worlds[0].assignments.shape[-1], drawn.shape[1], num_draws)
    calibrated = tuple(
        CalibrationRow(name, *shape, _histogram(torch.cat(found), num_draws + 1, num_bins))
        for name, found in ranks.items()
    )
    return calibrated, _cluster_count_row(_prior(worlds), drawn[1:], drawn[0], shape[0])


def _blocks(world: World, num_draws: int) -> Iterator[tuple[Tensor, dict[str, Tensor]]]:
    """Draw for some data sets at a time; yield partitions, the truth first, and their functionals."""
    joint = has_likelihood(world.model)
    rows = max(1, _DRAWS_AT_ONCE // num_draws)
    for some, truth in zip(world.data.split(rows), world.assignments.split(rows), strict=True):
        posterior = world.guide.posterior(some)
        draws, log_prob = posterior.sample_and_log_prob((num_draws,))
        every = torch.cat([truth.unsqueeze(0), draws])
        values = _functionals(every) | _neighbours(some, every)
        values["log_prob"] = torch.cat([posterior.log_prob(truth).unsqueeze(0), log_prob]).double()
        if joint:
            values["log_joint"] = world.model.log_joint(some, every)
        yield every, values


def _functionals(assignments: Tensor) -> dict[str, Tensor]:
    """Return functionals ``(S, B)`` of partitions ``(S, B, N)``."""
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


def _neighbours(data: Tensor, assignments: Tensor) -> dict[str, Tensor]:
    """Return the share of points in the cluster of their nearest neighbour, ``(S, B)``.

    It depends on the data: a guide that ignores them, and draws from the prior, is calibrated in all
    functionals of the partition alone.
    """
    flat = data.reshape(*assignments.shape[1:], -1)
    if flat.shape[1] < 2:
        return {}
    far = torch.cdist(flat, flat).diagonal_scatter(flat.new_full(flat.shape[:2], torch.inf), dim1=1, dim2=2)
    nearest = far.argmin(-1).expand(assignments.shape)
    return {"neighbours": (assignments == assignments.gather(-1, nearest)).double().mean(-1)}


def _ranks(values: Tensor) -> Tensor:
    """Return the rank of the first row among the others, ties broken at random, ``(B,)``."""
    rounded = values.round(decimals=_DECIMALS)
    truth, draws = rounded[0], rounded[1:]
    ties = (draws == truth).sum(0)
    return (draws < truth).sum(0) + (torch.rand(truth.shape, device=truth.device) * (ties + 1)).long()


def _histogram(ranks: Tensor, num_ranks: int, num_bins: int) -> tuple[int, ...]:
    return tuple(torch.bincount(ranks * num_bins // num_ranks, minlength=num_bins).tolist())


def _cluster_count_row(
    prior: Tensor | None, drawn: Tensor, truth: Tensor, num_points: int
) -> ClusterCountRow:
    """Compare numbers of clusters drawn ``(S, B)`` and simulated ``(B,)`` with their prior."""
    if prior is None:
        width = int(max(drawn.max(), truth.max()))
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


def _prior(worlds: Sequence[World]) -> Tensor | None:
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
