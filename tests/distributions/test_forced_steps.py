"""The flat indices of decisions and candidates against a loop over points."""

import torch
from torch import Tensor

from pyroclust.distributions import ChineseRestaurantProcess
from pyroclust.distributions.sequential.scorer import ForcedSteps


def listed(labels: Tensor) -> list[tuple[int, int, int, int, bool]]:
    """List (decision, cluster, member, point, taken) of every candidate to join."""
    rows, points = labels.shape
    found = []
    for row in range(rows):
        last: dict[int, int] = {}
        for step, label in enumerate(labels[row].tolist()):
            if step:
                decision = row * (points - 1) + step - 1
                here = row * points
                found += [(decision, k, here + last[k], here + step, k == label) for k in sorted(last)]
            last[label] = step
    return found


def test_candidates_are_those_of_a_loop():
    labels = ChineseRestaurantProcess(torch.tensor(2.0), 9).sample((6,))
    steps = ForcedSteps.of(labels)
    taken = torch.zeros(len(steps.decision), dtype=torch.bool)
    taken[steps.taken] = True
    columns = [steps.decision, steps.cluster, steps.member, steps.point, taken]
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == listed(labels)
    assert steps.width == int(labels[:, :-1].max()) + 2


def test_marks_are_those_of_a_loop():
    labels = ChineseRestaurantProcess(torch.tensor(2.0), 7).sample((3,))
    steps = ForcedSteps.of(labels)
    together, present = steps.together(torch.float32), steps.present(torch.float64)
    assert (together.dtype, present.dtype) == (torch.float32, torch.float64)
    for row in range(3):
        for n in range(7):
            held = [float(m <= n and labels[row, m] == labels[row, n]) for m in range(7)]
            assert together[row, n].tolist() == held
            if n:
                lasts = {int(label): m for m, label in enumerate(labels[row, :n].tolist())}
                assert present[row, n - 1].nonzero().squeeze(-1).tolist() == sorted(lasts.values())


def test_table_leaves_no_room_for_clusters_that_are_not_there():
    steps = ForcedSteps.of(torch.tensor([[0, 1, 0], [0, 0, 0]]))
    table = steps.table(torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0]), -torch.arange(1.0, 5.0))
    none = -torch.inf
    assert table.tolist() == [[1.0, -1.0, none], [2.0, 3.0, -2.0], [4.0, -3.0, none], [5.0, -4.0, none]]
