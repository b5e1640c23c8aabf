"""Guides of vectors of many columns, through an encoder: every kind learns, and has probabilities."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from pyroclust import load_guide
from pyroclust.guides import (
    AmortizedGuide,
    AttentiveClusteringProcess,
    ClusterwiseClusteringProcess,
    NeuralClusteringProcess,
)
from pyroclust.guides.clusterwise_clustering_process import attentive_network_for, clusterwise_network_for
from pyroclust.guides.neural_clustering_process import light_scorer_for, summed_scorer_for
from pyroclust.infer import FitSettings, fit, simulate
from pyroclust.models import Mixture, gaussian2d
from pyroclust.nn import DensestFirst, RandomOrder, VectorEncoder
from pyroclust.partitions import enumerate_partitions
from pyroclust.recipes import read_recipe
from pyroclust.saving.guides import save_guide

COLUMNS = 20


def encoder() -> VectorEncoder:
    return VectorEncoder(COLUMNS, dim=3, width=16, num_blocks=1, scale=10.0)


def light(model: Mixture) -> AmortizedGuide:
    scorer = light_scorer_for(model, width=12, num_bandwidths=2, encoder=encoder())
    return NeuralClusteringProcess(model, scorer=scorer, order=RandomOrder())


def published(model: Mixture) -> AmortizedGuide:
    scorer = summed_scorer_for(model, width=12, sizes=(10, 14), encoder=encoder())
    return NeuralClusteringProcess(model, scorer=scorer, order=RandomOrder())


def clusterwise(model: Mixture, **options: Any) -> AmortizedGuide:
    network = clusterwise_network_for(model, width=12, decoder_width=8, encoder=encoder(), **options)
    return ClusterwiseClusteringProcess(model, network=network, order=RandomOrder())


def exact_clusterwise(model: Mixture) -> AmortizedGuide:
    return clusterwise(model, num_values=4)


def attentive(model: Mixture, *, anchored: bool = True) -> AmortizedGuide:
    network = attentive_network_for(
        model, anchored=anchored, width=12, decoder_width=8, num_inducing=3, encoder=encoder()
    )
    return AttentiveClusteringProcess(model, network=network, order=RandomOrder())


def attentive_up_front(model: Mixture) -> AmortizedGuide:
    return attentive(model, anchored=False)


KINDS = [light, published, clusterwise, exact_clusterwise, attentive, attentive_up_front]


@pytest.fixture(params=KINDS)
def guide(request: pytest.FixtureRequest) -> Any:
    torch.manual_seed(0)
    return request.param(gaussian2d(COLUMNS))


@torch.no_grad()
def mean_loss(guide: Any, data: Tensor, labels: Tensor) -> float:
    """Return minus the mean log-probability of the labels that data sets were simulated with."""
    guide.eval()
    torch.manual_seed(2)
    return -float(guide.posterior(data).log_prob(labels).mean())


def test_the_loss_falls_within_thirty_steps(guide: Any) -> None:
    torch.manual_seed(1)
    fresh = simulate(guide.model, torch.empty(100, 15, COLUMNS))
    before = mean_loss(guide, *fresh)
    weights = {name: one.detach().clone() for name, one in guide.named_parameters() if ".encoder." in name}
    settings = FitSettings(
        steps=30,
        max_points=15,
        points_per_step=240,
        learning_rate=1e-2,
        warmup_steps=2,
        averaging=0.0,
    )
    fit(guide.model, guide, settings=settings, progress=False)
    assert mean_loss(guide, *fresh) < 0.75 * before
    assert len(weights) == 9
    learned = dict(guide.named_parameters())
    assert all(not one.equal(learned[name]) for name, one in weights.items())


@torch.no_grad()
def test_probabilities_of_all_partitions_sum_to_one(guide: Any) -> None:
    guide.eval()
    posterior = guide.posterior(simulate(guide.model, torch.empty(5, COLUMNS))[0])
    repeats = 1 if posterior.is_exact else 200
    total = posterior.log_prob(enumerate_partitions(5).expand(repeats, -1, -1)).exp().sum(-1)
    error = 0.0 if posterior.is_exact else float(total.std()) / repeats**0.5
    assert error < 0.05
    assert abs(float(total.mean()) - 1) <= 4.5 * error + 1e-5


def test_guides_of_one_latent_of_few_values_have_exact_probabilities() -> None:
    data = torch.zeros(5, COLUMNS)
    exact = {make.__name__: make(gaussian2d(COLUMNS)).eval().posterior(data).is_exact for make in KINDS}
    assert [name for name, one in exact.items() if one] == ["light", "published", "exact_clusterwise"]


@torch.no_grad()
def test_a_saved_guide_is_the_same_again(guide: Any, tmp_path: Path) -> None:
    guide.eval()
    save_guide(guide, tmp_path / "mine")
    again, data = load_guide(tmp_path / "mine"), torch.randn(2, 6, COLUMNS)
    torch.manual_seed(3)
    draws, log_prob = guide.posterior(data).sample_and_log_prob((4,))
    torch.manual_seed(3)
    again_draws, again_log_prob = again.posterior(data).sample_and_log_prob((4,))
    assert torch.equal(draws, again_draws)
    torch.testing.assert_close(log_prob, again_log_prob)


RECIPE = """
about = "tables of twenty columns"
[model]
name = "gaussian2d"
dim = 20
[{part}]
encoder = {{ class = "VectorEncoder", num_columns = 20, dim = 3, width = 16, num_blocks = 1, scale = 10.0 }}
[order]
class = "DensestFirst"
bandwidth = 6.0
[training]
steps = 2
max_points = 8
"""


@pytest.mark.parametrize("part", ["light", "published", "clusterwise", "attentive"])
def test_recipes_name_the_encoder(part: str, tmp_path: Path, make_recipe: Callable[[str], Any]) -> None:
    recipe = make_recipe(part)
    guide = recipe.build()
    network = getattr(guide, guide.network_argument)
    assert isinstance(network.encoder, VectorEncoder)
    assert (network.encoder.num_columns, network.encoder.dim, network.encoder.scale) == (20, 3, 10.0)
    assert isinstance(guide.order, DensestFirst)
    fit(recipe.model, guide, settings=recipe.training, progress=False)
    save_guide(guide.eval(), tmp_path / "guide")
    assert load_guide(tmp_path / "guide").posterior(torch.randn(6, 20)).sample().shape == (6,)


@pytest.fixture
def make_recipe(tmp_path: Path) -> Callable[[str], Any]:
    def make(part: str) -> Any:
        path = tmp_path / "recipe.toml"
        path.write_text(RECIPE.format(part=part))
        return read_recipe(path)

    return make


def test_data_of_other_columns_are_refused() -> None:
    guide = light(gaussian2d(COLUMNS))
    with pytest.raises(ValueError, match=r"data has shape \(5, 19\), expected \(\.\.\., N, 20\)"):
        guide.posterior(torch.zeros(5, 19))
