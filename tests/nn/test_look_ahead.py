"""Kernels around points: their formula, thinned, and compiled for draws as in torch for gradients."""

import numpy as np
import pytest
import torch

from pyroclust.guides import NeuralClusteringProcess
from pyroclust.models import overlap2d
from pyroclust.nn import look_ahead
from pyroclust.nn.look_ahead import KernelLookAhead, KernelSummary, kernel_sums


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
        monkeypatch.setattr("pyroclust.nn.compiled.filter.num_threads", lambda threads=threads: threads)
        columns = np.array([[0, 0, 1], [0, 1, 1]])
        found.append(kernel_sums(points, places, whiten, precision=np.ones(2, np.float32), columns=columns))
    np.testing.assert_array_equal(*found)


def test_kernels_follow_their_formula() -> None:
    kernels = KernelSummary(2, (0.5, 2.0))
    offsets, mask = torch.randn(2, 5, 2), torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    features, shift = kernels(offsets, mask)
    for row, size in ((0, 5), (1, 3)):
        own = offsets[row, :size]
        for place, h in enumerate((0.5, 2.0)):
            weight = (-own.square().sum(-1) / (2 * h**2)).exp()
            mean = (weight.unsqueeze(-1) * own).sum(0) / (1 + weight.sum())
            torch.testing.assert_close(features[row, place], weight.sum().log1p())
            torch.testing.assert_close(features[row, 2 + 2 * place : 4 + 2 * place], mean / h)
        torch.testing.assert_close(shift[row], mean)


def test_kernels_around_points_count_the_others_and_thin_large_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = KernelSummary(2, (1.0,))
    positions = torch.randn(2, 400, 2)
    full = kernels.around_points(positions)
    distance = torch.cdist(positions, positions)
    torch.testing.assert_close(
        full[..., 0], (-0.5 * distance.square()).exp().sum(-1).log1p(), rtol=0, atol=1e-4
    )
    monkeypatch.setattr(look_ahead, "_PAIRS_AT_ONCE", 1000)
    torch.testing.assert_close(kernels.around_points(positions), full)
    gradient = [
        torch.autograd.grad(one.sum(), kernels.log_bandwidths)[0]
        for one in (full, kernels.around_points(positions))
    ]
    torch.testing.assert_close(*gradient)
    monkeypatch.setattr(look_ahead, "_REFERENCES", 200)
    thinned = kernels.around_points(positions)
    assert (thinned[..., 0] - full[..., 0]).abs().mean() < 0.1
    assert not torch.allclose(thinned, full)


@torch.no_grad()
@pytest.mark.parametrize("references", [3, 7])
def test_thinned_look_ahead_is_the_same_in_sampling_and_teacher_forcing(
    monkeypatch: pytest.MonkeyPatch, references: int
) -> None:
    monkeypatch.setattr(look_ahead, "_REFERENCES", references)
    guide = NeuralClusteringProcess(overlap2d()).eval()
    for parameter in guide.parameters():
        parameter += 0.1 * torch.randn_like(parameter)
    for num_points in (1, 2, 8, 21):
        posterior = guide.posterior(3 * torch.randn(num_points, 2))
        draws, log_prob = posterior.sample_and_log_prob((10,))
        torch.testing.assert_close(posterior.log_prob(draws), log_prob, rtol=0, atol=1e-5)
