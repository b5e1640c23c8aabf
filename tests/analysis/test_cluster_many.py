"""Many data sets: the same draws whoever makes them, verdicts, files that grow, and what is refused."""

import os
import signal

import numpy as np
import pandas as pd
import pytest

import pyroclust
from pyroclust.core.workers import client_of
from pyroclust.results.data_sets import RECORD

MANY = {"guide": "filter-nig1d", "num_draws": 50, "budget": 0}


def sets_of(number, *, seed=0):
    rng = np.random.default_rng(seed)
    return {
        f"set {place}": rng.normal(size=(rng.integers(20, 24), 1)) + 8 * rng.integers(0, 2, (1, 1))
        for place in range(number)
    }


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
    assert list(found) == list(sets)
    assert found.summaries["rows"].tolist() == [len(one) for one in sets.values()]
    assert set(found.summaries["drawn_by"]) == {"guide"}
    one = found.draws("set 7")
    assert one.assignments.shape == (1, 50, len(sets["set 7"]))
    np.testing.assert_allclose(found.table("set 7").data, sets["set 7"])
    assert sum(found.summaries.loc["set 7", "posterior"]) == pytest.approx(1)


def test_weights_say_what_the_draws_are_worth():
    rng = np.random.default_rng(1)
    apart = {"apart": np.concatenate([rng.normal(size=(40, 1)), rng.normal(40, 1, (40, 1))])}
    mixed = {"mixed": rng.normal(size=(200, 1)) * rng.choice([1.0, 2.5], (200, 1))}
    verdicts = pyroclust.cluster_many({**apart, **mixed}, **MANY).summaries["verdict"]
    efficiency = pyroclust.cluster_many({**apart, **mixed}, **MANY).summaries["efficiency"]
    assert efficiency["apart"] > efficiency["mixed"]
    assert verdicts["mixed"] == "run chains"


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
    for name, one in sets_of(3).items():
        pd.DataFrame({"x": one[:, 0], "y": 2 * one[:, 0] ** 2}).to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "words.csv").write_text("This is no table.\nNone at all.\n")
    (tmp_path / "nothing.csv").write_text("")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "short.csv").write_text("x,y\n1,2\n")
    found = pyroclust.cluster_many(str(tmp_path / "*.csv"), columns=["x"], raw=True, **MANY).summaries
    assert (found["verdict"] == "failed").sum() == 4
    assert all(found.loc[["words", "nothing", "other"], "note"])
    assert found.loc["short", "note"] == "it has 1 row, expected at least 2"


def test_a_column_divides_a_table():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": rng.normal(size=50), "who": ["a"] * 20 + ["b"] * 25 + [None] * 5})
    found = pyroclust.cluster_many(frame, by="who", **MANY)
    assert found.summaries["rows"].to_dict() == {"a": 20, "b": 25}
    assert any("5 rows have no value in 'who'" in note for note in found.notes)


def test_a_run_that_was_stopped_goes_on_to_the_same_result(few, tmp_path):
    sets, whole = few
    done = []

    def stop(stage):
        done.append(stage)

    def cut_off():
        for place, one in enumerate(sets.values()):
            if place == 35:
                raise KeyboardInterrupt
            yield one

    with pytest.raises(KeyboardInterrupt):
        pyroclust.cluster_many(cut_off(), out=tmp_path / "many", **MANY)
    lines = (tmp_path / "many" / ".data-sets.jsonl").read_text().splitlines()
    assert len(lines) == 1
    with (tmp_path / "many" / ".data-sets.jsonl").open("a") as journal:
        journal.write('[{"name": "33", "pla')  # killed while it wrote
    found = pyroclust.cluster_many(sets.values(), out=tmp_path / "many", progress=stop, **MANY)
    assert "32 data sets are done already" in done
    again = pyroclust.cluster_many(sets.values(), **MANY)
    same(found, again)
    same(pyroclust.Analyses.read(tmp_path / "many"), again)
    rows = pd.read_parquet(tmp_path / "many" / "assignments.parquet")
    assert len(rows) == whole.summaries["rows"].sum()
    assert (tmp_path / "many" / "report.html").exists()
    assert (tmp_path / "many" / RECORD).exists()


def test_only_what_changed_is_drawn_again(tmp_path):
    sets = sets_of(5)
    pyroclust.cluster_many(sets, out=tmp_path / "many", **MANY)
    sets["set 3"] = sets["set 3"] + 1.0
    sets["later"] = sets["set 0"]
    found = pyroclust.cluster_many(sets, out=tmp_path / "many", **MANY)
    journal = (tmp_path / "many" / ".data-sets.jsonl").read_text().splitlines()
    assert len(journal) == 2
    assert all(name in journal[1] for name in ("set 3", "later"))
    assert "set 2" not in journal[1]
    np.testing.assert_allclose(found.table("set 3").data, sets["set 3"])


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
            for place, one in enumerate(sets.items()):
                if place == 38:
                    os.kill(next(iter(workers.values())), signal.SIGKILL)
                yield one

        same(pyroclust.cluster_many(_Named(one_dies), client=client, **MANY), whole)


class _Named(dict):
    """Data sets by name, made as they are taken."""

    def __init__(self, items):
        super().__init__()
        self.items = items

    def __len__(self):
        return 40


def test_a_scheduler_that_cannot_be_reached_is_a_sentence(monkeypatch):
    monkeypatch.setattr("pyroclust.core.workers._SECONDS", 1)
    with pytest.raises(ValueError, match="cannot be reached"), client_of("tcp://127.0.0.1:9"):
        pass
