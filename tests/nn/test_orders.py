"""Visiting orders against their definitions, one point after the other."""

import torch

from pyroclust.nn import FarthestLast


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
