"""The bijection of Cholesky factors, which NUTS moves through."""

import pytest
import torch
from torch.distributions import biject_to, transform_to

from pyroclust.distributions.families.inverse_wishart import CholeskyFactorTransform, cholesky_factor


@pytest.mark.parametrize("dim", [1, 2, 4])
@pytest.mark.parametrize("batch", [(), (3, 2)], ids=len)
def test_there_and_back(dim, batch):
    transform = biject_to(cholesky_factor)
    vector = torch.randn(*batch, dim * (dim + 1) // 2, dtype=torch.float64)
    factor = transform(vector)
    assert factor.shape == transform.forward_shape(vector.shape) == (*batch, dim, dim)
    assert cholesky_factor.check(factor).all()
    assert torch.allclose(transform.inv(factor), vector)
    assert transform.inverse_shape(factor.shape) == vector.shape
    assert torch.equal(factor, transform_to(cholesky_factor)(vector))


@pytest.mark.parametrize("dim", [1, 2, 4])
def test_jacobian(dim):
    """The matrix of derivatives with respect to the entries below and on the diagonal."""
    transform = CholeskyFactorTransform()
    vector = torch.randn(dim * (dim + 1) // 2, dtype=torch.float64)
    rows, columns = torch.tril_indices(dim, dim)
    matrix = torch.autograd.functional.jacobian(lambda u: transform(u)[rows, columns], vector)
    found = transform.log_abs_det_jacobian(vector, transform(vector))
    assert found.item() == pytest.approx(matrix.slogdet().logabsdet.item(), abs=1e-12)


def test_transforms_are_all_alike():
    assert CholeskyFactorTransform() == CholeskyFactorTransform()
    assert CholeskyFactorTransform() != torch.distributions.ExpTransform()
    assert len({CholeskyFactorTransform(), CholeskyFactorTransform()}) == 1
