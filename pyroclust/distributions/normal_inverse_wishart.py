"""Normal components with unknown mean and full covariance."""

import math

import torch
from torch import Tensor

from pyroclust.distributions.components import ConjugateComponent, per_point
from pyroclust.partitions import num_clusters

__all__ = ["NormalInverseWishart"]


class NormalInverseWishart(ConjugateComponent):
    r"""Normal clusters with full covariance, prior mean 0.

    .. math::
        \Sigma_k \sim IW(\nu, \psi I), \quad \mu_k \sim N(0, \Sigma_k / \kappa), \quad
        x_i \sim N(\mu_k, \Sigma_k)

    With this parametrisation :math:`E[\Sigma_k] = \psi I / (\nu - D - 1)`.

    Args:
        dim: dimension D.
        kappa: prior pseudo-observations of the mean.
        dof: degrees of freedom, above D - 1.
        scale: psi, in squared data units.

    References:
        Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, section 9.
        https://www.cs.ubc.ca/~murphyk/Papers/bayesGauss.pdf
    """

    def __init__(self, dim: int, kappa: float, *, dof: float, scale: float) -> None:
        super().__init__(dim)
        if not (kappa > 0 and scale > 0 and dof > dim - 1):
            raise ValueError(
                f"kappa, scale and dof are {kappa}, {scale} and {dof}, "
                f"expected kappa > 0, scale > 0, dof > {dim - 1}"
            )
        self.kappa, self.dof, self.scale = float(kappa), float(dof), float(scale)

    @property
    def typical_scale(self) -> float:
        """Square root of psi / (nu - D + 2), close to the median variance of a column."""
        return math.sqrt(self.scale / (self.dof - self.dim + 2))

    def moments(self, data: Tensor) -> Tensor:
        """Return x and its outer product, ``(..., D + D^2)``."""
        data = data.double()
        return torch.cat([data, (data.unsqueeze(-1) * data.unsqueeze(-2)).flatten(-2)], -1)

    def _posterior(self, counts: Tensor, moments: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        kappa = self.kappa + counts
        mean = moments[..., : self.dim] / kappa.unsqueeze(-1)
        scatter = moments[..., self.dim :].unflatten(-1, (self.dim, self.dim))
        scatter = scatter - kappa[..., None, None] * mean.unsqueeze(-1) * mean.unsqueeze(-2)
        identity = torch.eye(self.dim, dtype=mean.dtype, device=mean.device)
        return kappa, mean, torch.linalg.cholesky(scatter + self.scale * identity)

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Return the log marginal likelihood of blocks in nats."""
        kappa, _, factor = self._posterior(counts, moments)
        log_det = 2 * factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        dof = self.dof + counts
        return (
            torch.mvlgamma(dof / 2, self.dim)
            - torch.mvlgamma(torch.full_like(dof, self.dof / 2), self.dim)
            + 0.5 * self.dof * self.dim * math.log(self.scale)
            - 0.5 * dof * log_det
            + 0.5 * self.dim * (math.log(self.kappa) - kappa.log() - counts * math.log(math.pi))
        )

    def predictive_parameters(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Pack the predictive Student-t: mean D, whitening matrix D^2, power, log normaliser."""
        kappa, mean, factor = self._posterior(counts, moments)
        identity = torch.eye(self.dim, dtype=mean.dtype, device=mean.device).expand_as(factor)
        shrink = (kappa / (kappa + 1)).sqrt()
        whiten = torch.linalg.solve_triangular(factor, identity, upper=False) * shrink[..., None, None]
        power = 0.5 * (self.dof + counts + 1)
        log_norm = (
            power.lgamma()
            - (power - 0.5 * self.dim).lgamma()
            - 0.5 * self.dim * math.log(math.pi)
            + whiten.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        )
        return torch.cat([mean, whiten.flatten(-2), torch.stack([power, log_norm], -1)], -1)

    def log_predictive(self, data: Tensor, parameters: Tensor) -> Tensor:
        """Return the log predictive density of points in nats."""
        difference = data - parameters[..., : self.dim]
        whiten = parameters[..., self.dim : -2].unflatten(-1, (self.dim, self.dim))
        distance = (whiten * difference.unsqueeze(-2)).sum(-1).square().sum(-1)
        return parameters[..., -1] - parameters[..., -2] * distance.log1p()

    def sample(self, assignments: Tensor) -> Tensor:
        """Draw covariances by Bartlett's decomposition and means, then points.

        If A is Bartlett's lower factor of a Wishart(nu, I), then (A A^T)^-1 is inverse Wishart and A^-T is a
        square root of it.
        """
        clusters = (*assignments.shape[:-1], int(num_clusters(assignments).max()))
        half_dof = 0.5 * (self.dof - torch.arange(self.dim))
        chi = torch.distributions.Gamma(half_dof, torch.tensor(0.5), validate_args=False)
        diagonal = chi.sample(torch.Size(clusters)).sqrt()
        factor = torch.randn(*clusters, self.dim, self.dim).tril(-1) + torch.diag_embed(diagonal)
        identity = torch.eye(self.dim).expand_as(factor)
        root = math.sqrt(self.scale) * torch.linalg.solve_triangular(factor, identity, upper=False).mT
        mean = (root @ torch.randn(*clusters, self.dim, 1)).squeeze(-1) / math.sqrt(self.kappa)
        centre, spread = per_point(torch.cat([mean, root.flatten(-2)], -1), assignments).split(
            [self.dim, self.dim**2], -1
        )
        noise = spread.unflatten(-1, (self.dim, self.dim)) @ torch.randn_like(centre).unsqueeze(-1)
        return centre + noise.squeeze(-1)
