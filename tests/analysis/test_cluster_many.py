"""Many data sets: the same draws whoever makes them, verdicts, files that grow, and what is refused."""

import json
import os
import signal

import numpy as np
import pandas as pd
import pytest
import torch

import pyroclust
from pyroclust import load_guide
from pyroclust.analysis.picking import model_by_name
from pyroclust.core.workers import client_of
from pyroclust.diagnostics.importance import importance_weights
from pyroclust.infer import exact_posterior
from pyroclust.report.data_sets import answer_of_sets
from pyroclust.results.data_sets import RECORD

MANY = {"guide": "filter-nig1d", "num_draws": 50, "budget": 0}


def sets_of(number, *, seed=0):
    rng = np.random.default_rng(seed)
    return [
        rng.normal(size=(rng.integers(20, 24), 1)) + 8 * rng.integers(0, 2, (1, 1)) for _ in range(number)
    ]


@pytest.fixture(scope="module")
def few():
    sets = sets_of(40)
    return sets, pyroclust.cluster_many(sets, **MANY)


def same(one, other):
    pd.testing.assert_frame_equal(*(each.summaries.drop(columns="seconds") for each in (one, other)))
    for name in one:
        assert (one.draws(name).assignments == other.draws(name).assignments).all()
        assert (one.estimate(name)[0] == other.estimate(name)[0]).all()


def test_each_data_set_has_a_row_draws_and_an_estimate(few):
    sets, found = few
    assert list(found) == [str(place) for place in range(1, 41)]
    assert found.summaries["rows"].tolist() == [len(one) for one in sets]
    assert set(found.summaries["drawn_by"]) == {"guide"}
    assert found.draws("7").assignments.shape == (1, 50, len(sets[6]))
    np.testing.assert_allclose(found.table("7").data, sets[6])


@pytest.mark.parametrize("guide", ["filter-nig1d", "none"])
def test_posteriors_are_the_enumerated_ones(guide):
    # Of several data sets in a batch, each of which has another posterior.
    rng = np.random.default_rng(4)
    sets = [rng.normal(size=(7, 1)) * scale for scale in (1.0, 2.0, 4.0)]
    options = {"family": "nig", "prior": "crp"} if guide == "none" else {}
    found = pyroclust.cluster_many(sets, guide=guide, raw=True, num_draws=4000, **options)
    model = load_guide("filter-nig1d").model
    if guide == "none":
        model = model_by_name(1, 7, **options)
    for (name, row), points in zip(found.summaries.iterrows(), sets, strict=True):
        partitions, log_p = exact_posterior(model, torch.tensor(points))
        exact = np.bincount(partitions.amax(-1).numpy(), log_p.exp().numpy(), minlength=7)
        posterior = np.pad(row["posterior"], (0, 7 - len(row["posterior"])))
        assert np.abs(posterior - exact).sum() / 2 < 0.03
        together = (partitions[:, :1] == partitions).numpy().T @ log_p.exp().numpy()
        draws = found.draws(name)
        weights = np.full(4000, 1 / 4000)
        if draws.log_weights is not None:
            weights = importance_weights(draws.log_weights)
        drawn = (draws.flat[:, :1] == draws.flat).T @ weights
        assert np.abs(drawn - together).max() < 0.04


def test_weights_say_what_the_draws_are_worth():
    rng = np.random.default_rng(1)
    apart = np.concatenate([rng.normal(size=(40, 1)), rng.normal(40, 1, (40, 1))])
    mixed = rng.normal(size=(200, 1)) * rng.choice([1.0, 2.5], (200, 1))
    found = pyroclust.cluster_many({"apart": apart, "mixed": mixed}, **MANY).summaries
    assert found["efficiency"]["apart"] > found["efficiency"]["mixed"]
    assert found["verdict"]["mixed"] == "run chains"


def test_draws_that_cannot_be_relied_on_are_no_answer():
    mixed = np.random.default_rng(1).normal(size=(200, 1)) * np.resize([1.0, 2.5], (200, 1))
    answer = dict(answer_of_sets(pyroclust.cluster_many([mixed], **MANY)))
    assert answer["How many clusters"] == "unknown: no draws can be relied on"


def test_chains_take_what_the_guide_cannot_do():
    rng = np.random.default_rng(2)
    sets = {"large": np.concatenate([rng.normal(size=(60, 1)), rng.normal(12, 1, (60, 1))])}
    found = pyroclust.cluster_many(sets, guide="none", num_draws=40)
    row = found.summaries.loc["large"]
    assert (row["drawn_by"], row["verdict"]) == ("chains", "sure")
    assert row["clusters"] == 2
    assert found.draws("large").assignments.shape == (1, 40, 120)
    assert not pyroclust.cluster_many(sets, guide="none", budget=0).summaries["drawn_by"].item()


def test_a_data_set_that_cannot_be_used_is_a_row_with_the_reason(tmp_path):
    for place, one in enumerate(sets_of(3)):
        pd.DataFrame({"x": one[:, 0], "y": 2 * one[:, 0] ** 2}).to_csv(tmp_path / f"{place}.csv", index=False)
    (tmp_path / "words.csv").write_text("This is no table.\nNone at all.\n")
    (tmp_path / "nothing.csv").write_text("")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "short.csv").write_text("x,y\n1,2\n")
    found = pyroclust.cluster_many(str(tmp_path / "*.csv"), columns=["x"], raw=True, **MANY).summaries
    assert (found["verdict"] == "failed").sum() == 4
    assert all(found.loc[["words", "nothing", "other"], "note"])
    assert found.loc["short", "note"] == "it has 1 row, expected at least 2"


def test_the_note_of_a_data_set_says_what_is_doubtful_about_it():
    rng, names = np.random.default_rng(8), ("plain", "far", "other")
    sets = {
        name: pd.DataFrame({"x": rng.normal(size=60), "kind": rng.choice(list("ab"), 60)}) for name in names
    }
    sets["far"].loc[7, "x"], sets["other"].loc[0, "kind"] = 1e6, "c"
    found = pyroclust.cluster_many(sets, guide="none", budget=0)
    assert "All are read as the first one is." in found.notes[0]
    notes = found.summaries["note"]
    assert notes["plain"] == ""
    assert "row 8 has 1e+06 in 'x'" in notes["far"]
    assert (
        "'c', which no row had that was clustered (a, b are known), was read as a missing cell"
        in notes["other"]
    )
    whole = pd.concat([one.assign(who=name) for name, one in sets.items()], ignore_index=True)
    notes = pyroclust.cluster_many(whole, by="who", guide="none", budget=0).summaries["note"]
    assert notes[["plain", "other"]].tolist() == ["", ""]
    assert "row 68 has 1e+06 in 'x'" in notes["far"]


def test_a_column_divides_a_table():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": rng.normal(size=50), "who": ["a"] * 20 + ["b"] * 25 + [None] * 5})
    found = pyroclust.cluster_many(frame, by="who", **MANY)
    assert found.summaries["rows"].to_dict() == {"a": 20, "b": 25}
    assert any("5 rows have no value in 'who'" in note for note in found.notes)


def test_a_group_of_middle_size_that_cannot_be_used_is_a_row_like_any_other():
    rng = np.random.default_rng(6)
    values = np.concatenate([rng.normal(size=20), np.zeros(22), rng.normal(size=24)])
    frame = pd.DataFrame({"x": values, "who": ["a"] * 20 + ["b"] * 22 + ["c"] * 24})
    found = pyroclust.cluster_many(frame, by="who", **MANY).summaries
    assert found["drawn_by"].to_dict() == {"a": "guide", "b": "", "c": "guide"}
    assert found["note"]["b"].startswith("column 'x' is constant")


def test_a_run_that_was_stopped_goes_on_to_the_same_result(few, tmp_path):
    sets, whole = few
    out, stages = tmp_path / "many", []

    def cut_off():
        yield from sets[:35]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="after 32 data sets"):
        pyroclust.cluster_many(cut_off(), out=out, **MANY)
    journal = out / ".data-sets.jsonl"
    assert len(journal.read_text().splitlines()) == 1
    with journal.open("a") as lines:
        lines.write('[{"name": "33", "pla')  # killed while it wrote
    same(pyroclust.cluster_many(iter(sets), out=out, progress=stages.append, **MANY), whole)
    assert "32 data sets are done already" in stages
    same(pyroclust.Analyses.read(out), whole)
    rows = pd.read_parquet(out / "assignments.parquet")
    assert len(rows) == whole.summaries["rows"].sum()
    assert {"report.html", RECORD} <= {path.name for path in out.iterdir()}


def test_what_changed_is_drawn_again_and_what_failed_is_tried_again(tmp_path):
    sets = dict(zip("abcde", sets_of(5), strict=True)) | {"short": np.zeros((1, 1))}
    pyroclust.cluster_many(sets, out=tmp_path / "many", **MANY)
    sets |= {"c": sets["c"][:15] + 1.0, "later": sets["a"]}
    found = pyroclust.cluster_many(sets, out=tmp_path / "many", **MANY)
    journal = (tmp_path / "many" / ".data-sets.jsonl").read_text().splitlines()
    assert [[one["name"] for one in json.loads(line)] for line in journal] == [
        ["a", "b", "c", "d", "e", "short"],
        ["c", "short", "later"],
    ]
    np.testing.assert_allclose(found.table("c").data, sets["c"])
    assert found.draws("c").assignments.shape == (1, 50, 15)


def test_a_guide_of_any_table_reads_columns_as_compare_does():
    rng = np.random.default_rng(5)
    frames = [pd.DataFrame({"x": rng.normal(size=20), "kind": rng.choice(list("ab"), 20)}) for _ in range(2)]
    found = pyroclust.cluster_many(frames, guide="ncp-tables", num_draws=10, budget=0)
    assert found.columns.kinds == ("number", "category")
    assert set(found.summaries["drawn_by"]) == {"guide"}


def test_results_of_another_run_and_files_of_others_stay(tmp_path):
    sets = sets_of(2)
    pyroclust.cluster_many(sets, out=tmp_path / "many", **MANY)
    with pytest.raises(ValueError, match="another run"):
        pyroclust.cluster_many(sets, out=tmp_path / "many", seed=1, **MANY)
    pyroclust.cluster_many(sets, out=tmp_path / "many", seed=1, overwrite=True, **MANY)
    (tmp_path / "foreign" / "draws.zarr").mkdir(parents=True)
    (tmp_path / "foreign" / "draws.zarr" / "mine").write_text("kept")
    with pytest.raises(ValueError, match="something else"):
        pyroclust.cluster_many(sets, out=tmp_path / "foreign", overwrite=True, **MANY)
    assert (tmp_path / "foreign" / "draws.zarr" / "mine").read_text() == "kept"


@pytest.mark.parametrize(
    ("sources", "arguments", "match"),
    [
        ("nowhere/*.parquet", {}, "no file is called so"),
        (3, {}, "expected files, arrays or data frames"),
        ([], {}, "no data set"),
        ([np.zeros((1, 1))], {}, "no data set"),
        (sets_of(1), {"num_draws": 3}, "num_draws"),
        (sets_of(1), {"budget": -1}, "budget"),
        (sets_of(1), {"client": "tcp://127.0.0.1:9"}, "expected a client of dask.distributed"),
    ],
)
def test_bad_input_is_one_sentence(sources, arguments, match):
    with pytest.raises(ValueError, match=match):
        pyroclust.cluster_many(sources, **{**MANY, **arguments})


def test_two_workers_draw_the_same_and_one_may_die(few, monkeypatch):
    sets, whole = few
    monkeypatch.setattr("pyroclust.core.workers.num_threads", lambda: 2)
    with client_of(None) as client:
        workers = client.run(os.getpid)
        assert len(workers) == 2
        same(pyroclust.cluster_many(sets, client=client, **MANY), whole)

        def one_dies():
            yield from sets[:38]
            os.kill(next(iter(workers.values())), signal.SIGKILL)
            yield from sets[38:]

        same(pyroclust.cluster_many(one_dies(), client=client, **MANY), whole)


def test_a_scheduler_that_cannot_be_reached_is_a_sentence(monkeypatch):
    monkeypatch.setattr("pyroclust.core.workers._SECONDS", 1)
    with pytest.raises(ValueError, match="cannot be reached"), client_of("tcp://127.0.0.1:9"):
        pass
