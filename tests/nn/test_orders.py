"""Visiting orders and anchors against their definitions."""

import pytest
import torch

from pyroclust.nn import DensestFirst, FarthestLast, StratifiedAnchors, orders
from pyroclust.nn.orders import antithetic_orders


def test_farthest_last_is_a_farthest_first_traversal_backwards() -> None:
    data = torch.randn(4, 25, 3, generator=torch.Generator().manual_seed(0))
    for points, order in zip(data, FarthestLast()(data), strict=True):
        away = torch.cdist(points, points)
        taken = [int((points - points.mean(0)).norm(dim=-1).argmin())]
        while len(taken) < len(points):
            gap = away[:, taken].amin(1)
            gap[taken] = -1
            taken.append(int(gap.argmax()))
        assert order.tolist() == taken[::-1]


def test_points_that_are_alike_and_single_points_have_an_order() -> None:
    assert FarthestLast()(torch.zeros(2, 5, 2)).sort(-1).values.tolist() == [list(range(5))] * 2
    assert FarthestLast()(torch.zeros(1, 1, 2)).tolist() == [[0]]


def test_orders_come_in_antithetic_pairs_of_uniform_permutations() -> None:
    order = antithetic_orders(5, torch.empty(4000, 3, 2))
    assert order.shape == (5, 4000, 3)
    assert torch.equal(order[0].flip(-1), order[1])
    assert torch.equal(order[2].flip(-1), order[3])
    assert not torch.equal(order[0], order[2])
    assert not torch.equal(order[4], order[2])
    for one in order:
        counts = (one * torch.tensor([9, 3, 1])).sum(-1).unique(return_counts=True)[1]
        assert len(counts) == 6
        assert (counts - 4000 / 6).abs().max() < 120
    with pytest.raises(ValueError, match="num_orders is 0, expected at least 1"):
        antithetic_orders(0, torch.empty(2, 3, 2))


def test_densest_first_is_a_permutation_that_starts_in_the_crowd() -> None:
    crowd = torch.cat([10 + torch.rand(5, 2), 0.01 * torch.randn(20, 2)])
    order = DensestFirst(0.5)(crowd.unsqueeze(0))[0]
    assert order.sort().values.tolist() == list(range(25))
    assert (order[:20] >= 5).all()


def test_densest_first_of_many_points_needs_few_references(monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = torch.cat([10 + 5 * torch.rand(100, 2), 0.01 * torch.randn(300, 2)])[torch.randperm(400)]
    monkeypatch.setattr(orders, "_REFERENCES", 50)
    order = DensestFirst(0.5)(crowd.unsqueeze(0))[0]
    assert order.sort().values.tolist() == list(range(400))
    assert (crowd[order[:300]].norm(dim=-1) < 1).all()


def test_stratified_anchors_are_different_points_of_every_part() -> None:
    torch.manual_seed(0)
    data = torch.zeros(3, 50, 2)
    data[:, 40:] = 5.0 * torch.randn(3, 10, 2)
    for number in (1, 7, 32, 50):
        chosen = StratifiedAnchors()(data, number)
        assert all(len(one.unique()) == number for one in chosen)
    # Two groups far apart, one three times as large: their shares hardly vary.
    groups = torch.cat([torch.randn(2, 150, 2), torch.randn(2, 50, 2) + 40.0], 1)
    shares = torch.stack([(StratifiedAnchors()(groups, 20) >= 150).sum(-1) for _ in range(20)])
    assert shares.float().mean() == pytest.approx(5.0, abs=0.3)
    assert shares.min() >= 4
    assert shares.max() <= 6
