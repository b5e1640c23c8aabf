"""A guide of a family that is not conjugate beside MCMC: no weights and no evidence, all else as usual."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from report_pages import refined_case, refined_comparison
from synthetic_comparison import filled
from training_cases import TINY

from pyroclust import compare
from pyroclust.cli import main
from pyroclust.diagnostics import Answer, Trust
from pyroclust.distributions import ChineseRestaurantPrior, student_t
from pyroclust.guides import NeuralClusteringProcess
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.infer import fit, simulate
from pyroclust.models import Mixture
from pyroclust.report import page_of, render_page
from pyroclust.saving.guides import save_guide

MISSING = "There are no importance weights, no log joint and no log evidence: the likelihood of a partition"


@pytest.fixture(scope="module")
def settled():
    return refined_case(temperature=3.0, has_likelihood=False)


def test_the_verdict_is_that_of_the_same_draws_without_weights(settled):
    weighed = refined_case(temperature=3.0)
    assert (settled.verdict.level, settled.answer) == (weighed.verdict.level, weighed.answer)
    assert settled.verdict.sentence == weighed.verdict.sentence
    for name in ("guide", "refined"):
        assert settled.results["agreement"][name] == weighed.results["agreement"][name]
    assert not settled.failures
    assert not settled.unanswered


def test_draws_as_drawn_are_judged_without_weights_too():
    def as_drawn(**settings):
        found = refined_comparison(has_likelihood=False, **settings)
        del found.draws["refined"]
        return filled(found).verdict

    assert as_drawn().answer is Answer.GUIDE
    far = as_drawn(temperature=3.0)
    assert (far.level, far.answer) == (Trust.MCMC, Answer.MCMC)
    assert "there are no importance weights to correct them" in far.sentence


def test_what_is_missing_is_said_once_and_nothing_is_made_up(settled):
    figures = json.loads(json.dumps(settled.to_dict(), allow_nan=False))
    assert figures["weights"] is figures["evidence"] is None
    assert figures["agreement"].keys() == {"guide", "refined"}
    assert figures["refining"]["efficiency"] is None
    assert figures["seconds_per_effective_draw"]["guide"] is None
    assert figures["seconds_per_effective_draw"]["mcmc"] > 0
    text = render_page(page_of(settled))
    assert text.count(MISSING) == 1
    assert "log evidence" not in text.replace(MISSING, "")
    assert "Pareto k" not in text
    assert "resampled" not in text


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
    options = ["--guide", str(folder / "guide"), "--raw", "--draws", "40", "--mcmc-draws", "20", "--refine"]
    options += ["--chains", "2", "--warmup", "20", "--out", str(out), "--json", "--quiet"]
    with pytest.raises(SystemExit) as end:
        main(["compare", str(folder / "points.csv"), *options])
    printed, err = capsys.readouterr()
    assert end.value.code == 0, err
    figures = json.loads(printed)
    assert figures == json.loads((out / "summary.json").read_text())
    assert figures["mcmc_kernel"] == figures["refining"]["kernel"] == "auxiliary"
    assert figures["refining"]["proposals"] == figures["refining"]["draws"] == figures["guide_draws"] == 40
    assert figures["agreement"].keys() == {"guide", "refined"}
    assert figures["failures"] == []
    assert any("MCMC: 2 chains of auxiliary, 220 sweeps" in note for note in figures["notes"])
    columns = pd.read_csv(out / "assignments.csv").columns
    shown = figures["answer"] or "mcmc"
    assert {f"{name}_cluster" for name in ("guide", "refined", "mcmc") if name != shown} <= set(columns)
    for group, shape in {"posterior": (2, 20, 15), "guide": (1, 40, 15), "refined": (1, 40, 15)}.items():
        with xr.open_dataset(out / "draws.nc", group=group, engine="h5netcdf") as draws:
            assert draws["assignments"].shape == shape
            assert "log_joint" not in draws


def test_without_refining_the_guide_is_compared_as_drawn(folder):
    found = compare(
        folder / "points.csv", guide=folder / "guide", raw=True, num_draws=20, mcmc_draws=20, warmup=20
    )
    assert "weights" not in found.results
    assert found.draws["guide"].log_joint is None
    assert np.isfinite(found.results["agreement"]["guide"].largest_difference)
