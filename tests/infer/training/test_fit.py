"""The training loop: what it learns, what it writes, what it refuses."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from pyroclust.calibration import CertificateSettings, certify
from pyroclust.guides import NeuralClusteringProcess, PredictiveFilter
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.infer import FitSettings, Validation, fit
from pyroclust.models import gaussian2d, overlap2d, warped_clusters
from pyroclust.nn import RandomOrder

TINY = FitSettings(steps=12, max_points=15, points_per_step=60, warmup_steps=3, seed=4)


def trained(settings: FitSettings, folder: Path | None = None) -> NeuralClusteringProcess:
    torch.manual_seed(0)
    model = overlap2d()
    guide = NeuralClusteringProcess(model, scorer=light_scorer_for(model, width=16))
    fit(model, guide, settings=settings, folder=folder, progress=False)
    return guide


def test_same_seed_same_weights() -> None:
    first, second = trained(TINY).state_dict(), trained(TINY).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_log_has_a_row_a_step(tmp_path: Path) -> None:
    trained(TINY, tmp_path / "runs")
    with (tmp_path / "runs" / "log.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == TINY.steps
    points, per_point = int(rows[5]["points"]), float(rows[5]["nats_per_point"])
    assert float(rows[5]["nats_per_dataset"]) == pytest.approx(points * per_point)
    assert float(rows[2]["learning_rate"]) > float(rows[-1]["learning_rate"])


def test_training_beats_the_exact_filter() -> None:
    settings = FitSettings(steps=400, max_points=20, points_per_step=300, warmup_steps=50)
    guide = trained(settings)
    model = guide.model
    measured = replace(CertificateSettings.nothing(seed=9), num_exact=60, exact_points=6)
    ours, baseline = (certify(one, settings=measured) for one in (guide, PredictiveFilter(model)))
    assert ours.exact[0].mean_kl < 0.75 * baseline.exact[0].mean_kl


@pytest.mark.prove
def test_published_scorer_learns() -> None:
    from pyroclust.nn import SummedScorer

    torch.manual_seed(0)
    model = gaussian2d()
    guide = NeuralClusteringProcess(
        model, scorer=SummedScorer(2, width=32, sizes=(32, 32)), order=RandomOrder()
    )
    settings = FitSettings(steps=250, max_points=12, points_per_step=300, warmup_steps=30)
    measured = replace(CertificateSettings.nothing(), num_exact=20, exact_points=5)
    untrained = certify(guide.eval(), settings=measured)
    fit(model, guide, settings=settings, progress=False)
    after = certify(guide, settings=measured)
    assert after.exact[0].mean_kl < 0.5 * untrained.exact[0].mean_kl


def test_a_loss_that_is_not_finite_stops_with_a_sentence() -> None:
    model = gaussian2d()
    guide = NeuralClusteringProcess(model, scorer=light_scorer_for(model, width=8))
    with torch.no_grad():
        guide.scorer.to_open.bias.fill_(torch.inf)
    with pytest.warns(UserWarning, match="NaN"), pytest.raises(ValueError, match="loss is nan at step 0"):
        fit(model, guide, settings=TINY, progress=False)


def test_several_orders_lower_the_same_loss(tmp_path: Path) -> None:
    def trained_with(orders: int) -> list[float]:
        torch.manual_seed(0)
        model = overlap2d()
        scorer = light_scorer_for(model, width=16, use_filter=False)
        guide = NeuralClusteringProcess(model, scorer=scorer, order=RandomOrder())
        folder = tmp_path / str(orders)
        fit(model, guide, settings=replace(TINY, steps=40, orders=orders), folder=folder, progress=False)
        with (folder / "log.csv").open() as stream:
            return [float(row["nats_per_point"]) for row in csv.DictReader(stream)]

    one, six = trained_with(1), trained_with(6)
    assert six == pytest.approx(one, rel=0.5)
    assert sum(six[-10:]) < sum(six[:10])
    assert six != one


def test_the_guide_ends_with_averaged_weights() -> None:
    trainings = [trained(replace(TINY, averaging=decay)) for decay in (0.999, 0.0)]
    averaged, last = (guide.state_dict()["scorer.to_join.weight"] for guide in trainings)
    assert (averaged - last).norm() > 1e-3 * last.norm()
    assert (averaged - last).norm() < 0.5 * last.norm()


def test_a_model_without_a_likelihood_is_validated_by_log_q_alone() -> None:
    model = warped_clusters()
    guide = NeuralClusteringProcess(model, scorer=light_scorer_for(model, width=8, num_bandwidths=2))
    quick = Validation(every=2, num_datasets=3, sampled_points=6)
    result = fit(model, guide, settings=replace(TINY, steps=2), validation=quick, progress=False)
    assert set(result.validation) == {"log_prob_truth"}
