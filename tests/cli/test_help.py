"""What the help of options says of names, defaults and limits is what the library has."""

import json
import re
import shlex

import pytest
from faults.cases import run_command
from typer.main import get_command

from pyroclust.analysis.picking import model_by_name
from pyroclust.cli.commands import app
from pyroclust.cli.options import OPTIONS, python_arguments
from pyroclust.core.large_tables import ALL_AT_ONCE
from pyroclust.diagnostics.limits import tolerance_of
from pyroclust.infer.mcmc.named_kernels import NARROW, default_kernel_name, kernel_names
from pyroclust.models.standardised import FAMILIES, PRIORS
from pyroclust.results.records import Repeat


def helps(command: str) -> dict[str, str]:
    return {one.name: getattr(one, "help", "") for one in get_command(app).commands[command].params}


def test_every_kernel_is_named_and_the_defaults():
    names, _, usual = helps("compare")["kernel"].partition("; by default ")
    assert tuple(sorted(re.split(", | or ", names.removeprefix("Kernel of the chains: ")))) == kernel_names()
    narrow, wide = (model_by_name(dim, 10, family="niw") for dim in (NARROW, NARROW + 1))
    other = model_by_name(2, 10, family="student-t")
    assert usual == (
        f"{default_kernel_name(narrow)}, above {NARROW} columns {default_kernel_name(wide)}, "
        f"from {ALL_AT_ONCE:,} rows on {default_kernel_name(wide, num_points=ALL_AT_ONCE)}, "
        f"or {default_kernel_name(other)}."
    )


def test_the_tolerance_is_that_of_the_limits():
    refined, other = (tolerance_of(None, refined=refined) for refined in (True, False))
    assert helps("compare")["tolerance"].endswith(
        f"by default {refined:g} for refined draws, {other:g} for others."
    )


@pytest.mark.parametrize("command", ["compare", "recipe"])
def test_families_and_priors_are_those_of_the_models(command):
    said = helps(command)
    without_reasons = {name: re.sub(r" \(.*?\)", "", said[name]) for name in ("family", "prior")}
    for name, known, what in (("family", FAMILIES, "Clusters: "), ("prior", PRIORS, "Partition: ")):
        listed, _, usual = without_reasons[name].removeprefix(what).partition("; by default ")
        assert sorted(re.split(", | or ", listed)) == sorted(known)
        default = model_by_name(2, 10)
        assert model_by_name(2, 10, **{name: re.match(r"[-\w]+", usual)[0]}) == default


NOT_REPEATED = {"out", "overwrite", "seed", "scheduler", "strict", "as_json", "quick", "quiet", "verbose"}
FLAGS = ("transpose", "raw", "edges", "header", "refine", "thorough", "refuse_unseen")
COUNTS = ("num_draws", "num_chains", "mcmc_draws", "num_clusters", "warmup", "pca", "burn_in", "image_size")
NUMBERS = ("concentration", "expected_clusters", "tolerance", "noise_scale", "budget")
# What has another value than a word, and the command that has it where compare has not.
VALUES = {
    **dict.fromkeys(FLAGS, True),
    **dict.fromkeys(COUNTS, 20),
    **dict.fromkeys(NUMBERS, 0.5),
    "columns": ["a b", "c,d"],
    "leave_out": ["a b", "c,d"],
    "missing": ["99", "income=-1"],
    "chains": ["one.csv", "my other.csv"],
    "within": (6.0, 3.0),
    "between": (6.0, 3.0),
    "kinds": {"a": "count", "b": "category"},
    "conditions": {"scale": 2.0, "shape": 0.5},
    "also": ("evidence", "orders"),
    "clusters": (2, 6),
}
ELSEWHERE = {
    **dict.fromkeys(("chains", "burn_in", "variable", "group", "other_group", "data"), "diagnose"),
    **dict.fromkeys(("num_clusters", "noise_scale"), "forest"),
    "refuse_unseen": "update",
    **dict.fromkeys(("by", "budget"), "cluster"),
}


@pytest.mark.parametrize("name", sorted(OPTIONS.keys() - NOT_REPEATED))
def test_what_repeats_an_analysis_can_be_typed(name):
    command, value = ELSEWHERE.get(name, "compare"), VALUES.get(name, "a word")
    sources = ["x.csv", "y.csv"] if command == "update" else ["x.csv"]
    _, _, *words = shlex.split(Repeat.of(command, sources, {name: value}).command)
    with get_command(app).commands[command].make_context(command, words) as context:
        assert python_arguments({name: context.params[name]}) == {name: value}


@pytest.mark.parametrize(
    ("command", "names"),
    [("compare", (*FAMILIES, *PRIORS, "SOURCE")), ("recipe", (*FAMILIES, *PRIORS)), ("diagnose", ())],
)
def test_help_fits_80_columns_and_names_every_family_and_prior(command, names, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, printed, _ = run_command([command, "--help"])
    assert code == 0
    assert max(map(len, printed.splitlines())) <= 80
    assert not [line for line in printed.splitlines() if line.rstrip().endswith("…")]
    assert [name for name in names if name not in printed] == []


def test_guides_are_listed_and_the_version():
    assert "filter-nig1d" in run_command(["guides"])[1]
    described = json.loads(run_command(["guides", "--json"])[1])
    assert described["filter-niw2d"]["model"]["arguments"] == {"dim": 2}
    assert run_command(["--version"])[1].startswith("pyroclust 0.")
