"""Which guide is picked by default: one that passes its certificate, or the exact filter."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from pyroclust.analysis import picking
from pyroclust.data.columns_of_table import ColumnsOfTable
from pyroclust.data.shapes import Images, Waveforms
from pyroclust.guides import AnchoredGuide, NeuralClusteringProcess, PredictiveFilter
from pyroclust.models import nig_mixture, niw_mixture, normal_mixture, table_mixture
from pyroclust.saving.cards import GuideCard, list_guides


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
def test_the_default_passes_its_certificate_or_is_the_filter(dim):
    picked = picking.pick_guide(None, dim=dim, conditions={})
    assert picked.guide.model.component.dim == dim
    if isinstance(picked.guide, PredictiveFilter):
        assert "exact filter" in picked.notes[0]
    else:
        assert picked.certificate["verdict"]["passed"]
        is_earlier = picked.model != picking.model_by_name(dim, 2)
        assert [note.split(" of the model")[0] for note in picked.notes] == ["There is no guide"] * is_earlier


def test_the_stored_verdict_decides(monkeypatch):
    def judged(passed):
        cards = [
            replace(
                card,
                certificate={"verdict": {"passed": passed, "findings": [{"what": "x", "passed": passed}]}},
            )
            for card in list_guides()
        ]
        monkeypatch.setattr(picking, "list_guides", lambda: tuple(cards))
        return picking.pick_guide(None, dim=2, conditions={})

    assert isinstance(judged(True).guide, NeuralClusteringProcess)
    assert isinstance(judged(False).guide, PredictiveFilter)


@pytest.mark.parametrize(
    ("failed", "name"),
    [
        ({"acp-spikes": 5, "ncp-spikes": 1}, "ncp-spikes"),
        ({"acp-spikes": 1, "ncp-spikes": 5}, "acp-spikes"),
        ({"acp-spikes": None, "ncp-spikes": 5}, "ncp-spikes"),
        ({"acp-spikes": 1, "ncp-spikes": 0}, "ncp-spikes"),
    ],
)
def test_of_several_guides_for_such_points_the_one_that_fails_fewest_tests(monkeypatch, failed, name):
    cards = []
    for card in list_guides():
        number = failed.get(card.name, 0)
        findings = [] if number is None else [{"what": "x", "passed": one >= number} for one in range(9)]
        cards.append(replace(card, certificate={"verdict": {"passed": number == 0, "findings": findings}}))
    monkeypatch.setattr(picking, "list_guides", lambda: tuple(cards))
    assert picking.pick_guide(None, dim=224, conditions={}, shape=Waveforms(7, 32)).name == name


def test_guides_of_images_are_not_picked_for_waveforms_of_their_size():
    assert picking.pick_guide(None, dim=64, conditions={}, shape=Images(8, 8)).name == "ncp-glyphs8"
    for shape in (Waveforms(8, 8), Images(7, 32)):
        with pytest.raises(ValueError, match=f"there is no guide on the shelf for {shape}"):
            picking.pick_guide(None, dim=64, conditions={}, shape=shape)


def test_a_reference_that_is_asked_for_is_marked():
    picked = picking.pick_guide("ncp-published-gaussian2d", dim=2, conditions={})
    assert picked.notes[0].startswith("Guide ncp-published-gaussian2d is a reference: it fails ")
    assert picking.pick_guide("ncp-niw2d", dim=2, conditions={}).notes == ()


def test_a_guide_is_told_its_conditions_and_no_others():
    with pytest.raises(ValueError, match=r"conditions are none, guide 'ncp-sensitivity2d' takes --condition"):
        picking.pick_guide("ncp-sensitivity2d", dim=2, conditions={})
    with pytest.raises(ValueError, match="conditions are scale, guide 'ncp-niw2d' takes none"):
        picking.pick_guide("ncp-niw2d", dim=2, conditions={"scale": 1.0})


def test_a_report_says_where_a_guide_is_used_beyond_its_training():
    picked = replace(picking.pick_guide("ncp-niw2d", dim=2, conditions={}), max_points=50, notes=("First.",))

    def notes(num_points, dim=2):
        points = SimpleNamespace(data=np.broadcast_to(0.0, (num_points, dim)))
        return picked.notes_on(
            SimpleNamespace(name="mine.csv", shape=None, has_missing=False, are_numbers=True), points
        )

    assert notes(50) == ("First.",)
    assert notes(51)[0] == "First."
    picked = replace(picked, min_points=20)
    assert notes(20) == ("First.",)
    assert notes(19)[1].startswith("The guide was trained on 20 points or more and is used on 19: ")
    assert notes(51)[1].startswith("The guide was trained on up to 50 points and is used on 51: ")
    with pytest.raises(ValueError, match=r"mine.csv has 3 column\(s\) and guide 'ncp-niw2d' takes 2; choose"):
        notes(50, 3)


def test_more_columns_than_any_guide_has_get_the_exact_filter_of_the_same_model():
    picked = picking.pick_guide(None, dim=13, conditions={})
    assert isinstance(picked.guide, PredictiveFilter)
    assert picked.guide.model == normal_mixture(13)
    assert picked.notes[0].startswith("There is no trained guide of the model normal_mixture for 13 col")
    with pytest.raises(ValueError, match="conditions are scale, guide 'exact filter' takes none"):
        picking.pick_guide(None, dim=13, conditions={"scale": 1.0})


@pytest.mark.parametrize(
    ("dim", "asked", "name"),
    [
        (2, {}, "ncp-normal2d"),
        (2, {"family": "niw", "prior": "gamma-crp"}, "ncp-niw2d"),
        (2, {"family": "niw", "prior": "py"}, "ncp-py2d"),
        (2, {"prior": "mfm"}, "ncp-normal2d"),
        (2, {"family": "niw"}, "exact filter"),
        (1, {"family": "nig", "prior": "gamma-crp"}, "ncp-nig1d"),
        (2, {"family": "nig"}, "ncp-tables"),
        (3, {"concentration": 1.0}, "exact filter"),
        (2, {"expected_clusters": 8.0}, "exact filter"),
    ],
)
def test_a_model_by_name_gets_a_guide_that_serves_it_or_its_filter(dim, asked, name):
    picked = picking.pick_guide(None, dim=dim, num_points=100, conditions={}, names=asked)
    assert picked.name == name
    assert picked.model == picking.model_by_name(dim, 100, **asked)


def test_on_large_tables_the_guide_labels_anchors_and_the_filter_the_others():
    card = next(one for one in list_guides() if one.name == "ncp-normal2d")
    assert picking.pick_guide(None, dim=2, num_points=card.max_points, conditions={}).name == card.name
    picked = picking.pick_guide(None, dim=2, num_points=card.max_points + 1, conditions={})
    assert isinstance(picked.guide, AnchoredGuide)
    assert (picked.name, picked.guide.num_anchors) == ("ncp-normal2d on 200 anchors", 200)
    assert picked.notes[0].startswith("Guide ncp-normal2d learnt from at most 1,000 points, and here are 1")
    # A guide that was never certified on anchors has no certificate there.
    assert (picked.certificate, picked.max_points) == ({}, None)
    assert picking.pick_guide("ncp-niw2d", dim=2, num_points=5000, conditions={}).name == "ncp-niw2d"


def test_guides_of_named_models_are_found_and_their_certificates_decide(monkeypatch):
    asked, listed, name = {"family": "niw", "prior": "py"}, list_guides(), "ncp-py2d"
    for passed in (False, True):
        verdict = {"passed": passed, "findings": [{"what": "x", "passed": passed}]}
        cards = tuple(replace(card, certificate={"verdict": verdict}) for card in listed)
        monkeypatch.setattr(picking, "list_guides", lambda cards=cards: cards)
        picked = picking.pick_guide(None, dim=2, num_points=100, conditions={}, names=asked)
        assert picked.name == (name if passed else "exact filter")
        assert passed or f"column(s) passes its certificate ({name} fails" in picked.notes[0]


def test_without_conjugacy_or_by_the_name_none_there_is_no_guide():
    asked = {"family": "student-t"}
    picked = picking.pick_guide(None, dim=2, conditions={}, names=asked)
    assert picked.guide is None
    assert picked.notes[0].endswith("This is MCMC alone.")
    none = picking.pick_guide("none", dim=2, conditions={})
    assert (none.model, none.notes) == (normal_mixture(2), ())
    with pytest.raises(ValueError, match="conditions are scale, guide 'none' takes none"):
        picking.pick_guide("none", dim=2, conditions={"scale": 1.0})


@pytest.mark.parametrize(("spread", "is_tied"), [(3, True), (30, False)])
def test_rows_that_are_tied_have_clusters_of_a_fixed_scale(spread, is_tied):
    rows = np.round(np.random.default_rng(0).normal(size=(1000, 1)) * spread)
    rows = (rows - rows.mean()) / rows.std()
    picked = picking.pick_guide("none", dim=1, num_points=1000, conditions={}, rows=rows)
    assert picked.model == (nig_mixture(1) if is_tied else normal_mixture(1))
    assert any("different rows, and clusters of a random scale" in note for note in picked.notes) is is_tied
    asked = {"family": "normal"}
    same = picking.pick_guide("none", dim=1, num_points=1000, conditions={}, rows=rows, names=asked)
    assert same.model == normal_mixture(1)


def test_weights_of_rows_are_ties():
    rows = np.random.default_rng(0).normal(size=(60, 2))
    options = {"dim": 2, "num_points": 60, "conditions": {}, "rows": rows}
    assert picking.pick_guide("none", **options).model == normal_mixture(2)
    weights = np.arange(1, 61)
    assert picking.pick_guide("none", **options, weights=weights).model == niw_mixture(2)


@pytest.mark.parametrize("guide", [None, "none"])
@pytest.mark.parametrize("dim", [2, 13])
def test_columns_as_they_are_are_beside_the_scale_of_a_model_by_name(guide, dim):
    plain = picking.pick_guide(guide, dim=dim, conditions={})
    raw = picking.pick_guide(guide, dim=dim, conditions={}, is_raw=True)
    assert raw.notes[:-1] == plain.notes
    assert "the model normal_mixture expects columns of mean 0 and variance 1" in raw.notes[-1]


def test_a_guide_by_name_has_a_scale_of_its_own():
    assert picking.pick_guide("filter-nig1d", dim=1, conditions={}, is_raw=True).notes == (
        picking.pick_guide("filter-nig1d", dim=1, conditions={}).notes
    )


def test_a_guide_has_a_model_of_its_own():
    asked = {"family": "nig", "concentration": 1.0}
    with pytest.raises(ValueError, match="family, concentration given beside a guide, which has a model of"):
        picking.pick_guide("ncp-niw2d", dim=2, conditions={}, names=asked)


def test_a_card_says_in_a_line_what_it_is():
    card = GuideCard("mine", "PredictiveFilter", {}, "nig_mixture", {"dim": 1}, None)
    assert repr(card) == "GuideCard(mine: PredictiveFilter of nig_mixture, 1-D)"
    assert (card.passed, card.is_reference, card.verdict) == (None, False, "")


@pytest.mark.parametrize("passed", [False, True])
def test_one_guide_serves_tables_of_any_columns(monkeypatch, passed):
    verdict = {"passed": passed, "findings": [{"what": "x", "passed": passed}]}
    cards = tuple(replace(card, certificate={"verdict": verdict}) for card in list_guides())
    monkeypatch.setattr(picking, "list_guides", lambda: cards)
    columns = ColumnsOfTable(numbers=1, count_means=(2.0,), yes_no=2, levels=(3, 4), missing=True)
    by_default = picking.pick_guide(None, dim=6, num_points=100, conditions={}, columns=columns)
    assert by_default.name == ("ncp-tables" if passed else "exact filter")
    for guide in (None, "ncp-tables") if passed else ("ncp-tables",):
        picked = picking.pick_guide(guide, dim=6, num_points=100, conditions={}, columns=columns)
        assert picked.name == "ncp-tables"
        assert picked.guide.model == table_mixture(**vars(columns))
        assert "one set of weights for tables of any columns" in picked.notes[0]
        assert picked.notes[0].endswith("was measured on 5 columns.")
    card = next(one for one in list_guides() if one.name == "ncp-tables")
    asked = {"prior": "crp", "concentration": 2.0}
    named = picking.pick_guide("ncp-tables", dim=3, num_points=50, conditions={}, names=asked)
    assert named.guide.model == table_mixture(numbers=3, family="nig", prior="crp", concentration=2.0)
    more = picking.pick_guide(None, dim=6, num_points=201, conditions={}, columns=columns)
    assert (card.max_points, more.name) == (1000, "exact filter")
    # Full covariances are no columns of their own.
    assert picking.pick_guide(None, dim=6, num_points=100, conditions={}).name == "exact filter"
    with pytest.raises(ValueError, match="conditions are scale, guide 'ncp-tables' takes none"):
        picking.pick_guide("ncp-tables", dim=2, conditions={"scale": 1.0})
