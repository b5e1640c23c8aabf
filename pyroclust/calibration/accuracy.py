"""How near a guide is to the posterior: divergence, weights, log q of the truth, orders, real tables."""

import inspect
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy
import torch
from torch import Tensor

from pyroclust.calibration.certificate import (
    ExactRow,
    MixtureRow,
    OrderRow,
    RealTablesRow,
    SampledRow,
    SpeedRow,
    TruthRow,
)
from pyroclust.core.numbers import check_count
from pyroclust.core.random_state import exclusive_random_state, pyro_seeded
from pyroclust.diagnostics import co_assignment, importance_efficiency, pareto_k
from pyroclust.diagnostics.judging import tail_summary
from pyroclust.distributions import DiagonalMixture
from pyroclust.distributions.points import Points, as_points
from pyroclust.guides.exact_filters import exact_filter
from pyroclust.infer.mcmc.chains import Reference, reference_chains
from pyroclust.infer.quality import divergences, effective_shares, log_importance_weights
from pyroclust.infer.simulation import SimulatedBatch, simulate_sites

_POINTS_AT_ONCE = 20_000
# Draws of a real table come in equal parts from so many posteriors, each with a visiting order of its own.
_ORDERS = 8

Batches = Sequence[SimulatedBatch]


def exact_row(batches: Batches) -> ExactRow:
    """Compare a guide with enumerated posteriors."""
    kl = torch.cat([divergences(batch.model, batch.guide, batch.data) for batch in batches])
    return ExactRow(_points(batches), len(kl), kl.mean().item(), kl.quantile(0.5).item(), _standard_error(kl))


def sampled_row(batches: Batches, *, num_draws: int) -> SampledRow:
    """Weight draws of a guide by the model."""
    log_weights = torch.cat(
        [
            log_importance_weights(batch.model, batch.guide, batch.data, num_draws=num_draws)
            for batch in batches
        ],
        1,
    )
    share = effective_shares(log_weights)
    low, median, high = share.quantile(share.new_tensor([0.05, 0.5, 0.95])).tolist()
    k, high_share = tail_summary(np.array([pareto_k(one) for one in log_weights.T.cpu().numpy()]))
    truth = torch.cat([_log_prob(batch.guide, batch) for batch in batches])
    return SampledRow(
        num_points=_points(batches),
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


def truth_row(batches: Batches) -> TruthRow:
    """Score simulated partitions by the guide and a baseline."""
    log_prob = torch.cat([_log_prob(batch.guide, batch) for batch in batches])
    row = (_points(batches), len(log_prob), log_prob.mean().item())
    if batches[0].baseline is None:
        return TruthRow(*row)
    other = torch.cat([_log_prob(batch.baseline, batch) for batch in batches])
    difference = log_prob - other
    return TruthRow(*row, other.mean().item(), difference.mean().item(), _standard_error(difference))


def mixture_row(batches: Batches, *, num_bins: int) -> MixtureRow:
    """Compare the mixtures of a guide with the true parameters, where the model has these as sites."""
    model, guide, data = batches[0].model, batches[0].guide, batches[0].data
    sites = simulate_sites(model, torch.empty_like(data))
    data, size = sites["data"], data.shape[1]
    found = guide.mixture_of(data).log_joint(data).double()
    likelihood, truth, error = found.logsumexp(-1).mean(-1), None, None
    if {"weights", "means", "scales"} <= sites.keys():
        own = DiagonalMixture(sites["weights"].log(), sites["means"], sites["scales"], num_points=size)
        true = own.log_joint(data).double().logsumexp(-1).mean(-1)
        truth, error = true.mean().item(), _standard_error(likelihood - true)
    labels = sites["assignments"]
    predicted, right = _matched(found.softmax(-1), labels)
    place = np.minimum((predicted * num_bins).astype(int), num_bins - 1)
    counts = np.bincount(place, minlength=num_bins)
    each = np.maximum(counts, 1)
    sums = (np.bincount(place, one, minlength=num_bins) for one in (predicted, right))
    means = [(one / each).tolist() for one in sums]
    numbers = torch.nn.functional.one_hot(found.argmax(-1), found.shape[-1]).amax(-2).sum(-1)
    return MixtureRow(
        num_points=size,
        num_datasets=len(data),
        log_likelihood=likelihood.mean().item(),
        true_log_likelihood=truth,
        difference_se=error,
        predicted=tuple(means[0]),
        observed=tuple(means[1]),
        counts=tuple(counts.tolist()),
        ece=float(np.abs(np.subtract(*means)) @ counts / counts.sum()),
        cluster_error=(numbers - labels.amax(-1) - 1).abs().double().mean().item(),
    )


def _matched(memberships: Tensor, labels: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Return memberships in a row, and whether each is of the cluster that its component stands for."""
    clusters = torch.nn.functional.one_hot(labels, max(int(labels.max()) + 1, memberships.shape[-1])).double()
    agreement = memberships.mT @ clusters
    right = []
    for one, own in zip(agreement.numpy(), clusters.numpy(), strict=True):
        component, cluster = scipy.optimize.linear_sum_assignment(one, maximize=True)
        right.append(own[:, cluster[component.argsort()]])
    return memberships.numpy().ravel(), np.stack(right).ravel()


def order_row(batches: Batches, *, num_orders: int) -> OrderRow | None:
    """Measure how q of a drawn partition varies over visiting orders; ``None`` for guides without them.

    For a guide that mixes M orders, each of the ``num_orders`` is a fresh set of M.
    """
    if not _takes_order(batches[0].guide):
        return None
    spreads, others = [], []
    for batch in batches:
        orders = torch.rand(
            num_orders, *batch.assignments.shape, dtype=torch.float32, device=batch.data.device
        ).argsort(-1)
        draws = batch.guide.posterior(batch.data).sample()
        spreads.append(_order_spread(batch.guide, batch.data, draws, orders))
        if _takes_order(batch.baseline):
            others.append(_order_spread(batch.baseline, batch.data, draws, orders))
    spread = torch.cat(spreads)
    low, median, high = spread.quantile(spread.new_tensor([0.05, 0.5, 0.95])).tolist()
    other = torch.cat(others).quantile(0.5).item() if others else None
    return OrderRow(_points(batches), len(spread), num_orders, median, low, high, other)


def speed_row(batch: SimulatedBatch, *, num_draws: int, num_repeats: int) -> SpeedRow:
    """Time draws of the first data set on one thread."""
    guide, data = batch.guide, batch.data[0]
    with exclusive_random_state():
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            seconds = min(_seconds_of_draws(guide, data, num_draws) for _ in range(num_repeats))
        finally:
            torch.set_num_threads(threads)
    return SpeedRow(data.shape[0], num_draws, num_draws / seconds)


def _points(batches: Batches) -> int:
    return batches[0].assignments.shape[-1]


def _takes_order(guide: Any | None) -> bool:
    return guide is not None and "order" in inspect.signature(guide.posterior).parameters


def _log_prob(guide: Any, batch: SimulatedBatch) -> Tensor:
    rows = max(1, _POINTS_AT_ONCE // batch.assignments.shape[-1])
    blocks = zip(batch.data.split(rows), batch.assignments.split(rows), strict=True)
    return torch.cat([guide.posterior(some).log_prob(labels).double() for some, labels in blocks])


def _order_spread(guide: Any, data: Tensor, draws: Tensor, orders: Tensor) -> Tensor:
    """Return standard deviation over mean of q(c | x) over the orders, one a data set."""
    num_orders, num_points = orders.shape[0], data.shape[1]
    rows = max(1, _POINTS_AT_ONCE // (num_orders * num_points))
    spreads = []
    for some, labels, visit in zip(data.split(rows), draws.split(rows), orders.split(rows, 1), strict=True):
        repeated = some.expand(num_orders, *some.shape)
        posterior = (
            guide.posterior(repeated) if guide.mixes_orders else guide.posterior(repeated, order=visit)
        )
        log_q = posterior.log_prob(labels.expand(num_orders, *labels.shape))
        relative = (log_q.double() - log_q.double().amax(0)).exp()
        spreads.append(relative.std(0) / relative.mean(0))
    return torch.cat(spreads)


def _standard_error(values: Tensor) -> float:
    return values.std(correction=1).item() / len(values) ** 0.5 if len(values) > 1 else 0.0


def _seconds_of_draws(guide: Any, data: Tensor, num_draws: int) -> float:
    start = time.perf_counter()
    guide.posterior(data).sample_and_log_prob((num_draws,))
    return time.perf_counter() - start


def real_tables_row(
    guide: Any,
    tables: Sequence[Points],
    *,
    source: str = "tables",
    num_draws: int = 1000,
    seed: int = 1,
    reference: Callable[[int, Tensor], Reference] | None = None,
) -> RealTablesRow:
    """Hold draws of a guide, and of the exact filter of its model, against long chains on real tables.

    ``source`` says in words which tables these are; the draws of each come in equal parts from eight
    posteriors with visiting orders of their own; ``reference`` makes the chains of a table by its place and
    its points, by default those of :func:`~pyroclust.infer.mcmc.chains.reference_chains`.
    """
    tables = list(tables)
    if not tables:
        raise ValueError("tables is empty, expected one or more data sets")
    each, rest = divmod(check_count("num_draws", num_draws), _ORDERS)
    if rest:
        raise ValueError(f"num_draws is {num_draws}, expected a multiple of {_ORDERS}, the visiting orders")
    baseline = exact_filter(guide.model, conditions=guide.conditions)
    chains_of = reference or (lambda _, points: reference_chains(guide.model, points, seed=seed))
    of_guide, of_filter, num_agreed, floors = [], [], 0, []
    for place, table in enumerate(tables):
        points = as_points(table, like=torch.empty(0, dtype=torch.float64))
        chains = chains_of(place, points)
        num_agreed += chains.agreed
        floors.append(chains.floor(num_draws)[0])
        with pyro_seeded(seed, place):
            of_guide.append(_errors(guide, points, chains, each))
            of_filter.append(_errors(baseline, points, chains, each))
    efficiency, largest, mean = np.median(of_guide, 0).tolist()
    baseline_efficiency, baseline_largest, baseline_mean = np.median(of_filter, 0).tolist()
    return RealTablesRow(
        source=source,
        num_tables=len(tables),
        num_draws=num_draws,
        num_agreed=num_agreed,
        median_efficiency=efficiency,
        lower_efficiency=float(np.quantile([one[0] for one in of_guide], 0.25)),
        median_largest=largest,
        median_mean=mean,
        median_floor=float(np.median(floors)),
        baseline_efficiency=baseline_efficiency,
        baseline_largest=baseline_largest,
        baseline_mean=baseline_mean,
    )


def _errors(guide: Any, points: Tensor, chains: Reference, each: int) -> tuple[float, float, float]:
    """Return efficiency, largest and mean error of draws of one table, so many of every posterior."""
    with torch.no_grad():
        parts = [guide.posterior(points).sample_and_log_prob((each,)) for _ in range(_ORDERS)]
    draws, log_q = (torch.cat(one) for one in zip(*parts, strict=True))
    log_weights = guide.model.log_joint(points, draws).double() - log_q.double()
    efficiency = float(importance_efficiency(log_weights.numpy()))
    return efficiency, *chains.errors(co_assignment(draws.numpy()))
