"""Tempered populations where chains have not met."""

import time
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pyroclust.diagnostics import LogEvidence
from pyroclust.infer import TemperedPopulations, tempered_populations
from pyroclust.infer.importance import resampled
from pyroclust.partitions import Draws
from pyroclust.protocols import is_of_graphs
from pyroclust.random_state import own_random_numbers
from pyroclust.text import duration

__all__ = [
    "MOST_ANNEALED",
    "PopulationsOfModel",
    "can_be_annealed",
    "can_be_tempered",
    "draw_populations",
    "seconds_of_populations",
]

MOST_ANNEALED = 500
"""Points up to which the log evidence is annealed: its time grows with their square."""
_NAME = "tempered populations"
_PARTICLES, _SWEEPS = 200, 8
# Powers on the way to the posterior, of wide tables of some hundred rows.
_POWERS = 120


@dataclass(frozen=True)
class PopulationsOfModel:
    """Draws of populations, one a chain, and what to say of them.

    Attributes:
        draws: of each population by its weights, in random order.
        evidence: log p(data).
        about: what they are, for the reader.
        num_ancestors: draws of the prior that they come from.
    """

    draws: Draws
    evidence: LogEvidence
    about: str
    num_ancestors: int

    def said(self, end: str) -> str:
        """Return a sentence about them.

        Args:
            end: what became of them.
        """
        return (
            f"As the chains had not converged, there are {self.about}. They come from {self.num_ancestors} "
            f"draws of the prior, their log evidences spread {self.evidence.spread:.1f} nats, and they {end}."
        )


def can_be_annealed(model: Any) -> bool:
    """Return whether :func:`~pyroclust.infer.annealed_log_evidence` takes a model."""
    return bool(model.is_conjugate and model.has_likelihood and not is_of_graphs(model))


def can_be_tempered(model: Any) -> bool:
    """Return whether :func:`~pyroclust.infer.tempered_populations` takes a model.

    Example:
        >>> from pyroclust.models import gaussian2d, warped_clusters
        >>> can_be_tempered(gaussian2d()), can_be_tempered(warped_clusters())
        (True, False)
    """
    return can_be_annealed(model) and model.constraints is None


def seconds_of_populations(num_populations: int, sweep_seconds: float) -> float:
    """Return about how many seconds populations take where a sweep takes so many."""
    return num_populations * _PARTICLES * _SWEEPS * _POWERS * sweep_seconds


def draw_populations(
    model: Any, data: Tensor, *, num_draws: int, num_populations: int, seed: int
) -> PopulationsOfModel:
    """Draw from the posterior by independent tempered populations of 200 particles.

    Draws of a population are resampled from its particles by their weights, so that R-hat compares the
    populations, as it does chains. Particles of one ancestor are alike: where few are left, populations
    differ.

    Args:
        model: one that :func:`can_be_tempered`.
        data: the points, ``(N, D)``.
        num_draws: draws of each.
        num_populations: R.
        seed: same seed, same draws.
    """
    began = time.perf_counter()
    found = tempered_populations(
        model, data, num_particles=_PARTICLES, num_populations=num_populations, sweeps=_SWEEPS, seed=seed
    )
    seconds = time.perf_counter() - began
    with own_random_numbers(seed, num_populations):
        rows = _resampled(found, num_draws)
    draws = Draws(
        name=_NAME,
        assignments=found.assignments[rows].numpy(),
        log_joint=found.log_joint[rows].numpy(),
        seconds=seconds,
    )
    about = (
        f"{num_populations} independent populations of {_PARTICLES} partitions, which went from the prior to "
        f"the posterior by {max(map(len, found.powers)) - 1} powers of the likelihood in {duration(seconds)}"
    )
    return PopulationsOfModel(draws, found.evidence, about, len(found.ancestors.unique()))


def _resampled(found: TemperedPopulations, num_draws: int) -> Tensor:
    """Return rows of particles, ``(R, draws)``, by the weights of each population and in random order."""
    size = len(found.assignments) // found.num_populations
    rows = []
    for place, log_weights in enumerate(found.log_weights.view(-1, size)):
        own = resampled(log_weights.log_softmax(0), num_draws) + place * size
        rows.append(own[torch.randperm(num_draws)])
    return torch.stack(rows)
