"""An analysis read back from its folder is the same; folders of version 0.1 are read too."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pyroclust import Analysis, compare, diagnose, forest, predict, update
from pyroclust.results.records import Repeat

# What `compare` of version 0.1 wrote, without the page: chains alone, and a guide whose draws are the answer.
OLD = Path(__file__).parent / "folder_of_0_1"
FEW = {"num_draws": 50, "mcmc_draws": 50, "warmup": 50}
NEW = pd.DataFrame({"a": [0.0, 5.0, 50.0], "b": [0.0, -4.0, 50.0]})


@pytest.fixture(scope="module")
def frame():
    rng, truth = np.random.default_rng(0), np.repeat([0, 1], 10)
    values = {"a": 5 * truth + rng.normal(size=20), "b": rng.normal(size=20) - 4 * truth}
    return pd.DataFrame(values | {"kind": np.array(["x", "y"])[truth]})


def written(frame, kind, folder):
    if kind == "forest":
        return forest(frame, num_clusters=2, label="kind", num_draws=50, out=folder)
    if kind == "diagnosis":
        draws = np.random.default_rng(0).integers(2, size=(2, 2, 50, 20))
        return diagnose(draws[0], draws[1], out=folder)
    guide = {"mcmc": "none"}.get(kind, "filter-niw2d")
    return compare(frame, label="kind", guide=guide, refine=kind == "refined", out=folder, **FEW)


@pytest.mark.parametrize("kind", ["mcmc", "guide", "refined", "forest", "diagnosis"])
def test_what_was_saved_is_read_back(frame, kind, tmp_path):
    made = written(frame, kind, tmp_path / "out")
    again = Analysis.read(tmp_path / "out")
    assert (again.command, again.name, again.seed) == (made.command, made.name, made.seed)
    assert again.draws.keys() == made.draws.keys()
    for name, draws in made.draws.items():
        np.testing.assert_array_equal(again.draws[name].assignments, draws.assignments)
    assert (again.answer, again.reference.key) == (made.answer, made.reference.key)
    assert (again.verdict.level, again.verdict.sentence) == (made.verdict.level, made.verdict.sentence)
    assert [(one.question, one.answer, one.mark) for one in again.findings] == [
        (one.question, one.answer, one.mark) for one in made.findings
    ]
    pd.testing.assert_frame_equal(again.frame(), made.frame())
    assert again.in_words == made.in_words
    assert again.estimates.keys() == made.estimates.keys()
    for name, estimate in made.estimates.items():
        np.testing.assert_array_equal(again.estimates[name].assignments, estimate.assignments)
    if made.data is not None:
        np.testing.assert_allclose(again.data.values, made.data.values)
        assert list(again.data.table.labels) == list(made.data.table.labels)
        assert again.row_names == made.row_names
    if made.model is not None:
        one, other = predict(made, NEW), predict(tmp_path / "out", NEW)
        np.testing.assert_allclose(one.probabilities, other.probabilities)
        np.testing.assert_allclose(one.log_density, other.log_density)
    again.save(tmp_path / "copy")
    twice = Analysis.read(tmp_path / "copy")
    assert (twice.draws.keys(), twice.reference.key) == (made.draws.keys(), made.reference.key)
    assert twice.in_words.how_many == made.in_words.how_many
    summaries = [json.loads((tmp_path / one / "summary.json").read_text()) for one in ("out", "copy")]
    for name in ("verdict", "answer", "num_clusters", "point_estimates", "answer_in_words"):
        assert summaries[0][name] == summaries[1][name], name


@pytest.mark.parametrize(
    ("kind", "level", "answer"),
    [
        ("mcmc", "cannot tell", None),
        ("weighted", "trust", "weighted"),
        ("refined", "not confirmed", "refined"),
    ],
)
def test_folders_of_version_0_1_are_read(frame, kind, level, answer, tmp_path):
    shutil.unpack_archive(OLD / f"{kind}.zip", tmp_path)
    found, rows = Analysis.read(tmp_path), pd.read_csv(tmp_path / "assignments.csv")
    assert (found.verdict.level.value, found.answer) == (level, answer)
    assert found.draws["mcmc"].assignments.shape == (2, 50, 20)
    np.testing.assert_allclose(found.data.clustered.data, frame[["a", "b"]])
    assert list(found.data.table.labels) == frame["kind"].tolist()
    shown = {"weighted": "answer", "refined": "refined"}.get(kind, "mcmc")
    np.testing.assert_array_equal(found.reference.estimate.assignments, rows[f"{shown}_cluster"])
    assert predict(tmp_path, NEW).clusters.tolist() == [0, 1, 2]
    assert len(update(tmp_path, NEW, num_draws=20).row_names) == 23


@pytest.mark.parametrize("name", ["summary.json", "draws.nc", None])
def test_a_folder_of_something_else_is_refused(name, tmp_path):
    shutil.unpack_archive(OLD / "mcmc.zip", tmp_path)
    path = tmp_path / (name or "summary.json")
    if name is None:
        path.write_text(json.dumps(json.loads(path.read_text()) | {"repeat": {"x": 1}}))
    else:
        path.unlink()
    with pytest.raises(ValueError, match="holds no analysis"):
        Analysis.read(tmp_path)


def test_updates_and_diagnoses_say_what_repeats_them(frame, tmp_path):
    file, new, old = tmp_path / "draws.npy", tmp_path / "new.csv", tmp_path / "out"
    np.save(file, np.random.default_rng(0).integers(2, size=(2, 50, 20)))
    frame.to_csv(tmp_path / "table.csv", index=False)
    NEW.to_csv(new, index=False)
    found = diagnose(file, file, data=tmp_path / "table.csv", label="kind")
    assert (
        found.repeat.command
        == f"pyroclust diagnose {file} {file} --data {tmp_path / 'table.csv'} --label kind"
    )
    written(frame, "mcmc", old)
    more = update(old, new, num_draws=20, seed=2)
    assert more.repeat.command == f"pyroclust update {old} {new} --draws 20 --seed 2"


def test_what_was_typed_survives_the_file_and_commands_follow_from_it():
    options = {"also": frozenset(("orders", "evidence")), "columns": ("a", "b c"), "within": (6.0, 3)}
    options |= {"conditions": {"scale": 2.0}, "kinds": {"a": "count"}, "must_link": "my pairs.csv"}
    options |= {
        "cannot_link": np.array([[0, 1]]),
        "header": False,
        "raw": False,
        "pca": None,
        "thorough": True,
    }
    made = Repeat.of("compare", [Path("my table.csv"), frozenset()], options, seed=3, run="abc")
    assert made.command == (
        "pyroclust compare 'my table.csv' ... --also evidence,orders --cannot-link ... --columns 'a,b c' "
        "--condition scale=2 --no-header --kinds a=count --must-link 'my pairs.csv' --thorough --within 6 3 "
        "--seed 3"
    )
    kept = json.loads(json.dumps(made.figures()))
    assert kept.pop("command") == made.command
    again = Repeat(name="compare", **kept)
    assert again == made
    few = again.as_command("cluster", without=set(options) - {"within"}, also=["orders"])
    assert few == "pyroclust cluster 'my table.csv' ... --also orders --within 6 3 --seed 3"
    assert Repeat(seed=3, run="abc").command == ""
