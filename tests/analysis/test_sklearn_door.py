"""The estimator for scikit-learn: its own checks, pipelines and data frames."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from pyroclust import cluster, load_guide, predict
from pyroclust.models.predictive import PosteriorPredictive
from pyroclust.saving.models import build_model
from pyroclust.sklearn import PartitionPosterior

QUICK = PartitionPosterior(mcmc_draws=10, num_chains=2, warmup=10, random_state=0)


def two_groups(number):
    rng = np.random.default_rng(0)
    centres = np.repeat([[0.0, 0.0], [8.0, 8.0]], number, 0)
    return pd.DataFrame(rng.normal(size=centres.shape) + centres, columns=["a", "b"])


def not_repeated(estimator):
    """Rows with weights stay together, as scikit-learn's own clusterers do not repeat rows either."""
    return {
        "check_sample_weight_equivalence_on_dense_data": "repeated rows may part, rows with weights may not"
    }


@parametrize_with_checks([QUICK], expected_failed_checks=not_repeated)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_takes_it_for_one_of_its_own(estimator, check):
    check(estimator)


def test_what_is_fitted_is_the_posterior():
    frame = two_groups(15)
    found = clone(QUICK).set_params(mcmc_draws=100, warmup=50).fit(frame)
    assert found.labels_.tolist() == [0] * 15 + [1] * 15
    assert found.draws_.shape == (200, 30)
    assert sum(found.num_clusters_.values()) == pytest.approx(1.0)
    numbers, times = np.unique(found.draws_.max(-1) + 1, return_counts=True)
    assert found.num_clusters_ == dict(zip(numbers.tolist(), times / 200, strict=True))
    together = found.co_assignment_
    assert together[0, 1] > 0.8
    assert together[0, 20] < 0.1
    np.testing.assert_allclose(found.probabilities_.sum(-1), 1.0)
    own = found.probabilities_[np.arange(30), found.labels_]
    np.testing.assert_allclose(own, found.result_.frame()["probability"])
    assert (found.probabilities_.argmax(-1) == found.labels_).all()
    assert found.verdict_.sentence == found.result_.verdict.sentence
    assert list(found.feature_names_in_) == ["a", "b"]


def test_in_a_pipeline_with_data_frames():
    frame = two_groups(15)
    scaler = StandardScaler().set_output(transform="pandas")
    pipeline = make_pipeline(scaler, clone(QUICK).set_params(standardise=False, mcmc_draws=50, warmup=50))
    assert pipeline.fit_predict(frame).tolist() == [0] * 15 + [1] * 15
    assert pipeline.predict_proba(frame[:2]).argmax(-1).tolist() == [0, 0]
    # Densities are in the units that the last step sees.
    assert np.isfinite(pipeline.score_samples(frame)).all()


def test_new_rows_have_probabilities_labels_and_densities():
    found = clone(QUICK).set_params(mcmc_draws=50, warmup=50).fit(two_groups(15))
    new = pd.DataFrame({"a": [0.0, 8.0, 90.0], "b": [0.0, 8.0, -90.0]})
    probabilities, density = found.predict_proba(new), found.score_samples(new)
    assert probabilities.argmax(-1).tolist() == found.predict(new).tolist() == [0, 1, 2]
    np.testing.assert_allclose(probabilities.sum(-1), 1.0)
    assert density[2] < density[:2].min()
    assert found.score(new) == pytest.approx(density.mean())
    assert found.get_feature_names_out().tolist() == ["cluster0", "cluster1", "new"]
    frames = found.set_output(transform="pandas").transform(new)
    assert list(frames.columns) == ["cluster0", "cluster1", "new"]
    np.testing.assert_array_equal(frames.to_numpy(), probabilities)


def test_rows_with_weights_are_the_repeated_table_whose_copies_stay_together():
    frame, weights = two_groups(6), np.array([3, 1, 2, 1, 1, 2] * 2)
    found = clone(QUICK).set_params(mcmc_draws=200, warmup=100).fit(frame, sample_weight=weights)
    copies = np.repeat(np.arange(12), weights)
    pairs = [(at, at + 1) for at in range(len(copies) - 1) if copies[at] == copies[at + 1]]
    table = frame.iloc[copies].reset_index(drop=True)
    wanted = cluster(table, must_link=pairs, mcmc_draws=200, warmup=100, num_chains=2)
    np.testing.assert_allclose(found.result_.data.points.location, wanted.data.points.location)
    np.testing.assert_allclose(found.result_.data.points.scale, wanted.data.points.scale)
    assert found.result_.clusters()["weight"].tolist() == wanted.clusters()["rows"].tolist()
    assert found.num_clusters_[2] == pytest.approx(wanted.num_clusters()[1]["mcmc"][0], abs=0.1)
    probabilities = predict(wanted, frame).probabilities
    np.testing.assert_allclose(found.predict_proba(frame)[:, :2], probabilities[:, :2], atol=0.05)
    with pytest.raises(ValueError, match=r"weight has shape \(3,\), expected \(12,\)"):
        clone(QUICK).fit(frame, sample_weight=[1, 2, 3])


def test_a_search_over_priors():
    search = GridSearchCV(clone(QUICK), {"prior": ["crp", "mfm"]}, cv=2).fit(two_groups(10))
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_frames_of_other_libraries(library):
    other = pytest.importorskip(library)
    frame = two_groups(8).assign(kind=["x", "y"] * 8)
    given = other.from_pandas(frame) if library == "polars" else other.Table.from_pandas(frame)
    found, wanted = clone(QUICK).fit(given), clone(QUICK).fit(frame)
    np.testing.assert_array_equal(found.draws_, wanted.draws_)
    assert list(found.feature_names_in_) == ["a", "b", "kind"]
    np.testing.assert_array_equal(found.predict_proba(given), wanted.predict_proba(frame))


def test_the_settings_of_others_change_nothing():
    frame = two_groups(8)
    wanted = clone(QUICK).fit(frame)
    try:
        for setting in (torch.float64, torch.bfloat16):
            torch.set_default_dtype(setting)
            np.testing.assert_array_equal(clone(QUICK).fit(frame).draws_, wanted.draws_)
            assert load_guide("ncp-niw2d").scorer.new_cluster.dtype == torch.float32
            assert torch.get_default_dtype() == setting
    finally:
        torch.set_default_dtype(torch.float32)
    for without in (torch.no_grad, torch.inference_mode):
        with without():
            np.testing.assert_array_equal(clone(QUICK).fit(frame).draws_, wanted.draws_)


def test_the_seed_is_the_seed():
    frame = two_groups(8)
    one, other = clone(QUICK).fit(frame), clone(QUICK).fit(frame)
    np.testing.assert_array_equal(one.draws_, other.draws_)
    assert list(one.result_.draws) == ["mcmc"]
    beside = clone(QUICK).set_params(guide="filter-niw2d", num_draws=20).fit(frame)
    assert beside.result_.draws["guide"].num_points == 16
    third = clone(QUICK).set_params(random_state=np.random.RandomState(3), clusters=(3, 4)).fit(frame)
    assert (one.draws_ != third.draws_).any()
    assert set(third.num_clusters_) <= {3, 4}
    rng = np.random.default_rng(3)
    fourth, fifth = (clone(QUICK).set_params(random_state=rng).fit(frame) for _ in range(2))
    assert (fourth.draws_ != fifth.draws_).any()


def test_errors_are_clear():
    with pytest.raises(NotFittedError):
        _ = PartitionPosterior().num_clusters_
    with pytest.raises(ValueError, match="unknown family 'gauss'"):
        clone(QUICK).set_params(family="gauss").fit(two_groups(5))
    points = two_groups(6)
    with pytest.raises(ValueError, match="unknown kind 'colour'"):
        clone(QUICK).set_params(kinds={points.columns[0]: "colour"}).fit(points)


def test_the_law_of_new_rows_is_that_of_the_draws():
    """The mean of predictive densities over draws is that of the model's own law."""
    frame = two_groups(6)
    found = clone(QUICK).fit(frame)
    scaled = found.result_.data.points
    model = build_model(found.result_.model.description)
    law = PosteriorPredictive(model, torch.tensor(scaled.data), torch.tensor(found.draws_))
    points = torch.tensor((frame.to_numpy() - scaled.location) / scaled.scale)
    wanted = law.log_prob(points).numpy() - np.log(scaled.scale).sum()
    np.testing.assert_allclose(found.score_samples(frame), wanted)


def test_columns_of_an_array_may_be_of_other_kinds():
    answers = np.random.default_rng(0).integers(1, 4, (40, 3))
    found = clone(QUICK).set_params(kinds={"x1..x2": "ordered"}).fit(answers)
    assert sorted(found.result_.data.table.kinds) == ["number", "ordered", "ordered"]
