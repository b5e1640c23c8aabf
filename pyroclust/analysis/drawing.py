"""Draws of a guide on points: as drawn, refined where that can be done, and their log q of other draws."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

from pyroclust.analysis.picking import PickedGuide
from pyroclust.analysis.refining import draws_of_proposals, refine_guide
from pyroclust.attempts import Attempts
from pyroclust.diagnostics import Finding
from pyroclust.diagnostics.verdicts.findings import Question, untold
from pyroclust.errors import first_line, lacks_memory
from pyroclust.infer.mcmc.defaults import has_kernel
from pyroclust.infer.refining.clock import Clock
from pyroclust.infer.refining.proposals import (
    draw_proposals,
    most_at_once,
    posterior_of,
    shared_log_prob,
    warm_up,
)
from pyroclust.random_state import seeded
from pyroclust.results.comparison import CrossScored, PartitionDraws
from pyroclust.results.refinement import RefinedDraws

__all__ = ["DrawsOfGuide", "cross_scored", "draw_and_refine", "draw_guide"]

Made = TypeVar("Made")

_REFINING = "The refining of the guide's draws"
# Draws of tables with so many columns, where the state of a cluster has D^2 numbers, come in blocks.
_WIDE = 5
# Labels of MCMC that the guide scores, for estimates of the evidence: as many as 400 draws of 500 points.
_CROSS_DRAWS, _CROSS_LABELS = 400, 200_000


@dataclass(frozen=True)
class DrawsOfGuide:
    """Draws of the guide, and what is known of them.

    Attributes:
        guide: as drawn.
        is_exact: whether their log q is.
        refined: after resampling and sweeps.
        posteriors: those that drew, where they have still to score draws of MCMC.
        failures: why there are no refined draws.
        untold: the question that this leaves open.
    """

    guide: PartitionDraws
    is_exact: bool
    refined: RefinedDraws | None = None
    posteriors: tuple[Any, ...] = ()
    failures: tuple[str, ...] = ()
    untold: tuple[Finding, ...] = ()


def draw_guide(
    guide: Any, data: Tensor, *, name: str, num_draws: int, seed: int
) -> tuple[PartitionDraws, tuple[Any, ...]]:
    """Draw in equal parts from eight posteriors, one after the other; return the draws and the posteriors.

    Each encodes the points once and visits them in an order of its own where the guide allows it, and then
    has a log q of its own. Seconds exclude one draw to warm up.

    Args:
        guide: with its ``model``.
        data: the points, ``(N, D)``.
        name: what reports call the guide.
        num_draws: independent draws, one chain.
        seed: same seed, same draws; the caller's random state is left alone.
    """
    wide, clock = data.shape[-1] >= _WIDE, Clock()
    with seeded(seed), torch.no_grad():
        warm_up(guide, data)
        found, posteriors = draw_proposals(
            guide.model,
            lambda: posterior_of(guide, data),
            data,
            number=num_draws,
            at_once=most_at_once(data) if wide else num_draws,
            clock=clock,
        )
    return draws_of_proposals(found, name=name, seconds=clock.seconds["draw"]), posteriors


def cross_scored(posteriors: Sequence[Any], mcmc: PartitionDraws) -> CrossScored | None:
    """Score every k-th draw of each chain by the guide; ``None`` where log q is estimated.

    Args:
        posteriors: the very ones that the guide's draws come from.
        mcmc: draws with their ``log_joint``.
    """
    if mcmc.log_joint is None or not all(one.is_exact for one in posteriors):
        return None
    chains, draws, num_points = mcmc.assignments.shape
    wanted = max(1, min(_CROSS_DRAWS, _CROSS_LABELS // num_points) // chains)
    kept = slice(None, None, -(-draws // wanted))
    with torch.no_grad():
        some = torch.from_numpy(mcmc.assignments[:, kept].reshape(-1, num_points))
        scored = shared_log_prob(posteriors, some)
    log_joint = mcmc.log_joint[:, kept]
    return CrossScored(log_joint, scored.numpy().reshape(log_joint.shape))


def draw_and_refine(
    picked: PickedGuide,
    data: Tensor,
    *,
    num_draws: int,
    refine: bool,
    seed: int,
    tell: Callable[[str], None],
) -> DrawsOfGuide:
    """Draw from a guide, with refining where that is asked for and can be done.

    Args:
        picked: the guide with its name.
        data: the points, ``(N, D)``.
        num_draws: of the guide; refining keeps as many of five times so many proposals.
        refine: whether to refine.
        seed: same seed, same draws.
        tell: called with what is being done.

    Raises:
        ValueError: if the guide cannot draw.
    """
    guide, name, tries = picked.module, picked.name, Attempts()
    if refine and has_kernel(guide.model):
        tell(f"drawing partitions from {name}, and refining {num_draws:,} of them")
        found = tries.make(
            _REFINING, lambda: refine_guide(guide, data, name=name, num_draws=num_draws, seed=seed)
        )
        if found is not None:
            return DrawsOfGuide(found[0], is_exact=found[1].is_exact, refined=found[1])
    tell(f"drawing {num_draws} partitions from {name}")
    drawn, posteriors = _drawn(
        name, lambda: draw_guide(guide, data, name=name, num_draws=num_draws, seed=seed)
    )
    why = tries.reason(_REFINING)
    return DrawsOfGuide(
        drawn,
        is_exact=all(one.is_exact for one in posteriors),
        posteriors=posteriors,
        failures=tries.failures,
        untold=() if why is None else (untold(Question.SETTLED, why),),
    )


def _drawn(name: str, draw: Callable[[], Made]) -> Made:
    """Draw from the guide, which no result can do without; say in one sentence why that failed."""
    try:
        return draw()
    except Exception as error:
        if isinstance(error, ValueError | OSError) or lacks_memory(error):
            raise
        raise ValueError(
            f"guide '{name}' could not draw partitions of these points ({first_line(error)}); use another "
            "guide with --guide"
        ) from error
