"""Simulated data sets, their true partitions, and draws of a sampler: what every calibration begins with."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pyroclust.diagnostics.chains.functionals import cluster_share_entropy, pairs_together, shares
from pyroclust.diagnostics.draws.frequencies import count_clusters
from pyroclust.distributions.protocols import PartitionGuide
from pyroclust.infer.simulation import SimulatedBatch
from pyroclust.partitions import canonical

PartitionSampler = Callable[[Tensor], Tensor | np.ndarray]
"""From data sets ``(B, N, ...)`` to draws of their partitions ``(num_draws, B, N)``."""

_DRAWS_AT_ONCE = 20_000
# Values nearer than this tie: one partition may be scored twice with different float32 rounding.
_DECIMALS = 3


@dataclass(frozen=True)
class SimulatedDraws:
    """Data sets of a model, each with its true partition and draws of a sampler.

    Functionals: ``num_clusters``, ``entropy`` of the cluster shares in bits, ``together`` (do the first two
    points share a cluster), ``pairs`` (how many of N // 2 disjoint pairs do), ``neighbours`` (share of points
    in the cluster of their nearest neighbour), ``log_prob`` (log q, where the sampler is a guide) and
    ``log_joint`` (where the model has one), rounded so that those of one partition are equal.
    """

    # The truth in the first row, draws below it, (S + 1, B, N).
    assignments: np.ndarray
    # (S + 1, B) by functional.
    values: Mapping[str, np.ndarray]
    # In [0, 1), (B,) by functional: they break ties of ranks.
    uniforms: Mapping[str, np.ndarray] | None = None

    @property
    def truth(self) -> np.ndarray:
        return self.assignments[0]

    @property
    def draws(self) -> np.ndarray:
        return self.assignments[1:]

    @property
    def num_clusters(self) -> np.ndarray:
        """Numbers of clusters, those of the truth first, ``(S + 1, B)``."""
        return self.values["num_clusters"].astype(np.int64)


def draw_partitions(
    batches: Sequence[SimulatedBatch],
    *,
    num_draws: int,
    with_uniforms: bool = False,
    progress: Callable[[str], None] | None = None,
) -> SimulatedDraws:
    """Draw partitions for simulated data sets, some at a time.

    Each guide has ``posterior(data)``, or is a callable from data ``(B, N, ...)`` to draws ``(S, B, N)``, a
    tensor or an array. Numbers that break ties come from torch's random state, after the draws of each block.
    """
    blocks: list[SimulatedDraws] = []
    total, done = sum(len(batch.data) for batch in batches), 0
    for batch in batches:
        for block in _blocks(batch, num_draws, with_uniforms=with_uniforms):
            blocks.append(block)
            done += block.assignments.shape[1]
            if progress is not None:
                progress(f"draws, {done:,} of {total:,} data sets")
    names = blocks[0].values
    return SimulatedDraws(
        np.concatenate([block.assignments for block in blocks], 1),
        {name: np.concatenate([block.values[name] for block in blocks], 1) for name in names},
        {name: np.concatenate([(block.uniforms or {})[name] for block in blocks]) for name in names}
        if with_uniforms
        else None,
    )


def _blocks(batch: SimulatedBatch, num_draws: int, *, with_uniforms: bool) -> Iterator[SimulatedDraws]:
    joint = batch.model.has_likelihood
    rows = max(1, _DRAWS_AT_ONCE // num_draws)
    for data, truth in zip(batch.data.split(rows), batch.assignments.split(rows), strict=True):
        every, log_prob = _drawn(batch.guide, data, truth, num_draws)
        values = partition_functionals(every.cpu().numpy()) | neighbour_share(data, every)
        if log_prob is not None:
            values["log_prob"] = log_prob.double().cpu().numpy()
        if joint:
            values["log_joint"] = batch.model.log_joint(data, every).double().cpu().numpy()
        uniforms = None
        if with_uniforms:
            uniforms = {name: torch.rand(truth.shape[0], device=data.device).cpu().numpy() for name in values}
        values = {name: one.round(_DECIMALS) for name, one in values.items()}
        yield SimulatedDraws(every.cpu().numpy(), values, uniforms)


def partition_functionals(assignments: np.ndarray) -> dict[str, np.ndarray]:
    """Return the functionals that do not look at the data, float64; single points have no pairs."""
    num_points = assignments.shape[-1]
    values = {
        "num_clusters": count_clusters(assignments).astype(np.float64),
        "entropy": cluster_share_entropy(shares(assignments)),
    }
    if num_points > 1:
        disjoint = np.arange(num_points - num_points % 2).reshape(-1, 2)
        together = pairs_together(assignments, disjoint)
        values |= {"together": together[..., 0], "pairs": together.sum(-1)}
    return values


def neighbour_share(data: Tensor, assignments: Tensor) -> dict[str, np.ndarray]:
    """Return the share of points in the cluster of their nearest neighbour, none of single points.

    It depends on the data: a guide that ignores them, and draws from the prior, is calibrated in all
    functionals of the partition alone.
    """
    flat = data.reshape(*assignments.shape[1:], -1)
    if flat.shape[1] < 2:
        return {}
    far = torch.cdist(flat, flat).diagonal_scatter(flat.new_full(flat.shape[:2], torch.inf), dim1=1, dim2=2)
    nearest = far.argmin(-1).expand(assignments.shape)
    share = (assignments == assignments.gather(-1, nearest)).double().mean(-1)
    return {"neighbours": share.cpu().numpy()}


def _drawn(
    sampler: PartitionGuide | PartitionSampler, data: Tensor, truth: Tensor, num_draws: int
) -> tuple[Tensor, Tensor | None]:
    """Return the truth above the draws, and log q of each where the sampler is a guide."""
    if isinstance(sampler, PartitionGuide):
        posterior = sampler.posterior(data)
        draws, log_prob = posterior.sample_and_log_prob((num_draws,))
        both = torch.cat([posterior.log_prob(truth).unsqueeze(0), log_prob])
        return torch.cat([truth.unsqueeze(0), draws]), both
    draws = torch.as_tensor(sampler(data), device=truth.device)
    if draws.shape != (num_draws, *truth.shape):
        raise ValueError(
            f"the sampler gave draws of shape {tuple(draws.shape)}, expected {(num_draws, *truth.shape)}: "
            "num_draws labels of each point of each data set"
        )
    return torch.cat([truth.unsqueeze(0), canonical(draws)]), None
