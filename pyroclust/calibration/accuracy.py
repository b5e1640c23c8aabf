"""How near a guide is to the posterior: divergence, importance weights, log q of the truth, orders, speed."""

import inspect
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pyroclust.calibration.rows import ExactRow, OrderRow, SampledRow, SpeedRow, TruthRow
from pyroclust.core.random_state import exclusive_random_state
from pyroclust.diagnostics import pareto_k
from pyroclust.diagnostics.verdicts.calibration import tail_summary
from pyroclust.infer.quality import divergences, effective_shares, log_importance_weights
from pyroclust.infer.simulation import SimulatedBatch

__all__ = ["exact_row", "order_row", "sampled_row", "speed_row", "truth_row"]

_POINTS_AT_ONCE = 20_000

Worlds = Sequence[SimulatedBatch]


def exact_row(worlds: Worlds) -> ExactRow:
    """Compare a guide with enumerated posteriors."""
    kl = torch.cat([divergences(one.model, one.guide, one.data) for one in worlds])
    return ExactRow(_points(worlds), len(kl), kl.mean().item(), kl.quantile(0.5).item(), _standard_error(kl))


def sampled_row(worlds: Worlds, *, num_draws: int) -> SampledRow:
    """Weight draws of a guide by the model."""
    log_weights = torch.cat(
        [log_importance_weights(one.model, one.guide, one.data, num_draws=num_draws) for one in worlds], 1
    )
    share = effective_shares(log_weights)
    low, median, high = share.quantile(share.new_tensor([0.05, 0.5, 0.95])).tolist()
    k, high_share = tail_summary(np.array([pareto_k(one) for one in log_weights.T.cpu().numpy()]))
    truth = torch.cat([_log_prob(one.guide, one) for one in worlds])
    return SampledRow(
        num_points=_points(worlds),
        num_datasets=len(share),
        num_draws=num_draws,
        median_efficiency=median,
        mean_efficiency=share.mean().item(),
        low_efficiency=low,
        log_prob_truth=truth.mean().item(),
        log_evidence=log_weights.logsumexp(0).mean().item() - math.log(num_draws),
        high_efficiency=high,
        median_pareto_k=k,
        share_high_k=high_share,
    )


def truth_row(worlds: Worlds) -> TruthRow:
    """Score simulated partitions by the guide and a baseline."""
    log_prob = torch.cat([_log_prob(one.guide, one) for one in worlds])
    row = (_points(worlds), len(log_prob), log_prob.mean().item())
    if worlds[0].baseline is None:
        return TruthRow(*row)
    other = torch.cat([_log_prob(one.baseline, one) for one in worlds])
    difference = log_prob - other
    return TruthRow(*row, other.mean().item(), difference.mean().item(), _standard_error(difference))


def order_row(worlds: Worlds, *, num_orders: int) -> OrderRow | None:
    """Measure how q of a drawn partition varies over visiting orders; ``None`` for guides without them.

    For a guide that mixes M orders, each of the ``num_orders`` is a fresh set of M.
    """
    if not _takes_order(worlds[0].guide):
        return None
    spreads, others = [], []
    for one in worlds:
        orders = torch.rand(
            num_orders, *one.assignments.shape, dtype=torch.float32, device=one.data.device
        ).argsort(-1)
        draws = one.guide.posterior(one.data).sample()
        spreads.append(_order_spread(one.guide, one.data, draws, orders))
        if _takes_order(one.baseline):
            others.append(_order_spread(one.baseline, one.data, draws, orders))
    spread = torch.cat(spreads)
    low, median, high = spread.quantile(spread.new_tensor([0.05, 0.5, 0.95])).tolist()
    other = torch.cat(others).quantile(0.5).item() if others else None
    return OrderRow(_points(worlds), len(spread), num_orders, median, low, high, other)


def speed_row(world: SimulatedBatch, *, num_draws: int, num_repeats: int) -> SpeedRow:
    """Time draws of the first data set on one thread."""
    guide, data = world.guide, world.data[0]
    with exclusive_random_state():
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            seconds = min(_seconds(lambda: _draw(guide, data, num_draws)) for _ in range(num_repeats))
        finally:
            torch.set_num_threads(threads)
    return SpeedRow(data.shape[0], num_draws, num_draws / seconds)


def _points(worlds: Worlds) -> int:
    return worlds[0].assignments.shape[-1]


def _takes_order(guide: Any | None) -> bool:
    return guide is not None and "order" in inspect.signature(guide.posterior).parameters


def _log_prob(guide: Any, world: SimulatedBatch) -> Tensor:
    rows = max(1, _POINTS_AT_ONCE // world.assignments.shape[-1])
    blocks = zip(world.data.split(rows), world.assignments.split(rows), strict=True)
    return torch.cat([guide.posterior(some).log_prob(labels).double() for some, labels in blocks])


def _order_spread(guide: Any, data: Tensor, draws: Tensor, orders: Tensor) -> Tensor:
    """Return standard deviation over mean of q(c | x) over the orders, one a data set."""
    num_orders, num_points = orders.shape[0], data.shape[1]
    rows = max(1, _POINTS_AT_ONCE // (num_orders * num_points))
    found = []
    for some, labels, visit in zip(data.split(rows), draws.split(rows), orders.split(rows, 1), strict=True):
        repeated = some.expand(num_orders, *some.shape)
        posterior = (
            guide.posterior(repeated) if guide.mixes_orders else guide.posterior(repeated, order=visit)
        )
        log_q = posterior.log_prob(labels.expand(num_orders, *labels.shape))
        relative = (log_q.double() - log_q.double().amax(0)).exp()
        found.append(relative.std(0) / relative.mean(0))
    return torch.cat(found)


def _standard_error(values: Tensor) -> float:
    return values.std(correction=1).item() / len(values) ** 0.5 if len(values) > 1 else 0.0


def _draw(guide: Any, data: Tensor, num_draws: int) -> None:
    guide.posterior(data).sample_and_log_prob((num_draws,))


def _seconds(action: Callable[[], None]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start
