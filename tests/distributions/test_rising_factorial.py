import math
from fractions import Fraction

import pytest
import torch

from pyroclust.distributions.rising_factorial import log_rising, sum_of_inverses

DOUBLE = {"dtype": torch.float64}
STARTS = [1e-9, 0.3, 1.0, 9.75, 10.0, 123.4, 1e6, 1e15]


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("count", [0, 1, 2, 7, 40])
def test_whole_counts_agree_with_exact_products(start: float, count: int) -> None:
    factors = [Fraction(start) + i for i in range(count)]
    product, inverses = math.prod(factors, start=Fraction(1)), sum((1 / one for one in factors), Fraction(0))
    log_product = math.log(product.numerator) - math.log(product.denominator)
    x = torch.tensor(start, **DOUBLE)
    # The logs of numerator and denominator lose digits where they nearly cancel.
    assert log_rising(x, count).item() == pytest.approx(log_product, rel=2e-14, abs=1e-12)
    assert sum_of_inverses(x, count).item() == pytest.approx(float(inverses), rel=2e-15, abs=0)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("count", [1e-12, 1e-3, 0.5])
def test_small_counts_keep_their_digits(start: float, count: float) -> None:
    """A product of two rising factorials of halves is one of the whole."""
    x, n = torch.tensor(start, **DOUBLE), torch.tensor(count, **DOUBLE)
    whole = log_rising(x, n)
    halves = log_rising(x, n / 2) + log_rising(x + n / 2, n / 2)
    assert halves.item() == pytest.approx(whole.item(), rel=1e-12, abs=1e-28)
    # x^n is exact to first order in n for large x, and Gamma(x + n) / Gamma(x) is near n / x + ... for small.
    if start >= 1e6:
        assert whole.item() == pytest.approx(count * math.log(start), rel=1e-6)


def test_shapes_zeros_and_gradients() -> None:
    zero = torch.zeros((), **DOUBLE)
    assert log_rising(zero, 3.0).isneginf()
    assert log_rising(zero, 0.0) == 0
    assert log_rising(torch.ones(2, 1), torch.ones(3)).shape == (2, 3)
    assert log_rising(torch.ones(2), 1.0).dtype == torch.float64
    x = torch.tensor([0.5, 9.5, 30.0], requires_grad=True, **DOUBLE)
    n = torch.tensor([2.5, 7.0, 1.0], requires_grad=True, **DOUBLE)
    assert torch.autograd.gradcheck(log_rising, (x, n))
    assert torch.autograd.gradcheck(sum_of_inverses, (x, n))


def test_derivative_of_the_log_is_the_sum_of_inverses() -> None:
    x = torch.tensor([0.02, 3.0, 9.99, 10.0, 250.0], requires_grad=True, **DOUBLE)
    (slope,) = torch.autograd.grad(log_rising(x, 12.0).sum(), x)
    torch.testing.assert_close(slope, sum_of_inverses(x, 12.0).detach(), rtol=1e-12, atol=0)
