"""The inverse Wishart distribution, over Cholesky factors."""

import math
from typing import Any

import torch
from pyro.distributions import Gamma, TorchDistribution
from torch import Size, Tensor
from torch.distributions import constraints

from pyroclust.distributions.cholesky_factor import cholesky_factor

__all__ = ["InverseWishartCholesky"]


class InverseWishartCholesky(TorchDistribution):
    r"""The lower Cholesky factor L of an inverse Wishart matrix.

    .. math::
        L L^T \sim IW(\nu, C C^T), \qquad
        p(L) = 2^D \prod_{i=1}^D L_{ii}^{D - i + 1} \; p_{IW}(L L^T)

    Draws cost one triangular solve: with U the upper Bartlett factor of a Wishart(nu, I), :math:`C U^{-T}`
    is lower triangular and has this law. Nothing is factorised, no draw is singular.

    Args:
        dof: degrees of freedom nu, above D - 1, ``batch_shape``.
        scale_tril: lower Cholesky factor C of the scale matrix, ``(*batch_shape, D, D)``.

    Shape:
        event_shape: ``(D, D)``.

    Example:
        >>> law = InverseWishartCholesky(torch.tensor(3.0), torch.eye(1))
        >>> law.log_prob(torch.ones(1, 1)).exp().item()  # twice the inverse gamma(3/2, 1/2) density
        0.483...

    References:
        Muirhead (1982), Aspects of Multivariate Statistical Theory, theorems 2.1.9 and 3.2.14.
        https://doi.org/10.1002/9780470316559
    """

    arg_constraints = {"dof": constraints.positive, "scale_tril": constraints.lower_cholesky}  # noqa: RUF012
    support = cholesky_factor
    has_rsample = True

    def __init__(self, dof: Tensor, scale_tril: Tensor) -> None:
        batch = torch.broadcast_shapes(dof.shape, scale_tril.shape[:-2])
        self.dof, self.scale_tril = dof.expand(batch), scale_tril.expand(*batch, *scale_tril.shape[-2:])
        super().__init__(batch, scale_tril.shape[-2:], validate_args=False)

    def expand(self, batch_shape: Any, _instance: Any = None) -> "InverseWishartCholesky":
        """Return the same distribution with a larger batch shape."""
        batch = Size(batch_shape)
        return InverseWishartCholesky(
            self.dof.expand(batch), self.scale_tril.expand(*batch, *self.event_shape)
        )

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Draw factors, ``(*sample_shape, *batch_shape, D, D)``."""
        shape, dim = self._extended_shape(Size(sample_shape)), self.event_shape[-1]
        noise = torch.randn(shape, dtype=self.scale_tril.dtype, device=self.scale_tril.device)
        half_dof = 0.5 * (self.dof.unsqueeze(-1) - torch.arange(dim - 1, -1, -1, device=noise.device))
        chi = Gamma(half_dof, half_dof.new_full((), 0.5), validate_args=False)
        diagonal = chi.expand(shape[:-1]).rsample().sqrt()
        upper = noise.triu(1) + torch.diag_embed(diagonal)
        return torch.linalg.solve_triangular(upper.mT, self.scale_tril, upper=False, left=False)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the log-density of factors in nats, in O(D^3)."""
        dim = self.event_shape[-1]
        log_scale = self.scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        powers = torch.arange(1, dim + 1, dtype=value.dtype, device=value.device) + self.dof.unsqueeze(-1)
        log_diagonal = (powers * value.diagonal(dim1=-2, dim2=-1).log()).sum(-1)
        ratio = torch.linalg.solve_triangular(value, self.scale_tril.to(value), upper=False)
        log_norm = 0.5 * self.dof * dim * math.log(2) + torch.mvlgamma(0.5 * self.dof, dim)
        return (
            self.dof * log_scale
            + dim * math.log(2)
            - log_norm
            - log_diagonal
            - 0.5 * ratio.square().sum((-1, -2))
        )
