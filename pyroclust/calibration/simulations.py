"""Simulated data sets: beside new data, and with draws of a sampler beside their true partitions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.special import logsumexp
from torch import Tensor

from pyroclust.core.messages import Attempts
from pyroclust.core.random_state import seeded
from pyroclust.diagnostics import Familiarity, familiarity
from pyroclust.diagnostics.chains import cluster_share_entropy, pairs_together, shares
from pyroclust.diagnostics.frequencies import count_clusters
from pyroclust.diagnostics.likeness import WeightQuality, weight_quality
from pyroclust.distributions.protocols import PartitionGuide, data_shape, is_of_graphs, some_points
from pyroclust.distributions.sequential.partition import num_orders_of
from pyroclust.infer.simulation import SimulatedBatch, simulate
from pyroclust.partitions import canonical
from pyroclust.partitions.adjacency import node_summaries


@dataclass(frozen=True)
class SimulatedDatasets:
    """Simulations of a guide's model, of the size of the data."""

    # (S, M, D), as many points as the data have and at most 300; of graphs, summaries of the nodes.
    simulations: np.ndarray
    # Fewest and most points in training.
    training_points: tuple[int, int] | None = None
    # log p(c, x) - log q(c) in nats of draws of the guide, (1 + S, orders, draws), those on the data first.
    log_weights: np.ndarray | None = None
    # Points of each data set that these are of: the first of the simulations, and random ones of the data.
    num_points: int = 0
    # Why weights are missing.
    failures: tuple[str, ...] = ()
    of_graphs: bool = False

    def familiarity(self, data: np.ndarray, *, seed: int) -> Familiarity:
        """Say where points ``(N, D)``, or the matrix of a graph, lie among the simulations."""
        evidence = None if self.log_weights is None else _log_evidence(self.log_weights)
        data = node_summaries(torch.from_numpy(data)).numpy() if self.of_graphs else data
        return familiarity(
            data,
            self.simulations,
            seed=seed,
            training_points=self.training_points,
            log_evidence=None if evidence is None else float(evidence[0]),
            simulated_log_evidence=None if evidence is None else evidence[1:],
        )

    def weight_quality(self) -> WeightQuality | None:
        """Say whether the guide does as well on the data as on the simulations; ``None`` without weights."""
        return (
            None if self.log_weights is None else weight_quality(self.log_weights, num_points=self.num_points)
        )


_SIMULATIONS, _MOST_POINTS = 199, 300
# Of each of 200 data sets: fewer draws or points see less, and more cost more than a comparison should.
_ORDERS, _DRAWS, _POINTS_WEIGHED = 4, 32, 150
_LABELS_AT_ONCE = 500_000


def simulate_datasets(
    guide: Any,
    data: Tensor,
    *,
    max_points: int | None,
    seed: int,
    min_points: int = 1,
    see: Callable[[np.ndarray], np.ndarray] | None = None,
) -> SimulatedDatasets:
    """Simulate 199 data sets of as many points, at most 300, from the guide's model.

    Where the model has a likelihood and log q is exact, the guide draws 32 partitions of the data and of
    every simulation for their weights, eight by each of four visiting orders where its orders differ, and of
    150 points at most. Where cells of the data are missing, the same are in simulations, row by row.

    ``max_points`` are the most points in training, where known; ``see`` says what data sets are compared by,
    ``(..., N, D)`` to vectors without gaps, in place of the points. The caller's random state is left alone.
    """
    model = guide.model
    tries, points = Attempts(), min(len(data), _POINTS_WEIGHED)
    with seeded(seed), torch.no_grad():
        simulations = _simulated_points(model, data)
        weights = tries.value_or_none(
            "The weights of the guide's draws of simulations", lambda: _weights(guide, data, simulations)
        )
    seen = node_summaries(simulations) if is_of_graphs(model) else simulations.flatten(2).double()
    return SimulatedDatasets(
        seen.numpy() if see is None else see(seen.numpy()),
        None if max_points is None else (min_points, max_points),
        weights,
        points,
        tries.failures,
        of_graphs=is_of_graphs(model),
    )


def _simulated_points(model: Any, data: Tensor) -> Tensor:
    template = data.new_empty(_SIMULATIONS, *data_shape(model, min(len(data), _MOST_POINTS)))
    return with_gaps_of_data(simulate(model, template)[0], data)


def with_gaps_of_data(simulations: Tensor, data: Tensor) -> Tensor:
    """Leave out of each simulation, ``(S, n, D)``, the cells that are missing in rows of the data."""
    missing = data.isnan()
    if not bool(missing.any()):
        return simulations
    rows = torch.randperm(len(data))[: simulations.shape[1]].sort().values
    return simulations.masked_fill(missing[rows], torch.nan)


def _weights(guide: Any, data: Tensor, simulations: Tensor) -> np.ndarray | None:
    """Return log weights on the data, first, and on all simulations; ``None`` where they are not exact."""
    if (
        not guide.model.has_likelihood
        or not guide.posterior(some_points(guide.model, data, slice(2))).is_exact
    ):
        return None
    points = min(len(data), _POINTS_WEIGHED)
    # Points of a data set are exchangeable in the simulations, not in the data.
    some = torch.randperm(len(data))[:points] if len(data) > points else slice(None)
    observed = some_points(guide.model, data, some).to(simulations)
    every = torch.cat([observed.unsqueeze(0), some_points(guide.model, simulations, slice(points))])
    log_weights: np.ndarray = _log_weights(guide, every).numpy()
    return log_weights


def _log_weights(guide: Any, data: Tensor) -> Tensor:
    """Draw and weigh each data set of ``(B, N, D)``, some at a time, ``(B, orders, draws)``."""
    blocks = []
    for some in data.split(max(1, _LABELS_AT_ONCE // (_DRAWS * data.shape[1]))):
        posteriors = _posteriors(guide, some)
        draws = [one.sample_and_log_prob((_DRAWS // len(posteriors),)) for one in posteriors]
        weights = [(guide.model.log_joint(some, labels) - log_q).double() for labels, log_q in draws]
        blocks.append(torch.stack(weights).permute(2, 0, 1))
    return torch.cat(blocks)


def _posteriors(guide: Any, data: Tensor) -> list[Any]:
    """Return posteriors with visiting orders of their own, or one where all have the same."""
    posteriors = [guide.posterior(data) for _ in range(2)]
    if num_orders_of(posteriors) == 1:
        return posteriors[:1]
    return [*posteriors, *(guide.posterior(data) for _ in range(_ORDERS - 2))]


def _log_evidence(log_weights: np.ndarray) -> np.ndarray:
    flat = log_weights.reshape(len(log_weights), -1)
    log_evidence: np.ndarray = logsumexp(flat, axis=1) - np.log(flat.shape[1])
    return log_evidence


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
