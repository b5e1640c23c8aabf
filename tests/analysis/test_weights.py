"""Tables whose rows have weights: what is found, written, read back and refused."""

from collections.abc import Iterable
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest
import torch

import pyroclust
from pyroclust.analysis.diagnose import baseline_rows
from pyroclust.analysis.predicting import analysis_of, predictive_law
from pyroclust.baselines import partition_scores
from pyroclust.data.datasets import read_table
from pyroclust.data.draws.arviz import groups_of
from pyroclust.data.tables import standardise
from pyroclust.diagnostics import VariationOfInformation
from pyroclust.diagnostics.constraint_effect import constraint_effect
from pyroclust.report.page import page_of
from pyroclust.report.parts import FigureTable, Paragraph
from pyroclust.results.data import AnalysedData

SHORT = {"mcmc_draws": 50, "num_chains": 2, "warmup": 50}


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(12, 2)) + np.repeat([[0.0], [7.0]], 6, 0)
    return pd.DataFrame(values, columns=["a", "b"]).assign(times=[3, 1, 2, 1, 1, 2] * 2)


def test_columns_are_put_on_the_scale_of_the_repeated_table(frame):
    frame.loc[[2, 7], "b"] = np.nan
    found = standardise(read_table(frame, weight="times", kinds={}))
    repeated = frame.loc[frame.index.repeat(frame["times"])][["a", "b"]]
    np.testing.assert_allclose(found.location, repeated.mean())
    np.testing.assert_allclose(found.scale, repeated.std(ddof=0))
    assert found.columns == ("a", "b")


def test_what_is_found_is_written_and_read_back(frame, tmp_path):
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    found = pyroclust.cluster(path, weight="times", out=tmp_path / "found", **SHORT)
    assert "12 rows of a, b, which stand for 20." in found.introduction
    assert any("Rows are weighted: 12 rows stand for 20" in note for note in found.notes)
    clusters = found.clusters()
    assert clusters["weight"].sum() == 20
    np.testing.assert_allclose(clusters["share"], clusters["weight"] / 20)
    assert found.in_words.sizes == tuple(clusters["weight"])
    draws = found.draws["mcmc"].assignments.repeat(frame["times"], axis=-1)
    every = pyroclust.diagnostics.point_estimate(draws, seed=found.seed)
    np.testing.assert_array_equal(found.reference.assignments.repeat(frame["times"]), every)
    assert pd.read_csv(tmp_path / "found" / "assignments.csv")["weight"].tolist() == frame["times"].tolist()
    assert "--weight times" in found.repeat.command
    back = pyroclust.Analysis.read(tmp_path / "found")
    np.testing.assert_array_equal(back.data.table.weights, frame["times"])
    assert back.in_words == found.in_words
    pd.testing.assert_frame_equal(
        pyroclust.predict(back, frame[:3]).frame(), pyroclust.predict(found, frame[:3]).frame()
    )
    with pytest.raises(ValueError, match="rows with weights"):
        pyroclust.update(found, frame[:2])
    other = pyroclust.cluster(frame[["a", "b"]], weight=[1] * 12, **SHORT)
    assert other.repeat.run != pyroclust.cluster(frame[["a", "b"]], **SHORT).repeat.run


def test_constraints_and_missing_cells_go_with_weights(frame):
    frame.loc[3, "b"] = np.nan
    found = pyroclust.compare(frame, weight="times", must_link=[(0, 11)], also=["evidence"], **SHORT)
    assert found.guide is None
    assert (found.draws["mcmc"].assignments[..., 0] == found.draws["mcmc"].assignments[..., 11]).all()
    assert not found.failures


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"guide": "filter-niw2d"}, "guide 'filter-niw2d' does not count by"),
        ({"family": "student-t"}, "expected a conjugate family"),
        ({"pca": 1}, "components do not count"),
        ({"columns": ["a", "times"]}, "column 'times' has the weights and cannot be clustered too"),
        ({"weight": "many"}, "many"),
        (
            {"weight": "a"},
            "column 'a' has .* expected whole numbers of at least 1, how often each row counts",
        ),
        ({"weight": [1, 2]}, r"weight has shape \(2,\), expected \(12,\)"),
    ],
)
def test_what_does_not_count_by_weights_is_refused(frame, options, told):
    with pytest.raises(ValueError, match=told):
        pyroclust.compare(frame, **{"weight": "times", **options}, **SHORT)
    with pytest.raises(ValueError, match="not columns of a table: leave it out"):
        pyroclust.cluster("karate", weight="times")


def repeated(found):
    """Return the same draws as the analysis of a table with each row written as often as it counts."""
    times, table, points = found.data.table.weights, found.data.table, found.data.points
    table = replace(
        table,
        data=table.data.repeat(times, 0),
        row_names=tuple(map(str, range(times.sum()))),
        labels=table.labels.repeat(times),
        weights=None,
    )
    draws = replace(found.draws["mcmc"], assignments=found.draws["mcmc"].assignments.repeat(times, -1))
    return pyroclust.Analysis(
        command="compare",
        data=AnalysedData(table, replace(points, data=points.data.repeat(times, 0))),
        draws={"mcmc": draws},
        seed=found.seed,
    )


def numbers_in(figures):
    if isinstance(figures, dict):
        figures = figures.values()
    if isinstance(figures, str) or not isinstance(figures, Iterable):
        return [np.nan if figures is None else figures]
    return [number for one in figures for number in numbers_in(one)]


def assert_same(found, wanted):
    np.testing.assert_allclose(numbers_in(found), numbers_in(wanted), rtol=1e-12, atol=1e-12)


def of_partitions(view):
    """Return figures of summary.json that do not name pairs of points."""
    figures = view.figures()
    rows = [row for row in figures["convergence"] if not row["name"].startswith(("together", "log_joint"))]
    del figures["point_estimate"]["assignments"]
    names = ("point_estimate", "num_clusters", "num_large_clusters", "credible_ball", "modes")
    names += ("most_probable", "entropy_bits", "distance_rhat")
    return [*({**row, "name": 0} for row in rows), *(figures[name] for name in names)]


def tables_of(found, title):
    section = next(one for one in page_of(found).sections if one.title == title)
    parts = (part for part in section.parts if isinstance(part, FigureTable | Paragraph))
    return [section.gist, *(part.rows if isinstance(part, FigureTable) else part.text for part in parts)]


def test_every_figure_of_an_analysis_is_that_of_its_repeated_draws():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(14, 2)) + np.repeat([[0.0], [2.5]], 7, 0)
    frame = pd.DataFrame(values, columns=["a", "b"]).assign(
        times=[3, 1, 2, 1, 5, 2, 30] * 2, kind=["x", "y"] * 7
    )
    found = pyroclust.compare(
        frame, weight="times", label="kind", must_link=[(0, 1)], also=["baselines"], **SHORT
    )
    assert not found.failures
    every, times = repeated(found), frame["times"]
    own, wanted = found.reference, every.reference
    np.testing.assert_array_equal(own.assignments.repeat(times), wanted.assignments)

    # The first screen, summary.json and the page.
    words, others = ({**asdict(one.in_words), "rely": 0, "next": 0, "given": 0} for one in (found, every))
    assert_same(words, others)
    assert 0 < words["certain_pairs"] < 1
    assert_same(of_partitions(own), of_partitions(wanted))
    assert_same([one.value for one in own.findings], [one.value for one in wanted.findings])
    for title in ("How many clusters", "What the clusters are like", "How sure is the estimate"):
        assert tables_of(found, title) == tables_of(every, title)
    # Its last sentence has names of rows.
    assert tables_of(found, "What sets them apart")[:-1] == tables_of(every, "What sets them apart")[:-1]

    # The files.
    rows, others = (
        one.frame()[["cluster", "probability", "uncertainty"]].to_numpy() for one in (found, every)
    )
    assert_same(rows.repeat(times, 0), others)
    clusters, others = found.clusters(), every.clusters()
    assert clusters["weight"].tolist() == others["rows"].tolist()
    assert_same(clusters.drop(columns=["rows", "weight"]).to_numpy(), others.drop(columns="rows").to_numpy())
    groups, others = (groups_of(one)["posterior"] for one in (found, every))
    for name in ("entropy", "largest_share", "distance_to_reference"):
        assert_same(groups[name].to_numpy(), others[name].to_numpy())

    # Classical methods, and what the constraint changed.
    draws, estimate = every.draws["mcmc"].assignments, wanted.assignments
    of_every = baseline_rows(every)
    assert len(of_every) == len(found.results["baselines"])
    for row, other in zip(found.results["baselines"], of_every, strict=True):
        labels = row.result.assignments.repeat(times)
        np.testing.assert_array_equal(labels, other.result.assignments)
        assert_same(row.expected_vi, VariationOfInformation().expected(labels[None], draws)[0])
        assert_same(asdict(row.to_estimate), asdict(partition_scores(estimate, labels)))
        assert_same(asdict(row.to_labels), asdict(partition_scores(frame["kind"].repeat(times), labels)))
        assert row.inside == (VariationOfInformation()(labels, estimate) <= wanted.ball.radius + 1e-9)
    known = found.results["constraints"]
    effect = constraint_effect(known.free.draws.assignments.repeat(times, -1), wanted.marginals)
    assert_same(known.effect.change.repeat(times), effect.change)
    assert_same(
        [asdict(known.effect.before), asdict(known.effect.after)],
        [asdict(effect.before), asdict(effect.after)],
    )
    assert f" of {times.sum()} rows moved" in known.change


def test_new_rows_are_set_beside_old_ones_as_often_as_these_count(frame):
    found = pyroclust.cluster(frame, weight="times", **SHORT)
    new = pyroclust.predict(found, frame[:5])
    law = predictive_law(*analysis_of(found), num_draws=400)
    old = law.log_prob_left_out(torch.arange(12)).numpy().repeat(frame["times"])
    density = new.log_density + np.log(found.data.points.scale).sum()
    wanted = (old <= density[:, None]).mean(-1)
    np.testing.assert_allclose(new.typicality, wanted)
    assert new.sizes.tolist() == found.clusters()["weight"].tolist()


def test_clusters_are_expected_among_all_rows(frame):
    options = {"prior": "crp", "expected_clusters": 3.0, **SHORT}
    repeated = frame.loc[frame.index.repeat(frame["times"])][["a", "b"]]
    found = pyroclust.cluster(frame, weight="times", **options), pyroclust.cluster(repeated, **options)
    weighted, every = (one.model.description["arguments"]["prior"] for one in found)
    assert weighted == every


def test_classical_methods_do_not_see_hundreds_of_thousands_of_rows(frame):
    found = pyroclust.cluster(frame, weight=[50_000] * 12, also=["baselines"], **SHORT)
    assert "baselines" not in found.results
    assert any("the rows stand for 600,000, expected at most 20,000" in one for one in found.failures)
