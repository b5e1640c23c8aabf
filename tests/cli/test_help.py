"""What the help of options says of names, defaults and limits is what the library has."""

import re

import pytest
from typer.main import get_command

from pyroclust.analysis.picking import model_by_name
from pyroclust.cli.app import app
from pyroclust.diagnostics.limits import tolerance_of
from pyroclust.infer.mcmc.defaults import NARROW, default_kernel_name
from pyroclust.infer.mcmc.named_kernels import kernel_names
from pyroclust.models.standardised import FAMILIES, PRIORS


def helps(command: str) -> dict[str, str]:
    return {one.name: getattr(one, "help", "") for one in get_command(app).commands[command].params}


def test_every_kernel_is_named_and_the_defaults():
    names, _, usual = helps("compare")["kernel"].partition("; by default ")
    assert tuple(sorted(re.split(", | or ", names.removeprefix("Kernel of the chains: ")))) == kernel_names()
    narrow, wide = (model_by_name(dim, 10, family="niw") for dim in (NARROW, NARROW + 1))
    other = model_by_name(2, 10, family="student-t")
    assert usual == (
        f"{default_kernel_name(narrow)}, above {NARROW} columns {default_kernel_name(wide)}, "
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
