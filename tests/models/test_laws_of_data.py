"""Laws of data sets beside the models': rows and columns of tables, and distorted simulations."""

import pytest
import torch
from pyro import poutine

from pyroclust.distributions import ChineseRestaurantPrior, NormalKnownVariance
from pyroclust.models import DistortedClusters, Mixture, UnlabelledTables, gaussian2d, nig_mixture


def drawn(law: object, *shape: int) -> torch.Tensor:
    return poutine.trace(poutine.uncondition(law)).get_trace(torch.empty(shape)).nodes["data"]["value"]


def test_rows_of_one_table_are_different_and_columns_too() -> None:
    torch.manual_seed(0)
    table = torch.arange(30.0).unsqueeze(-1) ** torch.tensor([1.0, 2.0, 3.0])
    law = UnlabelledTables([table], dim=3)
    data = drawn(law, 50, 30, 3)
    standard = ((table - table.mean(0)) / table.std(0, correction=0)).sort(0).values
    for one in data:
        columns = one.sort(0).values.T
        gaps = (columns.unsqueeze(1) - standard.T).abs().amax(-1)
        assert (gaps < 1e-4).sum(0).tolist() == [1, 1, 1]
    assert len({tuple(one[0].tolist()) for one in data}) > 10


def test_only_long_enough_tables_are_used_and_columns_that_vary() -> None:
    torch.manual_seed(0)
    long, short = torch.randn(40, 2), 100 + torch.randn(12, 2).abs()
    few_values = torch.cat([torch.randn(50, 1), torch.arange(50.0).unsqueeze(-1) % 3], -1)
    law = UnlabelledTables([long, short, few_values], dim=2)
    assert law.num_tables == 2
    assert drawn(law, 20, 40, 2).shape == (20, 40, 2)
    assert UnlabelledTables([few_values], dim=1).num_tables == 1


def test_columns_are_standardised_and_constant_rows_stay_finite() -> None:
    torch.manual_seed(0)
    rare = torch.zeros(2000, 2)
    rare[:15] = torch.randn(15, 2)
    data = drawn(UnlabelledTables([rare], dim=2), 64, 20, 2)
    assert data.isfinite().all()
    assert data.mean(1).abs().max() < 1e-5


@pytest.mark.parametrize("model", [gaussian2d(), nig_mixture(1)], ids=["2", "1"])
def test_distorted_data_are_standardised_and_not_as_before(model: object) -> None:
    torch.manual_seed(0)
    dim = model.component.dim
    data = drawn(DistortedClusters(model), 300, 60, dim)
    assert data.isfinite().all()
    assert data.mean(1).abs().max() < 1e-4
    assert (data.std(1, correction=0) - 1).abs().max() < 1e-3
    rounded = torch.stack([torch.tensor(len(one[:, 0].unique()) < 50) for one in data]).float().mean()
    assert 0.15 < rounded < 0.6


def test_distorted_clusters_have_heavier_tails() -> None:
    torch.manual_seed(0)
    one_cluster = Mixture(ChineseRestaurantPrior(1e-4), NormalKnownVariance(1, prior_scale=1.0))
    data = drawn(DistortedClusters(one_cluster), 200, 200, 1)
    plain = drawn(DistortedClusters(one_cluster, probability=0.0), 200, 200, 1)
    assert (plain**4).mean() == pytest.approx(3.0, abs=0.15)
    assert (data**4).mean() > 3.6


def test_what_they_cannot_do_is_said() -> None:
    with pytest.raises(ValueError, match=r"tables has none with 3 columns of at least 10"):
        UnlabelledTables([torch.randn(30, 2)], dim=3)
    with pytest.raises(ValueError, match=r"table 1: "):
        UnlabelledTables([torch.randn(30, 2), torch.full((30, 2), torch.nan)], dim=2)
    with pytest.raises(ValueError, match=r"table 0 has shape \(30,\), expected \(n, columns\)"):
        UnlabelledTables([torch.randn(30)], dim=1)
    with pytest.raises(ValueError, match=r"expected at most 30, the rows of the longest table: lower"):
        drawn(UnlabelledTables([torch.randn(30, 2)], dim=2), 4, 31, 2)
    with pytest.raises(ValueError, match=r"probability is 2"):
        DistortedClusters(gaussian2d(), probability=2.0)
