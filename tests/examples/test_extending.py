"""The parts of docs/extending.md, one class each, go wherever the library's own go."""

import ast
import dataclasses
import html
import json
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from rich.console import Console
from test_faces import blocks

from pyroclust import Analysis, diagnose, load_guide, save_guide
from pyroclust.analysis import steps
from pyroclust.guides import NeuralClusteringProcess, PredictiveFilter
from pyroclust.infer import FitSettings, exact_posterior, fit
from pyroclust.models import Mixture, gaussian2d
from pyroclust.nn import RandomOrder
from pyroclust.partitions import enumerate_partitions
from pyroclust.recipes import read_recipe
from pyroclust.report import page, register_section, terminal_view

DEFINES = ast.Import | ast.ImportFrom | ast.ClassDef | ast.FunctionDef
PAGE = Path(__file__).parents[2] / "docs" / "extending.md"


def defined() -> SimpleNamespace:
    """Return the classes and functions of the page's blocks, whose other statements are not run."""
    found = {"__name__": "extending"}
    for block in blocks(PAGE):
        tree = ast.parse(block)
        tree.body = [one for one in tree.body if isinstance(one, DEFINES)]
        exec(compile(tree, PAGE.name, "exec"), found)
    return SimpleNamespace(**found)


MINE = defined()
PRIOR, FAMILY = MINE.TwoConcentrations(0.3, 3.0), MINE.ExponentialGamma(2, 2.0, rate=3.0)
RECIPE = """
[model]
name = "waiting-times"
prior = { class = "TwoConcentrations", low = 0.3, high = 3.0 }
component = { class = "ExponentialGamma", dim = 2, shape = 2.0, rate = 3.0 }
[guide]
class = "NeuralClusteringProcess"
scorer = { class = "NearestMean", dim = 2 }
[training]
steps = 2
"""
EVERY = enumerate_partitions(5)
QUESTION = "Has every row a companion?"
STEP = steps.Step(name="alone", compute=MINE.find_alone, of_the_answer=True, what="The rows on their own")


def model() -> Mixture:
    return Mixture(PRIOR, FAMILY, name="waiting-times")


def guide() -> NeuralClusteringProcess:
    return NeuralClusteringProcess(model(), scorer=MINE.NearestMean(2), order=RandomOrder())


def data(*batch: int) -> torch.Tensor:
    return torch.rand(*batch, 5, 2, generator=torch.Generator().manual_seed(0)).add(0.1).reciprocal()


def test_the_prior_draws_what_it_says():
    law = PRIOR.partition(5)
    probabilities = law.log_prob(EVERY).exp()
    torch.testing.assert_close(probabilities.sum(), torch.tensor(1.0).double())
    torch.manual_seed(0)
    draws = law.sample((20_000,))
    found = (draws.unsqueeze(1) == EVERY).all(-1).double().mean(0)
    assert (found - probabilities).abs().max() < 4 * 0.5 / 20_000**0.5
    assert PRIOR.log_prob_num_clusters(5).logsumexp(0).abs() < 1e-9


def test_the_family_is_the_integral_of_its_likelihood():
    points = data()
    parameters = FAMILY.sample_prior((200_000,))
    terms = FAMILY.likelihood({"speed": parameters["speed"].unsqueeze(1)}).log_prob(points).sum(-1)
    expected = terms.double().logsumexp(0) - torch.tensor(200_000.0).log()
    moments = FAMILY.moments(points)
    found = FAMILY.log_marginal(torch.tensor([5.0]), moments.sum(0, keepdim=True))
    torch.testing.assert_close(found[0], expected, atol=0.05, rtol=0)
    # One point after the other, by the predictive density.
    before = moments.cumsum(0) - moments
    packed = FAMILY.predictive_parameters(torch.arange(5.0), before)
    torch.testing.assert_close(FAMILY.log_predictive(points.double(), packed).sum(), found[0])


@torch.no_grad()
@pytest.mark.parametrize("made", [guide, lambda: PredictiveFilter(model())], ids=["scorer", "filter"])
def test_guides_of_them_sum_to_one_and_come_back_from_a_folder(made, tmp_path):
    trained = made().eval()
    log_q = trained.posterior(data(), order=torch.arange(5)).log_prob(EVERY)
    assert log_q.logsumexp(0).abs() < 1e-5
    save_guide(trained, tmp_path / "mine")
    again = load_guide(tmp_path / "mine")
    assert (type(again.model.prior), again.model.prior.high) == (MINE.TwoConcentrations, 3.0)
    found = again.posterior(data(), order=torch.arange(5)).log_prob(EVERY)
    torch.testing.assert_close(found, log_q, rtol=0, atol=0)


def test_a_scorer_learns():
    trained = guide()
    before = trained.scorer.log_width.item()
    fit(trained.model, trained, settings=FitSettings(steps=3, max_points=10), progress=False)
    assert trained.scorer.log_width.item() != before


def test_recipes_name_them(tmp_path):
    (tmp_path / "mine.toml").write_text(RECIPE)
    built = read_recipe(tmp_path / "mine.toml").build()
    assert (type(built.scorer), built.scorer.dim) == (MINE.NearestMean, 2)
    assert (type(built.model.component), built.model.component.rate) == (MINE.ExponentialGamma, 3.0)


@pytest.mark.parametrize("of", [gaussian2d(), model()], ids=["shipped", "own"])
def test_the_kernel_draws_from_the_posterior(of):
    points = data()[:4].double()
    partitions, log_probs = exact_posterior(of, points)
    run = MINE.OnePointMetropolis(of).run(points, num_draws=400, warmup=100, num_chains=40, seed=1)
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
    register_section("alone", MINE.alone_section)
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
        register_section("alone", MINE.alone_section)


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
