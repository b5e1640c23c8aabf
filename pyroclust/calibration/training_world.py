"""Simulations of a guide's training world, to see whether new data resemble them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pyroclust.attempts import Attempts
from pyroclust.diagnostics import Familiarity, familiarity
from pyroclust.infer.simulation import simulate
from pyroclust.random_state import seeded

__all__ = ["TrainingWorld", "simulated_world"]


@dataclass(frozen=True)
class TrainingWorld:
    """Simulations of a guide's model, of the size of the data.

    Attributes:
        simulations: ``(S, M, D)``, M being the number of the data's points, or 300 if those are more.
        training_points: fewest and most points in training; ``None`` where unknown.
        log_evidence: importance-sampling estimate of log p(data) in nats; ``None`` where there is none.
        simulated_log_evidence: the same of each simulation, with as many draws, ``(S,)``, or ``None``.
        failures: why an estimate is missing, a sentence each.
    """

    simulations: np.ndarray
    training_points: tuple[int, int] | None = None
    log_evidence: float | None = None
    simulated_log_evidence: np.ndarray | None = None
    failures: tuple[str, ...] = ()

    def familiarity(self, data: np.ndarray, *, seed: int) -> Familiarity:
        """Say where a data set lies among the simulations.

        Args:
            data: points, ``(N, D)``.
            seed: of the points that are looked at where there are many.

        Example:
            >>> rng = np.random.default_rng(0)
            >>> world = TrainingWorld(rng.standard_normal((199, 40, 2)), training_points=(5, 100))
            >>> world.familiarity(rng.standard_normal((40, 2)), seed=0).warning is None
            True
        """
        return familiarity(
            data,
            self.simulations,
            seed=seed,
            training_points=self.training_points,
            log_evidence=self.log_evidence,
            simulated_log_evidence=self.simulated_log_evidence,
        )


_SIMULATIONS, _MOST_POINTS = 199, 300
_EVIDENCE_DRAWS, _LABELS_AT_ONCE = 4, 200_000


def simulated_world(guide: Any, data: Tensor, *, max_points: int | None, seed: int) -> TrainingWorld:
    """Simulate 199 data sets of as many points, at most 300, from the guide's model.

    Where the model has a likelihood and log q is exact, the evidence of the data and of every simulation is
    estimated with 4 draws each. Cost: 800 draws of the guide besides the simulations.

    Args:
        guide: with its ``model``.
        data: the points, ``(N, D)``.
        max_points: most points in training; ``None`` where unknown.
        seed: of the simulations and draws; the caller's random state is left alone.

    Raises:
        ValueError: if the model cannot be simulated.

    Example:
        >>> from pyroclust import load_guide
        >>> world = simulated_world(load_guide("filter-nig1d"), torch.randn(10, 1), max_points=None, seed=0)
        >>> world.simulations.shape, world.simulated_log_evidence.shape
        ((199, 10, 1), (199,))
    """
    model = guide.model
    template = data.new_empty(_SIMULATIONS, min(len(data), _MOST_POINTS), *data.shape[1:])
    tries = Attempts()
    with seeded(seed), torch.no_grad():
        simulations = simulate(model, template)[0]
        evidence = tries.make(
            "The evidence of the data among that of simulations", lambda: _evidence(guide, data, simulations)
        )
    return TrainingWorld(
        simulations.double().numpy(),
        None if max_points is None else (1, max_points),
        None if evidence is None else float(evidence[0]),
        None if evidence is None else evidence[1:],
        tries.failures,
    )


def _evidence(guide: Any, data: Tensor, simulations: Tensor) -> np.ndarray | None:
    """Estimate log p of the data, first, and of all simulations; ``None`` where weights are not exact."""
    if len(data) > _MOST_POINTS or not guide.model.has_likelihood:
        return None
    if not guide.posterior(data[:2]).is_exact:
        return None
    found: np.ndarray = _log_evidence(
        guide, torch.cat([data.to(simulations).unsqueeze(0), simulations])
    ).numpy()
    return found


def _log_evidence(guide: Any, data: Tensor) -> Tensor:
    """Estimate log p of each data set ``(B, N, D)`` by importance sampling, some at a time."""
    rows = max(1, _LABELS_AT_ONCE // (_EVIDENCE_DRAWS * data.shape[1]))
    found = []
    for some in data.split(rows):
        draws, log_prob = guide.posterior(some).sample_and_log_prob((_EVIDENCE_DRAWS,))
        found.append((guide.model.log_joint(some, draws) - log_prob).double().logsumexp(0))
    return torch.cat(found) - torch.tensor(_EVIDENCE_DRAWS).log()
