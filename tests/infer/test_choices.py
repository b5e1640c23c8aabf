"""Which simulations are kept: judged by their data, learned from their losses."""

import pytest
import torch
from torch import Tensor

from pyroclust.infer.simulation import HardSimulations, HardStandardised


def dense_and_sparse(datasets: int, points: int = 15) -> tuple[Tensor, Tensor]:
    """Return data sets, some of tight pairs and some of spread points, and which are tight."""
    tight = torch.rand(datasets) < 0.5
    data = torch.randn(datasets, points, 2)
    twins = data[:, torch.arange(points) // 2] + 0.05 * torch.randn(datasets, points, 2)
    return torch.where(tight[:, None, None], twins, data), tight


@pytest.mark.parametrize("choice", [HardStandardised(16), HardSimulations(1.0, 16)])
def test_data_sets_with_high_losses_are_kept_more_often(choice):
    for _ in range(30):
        data, tight = dense_and_sparse(16 * 8)
        kept = choice(data, 8)
        choice.learn(tight[kept].double())
    data, tight = dense_and_sparse(16 * 8)
    kept = choice(data, 8)
    assert kept[:4].tolist() == [0, 1, 2, 3]
    assert len(kept.unique()) == 8
    assert bool(tight[kept[4:]].all())


def test_one_data_set_is_taken_as_it_comes():
    assert HardStandardised(8)(torch.randn(8, 5, 2), 1).tolist() == [0]


def test_one_half_is_plain_and_the_other_nearly_standardised():
    torch.manual_seed(0)
    data = torch.randn(64, 50, 1) * torch.linspace(0.1, 6, 64).view(-1, 1, 1)
    kept = HardStandardised(8, hardness=2)(data, 8)
    assert kept[:4].tolist() == [0, 1, 2, 3]
    assert (data[kept[4:]].std(1).log().abs() < 0.7).all()
    with pytest.raises(ValueError, match="oversampling and hardness are 1 and 4"):
        HardStandardised(1)
