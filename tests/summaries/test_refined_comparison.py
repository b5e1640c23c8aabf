"""Refined draws in a comparison: figures, answer, files, page and terminal."""

import dataclasses
import html
import json
from io import StringIO

import numpy as np
import pytest
from report_pages import refined_comparison
from rich.console import Console

from pyroclust.diagnostics import Answer, Trust
from pyroclust.diagnostics.verdicts.findings import Question
from pyroclust.io.arviz import to_arviz
from pyroclust.report import render, terminal_view
from pyroclust.results.comparison_figures import summarise


@pytest.fixture(scope="module")
def settled():
    return summarise(refined_comparison(temperature=3.0))


def shown(summary):
    console = Console(width=2000, file=StringIO(), color_system=None)
    console.print(terminal_view(summary))
    return " ".join(console.file.getvalue().split())


def test_refined_draws_are_the_answer_where_they_agree(settled):
    assert (settled.verdict.level, settled.answer) == (Trust.TRUST, Answer.REFINED), settled.verdict
    assert settled.agreement_refined.largest_difference < settled.agreement.largest_difference
    assert list(settled.estimates) == ["answer", "guide", "refined", "mcmc"]
    np.testing.assert_array_equal(
        settled.estimates["answer"].assignments, settled.refined.estimate.assignments
    )
    found = settled.contents()
    assert [one.name for one in found.sources] == ["the guide", "the refined draws", "MCMC"]
    assert found.reference is found.sources[1]
    assert set(found.estimates_rand) == {"the guide", "the refined draws", "MCMC"}
    assert found.estimates_rand["the refined draws"] == 1.0


def test_weights_are_those_of_the_proposals(settled):
    proposals = settled.comparison.refined.proposals
    assert len(settled.weighting.weights) == proposals.assignments.shape[1] == 1000
    guide = settled.contents().sources[0]
    assert (guide.num_draws, guide.num_made) == (200, 1000)
    assert guide.seconds_each == pytest.approx(proposals.seconds / settled.weighting.effective_draws)


def test_json_keeps_its_keys_and_has_the_refined_draws_beside_them(settled):
    figures = json.loads(json.dumps(settled.to_dict(), allow_nan=False))
    without = summarise(dataclasses.replace(settled.comparison, refined=None)).to_dict()
    assert without.keys() == figures.keys()
    assert figures["answer"] == "refined"
    assert figures["tolerance"] == {"guide": 0.15, "refined": 0.1}
    assert figures["refined"]["settled"] is True
    assert figures["refined"]["ancestors"] == 180
    assert figures["sources"]["refined"]["draws"] == 200
    assert figures["seconds_per_effective_draw"]["refined"] == pytest.approx(0.5 / 190)
    assert sum(figures["num_clusters"]["refined"]) == pytest.approx(1)
    assert figures["agreement_refined"]["largest_difference"] < 0.1
    assert figures["two_samples_refined"]["names"] == ["the refined draws", "MCMC"]
    assert without["refined"] is None
    assert without["num_clusters"]["refined"] is None


def test_page_and_terminal_name_the_answer_and_every_figure(settled):
    page, seen = render(settled), shown(settled)
    for text in (page, seen):
        assert "The answer is that of the refined draws." in text
        assert "the refined draws" in text
        assert "Co-assignment probabilities may differ by 0.1 for refined draws, 0.15 for others." in text
        assert "different proposals that were kept" in text
        assert "Distance from MCMC" in seen
    assert "Do the refined draws agree with MCMC" in page
    assert "refined draws" in page[page.index("How many clusters") :]


def test_draws_that_have_not_settled_are_no_answer():
    comparison = refined_comparison(temperature=3.0, settled=False)
    summary = summarise(comparison)
    assert (summary.verdict.level, summary.answer) == (Trust.MCMC, Answer.MCMC)
    assert summary.contents().reference.name == "MCMC"
    stuck = summarise(refined_comparison(stuck=True, settled=False))
    assert (stuck.verdict.level, stuck.answer) == (Trust.UNKNOWN, None)
    assert "answer" not in stuck.estimates
    assert stuck.to_dict()["answer"] is None


def test_nothing_confirms_refined_draws_where_mcmc_is_stuck():
    summary = summarise(refined_comparison(stuck=True))
    assert (summary.verdict.level, summary.answer) == (Trust.UNCONFIRMED, Answer.REFINED)
    assert "nothing confirms them: MCMC has not converged" in summary.verdict.sentence


def test_weighted_draws_are_the_answer_where_refined_ones_fail():
    summary = summarise(refined_comparison(temperature=1.6, settled=False))
    assert summary.answer is Answer.WEIGHTED
    found = summary.contents()
    assert found.reference.name == "the weighted draws"
    assert np.abs(found.reference.summary.co_assignment - summary.co_assignment_corrected).max() < 0.05
    assert "The answer is that of the guide's draws with their importance weights." in html.unescape(
        render(summary)
    )


def test_the_spread_over_orders_is_a_finding_where_it_is_larger_than_chance(settled):
    question, title = Question.ORDERS.value, "By visiting order"
    assert question not in [one.question for one in settled.findings]
    assert title in shown(settled)
    comparison = refined_comparison(temperature=3.0, shift=3.0)
    other = summarise(comparison)
    (finding,) = [one for one in other.findings if one.question == question]
    assert finding.passed is False
    assert title in shown(other)
    assert other.to_dict()["orders"]["log_evidence"]["p_value"] < 0.01
    assert settled.to_dict()["orders"]["log_evidence"]["p_value"] > 0.01
    assert len(settled.to_dict()["orders"]["num_clusters"]["by_order"]) == 4


def test_draws_file_has_the_refined_draws(settled):
    groups = to_arviz(settled)
    np.testing.assert_array_equal(
        groups["refined"]["assignments"].values, settled.comparison.refined.draws.assignments
    )


def test_points_are_checked():
    comparison = refined_comparison()
    with pytest.raises(ValueError, match="refined has draws of 30 points, expected 29"):
        dataclasses.replace(
            comparison,
            data=comparison.data[:29],
            guide=dataclasses.replace(comparison.guide, assignments=comparison.guide.assignments[..., :29]),
        )
