"""Guides of every kind that see points through an encoder: images, rows of many columns, nodes of graphs."""

from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from cases import some_of
from torch import Tensor, nn

from pyroclust import load_guide
from pyroclust.distributions import ChineseRestaurantPrior
from pyroclust.guides import AttentiveClusteringProcess, ClusterwiseClusteringProcess, NeuralClusteringProcess
from pyroclust.guides.clusterwise_clustering_process import attentive_network_for, clusterwise_network_for
from pyroclust.guides.neural_clustering_process import light_scorer_for, summed_scorer_for
from pyroclust.infer import FitSettings, InclusiveKL, fit, simulate
from pyroclust.models import LabelledImages, StochasticBlockModel, gaussian2d
from pyroclust.nn import (
    DensestFirst,
    FutureAttention,
    GatedGraphEncoder,
    GraphEncoder,
    ImageEncoder,
    InducedFuture,
    RandomOrder,
    SummedScorer,
    VectorEncoder,
)
from pyroclust.nn.networks.clusterwise_network import ClusterwiseNetwork
from pyroclust.partitions import enumerate_partitions
from pyroclust.recipes import read_recipe
from pyroclust.saving.guides import describe_guide, save_guide


def six_classes() -> LabelledImages:
    """Noisy 8 x 8 images."""
    generator = torch.Generator().manual_seed(1)
    labels = torch.arange(6).repeat_interleave(30)
    patterns = torch.rand(6, 8, 8, generator=generator)
    images = patterns[labels] + 0.1 * torch.randn(180, 8, 8, generator=generator)
    return LabelledImages([(images, labels)], prior=ChineseRestaurantPrior(0.7))


def graph_encoder(kind: type) -> nn.Module:
    return kind(6, width=12, num_layers=2, num_eigenvectors=6)


# Of points: the model, an encoder, and the shape of so many points.
POINTS: dict[str, tuple[Any, Callable[[], Any], Callable[[int], tuple[int, ...]]]] = {
    "images": (six_classes(), lambda: ImageEncoder(8, 8, dim=3, channels=2), lambda n: (n, 8, 8)),
    "rows": (
        gaussian2d(20),
        lambda: VectorEncoder(20, dim=3, width=16, num_blocks=1, scale=10.0),
        lambda n: (n, 20),
    ),
    "nodes": (StochasticBlockModel(), partial(graph_encoder, GraphEncoder), lambda n: (n, n)),
    "gated nodes": (StochasticBlockModel(), partial(graph_encoder, GatedGraphEncoder), lambda n: (n, n)),
}


def light(model: Any, encoder: Any, **options: Any) -> Any:
    scorer = light_scorer_for(model, encoder=encoder, width=12, **{"num_bandwidths": 2, **options})
    return NeuralClusteringProcess(model, scorer=scorer, order=RandomOrder())


def published(model: Any, encoder: Any, **options: Any) -> Any:
    scorer = summed_scorer_for(model, encoder=encoder, width=12, sizes=(10, 14), **options)
    return NeuralClusteringProcess(model, scorer=scorer, order=RandomOrder())


def clusterwise(model: Any, encoder: Any, **options: Any) -> Any:
    network = clusterwise_network_for(model, encoder=encoder, width=12, decoder_width=8, **options)
    return ClusterwiseClusteringProcess(model, network=network, order=RandomOrder())


def attentive(model: Any, encoder: Any, **options: Any) -> Any:
    options = {"width": 12, "decoder_width": 8, "num_inducing": 3, **options}
    network = attentive_network_for(model, encoder=encoder, **options)
    return AttentiveClusteringProcess(model, network=network, order=RandomOrder())


KINDS: dict[str, Callable[..., Any]] = {
    "light": light,
    "light, future": lambda *of: light(*of, num_bandwidths=0, future=InducedFuture(12, num_inducing=2)),
    "published": published,
    "published, future": lambda *of: published(*of, future=FutureAttention(8, num_heads=2)),
    "clusterwise": clusterwise,
    "clusterwise, exact": lambda *of: clusterwise(*of, num_values=4),
    "attentive, exact": lambda *of: attentive(*of, num_values=4, decoder_width=32, num_inducing=16),
    "attentive up front": lambda *of: attentive(*of, anchored=False),
}
EXACT = {name for name in KINDS if name.startswith(("light", "published")) or name.endswith("exact")}
CASES = {f"{kind} of {points}": (points, kind) for points, kind in product(POINTS, KINDS)}
# Guides see an encoder through its vectors alone: every guide has two of them, every encoder two guides.
CHOSEN = [list(CASES)[place] for place in (1, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 15, 18, 21, 24, 30)]


@pytest.fixture(params=some_of(((name,) for name in CASES), [(name,) for name in CHOSEN]))
def case(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def guide(case: str) -> Any:
    points, kind = CASES[case]
    torch.manual_seed(0)
    model, encoder, _ = POINTS[points]
    return KINDS[kind](model, encoder()).eval()


def shape_of(case: str, num_points: int) -> tuple[int, ...]:
    return POINTS[CASES[case][0]][2](num_points)


def data_of(case: str, num_points: int, *batch: int) -> Tensor:
    return simulate(POINTS[CASES[case][0]][0], torch.empty(*batch, *shape_of(case, num_points)))[0]


@torch.no_grad()
def test_probabilities_of_all_partitions_sum_to_one(guide: Any, case: str) -> None:
    posterior = guide.posterior(data_of(case, 5))
    assert posterior.is_exact == (CASES[case][1] in EXACT)
    repeats = 1 if posterior.is_exact else 200
    total = posterior.log_prob(enumerate_partitions(5).expand(repeats, -1, -1)).exp().sum(-1)
    error = 0.0 if posterior.is_exact else float(total.std()) / repeats**0.5
    assert error < 0.05
    assert abs(float(total.mean()) - 1) <= 4.5 * error + 1e-4


@torch.no_grad()
def test_draws_have_their_log_prob_and_batches_are_their_data_sets(guide: Any, case: str) -> None:
    data, order = data_of(case, 9, 2, 3), torch.rand(2, 3, 9).argsort(-1)
    together = guide.posterior(data, order=order)
    draws, log_prob = together.sample_and_log_prob((10,))
    assert draws.shape == (10, 2, 3, 9)
    assert log_prob.isfinite().all()
    if together.is_exact:
        torch.testing.assert_close(together.log_prob(draws), log_prob, rtol=0, atol=1e-4)
        alone = guide.posterior(data[1, 2], order=order[1, 2]).log_prob(draws[:, 1, 2])
        torch.testing.assert_close(log_prob[:, 1, 2], alone, rtol=0, atol=1e-4)
    if isinstance(guide, NeuralClusteringProcess):
        orders, labels = torch.rand(3, 9).argsort(-1), draws[0, 0, 0]
        shared = guide.over_orders(data[0, 0], orders).log_prob(labels)
        each = torch.stack([guide.posterior(data[0, 0], order=one).log_prob(labels) for one in orders])
        torch.testing.assert_close(shared, each, rtol=0, atol=1e-4)


SETTINGS = {
    "images": FitSettings(steps=5, max_points=12, points_per_step=60, warmup_steps=1),
    "rows": FitSettings(
        steps=30, max_points=15, points_per_step=240, learning_rate=1e-2, warmup_steps=2, averaging=0.0
    ),
    "nodes": FitSettings(
        steps=90, min_points=20, max_points=20, points_per_step=200, learning_rate=1e-2, averaging=0.0
    ),
}


def test_the_loss_falls_and_the_encoder_learns(guide: Any, case: str) -> None:
    points = CASES[case][0].removeprefix("gated ")
    number = {"images": 12, "rows": 15, "nodes": 20}[points]
    torch.manual_seed(1)
    fresh, labels = simulate(guide.model, torch.empty(60, *shape_of(case, number)))

    def loss() -> float:
        torch.manual_seed(2)
        with torch.no_grad():
            return -float(guide.eval().posterior(fresh).log_prob(labels).mean())

    before = loss()
    weights = {name: one.detach().clone() for name, one in guide.named_parameters() if ".encoder." in name}
    fit(guide.model, guide.train(), settings=SETTINGS[points], progress=False)
    learned = dict(guide.named_parameters())
    assert weights
    assert all(not one.equal(learned[name]) for name, one in weights.items())
    if points != "images":
        assert loss() < (0.75 * before if points == "rows" else before - 1)


def test_every_weight_of_a_scorer_learns(guide: Any, case: str) -> None:
    if not isinstance(guide, NeuralClusteringProcess):
        return
    InclusiveKL()(guide.model, guide.train())(torch.empty(8, *shape_of(case, 12))).backward()
    used = {name: one for name, one in guide.named_parameters() if one.numel()}
    idle = [name for name, one in used.items() if one.grad is None or not one.grad.any()]
    # A bias of keys moves all scores of a query alike, and the last bias of a summed scorer those of all
    # clusters: whether rounding leaves anything of its gradient hangs on the machine.
    assert [name for name in idle if not name.endswith(("to_keys.bias", "scorer.f.10.bias"))] == []


@torch.no_grad()
def test_a_saved_guide_is_the_same_again(guide: Any, case: str, tmp_path: Path) -> None:
    save_guide(guide, tmp_path / "mine")
    again, data, found = load_guide(tmp_path / "mine"), data_of(case, 6, 2), []
    assert describe_guide(again) == describe_guide(guide)
    for one in (guide, again):
        torch.manual_seed(3)
        found.append(one.posterior(data).sample_and_log_prob((4,)))
    torch.testing.assert_close(found[0], found[1])


def test_an_encoder_that_no_card_can_name_is_refused(tmp_path: Path) -> None:
    encoder, model = nn.Sequential(nn.Flatten(2), nn.Linear(64, 6)), POINTS["images"][0]
    scorer = SummedScorer(6, width=8, sizes=(6, 6), encoder=encoder)
    guide = NeuralClusteringProcess(model, scorer=scorer, order=RandomOrder())
    guide.posterior(torch.rand(4, 8, 8)).sample()
    with pytest.raises(ValueError, match=r"scorer.encoder is of class 'Sequential' .* is not registered"):
        save_guide(guide, tmp_path / "images")


@pytest.mark.parametrize(
    ("points", "shape", "expected"),
    [
        ("images", (5, 64), r"data has shape \(5, 64\), expected \(\.\.\., N, 8, 8\)"),
        ("images", (5, 8, 9), r"data has shape \(5, 8, 9\), expected \(\.\.\., N, 8, 8\)"),
        ("images", (0, 8, 8), "at least one point"),
        ("rows", (5, 19), r"data has shape \(5, 19\), expected \(\.\.\., N, 20\)"),
    ],
)
def test_points_of_another_shape_are_refused(points: str, shape: tuple[int, ...], expected: str) -> None:
    model, encoder, _ = POINTS[points]
    with pytest.raises(ValueError, match=expected):
        light(model, encoder()).posterior(torch.zeros(shape))


def test_widths_that_do_not_fit_are_named() -> None:
    with pytest.raises(ValueError, match="future has width 8, expected that of the scorer, 12"):
        light(POINTS["images"][0], ImageEncoder(8, 8), future=FutureAttention(8))
    with pytest.raises(ValueError, match="dim is 2, expected 3"):
        ClusterwiseNetwork(2, 1.0, encoder=ImageEncoder(8, 8, dim=3, channels=2))


IMAGES = """
about = "pictures as rows of a table"
[tables]
folder = "pictures"
label = "kind"
[{part}]
width = 8
{sizes}
[{part}.future]
class = "{future}"
[{part}.encoder]
class = "ImageEncoder"
height = 4
width = 4
dim = 5
channels = 2
[training]
steps = 2
max_points = 8
"""
ROWS = """
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


@pytest.fixture
def write_recipe(tmp_path: Path) -> Callable[..., Path]:
    folder = tmp_path / "pictures"
    folder.mkdir()
    header = ",".join([*(f"p{one}" for one in range(16)), "kind"])
    rows = [
        ",".join([*(f"{v:.4f}" for v in row), "ab"[i % 2]])
        for i, row in enumerate(torch.randn(30, 16).tolist())
    ]
    (folder / "some.csv").write_text("\n".join([header, *rows]) + "\n")

    def write(text: str, part: str, **more: str) -> Path:
        path = tmp_path / "recipe.toml"
        sizes = "sizes = [6, 6]" if part == "published" else "num_bandwidths = 0"
        path.write_text(text.format(part=part, sizes=sizes, **more))
        return path

    return write


@pytest.mark.parametrize("part", ["published", "light"])
def test_recipes_name_encoder_and_future(
    write_recipe: Callable[..., Path], part: str, tmp_path: Path
) -> None:
    recipe = read_recipe(write_recipe(IMAGES, part, future="FutureAttention"))
    guide = recipe.build()
    fit(recipe.model, guide, settings=recipe.training, progress=False)
    save_guide(guide.eval(), tmp_path / "guide")
    again, data, order = load_guide(tmp_path / "guide"), torch.randn(6, 16), torch.randperm(6)
    labels = guide.posterior(data, order=order).sample()
    assert again.scorer.future.width == 8
    found, expected = (one.posterior(data, order=order).log_prob(labels) for one in (again, guide))
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("part", ["light", "published", "clusterwise", "attentive"])
def test_recipes_name_the_encoder(write_recipe: Callable[..., Path], part: str, tmp_path: Path) -> None:
    recipe = read_recipe(write_recipe(ROWS, part))
    guide = recipe.build()
    encoder = getattr(guide, guide.network_argument).encoder
    assert isinstance(encoder, VectorEncoder)
    assert (encoder.num_columns, encoder.dim, encoder.scale) == (20, 3, 10.0)
    assert isinstance(guide.order, DensestFirst)
    fit(recipe.model, guide, settings=recipe.training, progress=False)
    save_guide(guide.eval(), tmp_path / "guide")
    assert load_guide(tmp_path / "guide").posterior(torch.randn(6, 20)).sample().shape == (6,)


def test_unknown_parts_of_a_recipe_are_named(write_recipe: Callable[..., Path]) -> None:
    with pytest.raises(ValueError, match=r"light.future: unknown class 'FutureAttentio', did you mean"):
        read_recipe(write_recipe(IMAGES, "light", future="FutureAttentio")).build()
