"""Parts of a result that fail: a sentence in page, terminal and JSON, never the end of the run."""

import html
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import report_pages
from faults.cases import Case
from rich.console import Console
from synthetic_comparison import make_comparison

from pyroclust import compare, diagnose
from pyroclust.calibration.training_world import TrainingWorld
from pyroclust.diagnostics import Trust
from pyroclust.diagnostics.verdicts.findings import Question
from pyroclust.guides import PredictiveFilter
from pyroclust.models import nig_mixture
from pyroclust.report import page_of, render_page, terminal_page
from pyroclust.report.parts import Picture
from pyroclust.results.comparison import CrossScored
from pyroclust.results.comparison_summary import summarise
from pyroclust.results.contents import Result

_BROKEN = RuntimeError("it broke.\nThe second line")
_POINTS = np.array([[0.1], [0.2], [-0.4], [2.0], [2.2], [2.1]])
_QUICK = {"raw": True, "num_draws": 20, "mcmc_draws": 20, "num_chains": 2}
_SMALL = ["--draws", "20", "--mcmc-draws", "20", "--chains", "2", "--quiet"]


def _compared() -> Result:
    labels = np.array(["a", "b", None] * 4, dtype=object)
    comparison = make_comparison(num_points=12, draws=40, dim=2)
    world = TrainingWorld(np.random.default_rng(0).standard_normal((199, 12, 2)))
    assert comparison.mcmc.log_joint is not None
    cross = CrossScored(comparison.mcmc.log_joint, comparison.mcmc.log_joint - 1.0)
    return summarise(replace(comparison, true_labels=labels, world=world, cross=cross))


def _alone() -> Result:
    return report_pages.alone_case(true_labels=np.array(["a", "b"] * 6, dtype=object))


def _diagnosed() -> Result:
    draws = np.random.default_rng(0).integers(2, size=(2, 30, 6))
    table = pd.DataFrame({"x": _POINTS[:, 0], "kind": list("aabbab")})
    return diagnose(draws, draws[::-1], data=table, label="kind")


def _run() -> Result:
    return compare(_POINTS, guide=PredictiveFilter(nig_mixture()), calibrate=True, **_QUICK)


_RESULTS = {"compare": _compared, "a guide alone": _alone, "diagnose": _diagnosed, "a whole compare": _run}


def _said_everywhere(result: Result, words: str) -> str:
    """Return the sentence with the words, which page, terminal and JSON have to hold."""
    figures = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    found = [one for one in figures["failures"] if words in one]
    assert found, f"'{words}' is not in {figures['failures']}"
    with mock.patch.object(Picture, "_drawn", (b"", "")):
        page = page_of(result)
        written, seen = html.unescape(render_page(page)), StringIO()
        Console(file=seen, width=2000).print(terminal_page(page))
    assert not page.failures, page.failures
    for sentence in figures["failures"]:
        assert sentence in written, "the page does not say it"
        assert f"Note: {sentence}" in seen.getvalue(), "the terminal does not say it"
    assert figures["verdict"]["sentence"] in written
    return str(found[0])


def _fails(
    place: str, kind: str, words: str, *, asks: Sequence[Question] = (), level: Trust | None = None
) -> Callable[[Path], str]:
    """Break a function and look at the result; the questions about it have to be "cannot tell"."""

    def run(folder: Path) -> str:
        with mock.patch(place, side_effect=_BROKEN):
            result = _RESULTS[kind]()
        said = _said_everywhere(result, words)
        findings = {one.question: one for one in result.contents().findings}
        for question in asks:
            assert findings[question.value].passed is None, findings[question.value]
        assert level is None or result.verdict.level is level, result.verdict
        assert "Traceback" not in said
        return said

    return run


def _headline(place: str, kind: str, question: Question) -> Callable[[Path], str]:
    def run(folder: Path) -> str:
        with mock.patch(place, side_effect=_BROKEN):
            result = _RESULTS[kind]()
        assert question.value in result.verdict.sentence, result.verdict
        return result.verdict.sentence

    return run


_DRAWS = "pyroclust.results.draws_summary.diagnostics."
_ESTIMATE = (Question.CLEAR, Question.LABELS)
# What is broken, the beginning of the sentence, and the questions without an answer.
_OF_DRAWS: tuple[tuple[str, str, tuple[Question, ...]], ...] = (
    (f"{_DRAWS}point_estimate", "The point estimate of", _ESTIMATE),
    ("pyroclust.results.draws_summary.uncertainty_in", "The point estimate of", _ESTIMATE),
    ("pyroclust.results.draws_summary.scores_where_known", "The scores of", (Question.LABELS,)),
    (f"{_DRAWS}credible_ball", "The credible ball of", ()),
    (f"{_DRAWS}ranked_partitions", "The most probable partitions of", ()),
    (f"{_DRAWS}partition_entropy", "The entropy of", ()),
    (f"{_DRAWS}partition_modes", "The modes of", ()),
    (f"{_DRAWS}functionals", "The functionals of", ()),
    (f"{_DRAWS}convergence", "The convergence of", ()),
    (f"{_DRAWS}co_membership_ess", "The effective draws of pairs of", ()),
    (f"{_DRAWS}distance_rhat", "The R-hat of distances of", ()),
    (f"{_DRAWS}cluster_profiles", "The profiles of the clusters of", ()),
)
_SUMMARY = "pyroclust.results.comparison_summary."
_OF_COMPARISONS: tuple[tuple[str, str, tuple[Question, ...]], ...] = (
    (f"{_SUMMARY}diagnostics.compare_sources", "The tests of two samples", (Question.SOURCES,)),
    (
        f"{_SUMMARY}diagnostics.importance_weights",
        "The importance weights",
        (Question.TAIL, Question.WORTH, Question.WEIGHTED),
    ),
    (f"{_SUMMARY}diagnostics.pareto_k", "The importance weights", (Question.TAIL,)),
    (f"{_SUMMARY}diagnostics.importance_log_evidence", "The importance weights", (Question.WEIGHTED,)),
    (f"{_SUMMARY}marginals", "The marginals of the weighted draws", (Question.WEIGHTED,)),
    (f"{_SUMMARY}diagnostics.log_evidences", "The evidence by bridge sampling", ()),
    (f"{_SUMMARY}baseline_rows", "The classical methods", ()),
    (f"{_SUMMARY}partition_scores", "The comparison of the point estimates", ()),
    (
        "pyroclust.calibration.training_world.TrainingWorld.familiarity",
        "The familiarity of the data",
        (Question.FAMILIAR,),
    ),
)
_OF_ALONE: tuple[tuple[str, str, tuple[Question, ...]], ...] = (
    (
        "pyroclust.calibration.training_world.TrainingWorld.familiarity",
        "The familiarity of the data",
        (Question.FAMILIAR,),
    ),
    ("pyroclust.results.guide_alone.baseline_rows", "The classical methods", ()),
    (
        "pyroclust.results.guide_alone.calibration_findings",
        "The judgement of the certificate",
        (Question.CERTIFIED,),
    ),
)
_OF_TWO: tuple[tuple[str, str, tuple[Question, ...]], ...] = (
    ("pyroclust.analysis.diagnose.compare_sources", "The comparison of the sources", (Question.SOURCES,)),
    ("pyroclust.analysis.diagnose.baseline_rows", "The classical methods", ()),
)
_COMPARING = "pyroclust.analysis.comparing."
_OF_RUNS: tuple[tuple[str, str, tuple[Question, ...]], ...] = (
    (f"{_COMPARING}simulated_world", "The simulations of the guide's model", (Question.FAMILIAR,)),
    (f"{_COMPARING}calibrate_near", "The calibration of guide", (Question.NEAR,)),
    (f"{_COMPARING}cross_scored", "The guide's log q of draws of MCMC", ()),
    (f"{_COMPARING}draw_mcmc", "MCMC", ()),
    ("pyroclust.calibration.training_world._log_evidence", "The evidence of the data among", ()),
)


def _broken(kind: str, parts: Sequence[tuple[str, str, tuple[Question, ...]]], *, slow: bool) -> list[Case]:
    return [
        Case(
            "parts",
            f"{kind}: {place.removeprefix('pyroclust.')} fails",
            f"“{words} …” everywhere" + (f"; {len(asks)} times “cannot tell”" if asks else ""),
            _fails(place, kind, words, asks=asks),
            slow,
        )
        for place, words, asks in parts
    ]


CASES = [
    *_broken("compare", _OF_DRAWS, slow=False),
    *_broken("a guide alone", _OF_DRAWS, slow=False),
    *_broken("diagnose", _OF_DRAWS, slow=False),
    *_broken("compare", _OF_COMPARISONS, slow=False),
    *_broken("a guide alone", _OF_ALONE, slow=False),
    *_broken("diagnose", _OF_TWO, slow=False),
    *_broken("a whole compare", _OF_RUNS, slow=True),
]
