"""Lower Cholesky factors as a constraint that samplers can map to a plain vector space."""

import math
from typing import Any

import torch
from torch import Size, Tensor
from torch.distributions import Transform, biject_to, constraints, transform_to

__all__ = ["CholeskyFactor", "CholeskyFactorTransform", "cholesky_factor"]


class CholeskyFactor(type(constraints.lower_cholesky)):  # type: ignore[misc]
    """Lower triangular matrices with positive diagonals.

    The constraint ``lower_cholesky`` of torch has no bijection, which NUTS needs; this one has
    :class:`CholeskyFactorTransform`.
    """


cholesky_factor = CholeskyFactor()


class CholeskyFactorTransform(Transform):
    r"""Map vectors to lower Cholesky factors: the triangle row by row, the diagonal through exp.

    .. math:: L_{ij} = u_{i(i+1)/2 + j} \; (i > j), \qquad L_{ii} = \exp u_{i(i+1)/2 + i}

    Shape:
        domain: ``(..., D (D + 1) / 2)``; codomain: ``(..., D, D)``.

    Example:
        >>> CholeskyFactorTransform()(torch.tensor([0.0, 5.0, 0.0])).tolist()
        [[1.0, 0.0], [5.0, 1.0]]
    """

    domain = constraints.real_vector
    codomain = cholesky_factor
    bijective = True

    def __eq__(self, other: object) -> bool:
        """Say whether the other is the same kind of transform; it has no parameters."""
        return isinstance(other, CholeskyFactorTransform)

    def __hash__(self) -> int:
        """Return the same number for all."""
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
        """Return the logarithm of the Jacobian determinant, the sum of the log diagonal, ``(...)``."""
        return y.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def forward_shape(self, shape: Any) -> Size:
        """Return the shape of matrices from that of vectors."""
        dim = _dim(shape[-1])
        return Size((*shape[:-1], dim, dim))

    def inverse_shape(self, shape: Any) -> Size:
        """Return the shape of vectors from that of matrices."""
        return Size((*shape[:-2], shape[-1] * (shape[-1] + 1) // 2))


def _dim(length: int) -> int:
    return (math.isqrt(8 * length + 1) - 1) // 2


@biject_to.register(CholeskyFactor)
@transform_to.register(CholeskyFactor)
def _transform_to_cholesky_factor(_: CholeskyFactor) -> CholeskyFactorTransform:
    return CholeskyFactorTransform()
