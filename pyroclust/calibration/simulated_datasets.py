"""Simulations of a guide's model beside new data: are the data, and the guide on them, like these?"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.special import logsumexp
from torch import Tensor

from pyroclust.core.errors import Attempts
from pyroclust.core.random_state import seeded
from pyroclust.diagnostics import Familiarity, familiarity
from pyroclust.diagnostics.simulations.weight_quality import WeightQuality, weight_quality
from pyroclust.distributions.protocols import data_shape, is_of_graphs, some_points
from pyroclust.distributions.sequential.partition import num_orders_of
from pyroclust.infer.simulation import simulate
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
    every simulation for their weights, eight by each of four visiting orders where its orders differ; of data
    of more than 150 points it draws those of 150 random ones, and of the first 150 of each simulation. Where
    cells of the data are missing, the same are in simulations, row by row. Cost: 6,400 draws of at most 150
    points.

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
