"""A guide's draws for a comparison, refined: proposals, the draws as drawn, and those after the sweeps."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pyroclust.infer import refine
from pyroclust.infer.mcmc.defaults import default_kernel_name
from pyroclust.infer.refining import Proposals, Refined
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
    proposals = draws_of_proposals(found.proposals, name=name, seconds=found.seconds["draw"])
    each = len(found.proposals) // num_draws
    some = slice(None, None, each)
    drawn = replace(
        proposals,
        assignments=proposals.assignments[:, some],
        log_joint=None if proposals.log_joint is None else proposals.log_joint[:, some],
        seconds=proposals.seconds / each,
        log_prob=_one_chain(found.proposals.log_prob)[:, some],
        num_orders=1,
    )
    kernel = default_kernel_name(model)
    return drawn, _kept(found, proposals, name=f"{name}, refined", kernel=kernel)


def draws_of_proposals(found: Proposals, *, name: str, seconds: float) -> PartitionDraws:
    """Return draws of a guide as one chain.

    Args:
        found: with log q, and log p where it has a formula.
        name: of the guide.
        seconds: that drawing took.
    """
    return PartitionDraws(
        name=name,
        assignments=_one_chain(found.assignments),
        log_joint=_one_chain(found.log_joint) if found.has_weights else None,
        seconds=seconds,
        log_prob=_one_chain(found.log_prob),
        num_orders=found.num_orders,
    )


def _kept(found: Refined, proposals: PartitionDraws, *, name: str, kernel: str) -> RefinedDraws:
    return RefinedDraws(
        draws=PartitionDraws(
            name=name,
            assignments=_one_chain(found.assignments),
            # Elsewhere it is a density of the parameters that the kernel keeps, too.
            log_joint=_one_chain(found.log_joint) if found.proposals.has_weights else None,
            seconds=sum(found.seconds.get(part, 0.0) for part in _PAID),
        ),
        proposals=proposals,
        is_exact=found.proposals.is_exact,
        kernel=kernel,
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
