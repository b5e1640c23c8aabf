"""Deformed glyphs: what the classes are, what the deformations do, and what the model refuses."""

import pytest
import torch
from torch import Tensor

from pyroclust.distributions import PitmanYorPrior
from pyroclust.infer import simulate
from pyroclust.models import DeformedGlyphs
from pyroclust.models.deformed_glyphs import (
    NUM_SIDES,
    GlyphImages,
    GlyphShapes,
    _classes_of,
    _laid,
    glyph_shapes,
)


@pytest.fixture(scope="module")
def shapes() -> GlyphShapes:
    return glyph_shapes()


def drawn(shapes: GlyphShapes, classes: Tensor, *, side: int = 28, strength: float = 1.0) -> Tensor:
    torch.manual_seed(0)
    law = GlyphImages(shapes, classes.unsqueeze(0), side=side, margin=0.1, strength=strength)
    return law.sample()[0]


def test_there_are_thousands_of_classes_and_no_digit(shapes: GlyphShapes) -> None:
    assert len(shapes.glyphs) > 5000
    assert not any(one.isnumeric() or one.isdigit() for one in shapes.characters)
    assert len(set(shapes.characters)) == len(shapes.characters) == len(shapes.fields)
    assert shapes.glyphs.max() < len(shapes.characters)
    assert shapes.sides.max() < NUM_SIDES
    # Every character is there upright, and no class twice.
    assert set(shapes.glyphs[shapes.sides == 0].tolist()) == set(range(len(shapes.characters)))
    pairs = list(zip(shapes.glyphs.tolist(), shapes.sides.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)


def test_a_shape_that_looks_the_same_on_a_side_is_no_other_class(shapes: GlyphShapes) -> None:
    def sides(character: str) -> list[int]:
        return shapes.sides[shapes.glyphs == shapes.characters.index(character)].tolist()

    # A mirror image of H is H, and a star has no sides at all.
    assert set(sides("H")) <= {0, 1, 2, 3}
    assert len(sides("+")) == 1
    assert sides("R") == list(range(NUM_SIDES))


def test_without_deformations_images_differ_by_font_and_softness_alone(
    shapes: GlyphShapes,
) -> None:
    one = int((shapes.glyphs == shapes.characters.index("R")).nonzero()[0])
    images = drawn(shapes, torch.full((60,), one), strength=0.0) > 0.5
    assert len({tuple(row.flatten().tolist()) for row in images}) <= 12
    assert len({tuple(row.flatten().tolist()) for row in drawn(shapes, torch.full((60,), one)) > 0.5}) == 60


def test_deformations_turn_shear_and_scale_by_what_they_say(shapes: GlyphShapes) -> None:
    torch.manual_seed(0)
    law = GlyphImages(shapes, torch.zeros(1, 1, dtype=torch.int64), side=8, margin=0.1, strength=1.0)
    places = law._places(torch.zeros(4000, dtype=torch.int64), 8).flatten(1, 2)
    step = ((torch.arange(8) + 0.5) / 8 - 0.5) / 0.8
    grid = torch.stack(torch.meshgrid(step, step, indexing="xy"), -1).flatten(0, 1)
    # Least squares: x and y are uncorrelated on the grid, and have mean 0. What bends adds some .06.
    linear = places.mT @ grid / grid.square().sum(0)
    turned, wide, high = linear[:, 1, 0], linear[:, 0, 0], linear[:, 1, 1]
    assert turned.std() == pytest.approx((0.2**2 + 0.06**2) ** 0.5, rel=0.1)
    assert linear[:, 0, 1].std() == pytest.approx((2 * 0.2**2 + 0.06**2) ** 0.5, rel=0.1)
    assert wide.std() == pytest.approx((0.12**2 + 0.06**2) ** 0.5, rel=0.15)
    assert high.std() > 0.12
    assert places.mean(1).std() == pytest.approx(0.04, abs=0.02)


def test_images_have_noise_and_contrasts_of_their_own(shapes: GlyphShapes) -> None:
    one = int((shapes.glyphs == shapes.characters.index("+")).nonzero()[0])
    images = drawn(shapes, torch.full((500,), one))
    # No ink reaches the corners; negative noise is cut off.
    corners = images[:, [0, 0, -1, -1], [0, -1, 0, -1]]
    assert 0.005 < corners.std() < 0.04
    assert corners.std(1).max() > 3 * corners.std(1).median()
    inks = images.flatten(1).quantile(0.97, dim=1)
    assert inks.std() > 0.02
    assert drawn(shapes, torch.full((500,), one), strength=0.0)[:, 0, 0].max() < 1e-3


def test_deformed_images_stay_nearer_to_their_class_than_to_others(shapes: GlyphShapes) -> None:
    classes = torch.arange(0, len(shapes.glyphs), 181)
    first, second = (drawn(shapes, classes.repeat(20)).view(2, 10, len(classes), -1)).mean(1)
    nearest = torch.cdist(first, second).argmin(-1)
    assert (nearest == torch.arange(len(classes))).float().mean() > 0.9


@pytest.mark.parametrize("side", range(NUM_SIDES))
def test_sides_of_images_are_those_that_classes_were_compared_in(shapes: GlyphShapes, side: int) -> None:
    letter = shapes.characters.index("R")
    own = (shapes.glyphs == letter) & (shapes.sides == side)
    upright = (shapes.glyphs == letter) & (shapes.sides == 0)
    images = [drawn(shapes, one.nonzero()[0].repeat(40), strength=0.0).mean(0) for one in (own, upright)]
    expected = torch.from_numpy(_laid(images[1].unsqueeze(0).numpy(), side).copy())[0]
    assert (images[0] - expected).abs().max() < 0.05


def test_clusters_have_distinct_classes() -> None:
    torch.manual_seed(0)
    labels = torch.arange(30).expand(5, 30)
    classes = _classes_of(labels, num_classes=30)
    assert (classes.sort(-1).values == torch.arange(30)).all()
    same = _classes_of(torch.zeros(4, 7, dtype=torch.int64), num_classes=30)
    assert (same == same[:, :1]).all()


@pytest.mark.parametrize("side", [8, 28])
def test_the_typical_scale_is_that_of_the_simulator(shapes: GlyphShapes, side: int) -> None:
    classes = torch.arange(0, len(shapes.glyphs), 181).repeat_interleave(30)
    images = drawn(shapes, classes, side=side).view(-1, 30, side * side)
    assert abs(images.std(1).square().mean().sqrt() - DeformedGlyphs(side).typical_scale) < 0.06


def test_partitions_follow_the_prior() -> None:
    torch.manual_seed(0)
    prior = PitmanYorPrior(0.2, 1.0)
    model = DeformedGlyphs(4, prior=prior)
    assert model.partition_prior is prior
    _, labels = simulate(model, torch.empty(2000, 3, 4, 4))
    found = (labels.max(-1).values == 0).double().mean()
    expected = prior.partition(3).log_prob(torch.zeros(3, dtype=torch.int64)).exp()
    assert abs(found - expected) < 4 * (expected * (1 - expected) / 2000).sqrt()
