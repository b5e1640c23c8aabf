"""Partitions drawn in compiled code, from scorers and from the exact filter: the law that torch computes."""

from typing import Any

import pytest
import torch
from partition_laws import check_law
from pyro.distributions import Gamma, Geometric
from torch import Tensor

from pyroclust import load_guide
from pyroclust.distributions import (
    BernoulliBeta,
    ChineseRestaurantPrior,
    FiniteMixturesPrior,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    PartlyObserved,
    PitmanYorPrior,
    Product,
)
from pyroclust.guides import NeuralClusteringProcess, PredictiveFilter, column_scorer_for, light_scorer_for
from pyroclust.infer import simulate
from pyroclust.models import Mixture, normal_mixture, table_mixture
from pyroclust.models.training_data.simulated_tables import LosingCells
from pyroclust.nn import RandomOrder
from pyroclust.nn.compiled import filter as compiled_filter
from pyroclust.nn.compiled.filter import CompiledFilterScorer
from pyroclust.partitions import enumerate_partitions

PRIOR, MANY = ChineseRestaurantPrior(0.7), ChineseRestaurantPrior(60.0)
MIXED = table_mixture(numbers=2, count_means=[2.0], yes_no=1, levels=[3], missing=True)
# Sums beyond the tables of a family, and log densities that are small differences of large numbers.
LARGE = table_mixture(numbers=1, count_means=[5000.0], missing=True)
# Groups that depend on one another in a cluster, and a family that does not know of gaps itself.
WISHART = PartlyObserved(NormalInverseWishart(2, 0.2, dof=4.0, scale=0.5), 2)
GROUPS = Mixture(PRIOR, Product([WISHART, PartlyObserved(NormalKnownVariance(1), 1)]), name="groups")
# Its own functions, not vector units.
OTHER = Mixture(PRIOR, NormalInverseGamma(2, 0.2, shape=2.0, rate=0.4), name="other")
PLAIN = Mixture(PRIOR, NormalKnownVariance(2), name="plain")
SHELF = ["gaussian2d", "overlap2d", "niw2d", "niw3d", "niw4d", "py2d", "mfm2d", "nig1d", "spikes", "glyphs8"]


class Uncompiled(NormalInverseGamma):
    """A family without compiled functions."""


def shaken(model: Any, *, foresight: int) -> Any:
    """Return a guide none of whose parameters is zero."""
    torch.manual_seed(0)
    if model in (MIXED, LARGE, GROUPS) or isinstance(model.component, Product):
        scorer: Any = column_scorer_for(model, width=12, column_width=6, foresight=foresight)
    else:
        scorer = light_scorer_for(model, width=16, foresight=foresight)
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
    if isinstance(getattr(model, "component", None), Product):
        return simulate(LosingCells(model, 0.2), torch.empty(*shape, *model.event_shape))[0]
    group = torch.randint(0, 3, (*shape, *(1 for _ in model.event_shape)))
    return torch.rand(*shape, *model.event_shape) + 2.0 * group


def drawn(law: Any, draws: int) -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    found: tuple[Tensor, Tensor] = law.sample_and_log_prob((draws,))
    return found


def check_draws(guide: Any, data: Tensor, draws: int, monkeypatch: pytest.MonkeyPatch) -> Tensor:
    law = guide.posterior(data)
    inner = getattr(law, "orders", law)
    assert guide.scorer.label_points(inner.encoding, torch.tensor([0])) is not None
    found, log_q = drawn(law, draws)
    with monkeypatch.context() as patched:
        patched.setattr(type(guide.scorer), "label_points", lambda *_: None)
        expected, by_torch = drawn(law, draws)
    assert torch.equal(found, expected)
    torch.testing.assert_close(log_q, by_torch, rtol=0, atol=1e-4)
    torch.testing.assert_close(law.merged_log_prob(found), by_torch, rtol=0, atol=1e-4)
    # With gradients, by torch.
    torch.testing.assert_close(law.log_prob(found).detach().double(), by_torch, rtol=0, atol=1e-4)
    return found


@pytest.mark.parametrize("name", SHELF)
def test_draws_and_log_q_of_the_shelf_are_those_of_torch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    guide: Any = load_guide(f"ncp-{name}")
    check_draws(guide, points_of(guide.model, 2, 25), 30, monkeypatch)


@pytest.mark.parametrize(("name", "family"), [("tables", "nig"), ("any-table", "diagonal")])
def test_so_are_those_of_tables(name: str, family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = table_mixture(numbers=2, count_means=[2.0], yes_no=1, levels=[3], missing=True, family=family)
    check_draws(load_guide(f"ncp-{name}").of(model), points_of(MIXED, 2, 25), 20, monkeypatch)


@pytest.mark.parametrize("foresight", [0, 4])
@pytest.mark.parametrize("model", [MIXED, LARGE, GROUPS, OTHER, PLAIN], ids=lambda model: model.name)
def test_draws_and_log_q_are_those_of_torch(
    model: Any, foresight: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = check_draws(shaken(model, foresight=foresight), points_of(model, 2, 20), 20, monkeypatch)
    assert len(found.flatten(0, 1).unique(dim=0)) > 10


@pytest.mark.parametrize("model", [MIXED, OTHER, PLAIN], ids=lambda model: model.name)
def test_frequencies_are_the_probabilities_of_all_partitions(model: Any) -> None:
    data, partitions = points_of(model, 1, 7)[0], enumerate_partitions(7)
    law = shaken(model, foresight=3).posterior(data)
    # With gradients, by torch.
    log_probs = law.log_prob(partitions).detach().double()
    total = log_probs.logsumexp(0)
    torch.testing.assert_close(total, torch.zeros_like(total), rtol=0, atol=1e-4)
    check_law(None, data, drawn(law, 40_000)[0], (partitions, log_probs - total))


@pytest.mark.parametrize("model", [MIXED, PLAIN], ids=lambda model: model.name)
def test_many_points_are_thinned_and_many_clusters_fit(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyroclust.nn.look_ahead._REFERENCES", 10)
    many = Mixture(MANY, model.component, name="many")
    data = 20 * torch.randn(35, 2) if model is PLAIN else points_of(MIXED, 1, 30)[0]
    found = check_draws(shaken(many, foresight=3), data, 8, monkeypatch)
    assert int(found.max()) > (16 if model is PLAIN else 8)


@pytest.mark.parametrize("limit", ["_CANDIDATES_A_THREAD", "_DRAWS_AT_ONCE"])
@pytest.mark.parametrize("name", ["ncp-niw2d", "mixed"])
def test_threads_and_turns_change_nothing(name: str, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    guide: Any = shaken(MIXED, foresight=4) if name == "mixed" else load_guide(name)
    law = guide.posterior(points_of(guide.model, 5, 12))
    whole = drawn(law, 7)
    monkeypatch.setattr(f"pyroclust.nn.compiled.prefixes.{limit}", 10)
    monkeypatch.setattr("pyroclust.nn.compiled.filter.num_threads", lambda: 3)
    for one, other in zip(whole, drawn(law, 7), strict=True):
        assert torch.equal(one, other)


def test_where_code_cannot_be_compiled_torch_draws() -> None:
    own = Mixture(PRIOR, Product([Uncompiled(2, 0.3, shape=2.0, rate=1.0)]), name="own")
    some = torch.zeros(3, 2, dtype=torch.int64)
    for guide, data, known in (
        (shaken(MIXED, foresight=0).double(), points_of(MIXED, 1, 5)[0], None),
        (shaken(own, foresight=0), torch.randn(5, 2), None),
        (shaken(MIXED, foresight=0), points_of(MIXED, 1, 5)[0], some),
        (shaken(PLAIN, foresight=0), points_of(PLAIN, 5), some),
    ):
        law = guide.posterior(data)
        assert guide.scorer.label_points(law.encoding, torch.zeros(3, dtype=torch.int64), known) is None
        draws, log_q = law.sample_and_log_prob((4,))
        torch.testing.assert_close(law.log_prob(draws).double(), log_q, rtol=0, atol=1e-3)


FAMILIES = {
    "known": NormalKnownVariance(2, 3.0),
    "wishart": NormalInverseWishart(2, 0.1, dof=4.0, scale=0.3),
    "wishart of a condition": NormalInverseWishart(2, 0.1, dof=4.0, scale=Gamma(2.0, 5.0)),
    "product": Product([NormalInverseGamma(1, 0.1, shape=2.0, rate=Gamma(2.0, 5.0)), BernoulliBeta(1)]),
}
PRIORS = [ChineseRestaurantPrior(0.9), PitmanYorPrior(0.4, 1.0), FiniteMixturesPrior(0.5, Geometric(0.4))]


@pytest.mark.parametrize("prior", PRIORS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("family", FAMILIES)
def test_draws_and_log_q_of_filters_are_those_of_torch(family, prior, monkeypatch):
    torch.manual_seed(1)
    data = torch.randn(3, 25, 2, dtype=torch.float64) + 2 * torch.randint(3, (3, 25, 1))
    if family == "product":
        data[..., 1] = (data[..., 1] > 1).double()
    model = Mixture(prior, FAMILIES[family])
    names = tuple(model.hyperpriors)
    guide = PredictiveFilter(model, conditions=names)
    if names:
        guide = guide.condition(**dict.fromkeys(names, torch.tensor([0.2, 0.5, 1.5])))
    law = guide.posterior(data)
    assert law.scorer.label_points(law.encoding, torch.tensor([0])) is not None
    draws, log_q = drawn(law, 30)
    torch.testing.assert_close(law.merged_log_prob(draws), log_q, rtol=0, atol=1e-9)
    torch.testing.assert_close(law.log_prob(draws).double(), log_q, rtol=0, atol=1e-9)
    monkeypatch.setattr(CompiledFilterScorer, "label_points", lambda *_: None)
    expected, log_prob = drawn(law, 30)
    assert torch.equal(draws, expected)
    torch.testing.assert_close(log_q, log_prob, rtol=0, atol=1e-9)


def test_a_random_scale_is_found_as_by_torch(monkeypatch):
    torch.manual_seed(2)
    guide, data = PredictiveFilter(normal_mixture(2)), torch.randn(2, 20, 2)
    found = guide.posterior(data).encoding.hyperparameters
    monkeypatch.setattr(CompiledFilterScorer, "label_points", lambda *_: None)
    torch.testing.assert_close(guide.posterior(data).encoding.hyperparameters, found)


def test_more_clusters_than_there_is_room_for_and_any_number_of_threads(monkeypatch):
    data = 50.0 * torch.arange(12.0, dtype=torch.float64).unsqueeze(-1).expand(2, 12, 2)
    law = PredictiveFilter(Mixture(ChineseRestaurantPrior(0.9), FAMILIES["known"])).posterior(data)
    draws, log_q = drawn(law, 30)
    assert draws.max() > 4
    monkeypatch.setattr(compiled_filter, "_CLUSTERS", 2)
    monkeypatch.setattr(compiled_filter, "threads_for", lambda *_: 3)
    again, log_prob = drawn(law, 30)
    assert torch.equal(again, draws)
    torch.testing.assert_close(log_prob, log_q, rtol=0, atol=0)


def test_conditions_of_the_prior_are_left_to_torch():
    model = Mixture(ChineseRestaurantPrior(Gamma(2.0, 2.0)), FAMILIES["known"])
    guide = PredictiveFilter(model, conditions=["concentration"]).condition(concentration=1.0)
    law = guide.posterior(torch.randn(3, 2))
    assert law.scorer.label_points(law.encoding, torch.tensor([0])) is None
