"""Labelled images: whole images of the right classes, and errors."""

import numpy as np
import pytest
import torch

from pyroclust.distributions import ChineseRestaurantPrior
from pyroclust.infer import simulate
from pyroclust.models import AbsentTables, LabelledImages


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
    with pytest.raises(ValueError, match="expected at least one"):
        LabelledImages([])
    with pytest.raises(ValueError, match="nan or infinite"):
        LabelledImages([(np.full((24, 4, 6), np.nan), labels)])
    with pytest.raises(ValueError, match=r"reaches 1e\+308, expected numbers of at most 1e\+38"):
        LabelledImages([(np.full((24, 4, 6), 1e308), labels)])
    with pytest.raises(ValueError, match=r"points of shape \(0, 24\)"):
        LabelledImages([(images[:0], labels[:0])])


def test_absent_images_remember_their_shape() -> None:
    absent = AbsentTables(24, typical_scale=1.0, event_shape=[4, 6])
    assert (absent.event_shape, absent.event_dim) == ((4, 6), 3)
    with pytest.raises(ValueError, match=r"event_shape is \(4, 5\), expected a shape of 24 numbers"):
        AbsentTables(24, typical_scale=1.0, event_shape=[4, 5])
