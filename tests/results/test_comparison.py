import json
from dataclasses import replace

import numpy as np
import pytest
from report_pages import mcmc_case, mcmc_comparison
from synthetic_comparison import LOG_EVIDENCE, filled, make_comparison

from pyroclust.analysis import diagnose as module
from pyroclust.analysis.diagnose import diagnose
from pyroclust.baselines import KMeans
from pyroclust.diagnostics import Answer, EvidenceMethod, LogEvidence, Trust, evidence_headline
from pyroclust.report import page_of, render_page

LEVELS = [
    ({"temperature": 1.0}, Trust.TRUST),
    ({"temperature": 1.1, "dim": 2}, Trust.TRUST),
    ({"temperature": 1.6}, Trust.CORRECT),
    ({"temperature": 3.0}, Trust.MCMC),
    ({"stuck": True}, Trust.UNKNOWN),
]


@pytest.mark.parametrize(("settings", "level"), LEVELS)
def test_verdicts(settings, level):
    found = filled(make_comparison(**settings))
    assert found.verdict.level is level, found.verdict.sentence
    assert (found.answer is None) == (level is Trust.UNKNOWN)
    assert not found.failures


@pytest.mark.parametrize(("settings", "level"), LEVELS)
def test_a_guide_that_nobody_named_is_no_answer(settings, level):
    found = make_comparison(**settings)
    found.guide = replace(found.guide, is_asked_for=False)
    judged = filled(found)
    assert judged.verdict.level is level
    assert judged.verdict.answer is (None if level is Trust.UNKNOWN else Answer.MCMC)
    assert "weighted" not in judged.draws


def test_weights_recover_the_posterior_and_its_evidence():
    found = filled(make_comparison(temperature=1.5), also=("evidence",))
    weights, stated = found.results["weights"], evidence_headline(found.results["evidence"].estimates)
    assert abs(stated.estimate - LOG_EVIDENCE) < 4 * stated.error < 0.4
    agreement = found.results["agreement"]
    assert agreement["weighted"].mean_difference < agreement["guide"].mean_difference
    assert weights.effective_draws == pytest.approx(1000 * weights.efficiency, rel=0.1)


@pytest.fixture(scope="module")
def equal():
    """A guide that is the posterior."""
    return filled(make_comparison(temperature=1.0))


def test_costs(equal):
    seconds = equal.to_dict()["seconds_per_effective_draw"]
    assert seconds["guide"] == pytest.approx(0.03 / 1000)
    slowest = min(row.ess_bulk for row in equal.summary("mcmc").convergence if not row.constant)
    assert seconds["mcmc"] == pytest.approx(1.7 / slowest)


def test_counts(equal):
    values, counts = equal.num_clusters()
    assert list(counts) == ["guide", "weighted", "mcmc"]
    for probabilities in counts.values():
        assert probabilities.shape == values.shape
        assert probabilities.sum() == pytest.approx(1)
    drawn = equal.draws["mcmc"].num_clusters.ravel()
    np.testing.assert_allclose(counts["mcmc"], [(drawn == value).mean() for value in values])
    assert next(iter(equal.summary("mcmc").functionals)) == "log_joint"
    assert equal.estimates["mcmc"].adjusted_rand > 0.7


def test_weighted_counts_are_exact_where_weighted_draws_are_shown():
    found = filled(make_comparison(temperature=1.6))
    assert found.answer == "weighted"
    values, counts = found.num_clusters()
    clusters, weights = found.draws["guide"].num_clusters.ravel(), found.results["weights"].weights
    np.testing.assert_allclose(counts["weighted"], [weights[clusters == value].sum() for value in values])
    shown = found.summary("weighted").draws.num_clusters
    assert abs((shown == values[-1]).mean() - counts["weighted"][-1]) < 0.01
    worth = found.results["weights"].effective_draws
    assert found.effective_draws("guide") == worth
    assert found.seconds_each("guide") == pytest.approx(0.03 / worth)


def test_what_the_answer_says(equal):
    words, draws = equal.in_words, equal.reference.draws
    clusters = draws.num_clusters.ravel()
    assert words.num_clusters == np.bincount(clusters).argmax()
    assert words.probability == pytest.approx((clusters == words.num_clusters).mean())
    low, high = words.interval
    assert (clusters < low).mean() <= 0.05 < (clusters <= low).mean() + 1e-6
    assert (clusters > high).mean() <= 0.05
    assert sum(words.sizes) == draws.num_points
    estimate = equal.reference.estimate
    assert words.certain_rows == pytest.approx((estimate.uncertainty <= 0.1).mean())


def test_rows_and_clusters(equal):
    rows, clusters = equal.frame(), equal.clusters()
    assert rows.columns[:4].tolist() == ["row", "cluster", "probability", "uncertainty"]
    assert {"measurement_1", "label", "mcmc_cluster", "guide_cluster"} - {f"{equal.answer}_cluster"} <= set(
        rows.columns
    )
    assert rows["probability"].between(0, 1).all()
    assert clusters["rows"].tolist() == list(equal.in_words.sizes)
    np.testing.assert_allclose(clusters["share"], clusters["rows"] / len(rows))
    own = rows.groupby("cluster")["probability"].mean()
    np.testing.assert_allclose(clusters["mean_membership"], own)
    assert (
        (clusters["share_low"] <= clusters["share"]) & (clusters["share"] <= clusters["share_high"])
    ).all()
    # In the units of the table, not those of the model.
    means = rows.groupby("cluster")["measurement_1"].mean()
    np.testing.assert_allclose(clusters["measurement_1"], means, atol=0.3)


def test_figures_fit_into_json():
    found = filled(make_comparison(num_points=30))
    figures = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert figures["verdict"]["level"] == found.verdict.level.value
    assert figures["weights"]["draws"] == 1000
    # What was not asked for is there, and null.
    assert figures["two_samples"] is figures["baselines"] is figures["familiarity"] is None


def test_one_point():
    found = filled(make_comparison(num_points=1))
    assert json.loads(json.dumps(found.to_dict()))["seconds_per_effective_draw"]["mcmc"] is None
    assert found.num_clusters()[0].tolist() == [1]
    assert found.in_words.certain_pairs == 1


def test_results_print_themselves_in_a_line():
    found = filled(make_comparison(num_points=30, draws=60), also=("two_samples", "baselines", "evidence"))
    parts = [found.draws["mcmc"], found.data, found.in_words, found.summary("mcmc"), found.verdict]
    parts += [found.results[name] for name in ("weights", "evidence")]
    parts += [found.results["two_samples"]["guide"], found.results["baselines"][0]]
    parts += [found.estimates["mcmc"], found.summary("mcmc").ball]
    for part in parts:
        assert repr(part).startswith(type(part).__name__)
        assert "\n" not in repr(part)
    assert found.verdict.level.value in repr(found)
    assert "4 chains of 60 draws, 30 points" in repr(found.draws["mcmc"])


def test_columns_that_are_called_as_ours_stand_beside_these():
    found = make_comparison(dim=3, columns=("share", "rows low", "rows")).clusters()
    assert found["rows"].sum() == 60
    assert found["share"].sum() == pytest.approx(1)
    assert {"share (given)", "rows (given)", "rows (given) low", "rows low low"} <= {*found.columns}


def test_chains_that_agree_are_the_answer():
    found = mcmc_case()
    assert found.verdict.level is Trust.TRUST
    assert found.verdict.answer is Answer.MCMC
    assert "MCMC" in found.in_words.rely
    assert found.in_words.rely.startswith(("Yes", "Roughly"))
    assert list(found.estimates) == ["mcmc"]
    assert found.to_dict()["answer"] == "mcmc"


def test_chains_that_differ_are_no_answer():
    alone = mcmc_comparison()
    alone.draws["mcmc"].assignments[0] = 0
    found = filled(alone)
    assert found.answer is None
    assert found.to_dict()["answer"] is None
    assert found.in_words.rely.startswith("Not yet")
    assert "--thorough" in found.next
    assert list(found.estimates) == ["mcmc"]


def test_the_evidence_that_came_with_chains_is_shown():
    annealed = LogEvidence(EvidenceMethod.ANNEALED, -12.0, 0.2, float("nan"), 0.5)
    found = mcmc_case(evidences=(annealed,))
    assert found.to_dict()["evidence"]["headline"]["estimate"] == -12.0
    (section,) = [one for one in page_of(found).sections if one.title == "The log evidence"]
    assert "annealing" in str(section.parts)


class Failing(KMeans):
    def _cluster(self, data, seed):
        raise ValueError("some components collapsed. Try again.")


@pytest.mark.parametrize("methods", [(Failing(), KMeans()), (Failing(),)])
def test_a_method_that_fails_is_a_row(monkeypatch, methods) -> None:
    monkeypatch.setattr(module, "BASELINES", methods)
    draws = np.random.default_rng(0).integers(2, size=(2, 20, 6))
    found = diagnose(draws, data=np.random.default_rng(1).normal(size=(6, 2)))
    rows = found.results["baselines"]
    assert [row.result is None for row in rows] == [True, False][: len(methods)]
    assert found.to_dict()["baselines"][0] == {"name": "k-means", "failed": "some components collapsed"}
    page = page_of(found)
    (section,) = [one for one in page.sections if one.title == "What classical methods find"]
    assert any(
        "k-means failed: some components collapsed." in getattr(part, "text", "") for part in section.parts
    )
    assert "some components collapsed" in render_page(page)
