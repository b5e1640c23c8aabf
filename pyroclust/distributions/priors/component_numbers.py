"""A random number of components M: its law, and the weights V_N(K) of a mixture as sums over it."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from scipy.special import gammaln
from torch import Tensor
from torch.distributions import Categorical, Distribution

from pyroclust.core.compiling import compiled, inner
from pyroclust.core.machine import each_in_threads
from pyroclust.distributions.points import broadcast_shapes
from pyroclust.distributions.rising_factorial import log_rising

MOST_TERMS = 1 << 23
_FIRST_TERMS = 64
# What the probabilities may miss of one: parameters in float32 miss about 1e-7.
_MISSING = 1e-6
_LEFT_OUT = 1e-17


def check_extra_components(extra_components: Distribution) -> None:
    if not isinstance(extra_components, Distribution):
        raise ValueError(
            f"extra_components is {extra_components!r}, expected a Pyro distribution over 0, 1, 2, ...: "
            "the number of components less one; where it is known, use the Dirichlet-multinomial prior"
        )
    support = extra_components.support
    if extra_components.event_shape or support is None or not support.is_discrete:
        raise ValueError(
            f"extra_components is {extra_components}, expected a distribution of one of 0, 1, 2, ...: "
            "Poisson, Geometric, Categorical or the like"
        )


def log_component_numbers(extra_components: Distribution, *, at_least: int = 1) -> Tensor:
    """Tabulate log p(M), M - 1 a draw of the distribution, ``(T, *batch_shape)`` for M = 1, ..., T.

    It ends where its upper half holds less than 1e-17 of the probability, or with a support that is
    enumerated.
    """
    if extra_components.has_enumerate_support:
        terms = int(extra_components.enumerate_support(expand=False).max()) + 1
        found = _log_probs(extra_components, terms)
        _check_total(extra_components, found)
        padding = found.new_full((max(0, at_least - terms), *found.shape[1:]), -torch.inf)
        return torch.cat([found.log_softmax(0), padding])
    terms = max(_FIRST_TERMS, 1 << (at_least - 1).bit_length())
    while True:
        found = _log_probs(extra_components, terms)
        mass = found.detach().exp()
        whole = bool(((mass.sum(0) - 1).abs() < _MISSING).all())
        if whole and bool((mass[terms // 2 :].sum(0) < _LEFT_OUT).all()):
            return found.log_softmax(0)
        if terms >= MOST_TERMS:
            _check_total(extra_components, found)
            raise ValueError(
                f"extra_components is {extra_components}, expected a lighter tail: {terms} terms leave more "
                f"than {_LEFT_OUT:g} of the probability; cut it off with a Categorical"
            )
        terms *= 2


def log_component_terms(log_p: Tensor, weights: Tensor, num_points: int) -> Tensor:
    """Return log p(M) + log M! - log (gamma M)_N, ``(*any, T)`` for M = 1, ..., T; gamma is ``(*any, 1)``."""
    count = torch.arange(1, log_p.shape[-1] + 1, dtype=torch.float64, device=log_p.device)
    return log_p + (count + 1).lgamma() - log_rising(weights * count, num_points)


def _log_probs(extra_components: Distribution, terms: int) -> Tensor:
    if isinstance(extra_components, Categorical):
        # Its log_prob replaces probability zero by the smallest step from one.
        probs = extra_components.probs.double().movedim(-1, 0)
        return torch.where(probs > 0, torch.where(probs > 0, probs, 1.0).log(), -torch.inf)
    try:
        device = extra_components.mean.device
    except NotImplementedError:
        device = torch.device("cpu")
    values = torch.arange(terms, dtype=torch.float64, device=device)
    return extra_components.log_prob(values.view(-1, *(1,) * len(extra_components.batch_shape))).double()


def _check_total(extra_components: Distribution, log_probs: Tensor) -> None:
    total = log_probs.detach().exp().sum(0)
    if not bool(((total - 1).abs() < _MISSING).all()):
        raise ValueError(
            f"extra_components is {extra_components}, expected probabilities of 0, 1, 2, ... that sum to "
            f"one: the first {len(log_probs)} sum to {total.tolist()}"
        )


_NARROWEST = 16
# Entries of the largest work array, 32 MiB of float64.
_MAX_ENTRIES = 1 << 22


@dataclass(frozen=True)
class _Parameters:
    """The parameters of a batch, which key a cache: equal where their numbers are."""

    identity: tuple[bytes, ...]  # the numbers
    weights: Tensor = field(compare=False)  # gamma, (R,) float64, on the CPU
    extra_components: Distribution = field(compare=False)  # the prior of M - 1
    column: Tensor = field(compare=False)  # which element of its batch each row uses, (R,)

    def log_terms(self, rows: Tensor, num_points: int, terms: int) -> Tensor:
        """Return log p(M) + log M! - log (gamma M)_N for M = 0, ..., at least ``terms``, ``(rows, M)``."""
        table = log_component_numbers(self.extra_components, at_least=terms)
        log_p = table.reshape(len(table), -1).T.cpu()[self.column[rows]]
        found = log_component_terms(log_p, self.weights[rows].unsqueeze(-1), num_points)
        return torch.nn.functional.pad(found, (1, 0), value=-torch.inf)


def log_finite_mixtures_v(
    weight_concentration: Tensor, extra_components: Distribution, *, num_points: int, clusters: Tensor
) -> Tensor:
    """Return the weights V of :class:`FiniteMixturesPrior` in nats, of the broadcast of all three arguments.

    Tables for all K up to the next power of two are cached by parameters and N; gradients are made afresh.
    """
    batch = broadcast_shapes(weight_concentration.shape, extra_components.batch_shape)
    weights = weight_concentration.double().cpu().expand(batch).reshape(-1)
    every = torch.arange(extra_components.batch_shape.numel()).view(extra_components.batch_shape)
    column = every.expand(batch).reshape(-1)
    table = log_component_numbers(extra_components)
    identity = tuple(one.detach().cpu().numpy().tobytes() for one in (weights, table, column))
    parameters = _Parameters(identity, weights, extra_components, column)
    most = int(clusters.max()) if clusters.numel() else 0
    width = min(num_points, 1 << max(most, _NARROWEST).bit_length())
    tables, terms = _tables(parameters, num_points, width)
    if weights.requires_grad or table.requires_grad:
        log_terms = parameters.log_terms(torch.arange(batch.numel()), num_points, terms)
        scale = torch.arange(width + 1) * parameters.weights.log().unsqueeze(-1)
        tables = ShiftedSums.apply(log_terms, np.arange(width + 1)) + scale
    row = torch.arange(batch.numel(), device=clusters.device).view(batch)
    found = tables.to(clusters.device)[row, clusters.long()]
    if bool(found.isnan().any()):
        raise ValueError(
            f"extra_components is {extra_components}, expected a lighter tail: V_N(K) at N = {num_points} "
            f"and K = {int(clusters.max())} needs over {MOST_TERMS} terms; cut it off with a Categorical"
        )
    return found


@lru_cache(maxsize=64)
@torch.no_grad()
def _tables(parameters: _Parameters, num_points: int, width: int) -> tuple[Tensor, int]:
    """Return log V_N(K) for K = 0, ..., width in rows, nan where not converged, and the number of terms."""
    found = np.full((len(parameters.weights), width + 1), -np.inf)
    missing, terms = np.ones_like(found, dtype=np.bool_), 4 * width
    missing[:, 0] = False
    while True:
        rows, clusters = np.flatnonzero(missing.any(1)), np.flatnonzero(missing.any(0))
        for some in np.array_split(rows, min(len(rows), len(rows) * terms // _MAX_ENTRIES + 1)):
            log_terms = parameters.log_terms(torch.from_numpy(some), num_points, terms).numpy()
            sums, converged = shifted_log_sums(log_terms, clusters)
            found[np.ix_(some, clusters)], missing[np.ix_(some, clusters)] = sums, ~converged
        terms = 2 * (log_terms.shape[-1] - 1)
        if not missing.any() or terms > MOST_TERMS:
            found[missing] = np.nan
            scale = np.arange(width + 1) * parameters.weights.log().numpy()[:, None]
            return torch.from_numpy(found + scale), terms // 2


def shifted_log_sums(log_terms: np.ndarray, clusters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the log of sums that share their terms but for a factorial, ``(R, T + 1), (C,) -> (R, C)``.

    .. math:: f(K) = \log \sum_{M = K}^{T} \frac{e^{g(M)}}{(M - K)!}

    Blocks of terms that a bound shows to be negligible are skipped. Also returns whether a sum had converged:
    extrapolated from the last two doublings of the number of terms, what lies beyond T is below 1e-15 of it.
    """
    terms = SharedTerms.of(np.ascontiguousarray(log_terms))
    found, converged = np.empty((2, len(log_terms), len(clusters)))
    tasks = -(-found.size // _SUMS_A_TASK)

    def add(task: int) -> None:
        # Sums grow with K: every task gets its share of long ones.
        fill_log_sums(terms, clusters.astype(np.int64), task, tasks, found, converged)

    each_in_threads(add, range(tasks))
    return found, converged > 0


class ShiftedSums(torch.autograd.Function):
    """:func:`shifted_log_sums` of a tensor, with its gradient: each sum's weights of its terms."""

    @staticmethod
    def forward(ctx: Any, log_terms: Tensor, clusters: np.ndarray) -> Tensor:  # type: ignore[override]
        ctx.terms, ctx.clusters = log_terms.detach().cpu().numpy(), clusters.astype(np.int64)
        ctx.found = shifted_log_sums(ctx.terms, clusters)[0]
        return torch.from_numpy(ctx.found.copy()).to(log_terms.device)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        terms, weights = SharedTerms.of(np.ascontiguousarray(ctx.terms)), upstream.detach().cpu().numpy()
        pulled = pull_back(terms, ctx.clusters, ctx.found, np.ascontiguousarray(weights))
        return torch.from_numpy(pulled).to(upstream.device), None


# Sums that a thread takes at a time.
_SUMS_A_TASK = 512
# Terms are looked at in blocks, and blocks in groups.
_BLOCK = 32
_GROUP = 2048
# A product of ratios may start this low without underflow.
_LOW = -600.0
# Terms this far below the largest do not reach its last digit, however many they are.
_NEGLIGIBLE = -60.0
_TAIL = 1e-15


class SharedTerms(NamedTuple):
    """What the sums of a row share, or of all rows with one more dimension."""

    log: np.ndarray  # g(0), ..., g(T)
    log_factorial: np.ndarray  # log 0!, ..., log T!, the same for all rows
    ratio: np.ndarray  # exp(g(M + 1) - g(M)); nan where that is no ordinary number
    inverse: np.ndarray  # 1 / n, infinite for 0, the same for all rows
    highest: np.ndarray  # where each block of g has its highest entry
    top: np.ndarray  # the highest entry of g in each block
    top_less: np.ndarray  # the highest entry of g(M) - log M! in each block
    group_top: np.ndarray  # the highest entry of g in each group
    group_top_less: np.ndarray  # the highest entry of g(M) - log M! in each group

    @classmethod
    def of(cls, log_terms: np.ndarray) -> Self:
        """Prepare the sums of rows ``(R, T + 1)``."""
        rows, end = log_terms.shape
        count = np.arange(end, dtype=np.float64)
        log_factorial = gammaln(count + 1)
        blocks, groups = (np.arange(0, end, width) for width in (_BLOCK, _GROUP))
        less = log_terms - log_factorial
        tops = [np.maximum.reduceat(one, at, axis=1) for at in (blocks, groups) for one in (log_terms, less)]
        padded = np.pad(log_terms, ((0, 0), (0, -end % _BLOCK)), constant_values=-np.inf)
        highest = padded.reshape(rows, -1, _BLOCK).argmax(-1) + blocks
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            step = np.diff(log_terms, append=np.nan)
            ratio = np.where(np.abs(step) < -_LOW, np.exp(step), np.nan)
            inverse = 1 / count
        return cls(log_terms, log_factorial, ratio, inverse, highest, *tops)


@compiled(fastmath=False)
def _row(terms: SharedTerms, row: int) -> SharedTerms:
    return SharedTerms(
        terms.log[row],
        terms.log_factorial,
        terms.ratio[row],
        terms.inverse,
        terms.highest[row],
        terms.top[row],
        terms.top_less[row],
        terms.group_top[row],
        terms.group_top_less[row],
    )


@inner(fastmath=False)
def _next_block(terms: SharedTerms, k: int, block: int, least: float) -> int:
    """Return the next block whose terms may exceed a bound, -1 if there is none."""
    while block < len(terms.top):
        start, group = block * _BLOCK, block * _BLOCK // _GROUP
        if start % _GROUP == 0 and least >= _bound(
            terms, k, start, start + _GROUP, terms.group_top[group], terms.group_top_less[group]
        ):
            block += _GROUP // _BLOCK
            continue
        if least < _bound(terms, k, start, start + _BLOCK, terms.top[block], terms.top_less[block]):
            return block
        block += 1
    return -1


@inner(fastmath=False)
def _bound(terms: SharedTerms, k: int, start: int, stop: int, top: float, top_less: float) -> float:
    """Return an upper bound of the terms of a range: 1 / (M - K)! falls with M, and M! / (M - K)! rises."""
    last = min(stop, len(terms.log)) - 1
    falling = top - terms.log_factorial[max(start - k, 0)]
    rising = top_less + (terms.log_factorial[last] - terms.log_factorial[last - k])
    return min(falling, rising)


@inner(fastmath=False)
def _lower_bound(terms: SharedTerms, k: int) -> float:
    """Return a lower bound of the largest term: all of the first block, and the highest of each other."""
    first, found = k // _BLOCK, -np.inf
    for m in range(k, min((first + 1) * _BLOCK, len(terms.log))):
        found = max(found, terms.log[m] - terms.log_factorial[m - k])
    for m in range((k // _GROUP + 1) * _GROUP, len(terms.log), _GROUP):
        found = max(found, terms.log[m] - terms.log_factorial[m - k])
    b = _next_block(terms, k, first + 1, found)
    while b >= 0:
        found = max(found, terms.log[terms.highest[b]] - terms.log_factorial[terms.highest[b] - k])
        b = _next_block(terms, k, b + 1, found)
    return found


@compiled(fastmath=False)
def fill_log_sums(
    every: SharedTerms, clusters: np.ndarray, first: int, step: int, found: np.ndarray, converged: np.ndarray
) -> None:
    """Fill every step-th entry of the results."""
    end = every.log.shape[1]
    for job in range(first, found.size, step):
        row, i = divmod(job, len(clusters))
        terms, k = _row(every, row), clusters[i]
        best = _lower_bound(terms, k) if k < end else -np.inf
        found[row, i], converged[row, i] = best, 1.0
        if best == -np.inf:
            continue
        total, quarter, half = 0.0, 0.0, 0.0
        b = _next_block(terms, k, k // _BLOCK, best + _NEGLIGIBLE)
        while b >= 0:
            start = max(b * _BLOCK, k)
            part = _block_sum(terms, k, start, min((b + 1) * _BLOCK, end), best)
            total += part
            half += part if 2 * start >= end else 0.0
            quarter += part if 2 * start < end <= 4 * start else 0.0
            b = _next_block(terms, k, b + 1, best + _NEGLIGIBLE)
        found[row, i] += np.log(total)
        settled = half == 0 or (half < quarter and half * half < _TAIL * total * (quarter - half))
        converged[row, i] = 1.0 if settled else 0.0


@inner(fastmath=False)
def _block_sum(terms: SharedTerms, k: int, start: int, stop: int, best: float) -> float:
    """Return the sum of terms relative to the best."""
    first = terms.log[start] - terms.log_factorial[start - k] - best
    total = 0.0
    if first > _LOW:
        term = np.exp(first)
        total = term
        for m in range(start + 1, stop):
            term *= terms.ratio[m - 1] * terms.inverse[m - k]
            total += term
        if not np.isnan(total):
            return total
        total = 0.0
    for m in range(start, stop):
        total += np.exp(terms.log[m] - terms.log_factorial[m - k] - best)
    return total


@compiled(fastmath=False)
def pull_back(
    every: SharedTerms, clusters: np.ndarray, found: np.ndarray, upstream: np.ndarray
) -> np.ndarray:
    """Return the gradient of the sums with respect to g, times that of a result with respect to them."""
    pulled = np.zeros_like(every.log)
    for row in range(found.shape[0]):
        terms = _row(every, row)
        for i in range(len(clusters)):
            k, log_sum, weight = clusters[i], found[row, i], upstream[row, i]
            b = _next_block(terms, k, k // _BLOCK, log_sum + _NEGLIGIBLE)
            while b >= 0 and weight != 0 and log_sum > -np.inf:
                for m in range(max(b * _BLOCK, k), min((b + 1) * _BLOCK, len(terms.log))):
                    pulled[row, m] += weight * np.exp(terms.log[m] - terms.log_factorial[m - k] - log_sum)
                b = _next_block(terms, k, b + 1, log_sum + _NEGLIGIBLE)
    return pulled
