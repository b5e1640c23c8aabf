"""Looking ahead compiled, for draws, is what looking ahead in torch is, for gradients."""

import numpy as np
import pytest
import torch

from pyroclust.nn.compiled.kernels import kernel_sums
from pyroclust.nn.features.look_ahead import KernelLookAhead


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("second_moments", [False, True])
@pytest.mark.parametrize("num_points", [2, 300, 2500])
def test_compiled_looks_are_those_of_torch(dim: int, num_points: int, *, second_moments: bool) -> None:
    torch.manual_seed(num_points)
    look = KernelLookAhead(dim, (0.3, 1.0, 4.0), second_moments=second_moments)
    positions, places = torch.randn(1, num_points, dim), torch.randn(7, 1, dim)
    whiten, steps = torch.randn(7, 1, dim, dim).tril(), torch.tensor([num_points // 3])
    expected = look(positions.expand(7, -1, -1), places, whiten, steps)
    with torch.no_grad():
        found = look(positions, places, whiten, steps)
    torch.testing.assert_close(found, expected.detach(), rtol=2e-5, atol=2e-5)


def test_gradients_still_reach_the_bandwidths() -> None:
    look = KernelLookAhead(2, (1.0,))
    look(torch.randn(1, 20, 2), torch.randn(3, 1, 2), torch.eye(2), torch.tensor([4])).sum().backward()
    assert look.log_bandwidths.grad is not None
    assert bool(look.log_bandwidths.grad.any())


def test_weights_far_away_are_those_of_the_lowest_exponent() -> None:
    far = np.full((1, 1), 1e6, np.float32)
    one = np.ones((1, 1), np.float32)
    sums = kernel_sums(far, one, one[None], precision=one[0], columns=np.zeros((2, 0), np.int64))
    assert sums[0, 0, 0] == pytest.approx(np.exp(-80.0), rel=1e-5)


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    points, places = (
        rng.normal(size=(700, 2)).astype(np.float32),
        rng.normal(size=(500, 2)).astype(np.float32),
    )
    whiten = np.broadcast_to(np.eye(2, dtype=np.float32), (500, 2, 2))
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(
            "pyroclust.nn.compiled.filter_tables.num_threads", lambda threads=threads: threads
        )
        columns = np.array([[0, 0, 1], [0, 1, 1]])
        found.append(kernel_sums(points, places, whiten, precision=np.ones(2, np.float32), columns=columns))
    np.testing.assert_array_equal(*found)
