"""A guide of a family that is not conjugate beside MCMC: no weights and no evidence, all else as usual."""

import dataclasses
import json
from io import StringIO

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from report_pages import refined_comparison, without_likelihood
from rich.console import Console
from training_cases import TINY

from pyroclust import compare
from pyroclust.cli import main
from pyroclust.diagnostics import Answer, Trust
from pyroclust.distributions import ChineseRestaurantPrior, student_t
from pyroclust.guides import NeuralClusteringProcess
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.infer import fit, simulate
from pyroclust.models import Mixture
from pyroclust.report import render, terminal_view
from pyroclust.results.comparison import Comparison
from pyroclust.results.comparison_figures import summarise
from pyroclust.saving.guides import save_guide

MISSING = "There are no importance weights, no log joint and no log evidence: the likelihood of a partition"


@pytest.fixture(scope="module")
def settled():
    return summarise(without_likelihood(refined_comparison(temperature=3.0)))


def test_the_verdict_is_that_of_the_same_draws_without_weights(settled):
    weighed = summarise(refined_comparison(temperature=3.0))
    assert (settled.verdict.level, settled.answer) == (weighed.verdict.level, weighed.answer)
    assert settled.verdict.sentence == weighed.verdict.sentence
    assert settled.agreement == weighed.agreement
    assert settled.agreement_refined == weighed.agreement_refined
    assert not settled.failures
    assert not settled.untold


def test_draws_as_drawn_are_judged_without_weights_too():
    close = dataclasses.replace(without_likelihood(refined_comparison()), refined=None)
    assert summarise(close).answer is Answer.GUIDE
    far = summarise(
        dataclasses.replace(without_likelihood(refined_comparison(temperature=3.0)), refined=None)
    )
    assert (far.verdict.level, far.answer) == (Trust.MCMC, Answer.MCMC)
    assert "there are no importance weights to correct them" in far.verdict.sentence


def test_what_is_missing_is_said_once_and_nothing_is_made_up(settled):
    figures = json.loads(json.dumps(settled.to_dict(), allow_nan=False))
    assert figures["importance"] is figures["agreement_corrected"] is None
    assert figures["log_evidence"]["estimates"] == []
    assert figures["refined"]["efficiency"] is None
    assert figures["seconds_per_effective_draw"]["guide"] is None
    assert figures["seconds_per_effective_draw"]["mcmc"] > 0
    assert settled.comparison.about()["missing"].startswith(MISSING)
    page = render(settled)
    console = Console(width=2000, file=StringIO(), color_system=None)
    console.print(terminal_view(settled))
    for text in (page, console.file.getvalue()):
        assert text.count(MISSING) == 1
        assert "Log evidence" not in text
        assert "weighted" not in text
        assert "Pareto k" not in text
        assert "resampled" not in text


def test_all_draws_have_a_log_joint_or_none():
    found = refined_comparison()
    without = without_likelihood(found)
    for changes in ({"mcmc": without.mcmc}, {"guide": without.guide}, {"refined": without.refined}):
        with pytest.raises(ValueError, match="expected log p of each draw, or of none"):
            dataclasses.replace(found, **changes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A guide of Student-t clusters after a few steps, beside a table of one simulated data set."""
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("heavy")
    model = Mixture(ChineseRestaurantPrior(1.0), student_t(2))
    guide = NeuralClusteringProcess(model, scorer=light_scorer_for(model, width=16, num_bandwidths=2))
    fit(model, guide, settings=TINY, progress=False)
    save_guide(guide.eval(), path / "guide")
    data, _ = simulate(model, torch.empty(1, 15, 2))
    pd.DataFrame(data[0].numpy(), columns=["x", "y"]).to_csv(path / "points.csv", index=False)
    return path


def test_a_trained_guide_is_refined_and_stands_beside_mcmc(folder, tmp_path, capsys):
    out = tmp_path / "out"
    options = ["--guide", str(folder / "guide"), "--raw", "--draws", "40", "--mcmc-draws", "20"]
    options += ["--chains", "2", "--warmup", "20", "--out", str(out), "--json", "--quiet"]
    with pytest.raises(SystemExit) as end:
        main(["compare", str(folder / "points.csv"), *options])
    printed, err = capsys.readouterr()
    assert end.value.code == 0, err
    figures = json.loads(printed)
    assert figures == json.loads((out / "summary.json").read_text())
    assert figures["missing"].startswith(MISSING)
    assert figures["mcmc_kernel"] == figures["refined"]["kernel"] == "auxiliary"
    assert figures["refined"]["proposals"] == figures["refined"]["draws"] == figures["guide_draws"] == 40
    assert figures["two_samples_refined"]["names"] == ["the refined draws", "MCMC"]
    assert figures["failures"] == []
    assert any("MCMC: 2 chains of auxiliary, 220 sweeps" in note for note in figures["notes"])
    columns = pd.read_csv(out / "assignments.csv").columns
    assert {"guide_cluster", "refined_cluster", "mcmc_cluster"} <= set(columns)
    for group, shape in {"posterior": (2, 20, 15), "guide": (1, 40, 15), "refined": (1, 40, 15)}.items():
        with xr.open_dataset(out / "draws.nc", group=group, engine="h5netcdf") as draws:
            assert draws["assignments"].shape == shape
            assert "log_joint" not in draws


def test_without_refining_the_guide_is_compared_as_drawn(folder):
    found = compare(
        folder / "points.csv",
        guide=folder / "guide",
        raw=True,
        refine=False,
        num_draws=20,
        mcmc_draws=20,
        num_chains=2,
        warmup=20,
    )
    assert isinstance(found.comparison, Comparison)
    assert found.comparison.refined is found.comparison.cross is None
    assert not found.comparison.has_weights
    assert np.isfinite(found.summary.agreement.largest_difference)
