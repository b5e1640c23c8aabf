"""What all models that are simulated from have in common: shapes, partitions, cards, no density."""

import numpy as np
import pytest
import torch
from pyro import poutine
from pyro.distributions import Gamma

from pyroclust.distributions import ChineseRestaurantPrior, PitmanYorPrior
from pyroclust.infer import simulate
from pyroclust.models import (
    DeformedGlyphs,
    DistortedClusters,
    GaussianClusters,
    LabelledImages,
    LabelledTables,
    SpikeWaveforms,
    StochasticBlockModel,
    UnlabelledTables,
    filtering_clusters,
    gaussian2d,
    set_transformer_clusters,
    warped_clusters,
)
from pyroclust.models.deformed_glyphs import GlyphImages, glyph_shapes
from pyroclust.models.spike_waveforms import SpikeRecording
from pyroclust.models.training_data.labelled_tables import ClassesByPrior, LabelledRows, PointsAtRandom
from pyroclust.partitions import is_canonical
from pyroclust.saving.models import build_model, describe_model

POINTS, LABELS = np.random.default_rng(0).normal(size=(40, 4, 5)), np.arange(40) % 6
PRIOR, RANDOM = PitmanYorPrior(0.2, 1.0), ChineseRestaurantPrior(Gamma(1.0, 1.0))
# Each with the shape of one point, where a data set has seven.
MODELS = {
    "glyphs": (DeformedGlyphs(8, prior=PRIOR, margin=0.05, strength=0.5), (8, 8)),
    "large glyphs": (DeformedGlyphs(28), (28, 28)),
    "spikes": (SpikeWaveforms(PRIOR, num_channels=4, num_samples=20), (4, 20)),
    "more spikes": (SpikeWaveforms(), (7, 32)),
    "blocks": (StochasticBlockModel(PRIOR, within=(2, 1), between=(1, 9), shared=True), (7,)),
    "set transformer": (set_transformer_clusters(6), (2,)),
    "filtering": (filtering_clusters(12), (2,)),
    "arcs": (warped_clusters(), (2,)),
    "arcs under another prior": (warped_clusters(ChineseRestaurantPrior(0.7)), (2,)),
    "tables": (LabelledTables([(POINTS[:, 0], LABELS)]), (5,)),
    "tables under a prior": (
        LabelledTables([(POINTS[:, 0], LABELS)], prior=ChineseRestaurantPrior(0.7)),
        (5,),
    ),
    "images": (LabelledImages([(POINTS, LABELS)], prior=ChineseRestaurantPrior(0.7)), (4, 5)),
}
WITH_CARDS = [one for name, (one, _) in MODELS.items() if name.split()[0] not in ("tables", "images")]


@pytest.mark.parametrize("batch", [(), (3,), (2, 3)], ids=len)
@pytest.mark.parametrize("name", MODELS)
def test_data_sets_and_partitions_are_simulated_in_batches(name, batch) -> None:
    model, point = MODELS[name]
    torch.manual_seed(0)
    data, labels = simulate(model, torch.empty(*batch, 7, *point))
    assert data.shape == (*batch, 7, *point)
    assert data.dtype == torch.get_default_dtype()
    assert data.isfinite().all()
    assert labels.shape == (*batch, 7)
    assert is_canonical(labels).all()


@pytest.mark.parametrize(
    "law", [DistortedClusters(gaussian2d()), UnlabelledTables([POINTS[:, 0, :2]], dim=2)]
)
def test_laws_without_partitions_are_simulated_in_batches(law) -> None:
    for batch in [(), (3,), (2, 3)]:
        trace = poutine.trace(poutine.uncondition(law)).get_trace(torch.empty(*batch, 7, 2))
        assert trace.nodes["data"]["value"].shape == (*batch, 7, 2)


@pytest.mark.parametrize("model", WITH_CARDS, ids=lambda one: one.name)
def test_a_card_builds_the_same_model_again(model) -> None:
    again = build_model(describe_model(model))
    assert again == model
    assert hash(again) == hash(model)
    assert describe_model(again) == describe_model(model)
    assert [one == model for one in WITH_CARDS].count(True) == 1


ROWS, ALIKE = LabelledRows.of([torch.tensor([0, 1, 1, 0])]), torch.zeros(2, dtype=torch.int64)


@pytest.mark.parametrize(
    "make",
    [
        lambda: GlyphImages(glyph_shapes(), ALIKE, side=8, margin=0.1, strength=1.0),
        lambda: SpikeRecording(ALIKE, num_channels=2, num_samples=8),
        lambda: PointsAtRandom(ROWS, 2),
        lambda: ClassesByPrior(ROWS, 2, prior=ChineseRestaurantPrior(1.0)),
    ],
    ids=["glyphs", "spikes", "points", "classes"],
)
def test_laws_expand_and_have_no_density(make) -> None:
    law = make()
    drawn = law.expand((3,)).sample((4,))
    assert drawn.shape == (4, 3, *law.event_shape)
    with pytest.raises(NotImplementedError, match=f"{type(law).__name__} has no log_prob"):
        law.log_prob(drawn)


@pytest.mark.parametrize("name", MODELS)
def test_templates_of_another_shape_are_refused(name) -> None:
    model, point = MODELS[name]
    assert model.has_likelihood == (name == "blocks")
    with pytest.raises(ValueError, match="data has shape"):
        poutine.uncondition(model)(torch.empty(3, 7, *point[:-1], point[-1] + 1))


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (DeformedGlyphs, {"side": 3}, "side is 3, expected"),
        (DeformedGlyphs, {"margin": 0.5}, "margin is 0.5, expected"),
        (DeformedGlyphs, {"strength": -1.0}, "strength is -1.0, expected"),
        (DeformedGlyphs, {"prior": RANDOM}, "prior has the random"),
        (SpikeWaveforms, {"num_channels": 0}, "num_channels is 0"),
        (SpikeWaveforms, {"num_samples": 4}, "num_samples is 4"),
        (SpikeWaveforms, {"prior": RANDOM}, "prior has the random"),
        (StochasticBlockModel, {"within": (1.0,)}, "within is .1.0,., expected the two parameters"),
        (StochasticBlockModel, {"between": (0.0, 1.0)}, r"between\[0\] is 0.0, expected"),
        (StochasticBlockModel, {"within": (1.0, np.nan)}, r"within\[1\] is nan"),
        (GaussianClusters, {}, "half_width is None and centre_scale None"),
        (GaussianClusters, {"half_width": 1.0, "centre_scale": 1.0}, "expected one of them"),
        (GaussianClusters, {"half_width": -1.0}, "half_width is -1"),
        (GaussianClusters, {"half_width": 1.0, "scale": 0.0}, "scale is 0"),
        (GaussianClusters, {"half_width": 1.0, "dim": 0}, "dim is 0"),
        (warped_clusters, {"centre_scale": 0.0}, "centre_scale is 0"),
    ],
)
def test_bad_arguments_are_named(make, arguments, message) -> None:
    with pytest.raises(ValueError, match=message):
        make(*([3] if make is GaussianClusters else []), **arguments)
