"""Partitions drawn from the column scorer in compiled code: the law that torch computes."""

from typing import Any

import pytest
import torch
from partition_laws import check_law
from torch import Tensor

from pyroclust import load_guide
from pyroclust.distributions import (
    ChineseRestaurantPrior,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    PartlyObserved,
    Product,
)
from pyroclust.guides import NeuralClusteringProcess
from pyroclust.guides.neural_clustering_process import column_scorer_for
from pyroclust.infer.simulation import simulate
from pyroclust.models import LosingCells, Mixture, table_mixture
from pyroclust.nn import ColumnScorer, RandomOrder
from pyroclust.partitions import enumerate_partitions

MIXED = table_mixture(numbers=2, count_means=[2.0], yes_no=1, levels=[3], missing=True)
# Sums beyond the tables of a family, and log densities that are small differences of large numbers.
LARGE = table_mixture(numbers=1, count_means=[5000.0], missing=True)
# Groups that depend on one another in a cluster, and a family that does not know of gaps itself.
GROUPS = Mixture(
    ChineseRestaurantPrior(0.7),
    Product(
        [
            PartlyObserved(NormalInverseWishart(2, 0.2, dof=4.0, scale=0.5), 2),
            PartlyObserved(NormalKnownVariance(1), 1),
        ]
    ),
    name="groups",
)


class Uncompiled(NormalInverseGamma):
    """A family without compiled functions."""


def guide_of(model: Any, *, foresight: int) -> Any:
    torch.manual_seed(0)
    scorer = column_scorer_for(model, width=12, column_width=6, foresight=foresight)
    guide = NeuralClusteringProcess(model, scorer=scorer, order=RandomOrder()).eval()
    with torch.no_grad():
        for one in guide.parameters():
            one.add_(0.2 * torch.randn_like(one))
    return guide


def points_of(model: Any, *shape: int) -> Tensor:
    torch.manual_seed(1)
    if model is GROUPS:
        data = torch.randn(*shape, 5) + 2.0 * torch.randint(0, 3, (*shape, 1))
        return torch.where((torch.rand(*shape, 3) < 0.2)[..., [0, 0, 1, 1, 2]], torch.nan, data)
    data: Tensor = simulate(LosingCells(model, 0.2), torch.empty(*shape, *model.event_shape))[0]
    return data


def check_draws(guide: Any, data: Tensor, draws: int, monkeypatch: pytest.MonkeyPatch) -> Tensor:
    law = guide.posterior(data)
    inner = getattr(law, "orders", law)
    assert guide.scorer.label_points(inner.encoding, torch.tensor([0])) is not None
    torch.manual_seed(0)
    found, log_q = law.sample_and_log_prob((draws,))
    with monkeypatch.context() as patched:
        patched.setattr(ColumnScorer, "label_points", lambda *_: None)
        torch.manual_seed(0)
        expected, by_torch = law.sample_and_log_prob((draws,))
    assert torch.equal(found, expected)
    torch.testing.assert_close(log_q, by_torch, rtol=0, atol=1e-4)
    torch.testing.assert_close(law.merged_log_prob(found), by_torch, rtol=0, atol=1e-4)
    return found


@pytest.mark.parametrize(("name", "family"), [("ncp-tables", "nig"), ("ncp-any-table", "diagonal")])
def test_draws_and_log_q_of_the_shelf_are_those_of_torch(
    name: str, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = table_mixture(numbers=2, count_means=[2.0], yes_no=1, levels=[3], missing=True, family=family)
    check_draws(load_guide(name).of(model), points_of(MIXED, 2, 25), 20, monkeypatch)


@pytest.mark.parametrize("foresight", [0, 4])
@pytest.mark.parametrize("model", [MIXED, LARGE, GROUPS], ids=["mixed", "large", "groups"])
def test_draws_and_log_q_are_those_of_torch(
    model: Any, foresight: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = check_draws(guide_of(model, foresight=foresight), points_of(model, 2, 20), 20, monkeypatch)
    assert len(found.flatten(0, 1).unique(dim=0)) > 10


def test_frequencies_are_the_probabilities_of_all_partitions() -> None:
    data, partitions = points_of(MIXED, 1, 7)[0], enumerate_partitions(7)
    law = guide_of(MIXED, foresight=3).posterior(data)
    # With gradients, by torch.
    log_probs = law.log_prob(partitions).detach().double()
    torch.testing.assert_close(
        log_probs.logsumexp(0), torch.zeros((), dtype=torch.float64), rtol=0, atol=1e-4
    )
    draws, _ = law.sample_and_log_prob((40_000,))
    check_law(None, data, draws, (partitions, log_probs - log_probs.logsumexp(0)))


def test_many_clusters_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Mixture(ChineseRestaurantPrior(20.0), MIXED.component, name="many")
    found = check_draws(guide_of(model, foresight=3), points_of(model, 1, 30)[0], 8, monkeypatch)
    assert int(found.max()) > 8


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    law = guide_of(MIXED, foresight=4).posterior(points_of(MIXED, 1, 20)[0])
    torch.manual_seed(0)
    alone = law.sample_and_log_prob((50,))
    monkeypatch.setattr("pyroclust.nn.compiled.prefixes._CANDIDATES_A_THREAD", 1)
    monkeypatch.setattr("pyroclust.nn.compiled.filter_tables.num_threads", lambda: 3)
    torch.manual_seed(0)
    for one, other in zip(alone, law.sample_and_log_prob((50,)), strict=True):
        assert torch.equal(one, other)


def test_where_code_cannot_be_compiled_torch_draws() -> None:
    double, own = guide_of(MIXED, foresight=0).double(), Product([Uncompiled(2, 0.3, shape=2.0, rate=1.0)])
    uncompiled = guide_of(Mixture(ChineseRestaurantPrior(0.7), own, name="own"), foresight=0)
    some = torch.zeros(3, 2, dtype=torch.int64)
    for guide, data, known in (
        (double, points_of(MIXED, 1, 5)[0], None),
        (uncompiled, torch.randn(5, 2), None),
        (guide_of(MIXED, foresight=0), points_of(MIXED, 1, 5)[0], some),
    ):
        law = guide.posterior(data)
        assert guide.scorer.label_points(law.encoding, torch.zeros(3, dtype=torch.int64), known) is None
        draws, log_q = law.sample_and_log_prob((4,))
        torch.testing.assert_close(law.log_prob(draws).double(), log_q, rtol=0, atol=1e-3)
