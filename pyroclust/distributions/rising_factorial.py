"""Differences of log-gamma and digamma functions without cancellation."""

from collections.abc import Sequence

import torch
from torch import Tensor

# From here on the terms below of Stirling's series are exact in double precision.
_LARGE = 10
_LOG_GAMMA = (
    (1, 1 / 12),
    (3, -1 / 360),
    (5, 1 / 1260),
    (7, -1 / 1680),
    (9, 1 / 1188),
    (11, -691 / 360360),
    (13, 1 / 156),
)
_DIGAMMA = (
    (1, -1 / 2),
    (2, -1 / 12),
    (4, 1 / 120),
    (6, -1 / 252),
    (8, 1 / 240),
    (10, -1 / 132),
    (12, 691 / 32760),
    (14, -1 / 12),
)


def log_rising(start: Tensor, count: Tensor | float) -> Tensor:
    r"""Return :math:`\log \Gamma(x + n) / \Gamma(x)`, float64, for real counts too, differentiable in both.

    Stirling's series is subtracted term by term, after a shift of small x: relative error near 1e-15, where
    two log-gamma functions would lose all digits for x much larger than n.
    """
    x, n = _together(start, count)
    none, small = (x == 0) & (n > 0), x < _LARGE
    x = torch.where(x == 0, 1.0, x)
    far = torch.where(small, x + _LARGE, x)
    growth = (n / far).log1p()
    total = n * far.log() + ((far + n - 0.5) * growth - n) + _series(_LOG_GAMMA, far, growth)
    total[small] = total[small] - (n[small] / _steps(x[small])).log1p().sum(0)
    return torch.where(none, -torch.inf, total)


def sum_of_inverses(start: Tensor, count: Tensor | float) -> Tensor:
    r"""Return :math:`\psi(x + n) - \psi(x) = \sum_i 1 / (x + i)`, with the accuracy of :func:`log_rising`."""
    x, n = _together(start, count)
    small = x < _LARGE
    far = torch.where(small, x + _LARGE, x)
    growth = (n / far).log1p()
    total = growth + _series(_DIGAMMA, far, growth)
    near = _steps(x[small])
    total[small] = total[small] + (n[small] / (near * (near + n[small]))).sum(0)
    return total


def _together(start: Tensor, count: Tensor | float) -> tuple[Tensor, Tensor]:
    """Return both in float64, of one shape, on the device of the larger."""
    x, n = start.double(), torch.as_tensor(count).double()
    device = max((x, n), key=torch.Tensor.dim).device
    x, n = torch.broadcast_tensors(x.to(device), n.to(device))
    return x, n


def _steps(x: Tensor) -> Tensor:
    """Return x, x + 1, ... on the way to the range of the series, ``(10, *)``."""
    return x + torch.arange(_LARGE, dtype=x.dtype, device=x.device).unsqueeze(-1)


def _series(terms: Sequence[tuple[int, float]], far: Tensor, growth: Tensor) -> Tensor:
    """Return the sum of c [(x + n)^-p - x^-p] over terms (p, c), where ``growth`` is log(1 + n / x)."""
    total = torch.zeros_like(far)
    for p, c in terms:
        total = total + c * far.pow(-p) * (-p * growth).expm1()
    return total
