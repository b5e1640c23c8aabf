"""A guide's draws for a comparison, refined: proposals, the draws as drawn, and those after the sweeps."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pyroclust.infer import refine
from pyroclust.infer.refining import Refined
from pyroclust.infer.refining.proposals import warm_up
from pyroclust.random_state import seeded
from pyroclust.results.comparison import PartitionDraws
from pyroclust.results.refinement import RefinedDraws

__all__ = ["draws_of_proposals", "refine_guide"]

# Parts that a user pays for; the rest is looking at what came out.
_PAID = ("draw", "weigh", "sweep")


def refine_guide(
    guide: Any, data: Tensor, *, name: str, num_draws: int, seed: int
) -> tuple[PartitionDraws, RefinedDraws]:
    """Draw from a guide, weigh and refine; return the draws as drawn, and the refined ones.

    The draws as drawn are spread evenly over the proposals, so that all visiting orders are among them.
    Seconds exclude one draw to warm up.

    Args:
        guide: with its ``model``, one that kernels can run on.
        data: the points, ``(N, D)``.
        name: what reports call the guide.
        num_draws: draws of each kind.
        seed: same seed, same draws; the caller's random state is left alone.
    """
    model = guide.model
    with seeded(seed), torch.no_grad():
        warm_up(guide, data)
    found = refine(model, guide, data, num_draws=num_draws, seed=seed)
    proposals = draws_of_proposals(
        found.proposals,
        found.proposal_log_prob,
        found.proposal_log_joint,
        name=name,
        seconds=found.seconds["draw"],
        num_orders=found.num_orders,
    )
    each = len(found.proposals) // num_draws
    some = slice(None, None, each)
    drawn = replace(
        proposals,
        assignments=proposals.assignments[:, some],
        log_joint=None if proposals.log_joint is None else proposals.log_joint[:, some],
        seconds=proposals.seconds / each,
        log_prob=_one_chain(found.proposal_log_prob)[:, some],
        num_orders=1,
    )
    return drawn, _kept(found, proposals, name=f"{name}, refined")


def draws_of_proposals(
    assignments: Tensor, log_prob: Tensor, log_joint: Tensor, *, name: str, seconds: float, num_orders: int
) -> PartitionDraws:
    """Return draws of a guide as one chain.

    Args:
        assignments: ``(P, N)``.
        log_prob: log q, ``(P,)`` in nats.
        log_joint: log p, ``(P,)`` in nats; nan where it has no formula.
        name: of the guide.
        seconds: that drawing took.
        num_orders: visiting orders that share them.
    """
    return PartitionDraws(
        name=name,
        assignments=_one_chain(assignments),
        log_joint=_where_known(log_joint),
        seconds=seconds,
        log_prob=_one_chain(log_prob),
        num_orders=num_orders,
    )


def _kept(found: Refined, proposals: PartitionDraws, *, name: str) -> RefinedDraws:
    return RefinedDraws(
        draws=PartitionDraws(
            name=name,
            assignments=_one_chain(found.assignments),
            log_joint=_where_known(found.log_joint),
            seconds=sum(found.seconds.get(part, 0.0) for part in _PAID),
        ),
        proposals=proposals,
        is_exact=found.is_exact,
        kernel=found.kernel,
        num_ancestors=found.num_ancestors,
        seen=found.rounds,
        pareto_k=found.pareto_k,
        efficiency=found.efficiency,
        evidences=found.evidences,
        seconds_of=dict(found.seconds),
    )


def _one_chain(values: Tensor) -> np.ndarray:
    found: np.ndarray = values.unsqueeze(0).numpy()
    return found


def _where_known(values: Tensor) -> np.ndarray | None:
    return _one_chain(values) if not bool(values.isnan().any()) else None
