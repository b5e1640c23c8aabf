"""The inverse Wishart law of Cholesky factors, and the bijection of these, which NUTS moves through."""

import pytest
import torch
from scipy import stats
from torch.distributions import biject_to, transform_to

from pyroclust.distributions import InverseWishartCholesky
from pyroclust.distributions.families.inverse_wishart import CholeskyFactorTransform, cholesky_factor

SCALES = {
    1: torch.tensor([[1.3]]).double(),
    2: torch.tensor([[0.8, 0.0], [0.5, 1.5]]).double(),
    3: torch.tensor([[1.0, 0.0, 0.0], [-0.7, 0.4, 0.0], [0.2, 0.6, 2.0]]).double(),
}
every_size = pytest.mark.parametrize("dim", SCALES)


@every_size
def test_density_is_that_of_the_covariance_times_the_jacobian(dim):
    torch.manual_seed(0)
    scale, dof = SCALES[dim], torch.tensor(dim + 1.5).double()
    law = InverseWishartCholesky(dof, scale)
    factor = law.sample()
    reference = stats.invwishart(df=dof.item(), scale=(scale @ scale.T).numpy())
    entries = torch.tril_indices(dim, dim)

    def lower(values):
        full = factor.new_zeros(dim, dim).index_put((entries[0], entries[1]), values)
        return (full @ full.T)[entries[0], entries[1]]

    jacobian = torch.autograd.functional.jacobian(lower, factor[entries[0], entries[1]])
    expected = reference.logpdf((factor @ factor.T).numpy()) + torch.linalg.slogdet(jacobian)[1].item()
    assert law.log_prob(factor).item() == pytest.approx(float(expected), abs=1e-9)


@every_size
def test_draws_have_the_law_of_scipy(dim):
    torch.manual_seed(1)
    scale, dof = SCALES[dim], dim + 2.5
    factor = InverseWishartCholesky(torch.tensor(dof).double(), scale).sample((4000,))
    assert bool(InverseWishartCholesky.support.check(factor).all())
    drawn = (factor @ factor.mT).numpy()
    reference = stats.invwishart(df=dof, scale=(scale @ scale.T).numpy()).rvs(4000, random_state=2)
    reference = reference.reshape(4000, dim, dim)
    for i in range(dim):
        for j in range(i + 1):
            assert stats.ks_2samp(drawn[:, i, j], reference[:, i, j]).pvalue > 1e-4
    ratio = drawn[:, 0, 0] / drawn[:, -1, -1], reference[:, 0, 0] / reference[:, -1, -1]
    assert dim == 1 or stats.ks_2samp(*ratio).pvalue > 1e-4


def test_shapes_and_gradients():
    scale = SCALES[2].clone().requires_grad_()
    law = InverseWishartCholesky(torch.tensor([3.0, 4.0]).double(), scale)
    assert (law.batch_shape, law.event_shape) == ((2,), (2, 2))
    drawn = law.expand((3, 2)).rsample((5,))
    assert drawn.shape == (5, 3, 2, 2, 2)
    assert law.log_prob(drawn).shape == (5, 3, 2)
    drawn.sum().backward()
    assert scale.grad.isfinite().all()


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
