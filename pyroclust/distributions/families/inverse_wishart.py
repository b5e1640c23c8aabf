"""Covariances by their Cholesky factors: the inverse Wishart law, and the constraint that samplers see."""

import math
from typing import Any

import torch
from pyro.distributions import Gamma, TorchDistribution
from torch import Size, Tensor
from torch.distributions import Transform, biject_to, constraints, transform_to

from pyroclust.distributions.points import broadcast_shapes


def cholesky(matrix: Tensor) -> Tensor:
    """Return lower Cholesky factors, ``(..., D, D)``."""
    try:
        return torch.linalg.cholesky(matrix)
    except torch.linalg.LinAlgError:
        raise ValueError(
            "data lies too far from 0, or its columns differ too much in scale, for covariances in double "
            "precision: centre and rescale the columns, without --raw on the command line"
        ) from None


class CholeskyFactor(type(constraints.lower_cholesky)):  # type: ignore[misc]
    """Torch's constraint ``lower_cholesky`` with a bijection, which NUTS needs."""


cholesky_factor = CholeskyFactor()


class CholeskyFactorTransform(Transform):
    """Map vectors to lower Cholesky factors: the triangle row by row, the diagonal through exp."""

    domain = constraints.real_vector
    codomain = cholesky_factor
    bijective = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CholeskyFactorTransform)

    def __hash__(self) -> int:
        return hash(CholeskyFactorTransform)

    def _call(self, x: Tensor) -> Tensor:
        dim = _dim(x.shape[-1])
        rows, columns = torch.tril_indices(dim, dim, device=x.device)
        place = torch.zeros(dim, dim, dtype=torch.int64, device=x.device)
        place[rows, columns] = torch.arange(len(rows), device=x.device)
        square = x[..., place]
        return square.tril(-1) + square.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        dim = y.shape[-1]
        square = y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()
        rows, columns = torch.tril_indices(dim, dim, device=y.device)
        return square[..., rows, columns]

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return y.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def forward_shape(self, shape: Any) -> Size:
        dim = _dim(shape[-1])
        return Size((*shape[:-1], dim, dim))

    def inverse_shape(self, shape: Any) -> Size:
        return Size((*shape[:-2], shape[-1] * (shape[-1] + 1) // 2))


def _dim(length: int) -> int:
    return (math.isqrt(8 * length + 1) - 1) // 2


@biject_to.register(CholeskyFactor)
@transform_to.register(CholeskyFactor)
def _transform_to_cholesky_factor(_: CholeskyFactor) -> CholeskyFactorTransform:
    return CholeskyFactorTransform()


class InverseWishartCholesky(TorchDistribution):
    r"""The lower Cholesky factor L of an inverse Wishart matrix.

    .. math::
        L L^T \sim IW(\nu, C C^T), \qquad
        p(L) = 2^D \prod_{i=1}^D L_{ii}^{D - i + 1} \; p_{IW}(L L^T)

    A draw is :math:`C U^{-T}` with U the upper Bartlett factor of a Wishart(nu, I): one triangular solve.

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
        batch = broadcast_shapes(dof.shape, scale_tril.shape[:-2])
        self.dof, self.scale_tril = dof.expand(batch), scale_tril.expand(*batch, *scale_tril.shape[-2:])
        super().__init__(batch, scale_tril.shape[-2:], validate_args=False)

    def expand(self, batch_shape: Any, _instance: Any = None) -> "InverseWishartCholesky":
        batch = Size(batch_shape)
        return InverseWishartCholesky(
            self.dof.expand(batch), self.scale_tril.expand(*batch, *self.event_shape)
        )

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        shape, dim = self._extended_shape(Size(sample_shape)), self.event_shape[-1]
        noise = torch.randn(shape, dtype=self.scale_tril.dtype, device=self.scale_tril.device)
        half_dof = 0.5 * (self.dof.unsqueeze(-1) - torch.arange(dim - 1, -1, -1, device=noise.device))
        chi = Gamma(half_dof, half_dof.new_full((), 0.5), validate_args=False)
        diagonal = chi.expand(shape[:-1]).rsample().sqrt()
        upper = noise.triu(1) + torch.diag_embed(diagonal)
        return torch.linalg.solve_triangular(upper.mT, self.scale_tril, upper=False, left=False)

    def log_prob(self, value: Tensor) -> Tensor:
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
