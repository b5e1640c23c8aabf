"""What the contexts of the light scorer are made of."""

import torch
from torch import Tensor, nn

from pyroclust.nn import FixedShape, FutureAttention, LightScorer


def decision(scorer: LightScorer, data: Tensor) -> Tensor:
    """Return the logit of a new cluster at the second point."""
    encoding = scorer.encode(data)
    dataset, step = torch.zeros(1, dtype=torch.int64), torch.ones(1, dtype=torch.int64)
    pooled = torch.zeros(1, scorer.width)
    return scorer.open(scorer.query(encoding, dataset, step, pooled, torch.ones(1, dtype=torch.int64)))


def test_without_kernels_and_attention_points_to_come_are_not_seen() -> None:
    scorer, data = LightScorer(FixedShape(2, 1.0), width=8, bandwidths=()), torch.randn(1, 5, 2)
    moved = torch.cat([data[:, :3], data[:, 3:] + 1], 1)
    assert decision(scorer, data).equal(decision(scorer, moved))


def test_attention_sees_points_to_come_without_kernels() -> None:
    scorer = LightScorer(FixedShape(2, 1.0), width=8, bandwidths=(), future=FutureAttention(8))
    data = torch.randn(1, 30, 2)
    moved = torch.cat([data[:, :3], data[:, 3:] + 1], 1)
    assert (decision(scorer, data) - decision(scorer, moved)).abs().item() > 1e-4
    swapped = torch.cat([data[:, :2], data[:, 2:].flip(1)], 1)
    torch.testing.assert_close(decision(scorer, data), decision(scorer, swapped))


def test_contexts_are_their_formula() -> None:
    """Embedding, progress and attention, one data set at a time, through the layer of the contexts."""
    future = FutureAttention(8)
    scorer = LightScorer(FixedShape(3, 2.0), encoder=nn.Linear(5, 3), width=8, bandwidths=(), future=future)
    data = torch.randn(2, 4, 5)
    places = scorer.encoder(data)
    embedded = scorer.embed(torch.cat([places / 20, (places / 2).asinh()], -1))
    step = torch.arange(4)
    progress = torch.stack([step.log1p() / 3, (3 - step).log1p() / 3, step / 4], -1).expand(2, -1, -1)
    expected = scorer.context(torch.cat([embedded, progress, future(embedded)], -1))
    torch.testing.assert_close(scorer.encode(data).context, expected)
    torch.testing.assert_close(scorer.encode(data).positions, places)
