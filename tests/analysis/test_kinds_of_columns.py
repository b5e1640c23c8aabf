"""Ordered answers, overdispersed counts, circles and successes in trials, from a table to new rows."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

from pyroclust import Analysis, cluster, compare, load_guide, predict, read_table
from pyroclust.data.datasets import read_new_rows
from pyroclust.distributions.protocols import sampled
from pyroclust.guides import PredictiveFilter
from pyroclust.infer.quality import efficiencies
from pyroclust.models import table_mixture

QUICK = {"mcmc_draws": 100, "num_chains": 2, "warmup": 100, "seed": 0}
SURVEY = {
    "hour": "circular(24)",
    "stage": "ordered(low<middle<high)",
    "answer": "ordered",
    "visits": "overdispersed",
    "right": "binomial(asked)",
}


def survey(num_rows=150):
    """Three groups of people; the first is about midnight."""
    rng = np.random.default_rng(3)
    group = rng.integers(3, size=num_rows)
    place = np.array([0.1, 1.0, 1.9])[group] + rng.normal(0, 0.4, num_rows)
    asked = rng.integers(5, 20, num_rows)
    frame = pd.DataFrame(
        {
            "hour": ((np.array([0.0, 8.0, 15.0])[group] + rng.normal(0, 1, num_rows)) % 24).round(1),
            "stage": np.array(["low", "middle", "high"])[place.round().clip(0, 2).astype(int)],
            "answer": (np.array([2.0, 4.5, 3.0])[group] + rng.normal(0, 0.7, num_rows)).round().clip(1, 5),
            "visits": rng.negative_binomial(1, 1 / (1 + np.array([1.0, 5.0, 25.0])[group])),
            "right": rng.binomial(asked, np.array([0.2, 0.9, 0.5])[group]),
            "asked": asked,
        }
    )
    frame.loc[::10, "answer"] = np.nan
    frame.loc[5::20, "asked"] = np.nan
    return frame, group


def test_a_survey_from_the_table_to_new_rows(tmp_path):
    frame, group = survey()
    analysis = cluster(frame, kinds=SURVEY, **QUICK)
    labels = analysis.reference.estimate.assignments
    assert adjusted_rand_score(group, labels) > 0.9
    analysis.save(tmp_path / "found")
    again = Analysis.read(tmp_path / "found")
    table = again.data.table
    assert table.columns == ("stage", "answer", "visits", "hour", "right", "asked of right")
    assert dict(zip(table.columns, table.arguments, strict=True))["hour"] == (24,)
    assert table.levels[0] == ("low", "middle", "high")
    clusters = analysis.clusters()
    assert clusters["stage"].between(1, 3).all()
    assert (clusters["answer"] - frame["answer"].groupby(labels).mean()).abs().max() < 0.1
    shuffled = np.random.default_rng(0).permutation(len(frame))
    new = predict(again, frame.iloc[shuffled])
    assert (new.clusters == labels[shuffled]).mean() > 0.98


def test_a_circle_has_no_end(tmp_path):
    rng = np.random.default_rng(1)
    hours = np.concatenate([rng.normal(0, 1, 60) % 24, rng.normal(12, 1, 60)])
    found = cluster(pd.DataFrame({"hour": hours}), kinds={"hour": "circular(24)"}, **QUICK)
    assert set(found.reference.estimate.assignments[:60]) == {0}
    assert found.reference.estimate.num_clusters == 2
    found.save(tmp_path / "found")
    assert Analysis.read(tmp_path / "found").data.table.kinds == ("circular",)


def scores(num_rows=60):
    """Pupils of two groups, the better of which are often at the end of the scale."""
    rng = np.random.default_rng(2)
    group = np.arange(num_rows) % 2
    score = np.minimum(np.array([55.0, 99.0])[group] + rng.normal(0, 5, num_rows), 100.0)
    return pd.DataFrame({"score": score, "age": rng.choice(["ten", "eleven"], num_rows)}), group


def test_a_ceiling_is_seen_and_new_rows_may_be_beyond(tmp_path):
    frame, group = scores()
    found = cluster(frame, **QUICK)
    labels = found.reference.estimate.assignments
    assert adjusted_rand_score(group, labels) == 1
    assert "'score' was read as cut at 100, which" in " ".join(found.notes)
    found.save(tmp_path / "found")
    again = Analysis.read(tmp_path / "found")
    assert again.data.table.kinds == ("yes/no", "censored") or again.data.table.kinds[-1] == "censored"
    assert again.data.table.arguments[-1] == (None, 100.0)
    new = predict(again, pd.DataFrame({"score": [130.0, 100.0, 54.0], "age": "ten"}))
    assert (new.clusters == labels[[1, 1, 0]]).all()


def test_of_several_numbers_none_is_cut_unless_it_is_said():
    frame, _ = scores()
    both = frame.assign(other=frame["score"].to_numpy()[::-1] / 2 + np.arange(60) / 7)
    options = {"kinds": {}, "masses_apart": True}
    assert read_table(both, **options).kinds.count("number") == 2
    assert read_table(frame, kinds={"score": "number"}, masses_apart=True).kinds[0] == "number"
    told = read_table(both, kinds={"score": "censored(0..100)"}, masses_apart=True)
    assert told.arguments[told.columns.index("score")] == (0.0, 100.0)


def test_the_most_frequent_value_stands_apart_where_that_is_said():
    frame, _ = scores()
    with pytest.raises(ValueError, match="has more digits than a name"):
        read_table(frame.assign(score=frame["score"] / 3), kinds={"score": "heaped"})
    table = read_table(frame, kinds={"score": "heaped"})
    assert {"score", "score is 100"} < {*table.columns}
    assert not table.missing.any()


def test_skewed_amounts_are_on_a_log_scale_unless_they_are_numbers(tmp_path):
    rng = np.random.default_rng(0)
    group = np.arange(120) % 2
    income = np.exp(rng.normal(np.array([9.0, 12.0])[group], 1.0)).round()
    frame = pd.DataFrame({"income": income, "age": rng.normal(np.array([30.0, 45.0])[group], 4.0)})
    found = cluster(frame, **QUICK)
    labels = found.reference.estimate.assignments
    assert found.data.table.columns == ("log10(income)", "age")
    assert adjusted_rand_score(group, labels) > 0.9
    found.save(tmp_path / "found")
    again = Analysis.read(tmp_path / "found")
    assert (predict(again, frame.iloc[::-1]).clusters == labels[::-1]).mean() > 0.98
    with pytest.raises(ValueError, match="'income' is on a log scale, and holds -1, expected numbers above"):
        predict(again, frame.assign(income=-1.0))
    read = {"masses_apart": True}
    assert read_table(frame, kinds={"income": "number"}, **read).columns == ("income", "age")
    assert read_table(frame, kinds={"age": "log"}, **read).columns == ("log10(income)", "log10(age)")
    with pytest.raises(ValueError, match="'age' is on a log scale, and holds 0, expected numbers above 0"):
        read_table(frame.assign(age=range(120)), kinds={"age": "log"})


def test_a_guide_of_any_table_is_taken_and_nearer_than_the_filter():
    frame, _ = survey(60)
    kinds = {name: kind for name, kind in SURVEY.items() if name != "visits"}
    found = compare(frame.drop(columns="visits"), kinds=kinds, num_draws=50, **QUICK)
    assert found.guide is not None
    assert found.guide.name == "ncp-tables"
    torch.manual_seed(0)
    model = table_mixture(ordered=[4, 5], periods=[24.0], trials=[[10]], missing=True)
    with torch.no_grad():
        data = sampled(model, torch.empty(20, 30, 5))["data"]["value"].float()
        guides = load_guide("ncp-tables").of(model), PredictiveFilter(model)
        near, far = (efficiencies(model, one, data, num_draws=50).mean() for one in guides)
    assert near > max(0.85, far + 0.1)


@pytest.mark.parametrize("is_overdispersed", [True, False])
def test_counts_that_vary_more_than_poisson_counts_are_said(is_overdispersed):
    rng = np.random.default_rng(0)
    group = np.arange(150) % 2
    means = 6.0 * rng.gamma(1.0, 1.0, 150) if is_overdispersed else np.array([2.0, 12.0])[group]
    frame = pd.DataFrame({"visits": rng.poisson(means), "age": rng.normal(np.array([0.0, 6.0])[group], 1.0)})
    found = cluster(frame, kinds={"visits": "count"}, **QUICK)
    split = found.results["split_clusters"]
    said = "give --kinds NAME=overdispersed; then 2 of" in found.in_words.rely
    assert said == is_overdispersed == (split.groups[0].gain > 5)
    assert split.num_left == 2


@pytest.mark.parametrize(
    ("lat", "long", "is_said"),
    [((52, 53), (13, 14), False), ((35, 70), (0, 30), True), ((0, 5), (-179, 179), True)],
)
def test_a_globe_is_no_flat_map(lat, long, is_said):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"Lat": rng.uniform(*lat, 90), "long.": rng.uniform(*long, 90)})
    notes = " ".join(read_table(frame, kinds={}).notes)
    assert ("'Lat' and 'long.' were read as a flat map" in notes) == is_said


def test_ordered_answers_are_as_written_or_as_told():
    frame = pd.DataFrame(
        {"a": ["10", "9", "2", "10"], "b": ["hi", "lo", "lo", None], "x": [0.1, 0.5, 0.2, 0.9]}
    )
    table = read_table(frame, kinds={"a": "ordered", "b": "ordered(lo<mid<hi)"})
    assert table.levels[1:] == (("2", "9", "10"), ("lo", "mid", "hi"))
    np.testing.assert_array_equal(table.data[:, 1:], [[2, 2], [1, 0], [0, 0], [2, np.nan]])


def test_trials_are_no_column_of_their_own():
    frame = pd.DataFrame({"a": [1, 2, None], "b": [3, 0, 1], "n": [4, 2, 9], "x": [0.1, 0.5, 0.2]})
    table = read_table(frame, kinds={"a": "binomial(n)", "b": "binomial(n)"})
    assert table.columns == ("x", "a", "n of a", "b", "n of b")
    assert np.isnan(table.data[2, 1:3]).all()
    assert "1 in 'a'" in " ".join(table.notes)
    assert not table.imputable.any()


def test_names_may_hold_the_word_between_successes_and_trials():
    frame = pd.DataFrame({"a of b": [1, 2, 1], "all of it": [4, 2, 9], "x": [0.1, 0.5, 0.2]})
    table = read_table(frame, kinds={"a of b": "binomial(all of it)"})
    again = read_new_rows(frame, table)
    np.testing.assert_array_equal(again.data, table.data)
    with pytest.raises(ValueError, match="is a column; call that otherwise"):
        read_table(frame.assign(**{"all of it of a of b": 1.0}), kinds={"a of b": "binomial(all of it)"})


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("ordered", r"'lo' and 'hi' have no order|hi, lo|lo, hi"),
        ("ordered(lo<mid)", "expected all of them once in its order"),
        ("circular", "what once around the circle is"),
        ("circular(0)", "what once around the circle is"),
        ("binomial", r"as in binomial\(total\)"),
        ("count(3)", "expected count alone"),
        ("trials", "unknown kind 'trials'"),
        ("censored", r"as in --kinds 'a=censored\(0..100\)'"),
        ("censored(1..2)", "and holds 0.5 to 2, expected a floor and a ceiling about that"),
        ("censored(..)", "expected a floor and a ceiling"),
    ],
)
def test_what_a_kind_cannot_be_is_said(kind, says):
    column = [0.5, 1.0, 2.0] if kind[:5] in ("circu", "censo") else ["lo", "hi", "lo"]
    if kind in ("binomial", "count(3)"):
        column = [1, 2, 3]
    frame = pd.DataFrame({"a": column, "x": [0.1, 0.5, 0.2]})
    with pytest.raises(ValueError, match=says):
        read_table(frame, kinds={"a": kind})


@pytest.mark.parametrize(
    ("right", "says"),
    [([1, 9, 2], "holds 9 successes in 4 trials"), ([1, 0.5, 2], "told to be counts, but holds 0.5")],
)
def test_successes_fit_their_trials(right, says):
    frame = pd.DataFrame({"right": right, "asked": [3, 4, 5]})
    with pytest.raises(ValueError, match=says):
        read_table(frame, kinds={"right": "binomial(asked)"})


@pytest.mark.parametrize("seed", range(4))
def test_few_large_shares_among_small_ones_are_no_amounts(seed):
    rng = np.random.default_rng(seed)
    large = np.repeat([0, 1], [880, 120])
    share = rng.normal(np.array([5.0, 25.0])[large], np.array([1.5, 5.0])[large]).clip(0.1).round(2)
    amount = np.exp(rng.normal(np.array([0.0, 2.0])[large], 1.0)).round(3) + 0.001
    table = read_table(pd.DataFrame({"share": share, "amount": amount}), kinds={}, masses_apart=True)
    assert table.columns == ("share", "log10(amount)")
