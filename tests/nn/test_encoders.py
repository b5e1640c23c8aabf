"""Encoders: each point on its own, differences kept by the first weights, and sizes that are refused."""

import pytest
import torch
from torch import Tensor, nn

from pyroclust.infer import simulate
from pyroclust.models import DeformedGlyphs, SpikeWaveforms, StochasticBlockModel, gaussian2d
from pyroclust.nn import GatedGraphEncoder, GraphEncoder, ImageEncoder, VectorEncoder, WaveformEncoder
from pyroclust.partitions.adjacency import in_order


def small_images() -> tuple[nn.Module, Tensor]:
    return ImageEncoder(8, 8, dim=6, channels=4), simulate(DeformedGlyphs(8), torch.empty(2, 30, 8, 8))[0]


def large_images() -> tuple[nn.Module, Tensor]:
    return ImageEncoder(28, 28, dim=6, channels=4), simulate(DeformedGlyphs(28), torch.empty(2, 30, 28, 28))[
        0
    ]


def waveforms() -> tuple[nn.Module, Tensor]:
    return WaveformEncoder(7, 32, dim=6, width=8), simulate(SpikeWaveforms(), torch.empty(2, 30, 7, 32))[0]


def rows_of_many_columns() -> tuple[nn.Module, Tensor]:
    return VectorEncoder(64, dim=6, width=8, scale=10.0), simulate(gaussian2d(64), torch.empty(2, 30, 64))[0]


def rows_of_one_column() -> tuple[nn.Module, Tensor]:
    return VectorEncoder(1, dim=6, width=8, scale=10.0), simulate(gaussian2d(1), torch.empty(2, 30, 1))[0]


MAKERS = [small_images, large_images, waveforms, rows_of_many_columns, rows_of_one_column]


@pytest.fixture(params=MAKERS)
def case(request: pytest.FixtureRequest) -> tuple[nn.Module, Tensor]:
    torch.manual_seed(0)
    return request.param()


def test_points_are_encoded_one_by_one(case: tuple[nn.Module, Tensor]) -> None:
    encoder, data = case
    vectors = encoder(data)
    assert vectors.shape == (2, 30, 6)
    order = torch.randperm(30)
    torch.testing.assert_close(encoder(data[:, order]), vectors[:, order])
    torch.testing.assert_close(encoder(data[1:, 3:4]), vectors[1:, 3:4])
    torch.testing.assert_close(encoder(data.flatten(2)), vectors)


def test_first_weights_keep_the_differences_between_points(case: tuple[nn.Module, Tensor]) -> None:
    encoder, data = case
    spread = encoder(data).std((0, 1))
    assert (spread > 0.1).all()
    assert (spread < 10).all()


def test_all_weights_learn(case: tuple[nn.Module, Tensor]) -> None:
    encoder, data = case
    encoder(data).square().sum().backward()
    assert all(bool(one.grad.abs().sum() > 0) for one in encoder.parameters())


@pytest.mark.parametrize(
    ("encoder", "shape", "expected"),
    [
        (ImageEncoder(8, 6), (2, 5, 6, 8), "expected .B, N, 8, 6. or .B, N, 48."),
        (WaveformEncoder(7, 32), (2, 5, 32, 7), "expected .B, N, 7, 32. or .B, N, 224."),
        (WaveformEncoder(7, 32), (2, 5, 6, 32), "expected .B, N, 7, 32."),
        (VectorEncoder(4), (2, 5, 3), "expected .B, N, 4."),
    ],
)
def test_points_of_another_shape_are_refused(
    encoder: nn.Module, shape: tuple[int, ...], expected: str
) -> None:
    with pytest.raises(ValueError, match=expected):
        encoder(torch.zeros(shape))


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: ImageEncoder(3, 8), "at least 4 pixels"),
        (lambda: ImageEncoder(8, 8, dim=0), "dim is 0"),
        (lambda: WaveformEncoder(0, 32), "num_channels is 0"),
        (lambda: WaveformEncoder(2, 3), "num_samples is 3"),
        (lambda: WaveformEncoder(2, 8, scale=0.0), "scale is 0.0"),
        (lambda: VectorEncoder(65), "num_columns is 65, expected at most 64"),
        (lambda: VectorEncoder(3, num_blocks=0), "num_blocks is 0"),
        (lambda: VectorEncoder(3, scale=-1.0), "scale is -1.0"),
    ],
)
def test_bad_sizes_are_named(make, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        make()


@pytest.mark.parametrize("kind", [GraphEncoder, GatedGraphEncoder])
def test_vectors_of_nodes_follow_the_nodes(kind) -> None:
    torch.manual_seed(0)
    graphs = simulate(StochasticBlockModel(), torch.empty(2, 30, 30))[0]
    encoder, order = kind(6, width=12, num_layers=2, num_eigenvectors=6), torch.rand(2, 30).argsort(-1)
    there = encoder(in_order(graphs, order))
    here = encoder(graphs).gather(1, order.unsqueeze(-1).expand(there.shape))
    torch.testing.assert_close(there, here, atol=1e-3, rtol=1e-3)
    there.square().sum().backward()
    assert all(bool(one.grad.abs().sum() > 0) for one in encoder.parameters())
    full = torch.ones(1, 9, 9) - torch.eye(9)
    for graphs in (torch.zeros(1, 9, 9), full, torch.zeros(1, 1, 1)):
        assert encoder(graphs).isfinite().all()
