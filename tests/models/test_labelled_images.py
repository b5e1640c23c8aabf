"""Labelled images: whole images of the right classes, classes bent by fields of their own, and errors."""

import numpy as np
import pytest
import torch

from pyroclust.distributions import ChineseRestaurantPrior
from pyroclust.infer import simulate
from pyroclust.models import LabelledImages, bent_classes
from pyroclust.models.training_data.labelled_tables import AbsentTables


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
