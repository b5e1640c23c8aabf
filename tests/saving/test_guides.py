"""Guides in folders and on the shelf, and cards of version 1; damaged ones are cases of faults."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from cases import points_for
from pyro import distributions as dist
from safetensors import torch as safetensors

from pyroclust.distributions import (
    BernoulliBeta,
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    FiniteMixturesPrior,
    GammaConcentration,
    NormalIndependent,
    NormalInverseGamma,
    NormalKnownVariance,
    PitmanYorPrior,
    PoissonGamma,
    Product,
    student_t,
)
from pyroclust.guides import (
    AttentiveClusteringProcess,
    ClusterwiseClusteringProcess,
    NeuralClusteringProcess,
    PredictiveFilter,
)
from pyroclust.guides.base import parts_of
from pyroclust.guides.exact_filters import filter_scorer
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.models import (
    LabelledImages,
    LabelledTables,
    Mixture,
    gaussian2d,
    nig_mixture,
    niw_mixture,
    sensitivity2d,
)
from pyroclust.models import warped_clusters as arcs
from pyroclust.nn import (
    ClusterwiseNetwork,
    DensestFirst,
    DiscreteLatents,
    FarthestLast,
    FutureAttention,
    GaussianLatents,
    ImageEncoder,
    InducedFuture,
    NearestNext,
    NeighbourScorer,
    RandomOrder,
    SetEncoder,
    SummedScorer,
)
from pyroclust.nn.networks.clusterwise_network import AttentivePool, SummedPool
from pyroclust.saving.cards import (
    CARD_FILE,
    WEIGHTS_FILE,
    find_guide,
    list_guides,
    modernised,
    read_card,
    shelf,
)
from pyroclust.saving.codec import describe
from pyroclust.saving.guides import load_guide, save_guide
from pyroclust.saving.models import describe_model

RANDOM = Mixture(
    ChineseRestaurantPrior(dist.Gamma(2.0, 4.0)),
    NormalKnownVariance(2, dist.LogNormal(1.0, 0.3), scale=torch.tensor(0.5)),
    name="random",
)
MIXED = Mixture(
    FiniteMixturesPrior(1.0, dist.Poisson(torch.tensor(3.0))),
    Product(
        [
            NormalInverseGamma(1, 0.1, shape=2.0, rate=0.2),
            BernoulliBeta(1, 0.6),
            PoissonGamma(1, 2.0, rate=0.5),
        ]
    ),
    name="mixed",
)
BATCH = Mixture(
    PitmanYorPrior(torch.tensor([0.1, 0.2]), 0.3), NormalKnownVariance(2, 10.0, mean=-1), name="batch"
)


def images() -> LabelledImages:
    values = torch.rand(12, 8, 8, generator=torch.Generator().manual_seed(1))
    return LabelledImages([(values, torch.arange(12) % 3)], prior=ChineseRestaurantPrior(0.7))


def tables() -> LabelledTables:
    values = torch.rand(12, 2, generator=torch.Generator().manual_seed(1))
    return LabelledTables([(values.numpy(), torch.arange(12).numpy() % 3)])


def light(model: Any, **options: Any) -> NeuralClusteringProcess:
    order = RandomOrder() if "encoder" in options else None
    return NeuralClusteringProcess(model, scorer=light_scorer_for(model, width=8, **options), order=order)


def summed(model: Any, dim: int, *, conditions: tuple[str, ...] = (), **options: Any) -> Any:
    scorer = SummedScorer(dim, width=4, sizes=(4, 8), **options)
    return NeuralClusteringProcess(model, scorer=scorer, order=RandomOrder(), conditions=conditions)


def network(**options: Any) -> ClusterwiseNetwork:
    return ClusterwiseNetwork(2, 1.5, width=8, decoder_width=4, **options)


GUIDES: dict[str, Callable[[], Any]] = {
    "light": lambda: light(nig_mixture(2), num_bandwidths=2, second_moments=True, num_attention=1),
    "light, no filter": lambda: light(gaussian2d(), use_filter=False, num_bandwidths=0),
    "light, future": lambda: light(gaussian2d(), future=FutureAttention(8, num_blocks=2, num_heads=2)),
    "light, foresight": lambda: NeuralClusteringProcess(
        nig_mixture(2), scorer=light_scorer_for(nig_mixture(2), width=8, foresight=4), order=FarthestLast()
    ),
    "light, conditions": lambda: light(sensitivity2d(), conditions=["concentration", "prior_scale"]),
    "light, images": lambda: light(images(), encoder=ImageEncoder(8, 8, dim=3, channels=2)),
    "light, arcs": lambda: light(arcs(ChineseRestaurantPrior(0.7), centre_scale=7.0)),
    "light, tables": lambda: light(tables()),
    "light, student": lambda: light(Mixture(ChineseRestaurantPrior(1.5), student_t(2, dof=3.0))),
    "light, mixed columns": lambda: light(MIXED),
    "summed": lambda: summed(RANDOM, 2),
    "summed, conditions": lambda: summed(sensitivity2d(), 3, conditions=("concentration",)),
    "summed, images": lambda: summed(
        images(), 6, encoder=ImageEncoder(8, 8, dim=6, channels=2), future=InducedFuture(8, num_inducing=2)
    ),
    "summed, several orders": lambda: summed(BATCH, 2).mixed(4),
    "neighbours": lambda: NeuralClusteringProcess(
        arcs(), scorer=NeighbourScorer(0.7, width=8), order=NearestNext(0.3)
    ),
    "filter": lambda: PredictiveFilter(gaussian2d(3).given({"concentration": 1.5})),
    "filter, order": lambda: PredictiveFilter(
        Mixture(DirichletMultinomialPrior(4, 0.3), NormalIndependent(0.0, 4.0, shape=2.0, rate=0.2, dim=2)),
        order=DensestFirst(0.4),
    ),
    "filter, conditions": lambda: PredictiveFilter(
        sensitivity2d(), conditions=["prior_scale", "concentration"], num_orders=3
    ),
    "filter, gamma": lambda: PredictiveFilter(
        Mixture(GammaConcentration(2.0, 3.0), NormalKnownVariance(2, 10.0))
    ),
    "clusterwise": lambda: ClusterwiseClusteringProcess(
        gaussian2d(), network=network(latents=GaussianLatents(3)), num_particles=5
    ),
    "clusterwise, foresight": lambda: ClusterwiseClusteringProcess(
        gaussian2d(), network=network(filter=filter_scorer(gaussian2d())), order=DensestFirst(1.0)
    ),
    "clusterwise, plain": lambda: ClusterwiseClusteringProcess(
        RANDOM,
        network=network(
            latents=DiscreteLatents(2, 3), pool=SummedPool, bandwidths=(), differences=False, up_front=None
        ),
        order=DensestFirst(1.4),
        num_orders=3,
    ),
    "attentive": lambda: AttentiveClusteringProcess(
        gaussian2d(),
        network=network(
            pool=AttentivePool,
            up_front=SetEncoder(8, num_blocks=2, num_inducing=3),
            each_step=SetEncoder(8, num_heads=2),
        ),
        order=RandomOrder(),
    ),
}


def make(name: str) -> Any:
    """Build a guide with initial weights that no other guide of the tests has."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(9)
        return GUIDES[name]().eval()


OLD = Path(__file__).parent / "version_1"
CARDS = json.loads((OLD / "cards.json").read_text())
SHELF = json.loads((OLD / "shelf.json").read_text())


def described(guide):
    return describe(guide, where="guide", context=parts_of(guide.model)), describe_model(guide.model)


@pytest.mark.parametrize("name", SHELF)
def test_old_cards_of_the_shelf_give_the_guides_of_the_shelf(name, tmp_path):
    shutil.copytree(shelf() / name, tmp_path / name)
    (tmp_path / name / CARD_FILE).write_text(json.dumps(SHELF[name]))
    old, new = load_guide(tmp_path / name), load_guide(name)
    assert described(old) == described(new)
    assert all(torch.equal(one, new.state_dict()[key]) for key, one in old.state_dict().items())
    card, today = read_card(tmp_path / name), read_card(shelf() / name)
    assert (card.dim, card.arguments, card.model_arguments) == (
        today.dim,
        today.arguments,
        today.model_arguments,
    )


@pytest.mark.parametrize("name", CARDS)
def test_old_cards_of_every_kind_give_the_guide_that_was_saved(name, tmp_path):
    guide, card = make(name), CARDS[name]
    state = {key: one.contiguous().clone() for key, one in guide.state_dict().items()}
    if state:
        (tmp_path / WEIGHTS_FILE).write_bytes(safetensors.save(state))
        card = card | {
            "weights": {"sha256": hashlib.sha256((tmp_path / WEIGHTS_FILE).read_bytes()).hexdigest()}
        }
    (tmp_path / CARD_FILE).write_text(json.dumps(card))
    old = load_guide(tmp_path)
    assert described(old)[0] == described(guide)[0]
    save_guide(old, tmp_path / "again")
    assert described(load_guide(tmp_path / "again")) == described(old)
    same_draws(guide, old)


def test_parts_in_lists_take_todays_form_too():
    old = {"class": "Product", "parts": [{"class": "BernoulliBeta", "dim": 2}]}
    parts = [{"class": "BernoulliBeta", "arguments": {"dim": 2}}]
    assert modernised(old) == {"class": "Product", "arguments": {"parts": parts}}


def same_draws(guide, again):
    torch.manual_seed(3)
    values = dict.fromkeys(guide.conditions, 2.0)
    event = guide.model.event_shape
    # Rows of a batch of hyperparameters need as many data sets.
    data = torch.rand(2, 5, *event).round()
    found = []
    for one in (guide, again):
        one = one.condition(**values) if values else one
        torch.manual_seed(4)
        draws, log_prob = one.posterior(data).sample_and_log_prob((3,))
        found += [(draws, log_prob)]
    torch.testing.assert_close(found[0], found[1], rtol=0, atol=0)


@pytest.mark.parametrize("name", GUIDES)
def test_every_kind_of_guide_comes_back(name, tmp_path):
    guide = make(name)
    save_guide(guide, tmp_path / "guide")
    again = load_guide(tmp_path / "guide")
    assert described(again)[0] == described(guide)[0]
    assert all(torch.equal(one, again.state_dict()[key]) for key, one in guide.state_dict().items())
    assert json.loads((tmp_path / "guide" / CARD_FILE).read_text())["format_version"] == 2
    same_draws(guide, again)


def new_guide() -> NeuralClusteringProcess:
    guide = NeuralClusteringProcess(niw_mixture(2), order=DensestFirst(0.37))
    with torch.no_grad():
        for weight in guide.parameters():
            weight.add_(0.1 * torch.randn_like(weight))
    return guide


@pytest.fixture
def folder(tmp_path) -> Path:
    save_guide(
        new_guide(), tmp_path / "mine", card={"about": "a test", "max_points": 50, "seeds": {"weights": 3}}
    )
    return tmp_path / "mine"


def test_card_records_everything(folder):
    card = read_card(folder)
    assert (card.guide_class, card.model, card.model_arguments) == (
        "NeuralClusteringProcess",
        "niw_mixture",
        {"dim": 2},
    )
    assert (card.about, card.max_points, card.seeds) == ("a test", 50, {"weights": 3})
    assert set(card.versions) >= {"pyroclust", "torch"}


def test_loading_leaves_the_random_state_alone(folder):
    before = torch.random.get_rng_state()
    load_guide(folder)
    assert torch.equal(before, torch.random.get_rng_state())


def test_every_guide_on_the_shelf_loads_and_samples():
    for card in list_guides():
        guide = load_guide(card.name)
        assert guide.model.name == card.model
        if guide.conditions:
            guide = guide.condition(**dict.fromkeys(guide.conditions, 2.0))
        draws, log_prob = guide.posterior(points_for(guide.model, 9)).sample_and_log_prob((4,))
        assert draws.shape == (4, 9)
        assert torch.isfinite(log_prob).all()


def test_models_on_the_shelf_are_described_as_their_cards_say():
    for card in list_guides():
        model = load_guide(card.name).model
        described = describe_model(model)
        assert described == {"name": card.model, "arguments": card.model_arguments}
        assert card.dim is None or model.event_shape == (card.dim,)


def test_a_fine_tuned_network_comes_back(tmp_path):
    trained, model = new_guide(), niw_mixture(2).given({"concentration": 3.0})
    tuned = NeuralClusteringProcess(model, order=DensestFirst(0.37)).eval()
    tuned.load_state_dict(trained.state_dict())
    save_guide(tuned, tmp_path / "mine")
    card, again = read_card(tmp_path / "mine"), load_guide(tmp_path / "mine")
    assert (card.model, card.model_arguments) == ("niw_mixture", {"dim": 2, "concentration": 3.0})
    data, order = torch.randn(3, 12, 2), torch.randperm(12)
    draws = again.posterior(data).sample((2,))
    found, expected = (g.posterior(data, order=order).log_prob(draws) for g in (again, tuned))
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


OTHERS = {
    "prior": gaussian2d().given({"concentration": 1.5}),
    "component": gaussian2d().given({"prior_scale": 1.5}),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("kind", [PredictiveFilter, NeuralClusteringProcess])
def test_a_filter_of_another_model_is_not_saved(tmp_path, kind, other):
    guide = kind(gaussian2d())
    guide.model = other
    with pytest.raises(ValueError, match=r"was made of another .* than that of the guide's model"):
        save_guide(guide, tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_a_guide_whose_weights_its_arguments_do_not_make_is_not_saved(tmp_path):
    guide = new_guide()
    guide.scorer.to_open = torch.nn.Linear(guide.scorer.width, 1, bias=False)
    with pytest.raises(ValueError, match=r"does not fit its card \(missing: scorer.to_open.bias"):
        save_guide(guide, tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_a_name_of_the_shelf_comes_before_a_folder(tmp_path, monkeypatch):
    (tmp_path / "filter-nig1d").mkdir()
    monkeypatch.chdir(tmp_path)
    assert find_guide("filter-nig1d").parent == find_guide("filter-niw2d").parent
    assert find_guide("./filter-nig1d").resolve() == tmp_path.resolve() / "filter-nig1d"


def test_unknown_name_offers_the_nearest():
    with pytest.raises(ValueError, match="did you mean 'filter-nig1d'"):
        find_guide("filter-nig1")


def test_only_what_can_be_built_again_is_saved(tmp_path):
    own = Mixture(ChineseRestaurantPrior(0.7), _OwnFamily(2, 5.0), name="mine")
    with pytest.raises(ValueError, match=r"component is of class '_OwnFamily' .* not registered"):
        save_guide(PredictiveFilter(own), tmp_path / "a")
    with pytest.raises(ValueError, match="guide is a Linear, expected a guide"):
        save_guide(torch.nn.Linear(1, 1), tmp_path / "a")
    with pytest.raises(ValueError, match="unknown entry 'sedes', did you mean 'seeds'"):
        save_guide(PredictiveFilter(gaussian2d()), tmp_path / "a", card={"sedes": 1})
    assert not (tmp_path / "a").exists()


class _OwnFamily(NormalKnownVariance):
    pass
