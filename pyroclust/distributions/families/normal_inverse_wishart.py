"""Normal components with unknown mean and full covariance."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from pyro import sample as site
from pyro.distributions import Gamma, MultivariateNormal, TorchDistribution
from torch import Tensor

from pyroclust.core.compiling import inner
from pyroclust.core.registry import register
from pyroclust.distributions.compiled.protocol import (
    ROWS_AT_ONCE,
    compile_family,
    compile_methods,
    draw_log_gamma,
    hyper_array,
)
from pyroclust.distributions.families.component import Component, ConjugateComponent, number, per_point
from pyroclust.distributions.families.inverse_wishart import InverseWishartCholesky, cholesky
from pyroclust.distributions.families.normal_inverse_gamma import LARGE
from pyroclust.distributions.hyperparameters import Hyperparameter
from pyroclust.partitions import most_clusters


@register(Component)
class NormalInverseWishart(ConjugateComponent):
    r"""Normal clusters with full covariance.

    .. math::
        \Sigma_k \sim IW(\nu, \psi I), \quad \mu_k \sim N(m, \Sigma_k / \kappa), \quad
        x_i \sim N(\mu_k, \Sigma_k), \qquad E[\Sigma_k] = \psi I / (\nu - D - 1)

    Parameters of a cluster: ``"loc"`` ``(D,)`` and ``"scale_tril"`` ``(D, D)``, the lower Cholesky factor of
    its covariance.

    Args:
        dim: dimension D.
        kappa: prior pseudo-observations of the mean.
        dof: degrees of freedom, above D - 1.
        scale: psi, in squared data units.
        mean: prior mean m of the cluster means in every column.

    Raises:
        ValueError: if kappa or scale is not positive, or dof is not above D - 1.

    Example:
        >>> family = NormalInverseWishart(2, 0.5, dof=4.0, scale=1.0)
        >>> family.log_marginal(torch.tensor(1.0), family.moments(torch.zeros(2))).item()
        -1.83...

    References:
        Murphy (2007), as :class:`NormalInverseGamma`, section 9.
    """

    hyper_names = ("mean", "kappa", "dof", "scale")
    reach = 1e6

    def __init__(
        self,
        dim: int,
        kappa: Hyperparameter,
        *,
        dof: Hyperparameter,
        scale: Hyperparameter,
        mean: Hyperparameter = 0.0,
    ) -> None:
        super().__init__(dim)
        self.mean, self.kappa = number(mean), number(kappa)
        self.dof, self.scale = number(dof), number(scale)
        self._check_hyperparameters()

    def _check_hyperparameters(self) -> None:
        self._check_above("mean", -math.inf)
        self._check_positive("kappa", "scale")
        self._check_above("dof", self.dim - 1)

    @property
    def typical_scale(self) -> float:
        """Square root of psi / (nu - D + 2), close to the median variance of a column."""
        return math.sqrt(self._typical("scale") / (self._typical("dof") - self.dim + 2))

    def parameters(self) -> dict[str, Tensor]:
        dof, scale, kappa = (
            self.hyper(name).to(torch.get_default_dtype()) for name in ("dof", "scale", "kappa")
        )
        root = scale.sqrt()[..., None, None] * torch.eye(self.dim, device=scale.device)
        factor = site("scale_tril", InverseWishartCholesky(dof, root))
        spread = factor / kappa.sqrt()[..., None, None]
        law = MultivariateNormal(self.per_column("mean"), scale_tril=spread, validate_args=False)
        return {"loc": site("loc", law), "scale_tril": factor}

    def likelihood(self, parameters: Mapping[str, Tensor]) -> TorchDistribution:
        return MultivariateNormal(parameters["loc"], scale_tril=parameters["scale_tril"], validate_args=False)

    def moments(self, data: Tensor) -> Tensor:
        """Return x and its outer product, ``(..., D + D^2)``."""
        data = data.double()
        return torch.cat([data, (data.unsqueeze(-1) * data.unsqueeze(-2)).flatten(-2)], -1)

    def _posterior(self, counts: Tensor, moments: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return kappa, the mean less m, and the Cholesky factor of the scale matrix of the posterior."""
        kappa, mean, scatter = self._scatter(counts, moments)
        identity = torch.eye(self.dim, dtype=mean.dtype, device=mean.device)
        return kappa, mean, cholesky(scatter + self.hyper("scale", trailing=3) * identity)

    def _scatter(self, counts: Tensor, moments: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return kappa, the mean less m, and what points add to the scale matrix."""
        counts, moments = self.over_batch(counts, moments)
        kappa, prior_mean = self.hyper("kappa") + counts, self.hyper("mean", trailing=2)
        total = moments[..., : self.dim]
        shift = counts.unsqueeze(-1) * prior_mean
        mean = (total - shift) / kappa.unsqueeze(-1)
        scatter = moments[..., self.dim :].unflatten(-1, (self.dim, self.dim))
        half = (prior_mean * (total - 0.5 * shift)).unsqueeze(-1)
        scatter = scatter - half - half.mT - kappa[..., None, None] * mean.unsqueeze(-1) * mean.unsqueeze(-2)
        return kappa, mean, scatter

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        counts, moments = self.over_batch(counts, moments)
        kappa, _, factor = self._posterior(counts, moments)
        log_det = 2 * factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        dof = self.hyper("dof")
        prior = 0.5 * dof * self.dim * self.hyper("scale").log()
        return self._constant(counts, kappa) + prior - 0.5 * (dof + counts) * log_det

    def log_marginal_of(self, name: str, counts: Tensor, moments: Tensor) -> Callable[[Tensor], Tensor]:
        """Return the log marginal likelihood of blocks as a function of a hyperparameter ``(...)``.

        Of the scale it takes eigenvalues once, and then O(D) a block and value.
        """
        if name != "scale":
            return super().log_marginal_of(name, counts, moments)
        counts, moments = counts.double(), moments.double()
        kappa, _, scatter = self._scatter(counts, moments)
        # Sums over the first dimension are many times as fast as over a short last one.
        roots = _eigenvalues(scatter).clamp_min(0.0).movedim(-1, 0).contiguous()
        constant, dof = self._constant(counts, kappa), self.hyper("dof")

        def blocks(value: Tensor) -> Tensor:
            log_det = (roots + value.unsqueeze(-1)).log().sum(0)
            prior = 0.5 * dof * self.dim * value.log().unsqueeze(-1)
            return constant + prior - 0.5 * (dof + counts) * log_det

        return blocks

    def _constant(self, counts: Tensor, kappa: Tensor) -> Tensor:
        """Return what the log marginal likelihood has without the scale."""
        prior_kappa, half_dof = self.hyper("kappa"), 0.5 * self.hyper("dof")
        return (
            torch.mvlgamma(half_dof + 0.5 * counts, self.dim)
            - torch.mvlgamma(half_dof, self.dim)
            + 0.5 * self.dim * (prior_kappa.log() - kappa.log() - counts * math.log(math.pi))
        )

    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Pack the predictive Student-t: mean D, whitening matrix D^2, power, log normaliser."""
        counts, moments = self.over_batch(counts, moments)
        kappa, mean, factor = self._posterior(counts, moments)
        identity = torch.eye(self.dim, dtype=mean.dtype, device=mean.device).expand_as(factor)
        shrink = (kappa / (kappa + 1)).sqrt()
        whiten = torch.linalg.solve_triangular(factor, identity, upper=False) * shrink[..., None, None]
        power = 0.5 * (self.hyper("dof") + counts + 1)
        log_norm = (
            power.lgamma()
            - (power - 0.5 * self.dim).lgamma()
            - 0.5 * self.dim * math.log(math.pi)
            + whiten.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        )
        mean = self.hyper("mean", trailing=2) + mean
        return torch.cat([mean, whiten.flatten(-2), torch.stack([power, log_norm], -1)], -1)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        difference = data - parameters[..., : self.dim]
        whiten = parameters[..., self.dim : -2].unflatten(-1, (self.dim, self.dim))
        distance = (whiten * difference.unsqueeze(-2)).sum(-1).square().sum(-1)
        return parameters[..., -1] - parameters[..., -2] * distance.log1p()

    def sample_parameters(self, counts: Tensor, moments: Tensor) -> dict[str, Tensor]:
        kappa, mean, factor = self._posterior(counts, moments)
        root = InverseWishartCholesky(self.hyper("dof") + counts, factor).sample()
        noise = (root @ torch.randn_like(mean).unsqueeze(-1)).squeeze(-1) / kappa.sqrt().unsqueeze(-1)
        return {"loc": self.hyper("mean", trailing=2) + mean + noise, "scale_tril": root}

    def sample(self, assignments: Tensor) -> Tensor:
        """Draw covariances by Bartlett's decomposition and means, then points.

        If A is Bartlett's lower factor of a Wishart(nu, I), then (A A^T)^-1 is inverse Wishart and A^-T is a
        square root of it.
        """
        clusters = (*assignments.shape[:-1], most_clusters(assignments))
        dtype, device = torch.get_default_dtype(), assignments.device
        half_dof = 0.5 * (self.hyper("dof", trailing=2) - torch.arange(self.dim, device=device))
        chi = Gamma(half_dof.to(dtype), torch.tensor(0.5, dtype=dtype, device=device), validate_args=False)
        diagonal = chi.expand((*clusters, self.dim)).sample().sqrt()
        noise = torch.randn(*clusters, self.dim, self.dim, device=device)
        factor = noise.tril(-1) + torch.diag_embed(diagonal)
        identity = torch.eye(self.dim, device=device).expand_as(factor)
        inverse = torch.linalg.solve_triangular(factor, identity, upper=False).mT
        root = (self.hyper("scale", trailing=3).sqrt() * inverse).to(dtype)
        mean = (root @ torch.randn(*clusters, self.dim, 1, device=device)).squeeze(-1)
        mean = self.hyper("mean", trailing=2) + mean / self.hyper("kappa", trailing=2).sqrt()
        centre, spread = per_point(torch.cat([mean, root.flatten(-2).to(mean)], -1), assignments).split(
            [self.dim, self.dim**2], -1
        )
        noise = spread.unflatten(-1, (self.dim, self.dim)) @ torch.randn_like(centre).unsqueeze(-1)
        return (centre + noise.squeeze(-1)).to(dtype)


def _eigenvalues(matrices: Tensor) -> Tensor:
    """Return eigenvalues of symmetric matrices, of two columns without LAPACK, which takes much longer."""
    if matrices.shape[-1] != 2:
        return torch.linalg.eigvalsh(matrices)
    one, other, between = matrices[..., 0, 0], matrices[..., 1, 1], matrices[..., 0, 1]
    middle, apart = (one + other) / 2, torch.hypot((one - other) / 2, between)
    return torch.stack([middle - apart, middle + apart], -1)


_MEAN, _KAPPA, _DOF, _SCALE = range(4)
_LOG_PI = math.log(math.pi)


@inner
def _factorise(tables: Any, sums: np.ndarray, slot: int, kappa: float, mean: np.ndarray) -> float:
    """Write the posterior mean and the Cholesky factor of the posterior scale; return its log determinant."""
    dim, prior_mean = tables.data.shape[1], tables.hyper[_MEAN]
    pull, factor = tables.hyper[_KAPPA] * prior_mean, tables.factor
    for a in range(dim):
        mean[a] = (sums[a] + pull) / kappa
    product, log_product = 1.0, 0.0
    for a in range(dim):
        for b in range(a + 1):
            entry = sums[dim + a * dim + b] + pull * prior_mean - kappa * mean[a] * mean[b]
            if a == b:
                entry = max(entry, 0.0) + tables.hyper[_SCALE]
            for c in range(b):
                entry -= factor[a, c] * factor[b, c]
            if a == b:
                factor[a, a] = math.sqrt(max(entry, 1e-16 * tables.hyper[_SCALE]))
            else:
                factor[a, b] = entry / factor[b, b]
        product *= factor[a, a]
        if product > LARGE or product < 1.0 / LARGE:
            log_product += math.log(product)
            product = 1.0
    return 2.0 * (log_product + math.log(product))


@inner
def _squared_distance(tables: Any, point: int, slot: int) -> float:
    distance = 0.0
    for a in range(tables.data.shape[1]):
        projection = 0.0
        for b in range(a + 1):
            projection += tables.whiten[slot, a, b] * (tables.data[point, b] - tables.mean[slot, b])
        distance += projection * projection
    return distance


@compile_methods
class InverseWishartTables(NamedTuple):
    r"""Tables by cluster size n and cached posteriors of one chain.

    With :math:`\Lambda = L L^\top` the posterior scale and :math:`q = |L^{-1}(x - m)|^2`, the matrix
    determinant lemma gives a point outside the cluster the log predictive density
    :math:`C_n - \frac12 \log|\Lambda| - \frac{\nu_n + 1}{2} \log(1 + r_n q)`, and one inside it
    :math:`C_{n-1} - \frac12 \log|\Lambda| + \frac{\nu_n - 1}{2} \log(1 - s_n q)`. Factors are recomputed only
    for the two clusters of a point that moves, from their sums: no downdate can lose positive definiteness.
    """

    hyper: np.ndarray
    data: np.ndarray
    kappa: np.ndarray
    power: np.ndarray
    constant: np.ndarray
    with_point: np.ndarray
    without_point: np.ndarray
    mean: np.ndarray
    whiten: np.ndarray
    log_det: np.ndarray
    factor: np.ndarray
    block: np.ndarray  # rows at once, (D, 64)
    projection: np.ndarray  # scratch space, (64,)
    tabulated: np.ndarray  # kappa and degrees of freedom of the tables by size, (2,)

    def tabulate(self) -> None:
        dim = self.data.shape[1]
        if self.tabulated[0] == self.hyper[_KAPPA] and self.tabulated[1] == self.hyper[_DOF]:
            return
        self.tabulated[0], self.tabulated[1] = self.hyper[_KAPPA], self.hyper[_DOF]
        for size in range(len(self.kappa)):
            self.kappa[size] = self.hyper[_KAPPA] + size
            self.power[size] = 0.5 * (self.hyper[_DOF] + size)
        for size in range(len(self.constant)):
            ratio = self.kappa[size] / (self.kappa[size] + 1.0)
            power = self.power[size + 1]
            growth = math.lgamma(power) - math.lgamma(power - 0.5 * dim)
            self.constant[size] = growth + 0.5 * dim * (math.log(ratio) - _LOG_PI)
            self.with_point[size] = ratio
            if size > 0:
                self.without_point[size] = self.kappa[size] / self.kappa[size - 1]

    def refresh(self, sums: np.ndarray, slot: int, size: int) -> None:
        factor, whiten = self.factor, self.whiten
        self.log_det[slot] = _factorise(self, sums, slot, self.kappa[size], self.mean[slot])
        for a in range(self.data.shape[1]):
            pivot = 1.0 / factor[a, a]
            for b in range(a):
                entry = 0.0
                for c in range(b, a):
                    entry -= factor[a, c] * whiten[slot, c, b]
                whiten[slot, a, b] = entry * pivot
            whiten[slot, a, a] = pivot

    def log_predictive_without(self, point: int, slot: int, size: int) -> float:
        remaining = 1.0 - self.without_point[size] * _squared_distance(self, point, slot)
        growth = math.log(max(remaining, 1e-16))
        return self.constant[size - 1] - 0.5 * self.log_det[slot] + self.power[size - 1] * growth

    def log_marginal(self, sums: np.ndarray, slot: int, size: int) -> float:
        dim, prior_kappa = self.data.shape[1], self.hyper[_KAPPA]
        half_dof = 0.5 * self.hyper[_DOF]
        # The cache stays as it is, unless a hyperparameter is tried out: then it is refreshed afterwards.
        log_det = _factorise(self, sums, slot, prior_kappa + size, self.mean[slot])
        log_gammas = 0.0
        for a in range(dim):
            log_gammas += math.lgamma(half_dof + 0.5 * (size - a)) - math.lgamma(half_dof - 0.5 * a)
        return (
            log_gammas
            + half_dof * dim * math.log(self.hyper[_SCALE])
            - (half_dof + 0.5 * size) * log_det
            + 0.5 * dim * (math.log(prior_kappa / (prior_kappa + size)) - size * _LOG_PI)
        )

    def log_predictive(self, point: int, slot: int, size: int, floor: float) -> float:
        growth = math.log(1.0 + self.with_point[size] * _squared_distance(self, point, slot))
        return self.constant[size] - 0.5 * self.log_det[slot] - self.power[size + 1] * growth

    def draw_parameters(self, sums: np.ndarray, slot: int, size: int, generator: Any) -> None:
        r"""Draw a root :math:`T L^{-1}` of the precision, :math:`T^\top T` Wishart(nu, I), and the mean."""
        dim, root = self.data.shape[1], self.whiten
        _factorise(self, sums, slot, self.kappa[size], self.mean[slot])
        log_diagonal = 0.0
        for a in range(dim):
            # Row a of T, then solved by the factor from the right.
            chi = draw_log_gamma(self.power[size] - 0.5 * (dim - 1 - a), generator)
            for b in range(a):
                root[slot, a, b] = generator.standard_normal()
            root[slot, a, a] = math.sqrt(2.0) * math.exp(0.5 * chi)
            for b in range(a, -1, -1):
                entry = root[slot, a, b]
                for c in range(b + 1, a + 1):
                    entry -= root[slot, a, c] * self.factor[c, b]
                root[slot, a, b] = entry / self.factor[b, b]
            log_diagonal += math.log(root[slot, a, a])
        self.log_det[slot] = -2.0 * log_diagonal
        # In place of the mean its product with the root, whose noise is independent, less its sign.
        shrink = 1.0 / math.sqrt(self.kappa[size])
        for a in range(dim - 1, -1, -1):
            centre = shrink * generator.standard_normal()
            for b in range(a + 1):
                centre -= root[slot, a, b] * self.mean[slot, b]
            self.mean[slot, a] = centre

    def load_rows(self, rows: Any, count: int) -> None:
        for r in range(count):
            for d in range(self.data.shape[1]):
                self.block[d, r] = self.data[rows[r], d]

    def add_log_densities(self, rows: Any, count: int, slot: int, found: Any) -> None:
        height, projection = 0.5 * self.log_det[slot], self.projection
        for r in range(count):
            found[r] -= height
        for a in range(self.data.shape[1]):
            start = self.mean[slot, a]
            for r in range(count):
                projection[r] = start
            for b in range(a + 1):
                entry, column = self.whiten[slot, a, b], self.block[b]
                for r in range(count):
                    projection[r] += entry * column[r]
            for r in range(count):
                found[r] -= 0.5 * projection[r] * projection[r]

    def add_log_predictives(
        self,
        point: int,
        slots: Any,
        sizes: Any,
        count: int,
        own: int,
        least: float,
        floor: float,
        weights: Any,
    ) -> None:
        for j in range(count):
            slot = slots[j]
            if slot != own and weights[j] >= least:
                weights[j] += _log_predictive(self, point, slot, sizes[slot], floor - weights[j])


_log_predictive = inner(InverseWishartTables.log_predictive)


@compile_family.register
def _(
    component: NormalInverseWishart, data: np.ndarray, num_slots: int, num_points: int
) -> InverseWishartTables:
    dim = data.shape[1]
    return InverseWishartTables(
        hyper=hyper_array(component),
        data=data,
        kappa=np.zeros(num_points + 2),
        power=np.zeros(num_points + 2),
        constant=np.zeros(num_points + 1),
        with_point=np.zeros(num_points + 1),
        without_point=np.zeros(num_points + 1),
        mean=np.zeros((num_slots, dim)),
        whiten=np.zeros((num_slots, dim, dim)),
        log_det=np.zeros(num_slots),
        factor=np.zeros((dim, dim)),
        block=np.zeros((dim, ROWS_AT_ONCE)),
        projection=np.zeros(ROWS_AT_ONCE),
        tabulated=np.full(2, np.nan),
    )
