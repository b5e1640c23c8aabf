"""Refined draws beside MCMC: figures, answer, files, page and terminal."""

import json
from io import StringIO

import numpy as np
import pytest
from report_pages import refined_case
from rich.console import Console

from pyroclust import to_arviz
from pyroclust.diagnostics import Answer, Trust
from pyroclust.diagnostics.findings import Question
from pyroclust.report import page_of, terminal_view


@pytest.fixture(scope="module")
def settled():
    return refined_case(temperature=3.0)


@pytest.fixture(scope="module")
def shifted():
    return refined_case(temperature=3.0, shift=3.0)


def shown(found):
    console = Console(width=2000, file=StringIO(), color_system=None)
    console.print(terminal_view(found, verbose=True))
    return " ".join(console.file.getvalue().split())


def test_refined_draws_are_the_answer_where_they_agree(settled):
    assert (settled.verdict.level, settled.answer) == (Trust.TRUST, "refined"), settled.verdict
    agreement = settled.results["agreement"]
    assert agreement["refined"].largest_difference < agreement["guide"].largest_difference
    assert list(settled.estimates) == ["refined", "guide", "mcmc"]
    assert [one.key for one in settled.sources] == ["guide", "refined", "mcmc"]
    assert settled.reference.key == "refined"


def test_weights_are_those_of_the_proposals(settled):
    proposals = settled.draws["proposals"]
    assert len(settled.results["weights"].weights) == proposals.num_draws == 1000
    assert (settled.draws["guide"].num_draws, settled.made("guide").num_draws) == (200, 1000)
    worth = settled.results["weights"].effective_draws
    assert settled.seconds_each("guide") == pytest.approx(proposals.seconds / worth)


def test_json_has_the_refined_draws_beside_the_others(settled):
    figures = json.loads(json.dumps(settled.to_dict(), allow_nan=False))
    assert figures["answer"] == "refined"
    assert figures["tolerance"] == {"guide": 0.15, "refined": 0.1}
    assert figures["refining"]["settled"] is True
    assert figures["refining"]["ancestors"] == 180
    assert figures["sources"]["refined"]["draws"] == 200
    assert figures["seconds_per_effective_draw"]["refined"] == pytest.approx(0.5 / 190)
    assert sum(figures["num_clusters"]["refined"]) == pytest.approx(1)
    assert figures["agreement"]["refined"]["largest_difference"] < 0.1
    assert figures["two_samples"]["refined"]["names"] == ["the refined draws", "MCMC"]


def test_page_and_terminal_have_every_distance(settled):
    (section,) = [one for one in page_of(settled).sections if one.title == "The guide against MCMC"]
    (table,) = section.parts
    assert [row[0] for row in table.rows] == [
        "the guide, as drawn",
        "the weighted draws",
        "the refined draws",
        "two halves of MCMC",
    ]
    assert [row[-1] for row in table.rows[:3]] == ["0.15", "0.15", "0.1"]
    seen = shown(settled)
    for row in table.rows:
        assert " ".join(row).strip() in seen
    assert "different proposals that were kept 180" in seen


def test_draws_that_have_not_settled_are_no_answer():
    found = refined_case(temperature=3.0, settled=False)
    assert (found.verdict.level, found.answer, found.reference.key) == (Trust.MCMC, "mcmc", "mcmc")
    stuck = refined_case(stuck=True, settled=False)
    assert (stuck.verdict.level, stuck.answer) == (Trust.UNKNOWN, None)
    assert stuck.reference.key == "mcmc"
    assert stuck.to_dict()["answer"] is None


def test_nothing_confirms_refined_draws_where_mcmc_is_stuck():
    found = refined_case(stuck=True)
    assert (found.verdict.level, found.verdict.answer) == (Trust.UNCONFIRMED, Answer.REFINED)
    assert found.in_words.rely.startswith("With care")


def test_weighted_draws_are_the_answer_where_refined_ones_fail():
    found = refined_case(temperature=1.6, settled=False)
    assert found.answer == found.reference.key == "weighted"
    weights, labels = found.results["weights"].weights, found.draws["proposals"].flat
    together = np.einsum("s,sij->ij", weights, labels[:, :, None] == labels[:, None])
    assert np.abs(found.reference.co_assignment - together).max() < 0.05


def test_the_spread_over_orders_is_a_finding_where_it_is_larger_than_chance(settled, shifted):
    question = Question.ORDERS.value
    assert question not in [one.question for one in settled.findings]
    (finding,) = [one for one in shifted.findings if one.question == question]
    assert finding.passed is False
    figures = [found.to_dict()["orders"]["log_evidence"]["p_value"] for found in (settled, shifted)]
    assert figures[1] < 0.01 < figures[0]
    assert len(settled.to_dict()["orders"]["num_clusters"]["by_order"]) == 4
    for found in (settled, shifted):
        assert "By visiting order" in shown(found)


def test_draws_file_has_all_draws(settled):
    groups = to_arviz(settled)
    for name in ("guide", "proposals", "refined"):
        np.testing.assert_array_equal(groups[name]["assignments"].values, settled.draws[name].assignments)
    np.testing.assert_array_equal(
        groups["posterior"]["assignments"].values, settled.draws["mcmc"].assignments
    )
