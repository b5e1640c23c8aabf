"""What the terminal says first, the options of the commands, and Ctrl-C once something was drawn."""

import inspect
import json
import signal

import pandas as pd
import pytest
from faults.cases import run_command

import pyroclust
from pyroclust import cluster, compare
from pyroclust.cli import commands
from pyroclust.report import writing

FEW = ["--mcmc-draws", "40", "--chains", "2", "--warmup", "40", "--quiet"]
READING = {"delimiter", "decimal", "header"}
# What is printed, and how the command ends.
PRINTING = {"strict", "as_json", "quiet", "verbose"}


def test_the_first_screen_is_the_answer(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, printed, _ = run_command(["cluster", "galaxies", "--out", str(tmp_path / "o"), "--quiet"])
    assert code == 0
    lines = printed.splitlines()
    assert len(lines) <= 25
    # Names of files and commands are not broken.
    assert max(len(line) for line in lines if not line.startswith(("Written: ", "Next: "))) <= 80
    assert f"Next: pyroclust predict {tmp_path / 'o'} new.csv" in lines
    for asked in ("How many clusters", "Which", "How sure", "May I rely on it", "Next"):
        assert asked in printed
    for term in ("total variation", "nested R-hat", "bits", "settled"):
        assert term not in printed


def test_columns_that_are_left_out_are_named_at_once(tmp_path):
    pd.DataFrame({"x": [0.0, 0.1, 5.0, 5.1], "same": 1, "id": list("abcd")}).to_csv(
        tmp_path / "t.csv", index=False
    )
    code, out, _ = run_command(["cluster", str(tmp_path / "t.csv"), *FEW, "--out", str(tmp_path / "o")])
    assert code == 0
    printed = " ".join(out.split())
    assert "'id': every row has a text of its own" in printed
    assert "'same': it has one value only" in printed


OF_MANY = {"by", "budget", "scheduler"}


@pytest.mark.parametrize("name", ["cluster", "compare", "forest"])
def test_options_are_the_parameters_of_the_function(name):
    options = set(inspect.signature(getattr(commands, name)).parameters) - PRINTING
    parameters = inspect.signature(getattr(pyroclust, name)).parameters
    taken = {key for key, one in parameters.items() if one.kind is not one.VAR_KEYWORD} - {"progress"}
    if name == "cluster":
        # In Python it is refused; what is typed is the number of clusters of the rows.
        taken = (taken - {"num_clusters"}) | OF_MANY
    assert options == taken | READING


@pytest.mark.parametrize(
    ("typed", "given"), [("3", "3 clusters"), ("2-6", "between 2 and 6 clusters"), ("1", "1 cluster")]
)
def test_a_number_of_clusters_or_its_bounds_are_the_first_words(typed, given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = run_command(["cluster", "galaxies", "--clusters", typed, *FEW])
    assert code == 0
    assert f", given {given} (" in " ".join(out.split())


def test_the_next_command_can_be_typed_and_drops_what_keeps_chains_from_converging(tmp_path):
    found = cluster("galaxies", mcmc_draws=10, num_chains=1, warmup=0, out=tmp_path / "o")
    assert found.repeat.command == "pyroclust cluster galaxies --mcmc-draws 10 --chains 1 --warmup 0"
    following = f"pyroclust cluster galaxies --thorough --out {tmp_path / 'o'} --overwrite"
    assert found.next == following
    assert " --thorough may take " in found.in_words.rely


def test_a_forest_says_what_repeats_it_and_what_comes_next(tmp_path):
    (tmp_path / "a b.csv").write_text("1\n2\n9\n")
    found = pyroclust.forest(tmp_path / "a b.csv", num_clusters=2, num_draws=20, header=False, seed=1)
    source = f"'{tmp_path / 'a b.csv'}' --no-header"
    assert found.next == f"pyroclust cluster {source}"
    assert found.repeat.command == f"pyroclust forest {source} --clusters 2 --draws 20 --seed 1"


def pressed(*args, **kwargs):
    signal.raise_signal(signal.SIGINT)
    raise AssertionError("Ctrl-C was not heard")


def interrupted(*args, **kwargs):
    # A process in the background does not hear the signal outside commands.
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("pressed_in", "draws"),
    [
        ("pyroclust.analysis.drawing.draw_guide", ["mcmc"]),
        ("pyroclust.analysis.diagnose.baseline_rows", ["guide", "refined", "mcmc"]),
    ],
    ids=["before the guide", "after the verdict"],
)
def test_ctrl_c_in_a_later_step_keeps_what_was_drawn(pressed_in, draws, tmp_path, monkeypatch):
    monkeypatch.setattr(pressed_in, pressed)
    folder, guide = tmp_path / "o", ["--guide", "filter-nig1d", "--draws", "20", "--also", "baselines"]
    code, out, _ = run_command(["compare", "galaxies", *guide, *FEW, "--out", str(folder)])
    assert code == 130
    assert "Interrupted" in out
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["interrupted"] is True
    assert any("Interrupted during the step" in note for note in summary["notes"])
    assert list(summary["sources"]) == draws
    assert len(pd.read_csv(folder / "assignments.csv")) == 82
    assert {one.name for one in folder.iterdir() if not one.name.startswith(".")} == {
        *("report.html", "draws.nc", "summary.json", "assignments.csv", "clusters.csv")
    }
    found = pyroclust.Analysis.read(folder)
    assert found.interrupted
    assert set(draws) <= found.draws.keys()


def test_ctrl_c_in_python_leaves_an_analysis(monkeypatch, tmp_path):
    monkeypatch.setattr("pyroclust.analysis.drawing.draw_guide", interrupted)
    few = {"guide": "filter-nig1d", "mcmc_draws": 40, "num_chains": 2, "warmup": 40}
    found = compare("galaxies", out=tmp_path / "o", **few)
    assert found.interrupted
    assert list(found.draws) == ["mcmc"]
    assert found.verdict.sentence
    assert (tmp_path / "o" / "report.html").is_file()


def test_ctrl_c_before_anything_was_drawn_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("pyroclust.analysis.drawing.draw_mcmc", pressed)
    command = ["cluster", "galaxies", *FEW, "--out", str(tmp_path / "o")]
    assert run_command(command) == (130, "", "pyroclust: interrupted\n")
    assert not list(tmp_path.iterdir())


def test_ctrl_c_while_the_files_are_written_keeps_what_was_drawn(monkeypatch, tmp_path):
    presses = iter([interrupted])
    render_page = writing.render_page
    monkeypatch.setattr(writing, "render_page", lambda page: next(presses, render_page)(page))
    found = cluster("galaxies", mcmc_draws=20, num_chains=2, warmup=10, out=tmp_path / "out")
    assert found.interrupted
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["interrupted"] is True
