"""Guides of points that are no vectors: images, through an encoder."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from pyroclust import load_guide
from pyroclust.distributions import ChineseRestaurantPrior
from pyroclust.guides import (
    AttentiveClusteringProcess,
    ClusterwiseClusteringProcess,
    NeuralClusteringProcess,
)
from pyroclust.guides.clusterwise_clustering_process import attentive_network_for, clusterwise_network_for
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.infer import FitSettings, InclusiveKL, fit, simulate
from pyroclust.models import LabelledImages
from pyroclust.nn import FutureAttention, ImageEncoder, InducedFuture, RandomOrder, SummedScorer
from pyroclust.nn.networks.clusterwise_network import ClusterwiseNetwork
from pyroclust.partitions import enumerate_partitions
from pyroclust.recipes import read_recipe
from pyroclust.saving.guides import describe_guide, save_guide


@pytest.fixture(scope="module")
def model() -> LabelledImages:
    """Six classes of noisy 8 x 8 images."""
    generator = torch.Generator().manual_seed(1)
    labels = torch.arange(6).repeat_interleave(30)
    patterns = torch.rand(6, 8, 8, generator=generator)
    images = patterns[labels] + 0.1 * torch.randn(180, 8, 8, generator=generator)
    return LabelledImages([(images, labels)], prior=ChineseRestaurantPrior(0.7))


def summed(model: LabelledImages) -> SummedScorer:
    return SummedScorer(6, width=12, sizes=(10, 14), encoder=ImageEncoder(8, 8, dim=6, channels=2))


def summed_with_future(model: LabelledImages) -> SummedScorer:
    encoder = ImageEncoder(8, 8, dim=6, channels=2)
    return SummedScorer(6, width=12, sizes=(10, 14), encoder=encoder, future=FutureAttention(8, num_heads=2))


def light(model: LabelledImages) -> nn.Module:
    encoder = ImageEncoder(8, 8, dim=3, channels=2)
    return light_scorer_for(model, width=12, num_bandwidths=2, encoder=encoder)


def light_with_future(model: LabelledImages) -> nn.Module:
    encoder = ImageEncoder(8, 8, dim=3, channels=2)
    future = InducedFuture(12, num_inducing=2)
    return light_scorer_for(model, width=12, num_bandwidths=0, encoder=encoder, future=future)


SCORERS = [summed, summed_with_future, light, light_with_future]


@pytest.fixture(params=SCORERS)
def guide(request: pytest.FixtureRequest, model: LabelledImages) -> NeuralClusteringProcess:
    torch.manual_seed(0)
    return NeuralClusteringProcess(model, scorer=request.param(model), order=RandomOrder()).eval()


def images(model: LabelledImages, *batch: int) -> Tensor:
    return simulate(model, torch.empty(*batch, 8, 8))[0]


@torch.no_grad()
def test_probabilities_of_partitions_of_images_sum_to_one(guide: NeuralClusteringProcess) -> None:
    posterior = guide.posterior(images(guide.model, 3, 6))
    every = enumerate_partitions(6).unsqueeze(1).expand(-1, 3, -1)
    torch.testing.assert_close(
        posterior.log_prob(every).logsumexp(0), torch.zeros(3).double(), rtol=0, atol=1e-5
    )


@torch.no_grad()
def test_sampled_and_teacher_forced_log_prob_agree_on_images(guide: NeuralClusteringProcess) -> None:
    posterior = guide.posterior(images(guide.model, 2, 40))
    draws, log_prob = posterior.sample_and_log_prob((10,))
    assert draws.shape == (10, 2, 40)
    torch.testing.assert_close(posterior.log_prob(draws), log_prob, rtol=0, atol=1e-5)


@torch.no_grad()
def test_images_of_a_batch_are_visited_as_alone(guide: NeuralClusteringProcess) -> None:
    data, order = images(guide.model, 2, 3, 7), torch.rand(2, 3, 7).argsort(-1)
    together = guide.posterior(data, order=order)
    labels = together.sample()
    alone = guide.posterior(data[1, 2], order=order[1, 2]).log_prob(labels[1, 2])
    torch.testing.assert_close(together.log_prob(labels)[1, 2], alone, rtol=0, atol=1e-5)
    mixed = guide.order_averaged(data, 3)
    assert mixed.log_prob(labels).shape == (2, 3)


def test_every_weight_learns_from_images(guide: NeuralClusteringProcess) -> None:
    guide.train()
    loss = InclusiveKL()(guide.model, guide)
    loss(torch.empty(8, 12, 8, 8)).backward()
    used = {name: one for name, one in guide.named_parameters() if one.numel()}
    idle = [name for name, one in used.items() if one.grad is None or not one.grad.any()]
    # A bias of keys moves all scores of a query alike, and the last bias of a summed scorer those of all
    # clusters: whether rounding leaves anything of its gradient hangs on the machine.
    alike = ("to_keys.bias", "scorer.f.10.bias")
    assert [name for name in idle if not name.endswith(alike)] == []


def test_a_guide_of_images_is_fitted_in_several_orders(model: LabelledImages) -> None:
    guide = NeuralClusteringProcess(model, scorer=summed_with_future(model), order=RandomOrder())
    before = {name: one.detach().clone() for name, one in guide.named_parameters()}
    settings = FitSettings(steps=2, max_points=12, points_per_step=60, orders=2, averaging=0.0)
    fit(model, guide, settings=settings, progress=False)
    assert any(not one.equal(before[name]) for name, one in guide.named_parameters() if "encoder" in name)


@torch.no_grad()
def test_a_saved_guide_of_images_is_the_same_again(guide: NeuralClusteringProcess, tmp_path: Path) -> None:
    save_guide(guide, tmp_path / "images")
    again = load_guide(tmp_path / "images")
    data, order = images(guide.model, 9), torch.randperm(9)
    labels = guide.posterior(data, order=order).sample()
    assert again.model.event_shape == (8, 8)
    assert describe_guide(again) == describe_guide(guide)
    expected = guide.posterior(data, order=order).log_prob(labels)
    torch.testing.assert_close(again.posterior(data, order=order).log_prob(labels), expected)


def test_images_of_another_shape_are_refused(guide: NeuralClusteringProcess) -> None:
    with pytest.raises(ValueError, match=r"data has shape \(5, 64\), expected \(\.\.\., N, 8, 8\)"):
        guide.posterior(torch.zeros(5, 64))
    with pytest.raises(ValueError, match=r"data has shape \(5, 8, 9\), expected \(\.\.\., N, 8, 8\)"):
        guide.posterior(torch.zeros(5, 8, 9))
    with pytest.raises(ValueError, match=r"data has shape \(5, 9, 8\), expected \(\.\.\., N, 8, 8\)"):
        guide.posterior(torch.zeros(5, 9, 8))
    with pytest.raises(ValueError, match="at least one point"):
        guide.posterior(torch.zeros(0, 8, 8))
    with pytest.raises(ValueError, match=r"data has shape \(5, 64\), expected \(\.\.\., N, 8, 8\)"):
        guide.model(torch.zeros(5, 64))


def test_an_encoder_that_no_card_can_name_is_refused(model: LabelledImages, tmp_path: Path) -> None:
    encoder = nn.Sequential(nn.Flatten(2), nn.Linear(64, 6))
    guide = NeuralClusteringProcess(
        model, scorer=SummedScorer(6, width=8, sizes=(6, 6), encoder=encoder), order=RandomOrder()
    )
    guide.posterior(images(model, 4)).sample()
    with pytest.raises(ValueError, match=r"scorer.encoder is of class 'Sequential' .* is not registered"):
        save_guide(guide, tmp_path / "images")


def test_a_future_of_another_width_is_refused(model: LabelledImages) -> None:
    with pytest.raises(ValueError, match="future has width 8, expected that of the scorer, 12"):
        light_scorer_for(model, width=12, future=FutureAttention(8), encoder=ImageEncoder(8, 8))


RECIPE = """
about = "pictures as rows of a table"
[tables]
folder = "pictures"
label = "kind"
[{scorer}]
width = 8
{sizes}
[{scorer}.future]
class = "{future}"
[{scorer}.encoder]
class = "ImageEncoder"
height = 4
width = 4
dim = 5
channels = 2
[training]
steps = 2
max_points = 8
"""


@pytest.fixture
def write_recipe(tmp_path: Path) -> Callable[[str, str], Path]:
    folder = tmp_path / "pictures"
    folder.mkdir()
    rows = torch.randn(30, 16).tolist()
    header = ",".join([*(f"p{one}" for one in range(16)), "kind"])
    lines = [",".join([*(f"{v:.4f}" for v in row), "ab"[i % 2]]) for i, row in enumerate(rows)]
    (folder / "some.csv").write_text("\n".join([header, *lines]) + "\n")

    def write(scorer: str, future: str) -> Path:
        path = tmp_path / f"{scorer}.toml"
        sizes = "sizes = [6, 6]" if scorer == "published" else "num_bandwidths = 0"
        path.write_text(RECIPE.format(scorer=scorer, sizes=sizes, future=future))
        return path

    return write


@pytest.mark.parametrize("scorer", ["published", "light"])
def test_recipe_with_encoder_and_future(
    write_recipe: Callable[[str, str], Path], scorer: str, tmp_path: Path
) -> None:
    recipe = read_recipe(write_recipe(scorer, "FutureAttention"))
    guide = recipe.build().eval()
    fit(recipe.model, guide, settings=recipe.training, progress=False)
    save_guide(guide.eval(), tmp_path / "guide")
    again, data = load_guide(tmp_path / "guide"), torch.randn(6, 16)
    order = torch.randperm(6)
    labels = guide.posterior(data, order=order).sample()
    assert again.scorer.future.width == 8
    torch.testing.assert_close(
        again.posterior(data, order=order).log_prob(labels),
        guide.posterior(data, order=order).log_prob(labels),
    )


def clusterwise(model: LabelledImages) -> ClusterwiseClusteringProcess:
    encoder = ImageEncoder(8, 8, dim=3, channels=2)
    network = clusterwise_network_for(model, width=12, decoder_width=8, num_bandwidths=2, encoder=encoder)
    return ClusterwiseClusteringProcess(model, network=network, num_particles=4, num_orders=2)


def attentive(model: LabelledImages) -> AttentiveClusteringProcess:
    encoder = ImageEncoder(8, 8, dim=3, channels=2)
    network = attentive_network_for(
        model, width=12, decoder_width=8, num_inducing=2, num_values=3, encoder=encoder
    )
    return AttentiveClusteringProcess(model, network=network, num_particles=4, num_orders=2)


@pytest.mark.parametrize("make", [clusterwise, attentive])
def test_clusterwise_guides_take_images(
    model: LabelledImages,
    make: Callable[[LabelledImages], ClusterwiseClusteringProcess],
    tmp_path: Path,
) -> None:
    torch.manual_seed(0)
    guide = make(model)
    before = {name: one.clone() for name, one in guide.state_dict().items() if "encoder" in name}
    settings = FitSettings(steps=5, max_points=12, points_per_step=60, warmup_steps=1)
    fit(model, guide, settings=settings, progress=False)
    assert before
    assert all(not torch.equal(one, guide.state_dict()[name]) for name, one in before.items())
    guide.eval()
    images, _ = simulate(model, torch.empty(2, 9, 8, 8))
    draws, log_prob = guide.posterior(images).sample_and_log_prob((3,))
    assert draws.shape == (3, 2, 9)
    assert log_prob.isfinite().all()
    save_guide(guide, tmp_path / "mine")
    again = load_guide(tmp_path / "mine")
    torch.testing.assert_close(again.network.encode(images).positions, guide.network.encode(images).positions)


def test_an_encoder_of_another_dimension_is_refused() -> None:
    with pytest.raises(ValueError, match="dim is 2, expected 3"):
        ClusterwiseNetwork(2, 1.0, encoder=ImageEncoder(8, 8, dim=3, channels=2))


def test_unknown_parts_of_a_recipe_are_named(write_recipe: Callable[[str, str], Path]) -> None:
    with pytest.raises(ValueError, match=r"light.future: unknown class 'FutureAttentio', did you mean"):
        read_recipe(write_recipe("light", "FutureAttentio")).build()
