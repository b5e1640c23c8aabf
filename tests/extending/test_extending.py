"""A prior, a family, a scorer, a kernel and a question of one file each go wherever the library's own go."""

import dataclasses
import html
import json
from io import StringIO

import numpy as np
import pytest
import torch
from extending.alone_question import QUESTION, STEP, alone_section
from extending.centre_scorer import CentreScorer
from extending.exponential_family import ExponentialGamma
from extending.gnedin_prior import GnedinPrior
from extending.prior_proposals import PriorProposals
from rich.console import Console

from pyroclust import Analysis, diagnose, load_guide, save_guide
from pyroclust.analysis import steps
from pyroclust.guides import NeuralClusteringProcess, PredictiveFilter
from pyroclust.infer import FitSettings, exact_posterior, fit
from pyroclust.models import Mixture, gaussian2d
from pyroclust.nn import RandomOrder
from pyroclust.partitions import enumerate_partitions
from pyroclust.recipes import read_recipe
from pyroclust.report import page, register_section, terminal_view

RECIPE = """
[model]
name = "waiting-times"
prior = { class = "GnedinPrior", gamma = 0.4 }
component = { class = "ExponentialGamma", dim = 2, rate = 3.0 }
[guide]
class = "NeuralClusteringProcess"
scorer = { class = "CentreScorer", dim = 2, reach = 2.0 }
[training]
steps = 2
"""
EVERY = enumerate_partitions(5)


def model() -> Mixture:
    return Mixture(GnedinPrior(0.4), ExponentialGamma(2, rate=3.0), name="waiting-times")


def guide() -> NeuralClusteringProcess:
    return NeuralClusteringProcess(model(), scorer=CentreScorer(2, reach=2.0), order=RandomOrder())


def data(*batch: int) -> torch.Tensor:
    return torch.rand(*batch, 5, 2, generator=torch.Generator().manual_seed(0)).add(0.1).reciprocal()


def test_the_prior_sums_to_one_and_draws_what_it_says():
    law = GnedinPrior(0.4).partition(5)
    probabilities = law.log_prob(EVERY).exp()
    torch.testing.assert_close(probabilities.sum(), torch.tensor(1.0).double())
    torch.manual_seed(0)
    draws = law.sample((20_000,))
    found = (draws.unsqueeze(1) == EVERY).all(-1).double().mean(0)
    assert (found - probabilities).abs().max() < 4 * 0.5 / 20_000**0.5
    assert GnedinPrior(0.4).log_prob_num_clusters(5).logsumexp(0).abs() < 1e-9


def test_the_family_is_the_integral_of_its_likelihood():
    family, points = ExponentialGamma(2, rate=3.0), data()
    parameters = family.sample_prior((200_000,))
    terms = family.likelihood({"intensity": parameters["intensity"].unsqueeze(1)}).log_prob(points).sum(-1)
    expected = terms.double().logsumexp(0) - torch.tensor(200_000.0).log()
    moments = family.moments(points)
    found = family.log_marginal(torch.tensor([5.0]), moments.sum(0, keepdim=True))
    torch.testing.assert_close(found[0], expected, atol=0.05, rtol=0)
    # One point after the other, by the predictive density.
    steps = torch.arange(5.0)
    before = moments.cumsum(0) - moments
    predictive = family.log_predictive(points.double(), family.predictive_parameters(steps, before))
    torch.testing.assert_close(predictive.sum(), found[0])


@torch.no_grad()
@pytest.mark.parametrize("made", [guide, lambda: PredictiveFilter(model())], ids=["scorer", "filter"])
def test_guides_of_them_sum_to_one_and_come_back_from_a_folder(made, tmp_path):
    trained = made().eval()
    posterior = trained.posterior(data(), order=torch.arange(5))
    torch.testing.assert_close(
        posterior.log_prob(EVERY).logsumexp(0).double(), torch.tensor(0.0).double(), atol=1e-5, rtol=0
    )
    save_guide(trained, tmp_path / "mine")
    again = load_guide(tmp_path / "mine")
    assert (type(again.model.prior), again.model.prior.gamma) == (GnedinPrior, 0.4)
    found = again.posterior(data(), order=torch.arange(5)).log_prob(EVERY)
    torch.testing.assert_close(found, posterior.log_prob(EVERY), rtol=0, atol=0)


def test_a_scorer_learns():
    trained = guide()
    before = trained.scorer.log_reach.item()
    fit(trained.model, trained, settings=FitSettings(steps=3, max_points=10), progress=False)
    assert trained.scorer.log_reach.item() != before


def test_recipes_name_them(tmp_path):
    (tmp_path / "mine.toml").write_text(RECIPE)
    built = read_recipe(tmp_path / "mine.toml").build()
    assert (type(built.scorer), built.scorer.reach, type(built.order)) == (CentreScorer, 2.0, RandomOrder)
    assert type(built.model.component) is ExponentialGamma


@pytest.mark.parametrize("of", [gaussian2d(), model()], ids=["shipped", "own"])
def test_the_kernel_draws_from_the_posterior(of):
    points = data()[:4].double()
    partitions, log_probs = exact_posterior(of, points)
    run = PriorProposals(of).run(points, num_draws=400, warmup=100, num_chains=40, seed=1)
    draws = torch.from_numpy(run.assignments)
    found = (draws.flatten(0, 1).unsqueeze(1) == partitions).all(-1).double()
    shares = found.view(40, -1, len(partitions)).mean(1)
    error = shares.std(0) / 40**0.5
    assert ((shares.mean(0) - log_probs.exp()).abs() <= 5 * error + 2e-3).all()


@pytest.fixture
def asked(monkeypatch):
    """Register things as users do, for one test."""
    monkeypatch.setattr(steps, "_REGISTERED", {})
    monkeypatch.setattr(page, "_SECTIONS", dict(page._SECTIONS))
    register_section("alone", alone_section)
    return steps.register_step


DRAWS = np.random.default_rng(0).integers(2, size=(2, 60, 6)) * np.array([1, 1, 1, 1, 1, 0])
DRAWS[..., 5] = 2


def test_a_question_is_asked_answered_shown_and_kept(asked, tmp_path):
    asked(STEP)
    found = diagnose(DRAWS, out=tmp_path / "out")
    assert found.results["alone"].rows == ("6",)
    (check,) = [one for one in found.findings if one.question == QUESTION]
    assert (check.passed, check.value) == (False, 1.0)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert summary["alone"] == {"rows": ["6"], "most": 1.0}
    assert QUESTION in [one["question"] for one in summary["findings"]]
    assert summary["seconds_of"]["alone"] >= 0
    text = html.unescape((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))
    assert "Rows on their own" in text
    assert QUESTION in text
    console = Console(width=200, file=StringIO())
    console.print(terminal_view(found, verbose=True))
    assert "Alone" in console.file.getvalue()
    assert QUESTION in [one.question for one in Analysis.read(tmp_path / "out").findings]
    with pytest.raises(ValueError, match="choose another name"):
        asked(STEP)
    with pytest.raises(ValueError, match="has a section already"):
        register_section("alone", alone_section)


def test_a_question_that_fails_is_a_sentence_and_one_that_nobody_asks_is_nothing(asked):
    def fails(work):
        raise RuntimeError("it broke")

    asked(dataclasses.replace(STEP, compute=fails))
    found = diagnose(DRAWS)
    assert "The rows on their own" in found.failures[0]
    assert "it broke" in found.failures[0]
    assert "alone" not in found.results
    asked(dataclasses.replace(STEP, name="never", compute=fails, by_default=steps.never))
    assert diagnose(DRAWS).failures == found.failures


def test_a_result_that_could_not_be_saved_is_a_sentence_that_names_the_step(asked, tmp_path):
    asked(dataclasses.replace(STEP, compute=lambda work: {1, 2}))
    found = diagnose(DRAWS, out=tmp_path / "out")
    assert "the step 'alone' returned set, expected values that JSON can hold" in found.failures[0]
    assert "alone" not in found.results
    assert (tmp_path / "out" / "summary.json").exists()
