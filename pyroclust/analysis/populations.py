"""Tempered populations where chains have not met, and the log evidence by annealing."""

from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor

from pyroclust.core.text import duration
from pyroclust.diagnostics import LogEvidence
from pyroclust.diagnostics.weights.importance import stratified_draws
from pyroclust.distributions.protocols import is_of_graphs
from pyroclust.infer import annealed_log_evidence, tempered_populations
from pyroclust.partitions import Draws

__all__ = ["MOST_ANNEALED", "annealed", "can_be_tempered", "draw_populations", "seconds_of_populations"]

MOST_ANNEALED = 500
"""Points up to which the log evidence is annealed: its time grows with their square."""
_PARTICLES, _SWEEPS = 200, 8
# Powers on the way to the posterior, of wide tables of some hundred rows.
_POWERS = 120


def annealed(model: Any, data: Tensor, *, seed: int) -> tuple[LogEvidence, ...]:
    """Estimate log p(data) by annealing, of few points under a model that can be annealed."""
    if len(data) > MOST_ANNEALED or not can_be_annealed(model):
        return ()
    return (annealed_log_evidence(model, data, seed=seed),)


def can_be_annealed(model: Any) -> bool:
    """Return whether :func:`~pyroclust.infer.annealed_log_evidence` takes a model."""
    is_one = model.is_conjugate and model.has_likelihood and not is_of_graphs(model)
    return bool(is_one and model.row_weights is None)


def can_be_tempered(model: Any) -> bool:
    """Return whether :func:`~pyroclust.infer.tempered_populations` takes a model."""
    return can_be_annealed(model) and model.constraints is None


def seconds_of_populations(num_populations: int, sweep_seconds: float) -> float:
    """Return about how many seconds populations take where a sweep takes so many."""
    return num_populations * _PARTICLES * _SWEEPS * _POWERS * sweep_seconds


def draw_populations(
    model: Any, data: Tensor, *, num_draws: int, num_populations: int, seed: int
) -> tuple[Draws, LogEvidence, str]:
    """Draw by independent tempered populations; with log p(data), and the beginning of a sentence on them."""
    # Resampled in random order, so that R-hat compares populations as it does chains.
    drawn, run = tempered_populations(
        model, data, num_particles=_PARTICLES, num_populations=num_populations, sweeps=_SWEEPS, seed=seed
    )
    assert drawn.log_weights is not None
    assert drawn.log_joint is not None
    rng = np.random.default_rng(seed)
    shares = np.exp(drawn.log_weights - np.logaddexp.reduce(drawn.log_weights, axis=1, keepdims=True))
    rows = np.stack([rng.permutation(stratified_draws(one, rng.random(num_draws))) for one in shares])
    draws = replace(
        drawn,
        assignments=np.take_along_axis(drawn.assignments, rows[..., None], axis=1),
        log_joint=np.take_along_axis(drawn.log_joint, rows, axis=1),
        log_weights=None,
        parameters={},
    )
    about = (
        f"As the chains had not converged, there are {num_populations} independent populations of "
        f"{_PARTICLES} partitions, which went from the prior to the posterior by "
        f"{max(map(len, run.powers)) - 1} powers of the likelihood in {duration(drawn.seconds)}. They come "
        f"from {len(np.unique(run.ancestors))} draws of the prior, their log evidences spread "
        f"{run.evidence.spread:.1f} nats"
    )
    return draws, run.evidence, about
