"""Numbers that are cut at a ceiling or a floor, as scores of a test that some solve to the last question."""

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.polynomial.hermite_e import hermegauss
from pyro.distributions import Normal, TorchDistribution
from torch import Size, Tensor
from torch.distributions import constraints

from pyroclust.core.compiling import inner
from pyroclust.core.registry import register
from pyroclust.distributions.compiled.protocol import (
    compile_columns,
    compile_family,
    compile_methods,
    hyper_array,
)
from pyroclust.distributions.families.component import Component
from pyroclust.distributions.families.normal_inverse_gamma import NormalInverseGamma
from pyroclust.distributions.hyperparameters import Hyperparameter

# Nodes of a direction where fewer points than this are between the limits, and else.
_FEWER, _NODES = (1, 5, 20), (15, 9, 5, 4)
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
# Steps of Newton's method, which has converged after 5 to 12.
_STEPS, _CONVERGED = 50, 1e-6
# The power of 1 / sigma that is nearly normal.
_POWER = 2 / 3
_PROPOSALS, _FREEDOM = 256, 4.0


class CutNormal(TorchDistribution):
    r"""Normal numbers of which those beyond a limit are written as that limit.

    .. math:: y \sim N(\mu, \sigma^2), \quad x = \min(\max(y, \text{low}), \text{high})

    Log-probabilities are densities between the limits and probabilities at them.
    """

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, loc: Tensor, scale: Tensor, *, limits: tuple[float, float]) -> None:
        self.law, self.limits = Normal(loc, scale, validate_args=False), limits
        super().__init__(loc.shape[:-1], loc.shape[-1:], validate_args=False)

    @property
    def support(self) -> constraints.Constraint:
        return constraints.real_vector

    def expand(self, batch_shape: Any, _instance: Any = None) -> "CutNormal":
        shape = (*batch_shape, *self.event_shape)
        return CutNormal(self.law.loc.expand(shape), self.law.scale.expand(shape), limits=self.limits)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        return self.law.sample(Size(sample_shape)).clamp(*self.limits)

    def log_prob(self, value: Tensor) -> Tensor:
        low, high = self.limits
        below, above = (low - self.law.loc) / self.law.scale, (self.law.loc - high) / self.law.scale
        is_low, is_high = _at_limits(value, self.limits)
        found = torch.where(is_low, torch.special.log_ndtr(below), self.law.log_prob(value))
        return torch.where(is_high, torch.special.log_ndtr(above), found).sum(-1)


def _at_limits(value: Tensor, limits: tuple[float, float]) -> tuple[Tensor, Tensor]:
    """Say which numbers are at the floor or the ceiling, or beyond, but for the rounding of float32."""
    low, high = limits
    return value <= low + 1e-6 * abs(low), value >= high - 1e-6 * abs(high)


@register(Component)
class CensoredNormal(NormalInverseGamma):
    r"""One column of normal numbers that are cut at a ceiling, a floor, or both.

    .. math::
        \sigma^2_k \sim IG(a, b), \quad \mu_k \sim N(m, \sigma^2_k / \kappa), \quad
        y_i \sim N(\mu_k, \sigma^2_k), \quad x_i = \min(\max(y_i, \text{low}), \text{high})

    A point at a limit, or beyond it, says that its number lies there or beyond. With l and h of them in a
    block, and the posterior of :math:`(\mu, \sigma)` given the others, the marginal likelihood is that of
    the others times

    .. math:: E\left[\Phi\left(\frac{\text{low} - \mu}{\sigma}\right)^l
        \Phi\left(\frac{\mu - \text{high}}{\sigma}\right)^h\right]

    This is Gauss-Hermite quadrature over :math:`(\mu / \sigma, \sigma^{-2/3})` about the mode: the cube root
    of a gamma variable is nearly normal. Where a is at least 1, the error of up to 300 points is below .002
    nats if some are between the limits, and .01 if none is. The logarithm is concave in
    :math:`(\mu / \sigma, 1 / \sigma)`, so that Newton's method finds the mode.
    Parameters of a cluster are drawn among 256 of a Student-t about the mode, by their weights: ``"loc"`` and
    ``"variance"`` ``(1,)``.

    Args:
        low: floor; none by default.
        high: ceiling; none by default.
        kappa: prior pseudo-observations of the mean.
        shape: a of the inverse gamma.
        rate: b of the inverse gamma, in squared data units.
        mean: prior mean m of the cluster means.

    Shape:
        moments: 1, x and its square between the limits, 1 at the floor, and 1 at the ceiling, ``(..., 5)``.

    Raises:
        ValueError: if the floor is not below the ceiling, or kappa, shape or rate is not positive.

    Example:
        >>> family = CensoredNormal(high=0.7, kappa=0.5, shape=2.0, rate=2.0)
        >>> at_the_ceiling = family.moments(torch.tensor([0.7]))
        >>> round(family.log_marginal(torch.tensor(1.0), at_the_ceiling).exp().item(), 3)  # of Student-t(4)
        0.353

    References:
        Tobin (1958), Estimation of relationships for limited dependent variables.
        https://doi.org/10.2307/1907382
        Olsen (1978), Note on the uniqueness of the maximum likelihood estimator for the Tobit model.
        https://doi.org/10.2307/1913819
        Wilson & Hilferty (1931), The distribution of chi-square. https://doi.org/10.1073/pnas.17.12.684
        Naylor & Smith (1982), Applications of a method for the efficient computation of posterior
        distributions. https://doi.org/10.2307/2347995
    """

    def __init__(
        self,
        low: float | None = None,
        high: float | None = None,
        *,
        kappa: Hyperparameter,
        shape: Hyperparameter,
        rate: Hyperparameter,
        mean: Hyperparameter = 0.0,
    ) -> None:
        super().__init__(1, kappa, shape=shape, rate=rate, mean=mean)
        self.low, self.high = low, high
        self.limits = -math.inf if low is None else float(low), math.inf if high is None else float(high)
        if not self.limits[0] < self.limits[1]:
            raise ValueError(f"low is {low} and high {high}, expected a floor below the ceiling")

    def likelihood(self, parameters: Mapping[str, Tensor]) -> TorchDistribution:
        return CutNormal(parameters["loc"], parameters["variance"].sqrt(), limits=self.limits)

    def moments(self, data: Tensor) -> Tensor:
        x = data[..., 0].double()
        is_low, is_high = _at_limits(x, self.limits)
        x = torch.where(is_low | is_high, 0.0, x)
        inside = (~is_low & ~is_high).double()
        return torch.stack([inside, x, x.square(), is_low.double(), is_high.double()], -1)

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        counts, moments = self.over_batch(counts, moments)
        return super().log_marginal(moments[..., 0], moments[..., 1:3]) + self._log_share(moments)

    def _log_share(self, moments: Tensor) -> Tensor:
        """Return the log probability that those at the limits are there, given the others."""
        modes = self._modes(moments)
        found = torch.zeros_like(modes.nu)
        is_cut, inside = (modes.low + modes.high) > 0, moments[..., 0].expand(found.shape)
        rule = sum((inside >= number).long() for number in _FEWER)
        for place, number in enumerate(_NODES):
            chosen = is_cut & (rule == place)
            some = _Modes(*(one[chosen].unsqueeze(-1) for one in modes))
            nodes, log_weights = (torch.from_numpy(one) for one in _quadrature(number))
            log_density = some.log_density(*some.places(*nodes), self.limits) + log_weights
            found[chosen] = log_density.logsumexp(-1) + some.log_area()
        return found

    def _modes(self, moments: Tensor) -> "_Modes":
        """Return where the posterior of mu / sigma and a power of 1 / sigma is highest, and its spread."""
        inside, low, high = (moments[..., place] for place in (0, 3, 4))
        kappa, shape, mean, rate = self._posterior(inside, moments[..., 1:3])
        mean, rate = (self.hyper("mean", trailing=2) + mean).squeeze(-1), rate.squeeze(-1)
        kappa, shape, mean, rate, low, high = torch.broadcast_tensors(kappa, shape, mean, rate, low, high)
        power = shape.clamp(max=_POWER)
        posterior = (kappa, shape - 0.5 * power, mean, rate, low, high)
        tau = (shape / rate).sqrt()
        nu = tau * mean
        for _ in range(_STEPS):
            gradient, hessian = _derivatives(nu, tau, posterior, self.limits)
            step = -torch.linalg.solve(hessian, gradient.unsqueeze(-1)).squeeze(-1)
            # A step goes no farther than to a fifth of tau.
            step = step * (-0.8 * tau / step[..., 1].clamp(max=-1e-300)).clamp(max=1.0).unsqueeze(-1)
            nu, tau = nu + step[..., 0], tau + step[..., 1]
            if bool(((step[..., 1].abs() <= _CONVERGED * tau) & (step[..., 0].abs() <= _CONVERGED)).all()):
                break
        _, hessian = _derivatives(nu, tau, posterior, self.limits)
        a_unit = tau.pow(1 - power) / power
        across, both, along = hessian[..., 0, 0], a_unit * hessian[..., 0, 1], hessian[..., 1, 1]
        along = a_unit.square() * along
        determinant = across * along - both.square()
        spread = (-along / determinant).sqrt()
        slope = both / determinant / spread
        rest = (-across / determinant - slope.square()).sqrt()
        return _Modes(kappa, shape, mean, rate, low, high, power, nu, tau.pow(power), spread, slope, rest)

    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Pack the moments and their log marginal likelihood."""
        counts, moments = self.over_batch(counts, moments)
        log_marginal = self.log_marginal(counts, moments)
        return torch.cat([moments.expand(*log_marginal.shape, 5), log_marginal.unsqueeze(-1)], -1)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        moments = parameters[..., :5] + self.moments(data)
        return self.log_marginal(moments[..., 0], moments) - parameters[..., 5]

    def sample_parameters(self, counts: Tensor, moments: Tensor) -> dict[str, Tensor]:
        _, moments = self.over_batch(counts, moments)
        modes = _Modes(*(one.unsqueeze(-1) for one in self._modes(moments)))
        shape = (*modes.nu.shape[:-1], _PROPOSALS)
        normals = torch.randn(2, *shape, dtype=torch.float64)
        gamma = torch.distributions.Chi2(torch.full(shape, _FREEDOM, dtype=torch.float64)).sample() / _FREEDOM
        nu, log_tau = modes.places(*(normals / gamma.sqrt()))
        log_proposal = -(0.5 * _FREEDOM + 1) * (1 + normals.square().sum(0) / gamma / _FREEDOM).log()
        weights = modes.log_density(nu, log_tau, self.limits) - log_proposal
        chosen = torch.distributions.Categorical(logits=weights).sample().unsqueeze(-1)
        nu, log_tau = (one.gather(-1, chosen) for one in (nu, log_tau))
        return {"loc": nu * (-log_tau).exp(), "variance": (-2 * log_tau).exp()}

    def sample(self, assignments: Tensor) -> Tensor:
        return super().sample(assignments).clamp(*self.limits)


class _Modes(NamedTuple):
    """Posteriors of the mean and standard deviation of blocks, with their modes."""

    kappa: Tensor
    shape: Tensor
    mean: Tensor
    rate: Tensor
    low: Tensor  # how many points are at the floor
    high: Tensor
    power: Tensor  # of 1 / sigma
    nu: Tensor  # mu / sigma at the mode
    root: Tensor  # that power of 1 / sigma there
    spread: Tensor  # standard deviation of nu
    slope: Tensor  # of the root by standardised nu
    rest: Tensor  # standard deviation of the root given nu

    def places(self, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        """Return nu and log tau so many standard deviations from the mode, -inf where no root is there."""
        root = self.root + self.slope * first + self.rest * second
        return self.nu + self.spread * first, root.clamp(min=0.0).log() / self.power

    def log_area(self) -> Tensor:
        """Return what one standard deviation each way is."""
        return (self.spread * self.rest).log().squeeze(-1)

    def log_density(self, nu: Tensor, log_tau: Tensor, limits: tuple[float, float]) -> Tensor:
        """Return the log density of nu and the root, by all points, less that of those between the limits."""
        tau = log_tau.exp()
        found = self.shape * self.rate.log() - self.shape.lgamma() + (2 / self.power).log()
        found = found + (2 * self.shape - self.power) * log_tau - self.rate * tau.square()
        found = found + 0.5 * self.kappa.log() - _HALF_LOG_TWO_PI
        found = found - 0.5 * self.kappa * (nu - tau * self.mean).square()
        low, high = limits
        for number, beyond in ((self.low, tau * low - nu), (self.high, nu - tau * high)):
            found = found + torch.where(number > 0, number * torch.special.log_ndtr(beyond), 0.0)
        return found


def _derivatives(
    nu: Tensor, tau: Tensor, posterior: tuple[Tensor, ...], limits: tuple[float, float]
) -> tuple[Tensor, Tensor]:
    """Return the gradient and the matrix of second derivatives of the log density by nu and tau."""
    kappa, shape, mean, rate, *numbers = posterior
    pull = kappa * (nu - tau * mean)
    gradient = torch.stack([-pull, 2 * shape / tau - 2 * rate * tau + mean * pull], -1)
    both = kappa * mean
    along = -2 * shape / tau.square() - 2 * rate - both * mean
    hessian = torch.stack([-kappa, both, both, along], -1)
    for number, limit, sign in zip(numbers, limits, (-1, 1), strict=True):
        if math.isfinite(limit):
            z = sign * (nu - tau * limit)
            ratio = (-0.5 * z.square() - _HALF_LOG_TWO_PI - torch.special.log_ndtr(z)).exp()
            first, second = sign * number * ratio, -number * ratio * (ratio + z)
            gradient = gradient + torch.stack([first, -limit * first], -1)
            hessian = hessian + torch.stack([second, -limit * second, -limit * second, limit**2 * second], -1)
    return gradient, hessian.unflatten(-1, (2, 2))


@cache
def _quadrature(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes of two standard normals, ``(2, Q)``, and log-weights less their density."""
    nodes, weights = hermegauss(number)
    both = np.stack([one.ravel() for one in np.meshgrid(nodes, nodes, indexing="ij")])
    distances = (both**2).sum(0)
    log_weights = np.log(np.outer(weights, weights)).ravel() + 0.5 * distances
    # The inner ones first, where the density is highest.
    order = distances.argsort(kind="stable")
    return np.ascontiguousarray(both[:, order]), log_weights[order]


@compile_methods
class CensoredTables(NamedTuple):
    """Moments of points and clusters, and marginal likelihoods, of which predictives are ratios."""

    hyper: np.ndarray
    limits: np.ndarray  # floor and ceiling, (2,)
    moments: np.ndarray  # (N, 5)
    nodes: np.ndarray  # nodes and log-weights of all rules, (3, Q)
    begin: np.ndarray  # of each rule in it, (R + 1,)
    sums: np.ndarray  # (S, 5)
    log_totals: np.ndarray  # (S,)
    at_limits: np.ndarray  # log predictives at the floor and the ceiling, nan until asked for, (S, 2)
    modes: np.ndarray  # nu and tau of clusters at the mode, 0 where there is none, (S, 2)
    alone: np.ndarray  # log marginals of n points, all at one limit, nan until asked for, at 2 n + side
    mode: np.ndarray  # scratch space: nu, root, spread, slope, rest, tau, (6,)

    def tabulate(self) -> None:
        for place in range(len(self.alone)):
            self.alone[place] = np.nan

    def refresh(self, sums: np.ndarray, slot: int, size: int) -> None:
        for f in range(5):
            self.sums[slot, f] = sums[f]
        self.modes[slot, 1] = 0.0
        self.log_totals[slot] = _log_marginal(self, sums, 0, 0.0, slot)
        if sums[3] + sums[4] > 0.5:
            self.modes[slot, 0], self.modes[slot, 1] = self.mode[0], self.mode[5]
        self.at_limits[slot, 0] = self.at_limits[slot, 1] = np.nan

    def log_predictive(self, point: int, slot: int, size: int, floor: float) -> float:
        is_at_limit, side = self.moments[point, 0] == 0.0, int(self.moments[point, 4])
        found: float = self.at_limits[slot, side] if is_at_limit else np.nan
        if math.isnan(found):
            found = _log_marginal(self, self.sums[slot], point, 1.0, slot) - self.log_totals[slot]
            if is_at_limit:
                self.at_limits[slot, side] = found
        return found

    def log_predictive_without(self, point: int, slot: int, size: int) -> float:
        found: float = self.log_totals[slot] - _log_marginal(self, self.sums[slot], point, -1.0, slot)
        return found

    def log_marginal(self, sums: np.ndarray, slot: int, size: int) -> float:
        found: float = _log_marginal(self, sums, 0, 0.0, -1)
        return found


@inner
def _log_marginal(tables: Any, sums: Any, point: int, sign: float, slot: int) -> float:
    """Return the log marginal likelihood of a block, with a point, without it, or as it is; -1 is no slot."""
    prior_mean, prior_kappa, prior_shape = tables.hyper[0], tables.hyper[1], tables.hyper[2]
    prior_rate, moments = tables.hyper[3], tables.moments[point]
    inside = round(sums[0] + sign * moments[0])
    low, high = round(sums[3] + sign * moments[3]), round(sums[4] + sign * moments[4])
    kappa, shape, mean, rate = prior_kappa + inside, prior_shape + 0.5 * inside, prior_mean, prior_rate
    total = 0.0
    # What is left of a sum that was taken apart again is rounding.
    if inside > 0:
        pull = prior_kappa * prior_mean
        mean = (sums[1] + sign * moments[1] + pull) / kappa
        spread = sums[2] + sign * moments[2] + pull * prior_mean - kappa * mean * mean
        rate = max(prior_rate + 0.5 * spread, prior_rate)
        total = math.lgamma(shape) - math.lgamma(prior_shape) + prior_shape * math.log(prior_rate)
        total += 0.5 * math.log(prior_kappa / kappa) - inside * _HALF_LOG_TWO_PI - shape * math.log(rate)
    cut = low + high
    if cut > 0:
        place = round(2.0 * cut) + (1 if high > 0 else 0)
        is_alone = slot >= 0 and inside == 0 and min(low, high) == 0 and place < len(tables.alone)
        if is_alone and not math.isnan(tables.alone[place]):
            alone: float = tables.alone[place]
            return alone
        power = min(shape, _POWER)
        _climb(tables, kappa, shape, mean, rate, low, high, power, slot)
        rule = 0
        for number in _FEWER:
            rule += inside >= number
        total += _integrate(tables, rule, kappa, shape, mean, rate, low, high, power)
        if is_alone:
            tables.alone[place] = total
    return total


@inner
def _climb(
    tables: Any,
    kappa: float,
    shape: float,
    mean: float,
    rate: float,
    low: float,
    high: float,
    power: float,
    slot: int,
) -> None:
    """Write the mode and the spread about it, as :class:`_Modes` says."""
    tau, rise = math.sqrt(shape / rate), 2.0 * shape - power
    nu, across, both, along = tau * mean, 0.0, 0.0, 0.0
    if slot >= 0 and tables.modes[slot, 1] > 0.0:
        nu, tau = tables.modes[slot, 0], tables.modes[slot, 1]
    for step in range(_STEPS + 1):
        pull = kappa * (nu - tau * mean)
        by_nu, by_tau = -pull, rise / tau - 2.0 * rate * tau + mean * pull
        across, both = -kappa, kappa * mean
        along = -rise / (tau * tau) - 2.0 * rate - both * mean
        for side in range(2):
            number, sign = (high, 1.0) if side == 1 else (low, -1.0)
            limit = tables.limits[side]
            if number > 0:
                z = sign * (nu - tau * limit)
                ratio = math.exp(-0.5 * z * z - _HALF_LOG_TWO_PI - _log_ndtr(z))
                first, second = sign * number * ratio, -number * ratio * (ratio + z)
                by_nu += first
                by_tau -= limit * first
                across += second
                both -= limit * second
                along += limit * limit * second
        determinant = across * along - both * both
        if step == _STEPS:
            break
        move, stretch = (
            (both * by_tau - along * by_nu) / determinant,
            (both * by_nu - across * by_tau) / determinant,
        )
        if stretch < -0.8 * tau:
            move, stretch = -0.8 * tau / stretch * move, -0.8 * tau
        nu += move
        tau += stretch
        if abs(stretch) <= _CONVERGED * tau and abs(move) <= _CONVERGED:
            # What was found of the second derivatives is as near.
            break
    root = tau**power
    a_unit = tau / root / power
    both, along = a_unit * both, a_unit * a_unit * along
    determinant = across * along - both * both
    spread = math.sqrt(-along / determinant)
    slope = both / determinant / spread
    tables.mode[0], tables.mode[1], tables.mode[2], tables.mode[3] = nu, root, spread, slope
    tables.mode[4], tables.mode[5] = math.sqrt(-across / determinant - slope * slope), tau


@inner
def _integrate(
    tables: Any,
    rule: int,
    kappa: float,
    shape: float,
    mean: float,
    rate: float,
    low: float,
    high: float,
    power: float,
) -> float:
    """Return the log integral of the density about the mode."""
    floor, ceiling, spread, rest = tables.limits[0], tables.limits[1], tables.mode[2], tables.mode[4]
    first, rise = tables.begin[rule], 2.0 * shape - power
    top, total = 0.0, 0.0
    for q in range(first, tables.begin[rule + 1]):
        along = tables.nodes[0, q]
        nu = tables.mode[0] + spread * along
        root = tables.mode[1] + tables.mode[3] * along + rest * tables.nodes[1, q]
        if root <= 0.0:
            continue
        log_tau = math.log(root) / power
        tau = root * math.sqrt(root) if power == _POWER else math.exp(log_tau)
        distance = nu - tau * mean
        found = tables.nodes[2, q] + rise * log_tau
        found -= rate * tau * tau + 0.5 * kappa * distance * distance
        if low > 0:
            found += low * _log_ndtr(tau * floor - nu)
        if high > 0:
            found += high * _log_ndtr(nu - tau * ceiling)
        if q == first:
            top = found
        total += math.exp(found - top)
    constant = shape * math.log(rate) - math.lgamma(shape) + math.log(2.0 * spread * rest / power)
    constant += 0.5 * math.log(kappa) - _HALF_LOG_TWO_PI
    return constant + top + math.log(total)


@inner
def _log_ndtr(z: float) -> float:
    r"""Return :math:`\log \Phi(z)`, far below by its asymptotic series."""
    if z > -20.0:
        return math.log(0.5 * math.erfc(-z * math.sqrt(0.5)))
    inverse = 1.0 / (z * z)
    series = -inverse * (1.0 - inverse * (3.0 - inverse * (15.0 - 105.0 * inverse)))
    return -0.5 * z * z - _HALF_LOG_TWO_PI - math.log(-z) + math.log1p(series)


@compile_columns.register
def _(component: CensoredNormal, *data: Any) -> None:
    """Each column has its own limits: cells are points of the tables below."""


@compile_family.register
def _(component: CensoredNormal, data: np.ndarray, num_slots: int, num_points: int) -> CensoredTables:
    rules = [np.concatenate([nodes, weights[None]]) for nodes, weights in map(_quadrature, _NODES)]
    return CensoredTables(
        hyper=hyper_array(component),
        limits=np.array(component.limits),
        moments=component.moments(torch.from_numpy(data)).numpy(),
        nodes=np.ascontiguousarray(np.concatenate(rules, 1)),
        begin=np.cumsum([0, *(one.shape[1] for one in rules)]),
        sums=np.zeros((num_slots, 5)),
        log_totals=np.zeros(num_slots),
        at_limits=np.full((num_slots, 2), np.nan),
        modes=np.zeros((num_slots, 2)),
        alone=np.full(2 * num_points + 2, np.nan),
        mode=np.zeros(6),
    )
