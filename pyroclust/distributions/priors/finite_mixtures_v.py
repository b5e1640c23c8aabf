"""The weights V_N(K) of a mixture with a random number of components, as sums over that number."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Size, Tensor
from torch.distributions import Categorical, Distribution

from pyroclust.core.threads import num_threads
from pyroclust.distributions.points import broadcast_shapes
from pyroclust.distributions.priors.shared_terms import SharedTerms, fill_log_sums, pull_back
from pyroclust.distributions.rising_factorial import log_rising

__all__ = [
    "MOST_TERMS",
    "ShiftedSums",
    "check_extra_components",
    "log_component_numbers",
    "log_component_terms",
    "log_finite_mixtures_v",
    "shifted_log_sums",
]

MOST_TERMS = 1 << 23
_FIRST_TERMS = 64
# What the probabilities may miss of one: parameters in float32 miss about 1e-7.
_MISSING = 1e-6
_NEGLIGIBLE = 1e-17


def check_extra_components(extra_components: Distribution) -> None:
    """Refuse what is not a distribution of one whole number.

    Raises:
        ValueError: if it is no distribution, continuous, or a distribution of vectors.
    """
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
    """Tabulate the log-probabilities of M components, M - 1 being a draw of the distribution.

    The table grows until its upper half holds less than 1e-17 of the probability, and is normalised.

    Args:
        extra_components: over 0, 1, 2, ..., of shape ``batch_shape``; a distribution with
            ``has_enumerate_support`` ends where its support ends.
        at_least: the smallest length wanted.

    Shape:
        output: ``(T, *batch_shape)`` float64 for M = 1, ..., T.

    Raises:
        ValueError: if 8,388,608 terms do not hold the probability.

    Example:
        >>> from torch.distributions import Categorical
        >>> log_component_numbers(Categorical(torch.tensor([0.25, 0.75])), at_least=3).exp()
        tensor([0.2500, 0.7500, 0.0000], dtype=torch.float64)
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
        if whole and bool((mass[terms // 2 :].sum(0) < _NEGLIGIBLE).all()):
            return found.log_softmax(0)
        if terms >= MOST_TERMS:
            _check_total(extra_components, found)
            raise ValueError(
                f"extra_components is {extra_components}, expected a lighter tail: {terms} terms leave more "
                f"than {_NEGLIGIBLE:g} of the probability; cut it off with a Categorical"
            )
        terms *= 2


def log_component_terms(log_p: Tensor, weights: Tensor, num_points: int) -> Tensor:
    r"""Return what M components add to V_N(K), but for the factor that has K in it, in nats.

    .. math:: \log p(M) + \log M! - \log (\gamma M)_N

    Shape:
        log_p: ``(*any, T)`` for M = 1, ..., T; weights: gamma, ``(*any, 1)``; output: ``(*any, T)`` float64.

    Example:
        >>> log_component_terms(torch.zeros(2), torch.ones(1), 2).exp()
        tensor([0.5000, 0.3333], dtype=torch.float64)
    """
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


_SUMS_A_TASK = 512


def shifted_log_sums(log_terms: np.ndarray, clusters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the log of sums that share their terms but for a factorial.

    .. math:: f(K) = \log \sum_{M = K}^{T} \frac{e^{g(M)}}{(M - K)!}

    Blocks of terms that a bound shows to be negligible are skipped; in the others each term follows from the
    one before by two products, about 2 ns. Memory O(T) a row; many sums are split over the processor's cores.

    Args:
        log_terms: g(0), ..., g(T) in rows, ``(R, T + 1)``.
        clusters: the wanted K, ``(C,)``.

    Returns:
        f(K) of each, ``(R, C)``, minus infinity for an empty sum; and whether it had converged: extrapolated
        from the last two doublings of the number of terms, what lies beyond T is below 1e-15 of the sum.

    Example:
        >>> found, _ = shifted_log_sums(np.array([[-np.inf, 0.0, np.log(2.0)]]), np.array([1, 2]))
        >>> np.exp(found).round(12)
        array([[3., 2.]])
    """
    terms = SharedTerms.of(np.ascontiguousarray(log_terms))
    found, converged = np.empty((2, len(log_terms), len(clusters)))
    tasks = -(-found.size // _SUMS_A_TASK)

    def add(task: int) -> None:
        # Sums grow with K: every task gets its share of long ones.
        fill_log_sums(terms, clusters.astype(np.int64), task, tasks, found, converged)

    if tasks == 1:
        add(0)
    else:
        with ThreadPoolExecutor(num_threads()) as pool:
            list(pool.map(add, range(tasks)))
    return found, converged > 0


class ShiftedSums(torch.autograd.Function):
    """:func:`shifted_log_sums` of a tensor, with its gradient: each sum's weights of its terms."""

    @staticmethod
    def forward(ctx: Any, log_terms: Tensor, clusters: np.ndarray) -> Tensor:  # type: ignore[override]
        """Return f(K) of each."""
        ctx.terms, ctx.clusters = log_terms.detach().cpu().numpy(), clusters.astype(np.int64)
        ctx.found = shifted_log_sums(ctx.terms, clusters)[0]
        return torch.from_numpy(ctx.found.copy()).to(log_terms.device)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        """Return the gradient with respect to g."""
        terms, weights = SharedTerms.of(np.ascontiguousarray(ctx.terms)), upstream.detach().cpu().numpy()
        pulled = pull_back(terms, ctx.clusters, ctx.found, np.ascontiguousarray(weights))
        return torch.from_numpy(pulled).to(upstream.device), None


_NARROWEST = 16
# Entries of the largest work array, 32 MiB of float64.
_MAX_ENTRIES = 1 << 22


@dataclass(frozen=True)
class _Parameters:
    """The parameters of a batch, equal where their numbers are.

    Attributes:
        identity: the numbers.
        weights: gamma, ``(R,)`` float64, on the CPU.
        extra_components: the prior of M - 1.
        column: which element of its batch each row uses, ``(R,)``.
    """

    identity: tuple[bytes, ...]
    weights: Tensor = field(compare=False)
    extra_components: Distribution = field(compare=False)
    column: Tensor = field(compare=False)

    def log_terms(self, rows: Tensor, num_points: int, terms: int) -> Tensor:
        """Return log p(M) + log M! - log (gamma M)_N for M = 0, ..., at least ``terms``, ``(rows, M)``."""
        table = log_component_numbers(self.extra_components, at_least=terms)
        log_p = table.reshape(len(table), -1).T.cpu()[self.column[rows]]
        found = log_component_terms(log_p, self.weights[rows].unsqueeze(-1), num_points)
        return torch.nn.functional.pad(found, (1, 0), value=-torch.inf)


def log_finite_mixtures_v(
    weight_concentration: Tensor, extra_components: Distribution, *, num_points: int, clusters: Tensor
) -> Tensor:
    r"""Return the Gibbs weights of a mixture of finite mixtures in nats.

    .. math::
        V_N(K) = \gamma^K \sum_{M \ge K} p(M) \frac{M!}{(M-K)!} \frac{\Gamma(\gamma M)}{\Gamma(\gamma M + N)}

    The sums are those of :func:`shifted_log_sums`, over as many terms as leave less than 1e-15 of each.
    Tables for all K up to the next power of two are cached by parameters and N; gradients with respect to all
    parameters are made afresh. Cost O(terms) and a few thousand nanoseconds a sum for each element of the
    batch, memory O(terms) each.

    Args:
        weight_concentration: :math:`\gamma`, positive.
        extra_components: distribution of M - 1; its batch shape is broadcast with the others.
        num_points: N.
        clusters: K, from 1 to N.

    Shape:
        output: the broadcast of all three, float64; minus infinity where there are never K components.

    Raises:
        ValueError: if 8,388,608 terms do not suffice: the prior's tail is too heavy.

    Example:
        >>> from torch.distributions import Poisson
        >>> one = torch.tensor(1.0)
        >>> log_finite_mixtures_v(one, Poisson(3 * one), num_points=1, clusters=one).abs() < 1e-12
        tensor(True)

    References:
        Miller & Harrison (2018), Mixture models with a prior on the number of components.
        https://doi.org/10.1080/01621459.2016.1255636
    """
    batch = broadcast_shapes(weight_concentration.shape, extra_components.batch_shape)
    parameters, differentiable = _parameters(weight_concentration, extra_components, batch)
    most = int(clusters.max()) if clusters.numel() else 0
    width = min(num_points, 1 << max(most, _NARROWEST).bit_length())
    tables, terms = _tables(parameters, num_points, width)
    if differentiable:
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


def _parameters(
    weight_concentration: Tensor, extra_components: Distribution, batch: Size
) -> tuple[_Parameters, bool]:
    """Collect the parameters of a batch, and say whether they need gradients."""
    weights = weight_concentration.double().cpu().expand(batch).reshape(-1)
    every = torch.arange(extra_components.batch_shape.numel()).view(extra_components.batch_shape)
    column = every.expand(batch).reshape(-1)
    table = log_component_numbers(extra_components)
    identity = tuple(one.detach().cpu().numpy().tobytes() for one in (weights, table, column))
    return (
        _Parameters(identity, weights, extra_components, column),
        weights.requires_grad or table.requires_grad,
    )


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
