import dataclasses
import json

import numpy as np
import pytest
from synthetic_comparison import LOG_EVIDENCE, make_comparison

from pyroclust.diagnostics import Trust, evidence_headline
from pyroclust.results.comparison_figures import summarise


@pytest.mark.parametrize(
    ("settings", "level"),
    [
        ({"temperature": 1.0}, Trust.TRUST),
        ({"temperature": 1.1, "dim": 2}, Trust.TRUST),
        ({"temperature": 1.6}, Trust.CORRECT),
        ({"temperature": 3.0}, Trust.MCMC),
        ({"stuck": True}, Trust.UNKNOWN),
    ],
)
def test_verdicts(settings, level):
    summary = summarise(make_comparison(**settings))
    assert summary.verdict.level is level, summary.verdict.sentence


def test_weights_recover_the_posterior_and_its_evidence():
    summary = summarise(make_comparison(temperature=1.5))
    weighting, stated = summary.weighting, evidence_headline(summary.evidences)
    assert abs(stated.estimate - LOG_EVIDENCE) < 4 * stated.error < 0.4
    assert summary.agreement_corrected.mean_difference < summary.agreement.mean_difference
    assert weighting.effective_draws == pytest.approx(1000 * weighting.efficiency, rel=0.1)


def test_costs_and_counts():
    comparison = make_comparison(temperature=1.0)
    summary = summarise(comparison)
    assert summary.guide_seconds == pytest.approx(0.03 / 1000)
    slowest = min(row.ess_bulk for row in summary.convergence if not row.constant)
    assert summary.mcmc_seconds == pytest.approx(1.7 / slowest)
    assert summary.speed_ratio == pytest.approx(summary.mcmc_seconds / summary.guide_seconds)
    counts = summary.num_clusters
    for probabilities in (counts.guide, counts.corrected, counts.mcmc):
        assert probabilities.shape == counts.values.shape
        assert probabilities.sum() == pytest.approx(1)
    shares = (comparison.mcmc.assignments.max(-1) + 1).ravel()
    np.testing.assert_allclose(counts.mcmc, [(shares == value).mean() for value in counts.values])
    assert next(iter(summary.mcmc.functionals)) == "log_joint"
    assert summary.estimate_mcmc.truth_rand > 0.7


def test_figures_fit_into_json():
    summary = summarise(make_comparison(num_points=30))
    figures = json.loads(json.dumps(summary.to_dict(), allow_nan=False))
    assert figures["verdict"]["level"] == summary.verdict.level.value
    assert figures["importance"]["draws"] == 1000


def test_one_point():
    summary = summarise(make_comparison(num_points=1))
    assert json.loads(json.dumps(summary.to_dict()))["seconds_per_effective_draw"]["mcmc"] is None
    assert summary.num_clusters.values.tolist() == [1]


def test_shapes_are_checked():
    comparison = make_comparison(num_points=10, draws=20)
    with pytest.raises(ValueError, match="log_joint has shape"):
        dataclasses.replace(comparison.guide, log_joint=np.zeros(3))
    with pytest.raises(ValueError, match="expected 9"):
        dataclasses.replace(comparison, data=comparison.data[:9])
    with pytest.raises(ValueError, match="no log_prob"):
        dataclasses.replace(comparison, guide=dataclasses.replace(comparison.guide, log_prob=None))


def test_results_print_themselves_in_a_line():
    summary = summarise(make_comparison(num_points=30, draws=60))
    parts = (summary, summary.comparison, summary.comparison.mcmc, summary.sources, summary.weighting)
    for part in (*parts, summary.guide, summary.estimate_mcmc, summary.baselines[0], summary.mcmc.ball):
        assert len(repr(part)) < 120
        assert repr(part).startswith(type(part).__name__)
    assert repr(summary) == f"ComparisonSummary(synthetic: {summary.verdict.level.value})"
    assert "4 x 60 draws of 30 points" in repr(summary.comparison.mcmc)


def test_effective_draws_have_one_definition():
    summary = summarise(make_comparison(temperature=1.6))
    found = summary.contents().sources[0]
    assert found.effective_draws == summary.weighting.effective_draws
    assert summary.guide_seconds == pytest.approx(0.03 / summary.weighting.effective_draws)
