"""Which guide is picked by default: one that passes its certificate, or the exact filter."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from msgspec import structs

from pyroclust.analysis import picking
from pyroclust.data.kinds import Kind
from pyroclust.data.tables import ColumnsOfTable, Images, Standardised, Table, Waveforms
from pyroclust.guides import AnchoredGuide, NeuralClusteringProcess, PredictiveFilter
from pyroclust.models import default_mixture, nig_mixture, niw_mixture, normal_mixture, table_mixture
from pyroclust.results.data import AnalysedData
from pyroclust.saving.cards import list_guides


def pick(guide, *, dim, num_points=2, rows=None, is_raw=False, table=None, conditions=None, names=None):
    """Pick a guide for points of which nothing else is known, by default different ones."""
    rows = np.random.default_rng(0).random((num_points, dim)) if rows is None else rows
    columns, row_names = tuple(map(str, range(dim))), tuple(map(str, range(len(rows))))
    points = Standardised(rows, np.zeros(dim), np.ones(dim), columns, is_raw=is_raw)
    data = AnalysedData(Table("mine.csv", rows, columns, None, row_names, **table or {}), points)
    return picking.pick_guide(guide, data, conditions=conditions or {}, names=names)


def mixed(num_points):
    """Return points and fields of a table of one number, one count, two answers and two categories."""
    kinds = Kind.NUMBER, Kind.COUNT, Kind.YES_NO, Kind.YES_NO, Kind.CATEGORY, Kind.CATEGORY
    rows = np.random.default_rng(0).random((num_points, 6))
    rows[0, 0], rows[:, 1] = np.nan, 2.0
    levels = (), (), ("no", "yes"), ("no", "yes"), tuple("abc"), tuple("abcd")
    return {"dim": 6, "rows": rows, "table": {"kinds": kinds, "levels": levels}}


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
def test_the_default_passes_its_certificate_or_is_the_filter(dim):
    picked = pick(None, dim=dim)
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
            structs.replace(
                card,
                certificate={"verdict": {"passed": passed, "findings": [{"what": "x", "passed": passed}]}},
            )
            for card in list_guides()
        ]
        monkeypatch.setattr(picking, "list_guides", lambda: tuple(cards))
        return pick(None, dim=2)

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
        cards.append(
            structs.replace(card, certificate={"verdict": {"passed": number == 0, "findings": findings}})
        )
    monkeypatch.setattr(picking, "list_guides", lambda: tuple(cards))
    assert pick(None, dim=224, table={"shape": Waveforms(7, 32)}).name == name


def test_guides_of_images_are_not_picked_for_waveforms_of_their_size():
    assert pick(None, dim=64, table={"shape": Images(8, 8)}).name == "ncp-glyphs8"
    for shape in (Waveforms(8, 8), Images(7, 32)):
        with pytest.raises(ValueError, match=f"there is no guide on the shelf for {shape}"):
            pick(None, dim=64, table={"shape": shape})


def test_a_reference_that_is_asked_for_is_marked():
    picked = pick("ncp-published-gaussian2d", dim=2)
    assert picked.notes[0].startswith("Guide ncp-published-gaussian2d is a reference: it fails ")
    assert pick("ncp-niw2d", dim=2).notes == ()


SCALE = {"conditions": {"scale": 1.0}}


@pytest.mark.parametrize(
    ("guide", "dim", "told", "said"),
    [
        ("ncp-sensitivity2d", 2, {}, "conditions are none, guide 'ncp-sensitivity2d' takes --condition"),
        ("ncp-niw2d", 2, SCALE, "conditions are scale, guide 'ncp-niw2d' takes none"),
        ("none", 2, SCALE, "conditions are scale, guide 'none' takes none"),
        (None, 13, SCALE, "conditions are scale, guide 'exact filter' takes none"),
        ("ncp-tables", 2, SCALE, "conditions are scale, guide 'ncp-tables' takes none"),
        ("ncp-niw2d", 2, {"names": {"family": "nig"}}, "family given beside a guide, which has a model of"),
    ],
)
def test_a_guide_is_told_its_conditions_and_no_others(guide, dim, told, said):
    with pytest.raises(ValueError, match=said):
        pick(guide, dim=dim, **told)


def test_a_report_says_where_a_guide_is_used_beyond_its_training():
    picked = replace(pick("ncp-niw2d", dim=2), max_points=50, notes=("First.",))

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
    picked = pick(None, dim=13)
    assert isinstance(picked.guide, PredictiveFilter)
    assert picked.guide.model == normal_mixture(13)
    assert picked.notes[0].startswith("There is no trained guide of the model normal_mixture for 13 col")


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
    picked = pick(None, dim=dim, num_points=100, names=asked)
    assert picked.name == name
    assert picked.model == picking.model_by_name(dim, 100, **asked)


def test_on_large_tables_the_guide_labels_anchors_and_the_filter_the_others():
    card = next(one for one in list_guides() if one.name == "ncp-normal2d")
    assert pick(None, dim=2, num_points=card.max_points).name == card.name
    picked = pick(None, dim=2, num_points=card.max_points + 1)
    assert isinstance(picked.guide, AnchoredGuide)
    assert (picked.name, picked.guide.num_anchors) == ("ncp-normal2d on 200 anchors", 200)
    assert picked.notes[0].startswith("Guide ncp-normal2d learnt from at most 1,000 points, and here are 1")
    # A guide that was never certified on anchors has no certificate there.
    assert (picked.certificate, picked.max_points) == ({}, None)
    assert pick("ncp-niw2d", dim=2, num_points=5000).name == "ncp-niw2d"


def test_guides_of_named_models_are_found_and_their_certificates_decide(monkeypatch):
    asked, listed, name = {"family": "niw", "prior": "py"}, list_guides(), "ncp-py2d"
    for passed in (False, True):
        verdict = {"passed": passed, "findings": [{"what": "x", "passed": passed}]}
        cards = tuple(structs.replace(card, certificate={"verdict": verdict}) for card in listed)
        monkeypatch.setattr(picking, "list_guides", lambda cards=cards: cards)
        picked = pick(None, dim=2, num_points=100, names=asked)
        assert picked.name == (name if passed else "exact filter")
        assert passed or f"column(s) passes its certificate ({name} fails" in picked.notes[0]


def test_without_conjugacy_or_by_the_name_none_there_is_no_guide():
    asked = {"family": "student-t"}
    picked = pick(None, dim=2, names=asked)
    assert picked.guide is None
    assert picked.notes[0].endswith("This is MCMC alone.")
    none = pick("none", dim=2)
    assert (none.model, none.notes) == (normal_mixture(2), ())


@pytest.mark.parametrize(("spread", "is_tied"), [(3, True), (30, False)])
def test_rows_that_are_tied_have_clusters_of_a_fixed_scale(spread, is_tied):
    rows = np.round(np.random.default_rng(0).normal(size=(1000, 1)) * spread)
    rows = (rows - rows.mean()) / rows.std()
    picked = pick("none", dim=1, rows=rows)
    assert picked.model == (nig_mixture(1) if is_tied else normal_mixture(1))
    assert any("different rows, and clusters of a random scale" in note for note in picked.notes) is is_tied
    asked = {"family": "normal"}
    same = pick("none", dim=1, rows=rows, names=asked)
    assert same.model == normal_mixture(1)


def test_weights_of_rows_are_ties():
    rows = np.random.default_rng(0).normal(size=(60, 2))
    options = {"dim": 2, "rows": rows}
    assert pick("none", **options).model == normal_mixture(2)
    weights = np.arange(1, 61)
    assert pick("none", **options, table={"weights": weights}).model == niw_mixture(2)


@pytest.mark.parametrize("guide", [None, "none"])
@pytest.mark.parametrize("dim", [2, 13])
def test_columns_as_they_are_are_beside_the_scale_of_a_model_by_name(guide, dim):
    plain = pick(guide, dim=dim)
    raw = pick(guide, dim=dim, is_raw=True)
    assert raw.notes[:-1] == plain.notes
    assert "the model normal_mixture expects columns of mean 0 and variance 1" in raw.notes[-1]
    assert pick("filter-nig1d", dim=1, is_raw=True).notes == pick("filter-nig1d", dim=1).notes


@pytest.mark.parametrize("passed", [False, True])
def test_one_guide_serves_tables_of_any_columns(monkeypatch, passed):
    verdict = {"passed": passed, "findings": [{"what": "x", "passed": passed}]}
    cards = tuple(structs.replace(card, certificate={"verdict": verdict}) for card in list_guides())
    monkeypatch.setattr(picking, "list_guides", lambda: cards)
    columns = ColumnsOfTable(numbers=1, count_means=(2.0,), yes_no=2, levels=(3, 4), missing=True)
    by_default = pick(None, **mixed(100))
    assert by_default.name == ("ncp-any-table" if passed else "exact filter")
    models = {"ncp-any-table": default_mixture, "ncp-tables": table_mixture}
    by_name = {name: pick(name, **mixed(100)) for name in models}
    for name, picked in [*by_name.items(), *([("ncp-any-table", by_default)] if passed else [])]:
        assert picked.name == name
        assert picked.guide.model == models[name](**vars(columns))
        assert "one set of weights for tables of any columns" in picked.notes[0]
        assert picked.notes[0].endswith("was measured on 5 columns.")
    card = next(one for one in list_guides() if one.name == "ncp-tables")
    asked = {"prior": "crp", "concentration": 2.0}
    named = pick("ncp-tables", dim=3, num_points=50, names=asked)
    assert named.guide.model == table_mixture(numbers=3, family="nig", prior="crp", concentration=2.0)
    more = pick(None, **mixed(201))
    assert (card.max_points, more.name) == (1000, "exact filter")
    # Full covariances are no columns of their own.
    assert pick(None, dim=6, num_points=100).name == "exact filter"
