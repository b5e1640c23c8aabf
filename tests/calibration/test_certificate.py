"""Certificates: exact guides pass, known distortions are found, everything survives JSON."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyro
import pytest
import torch
from exact_guides import EnumeratedGuide
from pyro.distributions import Categorical, Delta, Normal

from pyroclust.calibration import (
    Certificate,
    CertificateSettings,
    CheckResult,
    certify,
    judge_certificate,
)
from pyroclust.calibration.certificate import CoverageRow, ReliabilityRow, certificate_content
from pyroclust.calibration.simulations import draw_partitions, neighbour_share, partition_functionals
from pyroclust.cli.guides import _accuracy, _lines
from pyroclust.core.random_state import pyro_seeded
from pyroclust.core.workers import client_of
from pyroclust.diagnostics import pareto_k
from pyroclust.diagnostics.judging import tail_summary
from pyroclust.distributions import ChineseRestaurantPrior, DiagonalMixture
from pyroclust.guides import (
    AttentiveClusteringProcess,
    NeuralClusteringProcess,
    PredictiveFilter,
    SetTransformerMixture,
)
from pyroclust.infer.simulation import simulate_batches
from pyroclust.models import (
    Mixture,
    Program,
    gaussian2d,
    nig_mixture,
    overlap2d,
    sensitivity2d,
    warped_clusters,
)
from pyroclust.partitions import canonical

TINY = CertificateSettings(
    seed=5,
    num_exact=4,
    exact_points=5,
    num_sampled=3,
    sampled_points=(6, 9),
    num_draws=40,
    num_truths=7,
    num_calibrated=40,
    calibrated_points=7,
    calibrated_draws=19,
    num_bins=10,
    num_ordered=5,
    num_orders=6,
    ordered_points=6,
    num_timed=1,
    timed_points=10,
)
ONLY_CALIBRATION = replace(CertificateSettings.nothing(), num_calibrated=800, calibrated_points=6)


def test_workers_measure_the_same(monkeypatch):
    monkeypatch.setattr("pyroclust.core.workers.num_threads", lambda: 2)
    guide, told = PredictiveFilter(gaussian2d()), []
    here = certify(guide, settings=TINY)
    with client_of(None) as client:
        there = certify(guide, settings=TINY, client=client, progress=told.append)
    assert len(told) == 8
    assert there.speed is not None
    assert replace(there, seconds=0, speed=None) == replace(here, seconds=0, speed=None)


def calibrated(guide: EnumeratedGuide, seed: int = 1) -> Certificate:
    return certify(guide, settings=replace(ONLY_CALIBRATION, seed=seed))


def failures(certificate: Certificate) -> list[str]:
    return [one.question for one in judge_certificate(certificate).findings if not one.passed]


@pytest.fixture(scope="module")
def complete() -> Certificate:
    guide = PredictiveFilter(nig_mixture())
    return certify(guide, settings=TINY, baseline=PredictiveFilter(nig_mixture()))


@pytest.mark.parametrize("model", [overlap2d(), nig_mixture()], ids=lambda one: one.name)
def test_the_exact_posterior_is_calibrated(model) -> None:
    certificate = calibrated(EnumeratedGuide(model))
    assert failures(certificate) == []
    assert len(judge_certificate(certificate).findings) == 10
    row = certificate.num_clusters
    assert row.total_variation < 3 * row.total_variation_noise


def test_the_filter_of_two_points_is_calibrated() -> None:
    """One decision is left: the filter looks ahead to nothing, and is exact."""
    guide = PredictiveFilter(overlap2d())
    settings = replace(ONLY_CALIBRATION, calibrated_points=2, num_exact=5, exact_points=2)
    certificate = certify(guide, settings=settings)
    assert failures(certificate) == []
    assert certificate.exact[0].mean_kl == pytest.approx(0, abs=1e-9)


def test_twice_the_concentration_is_found() -> None:
    model = overlap2d()
    more = Mixture(ChineseRestaurantPrior(1.4), model.component)
    certificate = calibrated(EnumeratedGuide(model, believed=more))
    found = failures(certificate)
    assert any("num_clusters" in one for one in found)
    assert any("averaged posterior of K" in one for one in found)
    row = certificate.num_clusters
    assert row.total_variation > 3 * row.total_variation_noise


@pytest.mark.parametrize("power", [0.8, pytest.param(1.25, marks=pytest.mark.prove)])
def test_tempering_is_found(power: float) -> None:
    found = failures(calibrated(EnumeratedGuide(overlap2d(), power=power)))
    assert any("log_prob" in one for one in found)
    assert any("log_joint" in one for one in found)


def test_a_filter_of_many_points_is_not_calibrated() -> None:
    guide = PredictiveFilter(overlap2d())
    settings = replace(ONLY_CALIBRATION, calibrated_points=30, num_calibrated=500)
    assert any("log_joint" in one for one in failures(certify(guide, settings=settings)))


def test_every_part_is_measured(complete) -> None:
    assert [row.num_points for row in complete.exact] == [5]
    assert [row.num_points for row in complete.sampled] == [6, 9]
    assert [row.num_datasets for row in complete.truth] == [7, 7]
    assert [row.functional for row in complete.calibration] == [
        "num_clusters",
        "entropy",
        "together",
        "pairs",
        "neighbours",
        "log_prob",
        "log_joint",
    ]
    assert all(sum(row.counts) == 40 and len(row.counts) == 10 for row in complete.calibration)
    assert sum(complete.num_clusters.single_counts) == 40
    for row in (complete.num_clusters.prior, complete.num_clusters.averaged, complete.num_clusters.simulated):
        assert sum(row) == pytest.approx(1)
    assert complete.order.median == pytest.approx(complete.order.baseline_median)
    assert complete.speed.draws_per_second > 0
    assert complete.seconds >= 0
    assert complete.baseline == "PredictiveFilter"
    assert set(complete.versions) == {"pyroclust", "torch", "pyro-ppl"}


def test_json_and_back(complete) -> None:
    text = json.dumps(complete.to_dict(), allow_nan=False)
    again = Certificate.from_dict(json.loads(text))
    assert again == complete
    assert (again.speed, again.seconds) == (complete.speed, complete.seconds)
    assert json.loads(json.dumps(certificate_content(complete), allow_nan=False))["verdict"]["findings"]


def test_numbers_that_json_lacks_become_none(complete) -> None:
    row = replace(complete.sampled[0], median_pareto_k=-math.inf, share_high_k=math.nan)
    content = replace(complete, sampled=(row,)).to_dict()
    assert (content["sampled"][0]["median_pareto_k"], content["sampled"][0]["share_high_k"]) == (None, None)


def test_old_certificates_are_read_and_garbled_ones_named() -> None:
    old = {"seed": 1, "exact": [], "sampled": [], "extra": 3}
    assert Certificate.from_dict(old) == Certificate(1)
    with pytest.raises(ValueError, match="malformed entry of a certificate"):
        Certificate.from_dict({"seed": 1, "exact": [{"num_points": 3}]})


def test_same_seed_same_data_sets_whatever_else_is_measured(complete) -> None:
    guide = PredictiveFilter(nig_mixture())
    again = certify(guide, settings=replace(TINY, num_exact=0, num_ordered=0, sampled_points=(9,)))
    assert again.truth[0].log_prob == complete.truth[1].log_prob
    assert again.calibration == complete.calibration
    other = certify(guide, settings=replace(TINY, seed=6))
    assert other.calibration != complete.calibration


def test_the_callers_random_numbers_are_left_alone() -> None:
    before = pyro.util.get_rng_state()
    settings = replace(CertificateSettings.nothing(), num_exact=2, exact_points=3)
    certify(PredictiveFilter(gaussian2d()), settings=settings)
    assert torch.equal(before["torch"], torch.get_rng_state())


def test_guide_equal_to_the_baseline_is_no_further_ahead(complete) -> None:
    guide = PredictiveFilter(overlap2d())
    exact = EnumeratedGuide(guide.model)
    settings = replace(TINY, num_truths=400, sampled_points=(7,), num_sampled=0, num_calibrated=0)
    ahead = certify(exact, baseline=guide, settings=settings).truth[0]
    behind = certify(guide, baseline=exact, settings=settings)
    assert ahead.mean_difference > 2.6 * ahead.difference_se > 0
    assert ahead.mean_difference == pytest.approx(ahead.log_prob - ahead.baseline_log_prob)
    assert any("above the baseline" in one for one in failures(behind))


def test_the_difference_to_the_baseline_estimates_the_divergence() -> None:
    """Mean of log p(c | x) - log q(c | x) over the joint law is the mean divergence."""
    guide = PredictiveFilter(overlap2d())
    settings = replace(TINY, num_truths=3000, sampled_points=(6,), num_exact=600, exact_points=6)
    settings = replace(settings, num_sampled=0, num_calibrated=0, num_ordered=0)
    exact = EnumeratedGuide(guide.model)
    truth = certify(exact, baseline=guide, settings=settings).truth[0]
    kl = certify(guide, settings=settings).exact[0]
    assert abs(truth.mean_difference - kl.mean_kl) < 4 * math.hypot(truth.difference_se, kl.mean_kl_se)


class PriorGuide:
    """Ignores the data."""

    conditions = ()
    mixes_orders = False

    def __init__(self, model) -> None:
        self.model = model

    def posterior(self, data):
        return self.model.prior.partition(data.shape[-2]).expand(data.shape[:-2])


class OneCluster(PriorGuide):
    """Draws the partition with one cluster, always."""

    def posterior(self, data):
        never = ChineseRestaurantPrior(1e-12)
        return never.partition(data.shape[-2]).expand(data.shape[:-2])


def test_averages_are_over_draws_and_not_over_the_truth() -> None:
    model = overlap2d()
    settings = replace(TINY, num_exact=0, num_sampled=0)
    row = certify(OneCluster(model), settings=settings).num_clusters
    assert row.averaged[0] == 1
    assert row.single_counts[0] == row.num_datasets
    assert row.simulated[0] < 1
    assert row.total_variation == pytest.approx(1 - row.prior[0])


def test_implicit_models_have_what_needs_no_density() -> None:
    certificate = certify(PriorGuide(warped_clusters()), settings=replace(TINY, num_calibrated=600))
    assert certificate.exact == certificate.sampled == ()
    assert certificate.truth[0].baseline_log_prob is certificate.baseline is certificate.order is None
    assert certificate.calibration[-1].functional == "log_prob"
    assert certificate.num_clusters.prior is not None
    assert certificate.lacks_likelihood
    assert "The model has no likelihood: no weights, no exact posterior to compare with." in _lines(
        certificate
    )
    table = _accuracy(certificate)
    assert [column.header for column in table.columns] == ["points", "log q"]
    assert str(table.title) == "log q of the truth in nats"


def test_a_guide_that_ignores_the_data_is_found_without_a_density() -> None:
    """All functionals of the partition alone are calibrated: the prior is the average of all posteriors."""
    settings = replace(ONLY_CALIBRATION, calibrated_points=12)
    guide = PriorGuide(warped_clusters())
    found = failures(certify(guide, settings=settings))
    assert len(found) == 1
    assert "neighbours" in found[0]


def test_conditions_are_drawn_from_their_priors() -> None:
    guide = PredictiveFilter(sensitivity2d(), conditions=["concentration", "prior_scale"])
    certificate = certify(guide, baseline=guide, settings=TINY)
    assert certificate.conditions == ("concentration", "prior_scale")
    assert certificate.sampled[0].num_datasets == 3
    assert certificate.calibration[-1].functional == "log_joint"
    assert sum(certificate.num_clusters.prior) == pytest.approx(1)
    assert Certificate.from_dict(certificate.to_dict()) == certificate


def test_the_filter_beside_a_guide_is_told_the_same_conditions() -> None:
    settings = CertificateSettings.nothing()
    model, names = sensitivity2d(), ["concentration", "prior_scale"]
    guide = NeuralClusteringProcess(model, conditions=names)
    assert certify(guide, settings=settings).baseline == "PredictiveFilter"
    # Told nothing it has none: both stay random.
    assert certify(AttentiveClusteringProcess(model), settings=settings).baseline is None
    assert certify(PredictiveFilter(model, conditions=names), settings=settings).baseline is None


def test_shares_of_high_pareto_k(complete) -> None:
    def judged(share: float, num_datasets: int) -> bool:
        row = replace(complete.sampled[0], share_high_k=share, num_datasets=num_datasets)
        (finding,) = judge_certificate(Certificate(1, sampled=(row,))).findings
        return finding.passed

    assert [judged(0.1, 50), judged(0.25, 50), judged(0.4, 50)] == [True, True, False]
    # Three of nine may be chance.
    assert [judged(1 / 3, 9), judged(6 / 9, 9)] == [True, False]


def test_tails_of_known_weights() -> None:
    heavy = torch.distributions.Pareto(torch.ones(400, 8, dtype=torch.float64), 0.8).sample().log()
    light = torch.randn(400, 2, dtype=torch.float64).abs()
    tied = torch.zeros(400, 2, dtype=torch.float64)
    weights = torch.cat([heavy, light, tied], 1)
    median, share = tail_summary(np.array([pareto_k(one) for one in weights.T.numpy()]))
    assert share == pytest.approx(8 / 12)
    assert median > 0.7
    short = np.array([pareto_k(one) for one in torch.randn(2, 9).double().numpy()])
    assert tail_summary(short) == (None, None)
    assert tail_summary(np.array([math.nan, -math.inf, -math.inf, 0.9])) == (None, 0.25)


def test_order_invariance_of_exact_and_dependent_guides() -> None:
    """Two points are exchangeable under the filter, three are not."""
    guide = PredictiveFilter(overlap2d())
    two, three = (
        certify(
            guide,
            settings=replace(TINY, ordered_points=n, num_ordered=20, num_calibrated=0, num_truths=0),
        ).order
        for n in (2, 6)
    )
    assert two.median < 1e-6
    assert three.low <= three.median <= three.high
    assert three.median > 0.01


def test_functionals_of_known_partitions() -> None:
    values = partition_functionals(np.array([[[0, 0, 1, 1, 2]], [[0, 1, 1, 1, 1]]]))
    assert values["num_clusters"].tolist() == [[3], [2]]
    assert values["together"].tolist() == [[1], [0]]
    assert values["pairs"].tolist() == [[2], [1]]
    share = np.array([0.4, 0.4, 0.2])
    assert values["entropy"][0, 0] == pytest.approx(-(share * np.log2(share)).sum())
    assert set(partition_functionals(np.zeros((3, 1), dtype=np.int64))) == {"num_clusters", "entropy"}


def test_neighbours_of_known_points() -> None:
    data = torch.tensor([[[0.0], [0.1], [5.0], [5.1], [5.3]]])
    values = neighbour_share(data, torch.tensor([[[0, 0, 1, 1, 1]], [[0, 0, 1, 1, 2]], [[0, 1, 2, 0, 1]]]))
    assert values["neighbours"].squeeze(-1).tolist() == pytest.approx([1, 0.8, 0])


def test_draws_come_in_blocks_with_their_own_numbers_for_ties(monkeypatch: pytest.MonkeyPatch) -> None:
    guide = PredictiveFilter(overlap2d())
    monkeypatch.setattr("pyroclust.calibration.simulations._DRAWS_AT_ONCE", 90)
    told: list[str] = []
    with pyro_seeded(3):
        worlds = simulate_batches(guide.model, guide, None, num_datasets=25, num_points=5)
        found = draw_partitions(worlds, num_draws=9, with_uniforms=True, progress=told.append)
    assert found.assignments.shape == (10, 25, 5)
    assert told == [f"draws, {n} of 25 data sets" for n in (10, 20, 25)]
    assert found.values.keys() == found.uniforms.keys()
    assert {one.shape for one in found.uniforms.values()} == {(25,)}
    assert all(((one >= 0) & (one < 1)).all() for one in found.uniforms.values())
    np.testing.assert_array_equal(found.truth, worlds[0].assignments.numpy())
    torch.testing.assert_close(
        torch.from_numpy(found.values["log_joint"][0]),
        guide.model.log_joint(worlds[0].data, worlds[0].assignments).double(),
        atol=6e-4,
        rtol=0,
    )


def test_the_answers_of_two_certificates_are_compared() -> None:
    exact, wrong = (calibrated(EnumeratedGuide(overlap2d(), power=power)) for power in (1.0, 0.8))
    found = CheckResult(Path("mine"), None, wrong, judge_certificate(wrong), stored=exact)
    assert "calibration of log_joint at N = 6, p" in found.changed
    assert set(found.changed) == set(failures(wrong))
    assert len(found.compared) == 10
    assert replace(found, stored=wrong).changed == replace(found, stored=None).changed == ()


def test_settings() -> None:
    assert CertificateSettings().within(1, 60).sampled_points == (20, 50)
    assert CertificateSettings().within(1, 60).timed_points == 60
    assert CertificateSettings().within(1, None).sampled_points[-1] == 300
    within = CertificateSettings().within(100, 500)
    assert within.sampled_points == (100, 300)
    assert (within.calibrated_points, within.ordered_points, within.timed_points) == (100, 100, 100)
    assert within.num_exact == 0
    assert CertificateSettings().within(10, 500).num_exact > 0
    with pytest.raises(ValueError, match="num_draws is 0, expected at least 1"):
        CertificateSettings(num_draws=0)
    with pytest.raises(ValueError, match="one less than a multiple of the 20 bins"):
        CertificateSettings(calibrated_draws=100)


def test_coverage_and_reliability_come_from_the_draws_of_the_calibration() -> None:
    guide = EnumeratedGuide(overlap2d())
    settings = replace(ONLY_CALIBRATION, num_calibrated=300)
    found = certify(guide, settings=settings)
    for row in (found.coverage, found.reliability):
        assert (row.num_points, row.num_datasets, row.num_draws) == (6, 300, 99)
        assert row.p_value > 0.005
        assert len(row.observed) == len(row.low) == len(row.high)
    assert sum(found.reliability.counts) == 300 * 15
    assert found.reliability.brier < found.reliability.brier_prior
    assert found.coverage.levels[-1] == 0.95
    blind = certify(OneCluster(overlap2d()), settings=replace(settings, num_calibrated=100))
    assert blind.reliability.brier > 0.1
    names = [one.question for one in judge_certificate(found).findings]
    assert "calibration of credible balls at N = 6, p" in names
    assert "calibration of pair probabilities at N = 6, p" in names
    assert Certificate.from_dict(json.loads(json.dumps(found.to_dict(), allow_nan=False))) == found


def test_too_sure_balls_and_pairs_fail() -> None:
    settings = replace(ONLY_CALIBRATION, num_calibrated=400)
    found = failures(certify(EnumeratedGuide(overlap2d(), power=3.0), settings=settings))
    assert any("credible balls" in one for one in found)
    assert any("pair probabilities" in one for one in found)


def test_single_points_have_balls_and_no_pairs() -> None:
    settings = replace(ONLY_CALIBRATION, num_calibrated=40, calibrated_points=1)
    found = certify(PredictiveFilter(overlap2d()), settings=settings)
    assert found.coverage is not None
    assert found.reliability is None


def test_the_table_says_how_balls_cover_and_pairs_are_predicted() -> None:
    coverage = CoverageRow(6, 300, 99, (0.5, 0.9), (0.41, 0.87), (0.4, 0.8), (0.6, 1.0), 0.04)
    pairs = (6, 300, 99, (0.1, 0.9), (0.2, 0.8), (0.0, 0.7), (0.3, 1.0), (40, 60))
    reliability = ReliabilityRow(*pairs, 0.12, 0.25, 0.031, 0.022, 0.003)
    certificate = Certificate(1, coverage=coverage, reliability=reliability)
    lines = list(_lines(certificate))
    assert lines[0] == "Coverage of credible balls: 41% at 50%, 87% at 90% (p = 0.04)"
    assert "calibration error 0.0310 (exact posteriors would show 0.0220; p = 0.003)" in lines[1]
    assert "Brier score 0.1200 (base rate 0.2500)" in lines[1]
    balls, probabilities = judge_certificate(certificate).findings
    assert (balls.passed, balls.value) == (True, 0.04)
    assert (probabilities.passed, probabilities.value) == (False, 0.003)
    assert not list(_lines(Certificate(1)))


class KnownMixture(SetTransformerMixture):
    """A guide of one mixture, which it says of all data sets, its scales too large by a factor."""

    def __init__(self, model, *, weights=(0.5, 0.3, 0.2), factor: float = 1.0) -> None:
        super().__init__(model)
        self.said, self.factor = torch.tensor(weights), factor

    def mixture_of(self, data, *, num_components=None) -> DiagonalMixture:
        batch = data.shape[:-2]
        parts = (self.said.log(), MEANS, self.factor * torch.ones(3, 2))
        law = [one.expand(*batch, *one.shape) for one in parts]
        return DiagonalMixture(*law, num_points=data.shape[-2])


MEANS = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 30.0]])


def known_clusters(data: torch.Tensor) -> None:
    batch, points = data.shape[:-2], data.shape[-2]
    weights = pyro.deterministic("weights", torch.tensor([0.5, 0.3, 0.2]).expand(*batch, 3), event_dim=1)
    pyro.deterministic("means", MEANS.expand(*batch, 3, 2), event_dim=2)
    pyro.deterministic("scales", torch.ones(*batch, 3, 2), event_dim=2)
    with pyro.plate_stack("datasets", batch):
        law = Categorical(weights.unsqueeze(-2).expand(*batch, points, 3)).to_event(1)
        labels = pyro.sample("labels", law)
        pyro.sample("assignments", Delta(canonical(labels), event_dim=1))
        pyro.sample("data", Normal(MEANS[labels], 1.0).to_event(2), obs=data)


def certified_mixture(**told) -> Certificate:
    guide = KnownMixture(Program(known_clusters, event_shape=(2,)), **told)
    settings = replace(CertificateSettings.nothing(), num_truths=300, sampled_points=(40,), num_calibrated=20)
    return certify(guide, settings=settings)


def test_a_guide_that_returns_a_mixture_is_judged_by_it() -> None:
    found = certified_mixture()
    (row,) = found.mixture
    assert (row.num_points, row.num_datasets) == (40, 300)
    assert row.log_likelihood == pytest.approx(row.true_log_likelihood)
    assert sum(row.counts) == 300 * 40 * 3
    assert row.ece < 0.01
    assert len(judge_certificate(found).findings) == 3
    assert failures(found) == []
    # What its partitions are worth is measured, and not judged.
    assert found.calibration
    assert Certificate.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert any("memberships off by" in line for line in _lines(found))


def test_a_mixture_that_is_wrong_fails_what_it_claims() -> None:
    wide = [one.split(" at N")[0] for one in failures(certified_mixture(factor=3.0))]
    assert "log-likelihood a point above that of the true parameters" in wide
    assert "error of memberships of single points" in wide
    merged = certified_mixture(weights=(0.7999, 0.0001, 0.2))
    assert merged.mixture[0].cluster_error > 0.9
    assert "error of the number of clusters at N = 40" in failures(merged)
