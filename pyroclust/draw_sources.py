"""Draws of one data set's partition from a guide, and from MCMC on the guide's model."""

import time
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pyroclust.infer.likelihood import has_likelihood
from pyroclust.infer.mcmc import CollapsedGibbs
from pyroclust.infer.quality import posterior_is_exact
from pyroclust.summaries.comparison import CrossScored, PartitionDraws

__all__ = ["cross_scored", "draw_guide", "draw_mcmc"]

_SWEEPS_A_DRAW = 10
_NUMBERS_AT_ONCE = 1 << 22
# Labels of MCMC that the guide scores, for estimates of the evidence: as many as 400 draws of 500 points.
_CROSS_DRAWS, _CROSS_LABELS = 400, 200_000


def draw_guide(
    guide: Any, data: Tensor, *, name: str, num_draws: int, seed: int
) -> tuple[PartitionDraws, Any]:
    """Encode the points once and draw; return the draws and the posterior that they come from.

    Seconds exclude one draw to warm up. A second ``guide.posterior(data)`` may visit the points in another
    order, and then has another log q.

    Args:
        guide: with its ``model``.
        data: the points, ``(N, D)``.
        name: what reports call the guide.
        num_draws: independent draws, one chain.
        seed: same seed, same draws; the caller's random state is left alone.
    """
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        guide.posterior(data).sample((1,))
        began = time.perf_counter()
        posterior = guide.posterior(data)
        draws, log_prob = posterior.sample_and_log_prob((num_draws,))
        seconds = time.perf_counter() - began
    found = PartitionDraws(
        name=name,
        assignments=draws.unsqueeze(0).numpy(),
        log_joint=_log_joint(guide.model, data, draws) if has_likelihood(guide.model) else None,
        seconds=seconds,
        log_prob=log_prob.double().unsqueeze(0).numpy(),
    )
    return found, posterior


def draw_mcmc(model: Any, data: Tensor, *, num_draws: int, num_chains: int, seed: int) -> PartitionDraws:
    """Run collapsed Gibbs chains, started far apart; a fifth of each is dropped, one draw in ten sweeps kept.

    Args:
        model: a collapsed mixture.
        data: the points, ``(N, D)``.
        num_draws: draws each chain keeps.
        num_chains: chains.
        seed: of the chains.
    """
    kernel = CollapsedGibbs(model, thin=_SWEEPS_A_DRAW)
    run = kernel.run(data, num_draws=num_draws, warmup=num_draws // 4, num_chains=num_chains, seed=seed)
    return PartitionDraws("CollapsedGibbs", run.assignments.numpy(), run.log_joint.numpy(), run.seconds)


def cross_scored(posterior: Any, mcmc: PartitionDraws) -> CrossScored | None:
    """Score every k-th draw of each chain by the guide; ``None`` where log q is estimated.

    Args:
        posterior: the very one that the guide's draws come from.
        mcmc: draws with their ``log_joint``.
    """
    if mcmc.log_joint is None or not posterior_is_exact(posterior):
        return None
    chains, draws, num_points = mcmc.assignments.shape
    wanted = max(1, min(_CROSS_DRAWS, _CROSS_LABELS // num_points) // chains)
    kept = slice(None, None, -(-draws // wanted))
    with torch.no_grad():
        some = torch.from_numpy(mcmc.assignments[:, kept].reshape(-1, num_points))
        log_prob = posterior.log_prob(some).double().numpy()
    log_joint = mcmc.log_joint[:, kept]
    return CrossScored(log_joint, log_prob.reshape(log_joint.shape))


def _log_joint(model: Any, data: Tensor, draws: Tensor) -> np.ndarray:
    rows = max(1, _NUMBERS_AT_ONCE // data.numel())
    found = torch.cat([model.log_joint(data, part) for part in draws.split(rows)])
    return found.double().unsqueeze(0).numpy()
