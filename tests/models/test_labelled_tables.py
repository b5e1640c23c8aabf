"""Labelled tables and images as models to simulate from."""

import itertools
import math

import numpy as np
import pandas as pd
import pyro.poutine as poutine
import pytest
import torch
from partition_laws import assert_counts_fit, partition_counts
from pyro.distributions import Gamma
from scipy import stats
from torch import Tensor

from pyroclust.distributions import ChineseRestaurantPrior
from pyroclust.guides import NeuralClusteringProcess
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.infer import FitSettings, InclusiveKL, fit, simulate
from pyroclust.models import LabelledImages, bent_classes
from pyroclust.models.training_data.labelled_tables import (
    AbsentTables,
    LabelledTables,
)
from pyroclust.nn import RandomOrder
from pyroclust.partitions import canonical, enumerate_partitions, is_canonical

# Classes of three rows and one, and of two, two and two; labels neither sorted nor numbered from 0.
SMALL = [["b", "a", "b", "b"], ["z", "x", "y", "y", "z", "x"]]


def tables(labels: list[list[str]] = SMALL) -> list[tuple[np.ndarray, np.ndarray]]:
    """The table and the row of every point, so that it can be recognised."""
    return [
        (np.stack([np.full(len(names), t), np.arange(len(names))], 1).astype(float), np.array(names))
        for t, names in enumerate(labels)
    ]


def simulated(model: LabelledTables, num_datasets: int, num_points: int) -> tuple[Tensor, Tensor]:
    template = torch.full((num_datasets, num_points, model.dim), torch.nan)
    trace = poutine.trace(poutine.uncondition(model)).get_trace(template)
    return trace.nodes["data"]["value"], trace.nodes["assignments"]["value"]


def law_of_draws(num_points: int) -> Tensor:
    """Go through every ordered choice of rows of every table that is large enough."""
    index = {tuple(row): i for i, row in enumerate(enumerate_partitions(num_points).tolist())}
    law = torch.zeros(len(index), dtype=torch.float64)
    large = [names for names in SMALL if len(names) >= num_points]
    for names in large:
        choices = list(itertools.permutations(range(len(names)), num_points))
        for rows in choices:
            codes = torch.tensor([ord(names[row]) for row in rows])
            law[index[tuple(canonical(codes).tolist())]] += 1 / len(choices) / len(large)
    return law


def law_under_prior(prior: ChineseRestaurantPrior, num_points: int) -> Tensor:
    """Weigh the prior by the share of tables and classes in which the clusters find room."""
    room = []
    for partition in enumerate_partitions(num_points):
        sizes = torch.bincount(partition).tolist()
        shares = []
        for names in SMALL:
            counts = [names.count(name) for name in sorted(set(names))]
            choices = list(itertools.permutations(counts, len(sizes)))
            fits = sum(all(n <= c for n, c in zip(sizes, some, strict=True)) for some in choices)
            shares.append(fits / max(1, len(choices)))
        room.append(sum(shares) / len(shares))
    return prior.log_prob(enumerate_partitions(num_points)).exp() * torch.tensor(room)


@pytest.mark.parametrize("num_points", [2, 3, 4, 5])
def test_partitions_follow_the_law_of_the_draws(num_points: int) -> None:
    _, assignments = simulated(LabelledTables(tables(), standardise=False), 20_000, num_points)
    assert_counts_fit(partition_counts(assignments), law_of_draws(num_points))


@pytest.mark.parametrize("num_points", [2, 3, 4, 5])
def test_partitions_follow_the_prior_where_there_is_room(num_points: int) -> None:
    prior = ChineseRestaurantPrior(1.3)
    _, assignments = simulated(LabelledTables(tables(), prior=prior, standardise=False), 20_000, num_points)
    law = law_under_prior(prior, num_points)
    assert_counts_fit(partition_counts(assignments), law / law.sum())


def test_partitions_follow_the_prior_itself_where_everything_fits() -> None:
    prior = ChineseRestaurantPrior(0.7)
    labels = [["a", "b", "c", "d"] * 4, ["p", "q", "r", "s", "t"] * 5]
    _, assignments = simulated(LabelledTables(tables(labels), prior=prior, standardise=False), 20_000, 4)
    assert_counts_fit(partition_counts(assignments), prior.log_prob(enumerate_partitions(4)).exp())


@pytest.mark.parametrize("prior", [None, ChineseRestaurantPrior(1.0)], ids=["proportions", "prior"])
def test_points_belong_to_one_table_appear_once_and_follow_their_labels(
    prior: ChineseRestaurantPrior | None,
) -> None:
    data, assignments = simulated(LabelledTables(tables(), prior=prior, standardise=False), 3000, 4)
    assert is_canonical(assignments).all()
    assert assignments.dtype == torch.int64
    assert (data[..., 0] == data[:, :1, 0]).all()
    assert (data[..., 1].sort(-1).values.diff(dim=-1) > 0).all()
    table, row = data.long().unbind(-1)
    padded = torch.tensor([[ord(name) for name in names] + [0] * (6 - len(names)) for names in SMALL])
    assert torch.equal(canonical(padded[table, row]), assignments)


def test_every_table_row_and_class_is_drawn_equally_often() -> None:
    for prior in (None, ChineseRestaurantPrior(1.0)):
        labels = [["a", "a", "b", "b"], ["c", "d", "c", "d"]]
        data, _ = simulated(LabelledTables(tables(labels), prior=prior, standardise=False), 16_000, 2)
        for position in range(2):
            table, row = data[:, position].long().unbind(-1)
            counts = torch.bincount(4 * table + row, minlength=8)
            assert stats.chisquare(counts.numpy()).pvalue > 1e-3


def test_small_tables_are_left_out_where_more_points_are_asked_for() -> None:
    data, _ = simulated(LabelledTables(tables(), standardise=False), 200, 5)
    assert (data[..., 0] == 1).all()


def test_columns_are_standardised_table_by_table() -> None:
    table = (np.array([[1.0, 10.0], [3.0, 30.0]]), np.array([0, 1]))
    other = (np.array([[100.0, -4.0], [101.0, -8.0]]), np.array(["x", "x"]))
    data, _ = simulated(LabelledTables([table, other]), 50, 2)
    torch.testing.assert_close(data.abs(), torch.ones_like(data))
    assert data.dtype == torch.get_default_dtype()


def test_what_guides_ask_of_it() -> None:
    points = np.array([[0.0, 0.0], [2.0, 2.0], [10.0, 10.0], [14.0, 14.0]])
    model = LabelledTables([(points, np.array([0, 0, 1, 1]))], standardise=False, name="pairs")
    assert (model.dim, model.event_shape, model.name) == (2, (2,), "pairs")
    assert model.typical_scale == pytest.approx(math.sqrt((1 + 1 + 4 + 4) / 4))
    assert model.hyperpriors == {}


def test_tables_may_be_tensors_and_data_frames() -> None:
    points, labels = np.arange(12.0).reshape(6, 2) ** 2, np.arange(6) % 2
    found = []
    for table in (
        (points, labels),
        (torch.from_numpy(points).requires_grad_(), torch.from_numpy(labels)),
        (pd.DataFrame(points), pd.Series(labels)),
    ):
        torch.manual_seed(0)
        found.append(simulate(LabelledTables([table]), torch.empty(3, 4, 2)))
    for data, assignments in found[1:]:
        assert torch.equal(data, found[0][0])
        assert torch.equal(assignments, found[0][1])


def iris_and_wine() -> tuple[list[tuple[np.ndarray, np.ndarray]], list[tuple[np.ndarray, np.ndarray]]]:
    """Halves of two tables, four columns each: to train on and to test with."""
    from sklearn.datasets import load_iris, load_wine

    halves: tuple[list, list] = ([], [])
    for load in (load_iris, load_wine):
        points, labels = load(return_X_y=True)
        points = points[:, [0, 6, 9, 12]] if points.shape[1] > 4 else points
        for half, some in enumerate(halves):
            some.append((points[half::2], labels[half::2]))
    return halves


def held_out(guide: NeuralClusteringProcess, test: LabelledTables) -> float:
    torch.manual_seed(11)
    with torch.no_grad():
        return -InclusiveKL().per_dataset(test, guide, torch.empty(200, 15, 4)).mean().item()


def test_a_guide_learns_classes_of_real_tables() -> None:
    train, test = (LabelledTables(some) for some in iris_and_wine())
    scorer = light_scorer_for(train, width=16, num_bandwidths=3, use_filter=False)
    guide = NeuralClusteringProcess(train, scorer=scorer, order=RandomOrder())
    before = held_out(guide, test)
    settings = FitSettings(steps=120, max_points=20, points_per_step=300, warmup_steps=20)
    fit(train, guide, settings=settings, progress=False)
    # Nats a data set of 15 points.
    assert held_out(guide, test) > before + 5


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "tables is empty"),
        ([(np.zeros((1, 2)), np.zeros(1))], "n of at least 2"),
        ([(1e50 * np.eye(2), np.zeros(2))], r"table 0 reaches 1e\+50, expected numbers of at most 1e\+38"),
        (
            [(np.eye(2), torch.zeros(2).to_sparse())],
            "table 0: labels is of type Tensor, expected a list, an array or a",
        ),
        ([(np.eye(2), ["a", None])], r"table 0: labels has 1 missing label\(s\)"),
        ([(np.eye(2), ["a", 1])], "table 0 has labels of several types"),
        ([(np.eye(3), np.zeros(3)), (np.eye(2), np.zeros(2))], "tables have 2, 3 columns"),
        ([(np.array([[1.0, 2.0], [1.0, 3.0]]), np.zeros(2))], "table 0 is constant in column 0"),
    ],
)
def test_bad_tables(given: list[tuple[np.ndarray, np.ndarray]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LabelledTables(given)


def test_bad_templates_and_priors() -> None:
    model = LabelledTables(tables(), standardise=False)
    with pytest.raises(ValueError, match="num_points is 7, expected at most 6"):
        model(torch.empty(2, 7, 2))
    with pytest.raises(ValueError, match=r"data has shape \(2, 4, 3\), expected \(\.\.\., N, 2\)"):
        model(torch.empty(2, 4, 3))
    with pytest.raises(ValueError, match="random hyperparameter"):
        LabelledTables(tables(), prior=ChineseRestaurantPrior(Gamma(2.0, 2.0)))
    crowded = LabelledTables(tables(), prior=ChineseRestaurantPrior(1.0), standardise=False)
    with pytest.raises(ValueError, match="prior gives partitions of 10 points that fit no table"):
        simulated(crowded, 2, 10)


def collection(seed: int, count: int = 24) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    return generator.normal(size=(count, 4, 6)), np.arange(count) % 6


def test_data_are_the_images_and_partitions_their_classes() -> None:
    images, labels = collection(0)
    model = LabelledImages([(images, labels)], prior=ChineseRestaurantPrior(0.7))
    data, assignments = simulate(model, torch.empty(3, 8, 4, 6))
    same = np.isclose(data.numpy()[:, :, None], images).all((-1, -2))
    assert (same.sum(-1) == 1).all()
    found = torch.from_numpy(labels[same.argmax(-1)])
    together = found.unsqueeze(-1) == found.unsqueeze(-2)
    assert together.equal(assignments.unsqueeze(-1) == assignments.unsqueeze(-2))
    assert model.event_dim == 3
    assert model.event_shape == (4, 6)


def test_bad_images_are_named() -> None:
    images, labels = collection(0)
    with pytest.raises(ValueError, match=r"images of shapes \[\(4, 6\), \(5, 6\)\], expected one shape"):
        LabelledImages([(images, labels), (np.zeros((24, 5, 6)), labels)])
    with pytest.raises(ValueError, match=r"images of shapes \[\(24,\)\], expected one shape, \(H, W\)"):
        LabelledImages([(images.reshape(24, 24), labels)])
    with pytest.raises(ValueError, match=r"reaches 1e\+308, expected numbers of at most 1e\+38"):
        LabelledImages([(np.full((24, 4, 6), 1e308), labels)])
    with pytest.raises(ValueError, match=r"points of shape \(0, 24\)"):
        LabelledImages([(images[:0], labels[:0])])


def test_absent_images_remember_their_shape() -> None:
    absent = AbsentTables(24, typical_scale=1.0, event_shape=[4, 6])
    assert (absent.event_shape, absent.event_dim) == ((4, 6), 3)
    with pytest.raises(ValueError, match=r"event_shape is \(4, 5\), expected a shape of 24 numbers"):
        AbsentTables(24, typical_scale=1.0, event_shape=[4, 5])


def two_alike() -> tuple[np.ndarray, list[str]]:
    """Return one image four times, twice in each of two classes."""
    image = np.random.default_rng(0).random((9, 9))
    return np.stack([image] * 4), ["b", "a", "b", "a"]


def test_all_images_of_a_class_are_bent_alike_and_others_are_not() -> None:
    for images, labels in bent_classes(*two_alike(), collections=4, variants=3):
        assert images.shape == (12, 9, 9)
        assert np.bincount(labels).tolist() == [2] * 6
        own = [images[labels == one] for one in range(6)]
        for one in own:
            np.testing.assert_array_equal(one[0], one[1])
        apart = [np.abs(own[i][0] - own[j][0]).max() for i in range(6) for j in range(i)]
        assert min(apart) > 0.05


def test_without_strength_images_are_turned_and_mirrored_alone() -> None:
    images, labels = two_alike()
    ways = [np.rot90(one, turn) for one in (images[0], images[0][:, ::-1]) for turn in range(4)]
    seen = set()
    for found, _ in bent_classes(images, labels, collections=40, variants=1, strength=0.0):
        match = [np.allclose(found, way, atol=1e-5) for way in ways]
        assert sum(match) == 1
        seen.add(match.index(True))
    assert len(seen) == 8


def test_a_seed_gives_the_same_collections_again() -> None:
    first, again, other = (bent_classes(*two_alike(), collections=2, seed=seed) for seed in (3, 3, 4))
    for (one, labels), (two, same) in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(labels, same)
    assert np.abs(first[0][0] - other[0][0]).max() > 0.05


def test_sets_are_drawn_from_them() -> None:
    images = np.random.default_rng(1).random((60, 8, 8))
    made = bent_classes(images, np.arange(60) % 3, collections=3)
    model = LabelledImages(made, prior=ChineseRestaurantPrior(0.7))
    data, assignments = simulate(model, torch.empty(5, 10, 8, 8))
    assert data.shape == (5, 10, 8, 8)
    assert 0 <= float(data.min()) <= float(data.max()) <= 1
    assert int(assignments.max()) < 6


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"images": np.zeros((4, 8, 9))}, "images has shape"),
        ({"labels": ["a"]}, "labels has shape"),
        ({"collections": 0}, "collections is 0"),
        ({"variants": 0}, "variants is 0"),
        ({"strength": -1.0}, "strength is -1"),
    ],
)
def test_bad_arguments_are_named(changed: dict, sentence: str) -> None:
    arguments = {"images": np.zeros((4, 8, 8)), "labels": list("abab"), "collections": 2} | changed
    images, labels = arguments.pop("images"), arguments.pop("labels")
    with pytest.raises(ValueError, match=sentence) as caught:
        bent_classes(images, labels, **arguments)
    assert "\n" not in str(caught.value)
