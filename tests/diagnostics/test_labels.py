"""Functions of draws take what samplers return, and say in one sentence what they cannot take."""

from collections.abc import Callable
from typing import Any

import arviz
import numpy as np
import pandas as pd
import pyro
import pytest
import torch
import xarray as xr
from pyro.infer import MCMC
from scipy.special import softmax

from pyroclust import diagnostics
from pyroclust.diagnostics.labels import compact, flatten, labels_and_weights
from pyroclust.infer.mcmc import CollapsedGibbs, assignments
from pyroclust.models import gaussian2d
from pyroclust.partitions import Draws, canonical
from pyroclust.partitions.raw_labels import raw_labels
from pyroclust.results.summaries import DrawsSummary

LABELS = canonical(torch.from_numpy(np.random.default_rng(0).integers(3, size=(2, 30, 6)))).numpy()
DATA = np.random.default_rng(1).standard_normal((6, 2))


def posterior() -> xr.Dataset:
    return xr.Dataset({"assignments": (("draw", "point", "chain"), LABELS.transpose(1, 2, 0))})


FORMS: dict[str, Callable[[], Any]] = {
    "tensor": lambda: torch.from_numpy(LABELS),
    "tensor in a graph": lambda: torch.nn.Parameter(torch.from_numpy(LABELS), requires_grad=False),
    "lists": LABELS.tolist,
    "draws": lambda: Draws(assignments=LABELS, log_joint=np.zeros((2, 30))),
    "samples by site": lambda: {"assignments": torch.from_numpy(LABELS), "mu": torch.zeros(2, 30)},
    "dataset": posterior,
    "array of xarray": lambda: posterior()["assignments"],
    "arviz": lambda: (
        arviz.from_dict({"assignments": LABELS})
        if int(arviz.__version__.split(".")[0]) < 1
        else arviz.from_dict({"posterior": {"assignments": LABELS}})
    ),
}

# The draws may be a weighted sample: the first source of two.
WEIGHTED: dict[str, Callable[..., Any]] = {
    "agreement": lambda draws, **weights: diagnostics.agreement(draws, LABELS, **weights),
    "classifier_test": lambda draws, **weights: (
        diagnostics.classifier_test(draws, LABELS, seed=0, **weights).p_value
    ),
    "cluster_count_posterior": diagnostics.cluster_count_posterior,
    "cluster_profiles": lambda draws, **weights: (
        diagnostics.cluster_profiles(draws, LABELS[0, 0], data=DATA, **weights).stability
    ),
    "co_assignment": diagnostics.co_assignment,
    "compare_sources": lambda draws, **weights: (
        diagnostics.compare_sources(draws, LABELS, seed=0, **weights).agreement
    ),
    "count_test": lambda draws, **weights: diagnostics.count_test(draws, LABELS, seed=0, **weights).p_value,
    "credible_ball": lambda draws, **weights: (
        diagnostics.credible_ball(draws, LABELS[0, 0], **weights).coverage
    ),
    "expected": lambda draws, **weights: diagnostics.Binder().expected(LABELS[0, :2], draws, **weights),
    "mmd_test": lambda draws, **weights: diagnostics.mmd_test(draws, LABELS, seed=0, **weights).p_value,
    "partition_entropy": diagnostics.partition_entropy,
    "partition_modes": lambda draws, **weights: diagnostics.partition_modes(draws, seed=0, **weights).spread,
    "point_estimate": lambda draws, **weights: diagnostics.point_estimate(draws, seed=0, **weights),
    "point_uncertainty": lambda draws, **weights: diagnostics.point_uncertainty(
        draws, LABELS[0, 0], **weights
    ),
    "ranked_partitions": lambda draws, **weights: (
        diagnostics.ranked_partitions(draws, **weights).probabilities
    ),
}
UNWEIGHTED: dict[str, Callable[..., Any]] = {
    "co_membership_ess": lambda draws: diagnostics.co_membership_ess(draws, seed=0).ess,
    "distance_rhat": lambda draws: diagnostics.distance_rhat(draws, seed=0).rhat,
    "functionals": lambda draws: diagnostics.functionals(draws)["entropy"],
    "pairwise_loss": lambda draws: diagnostics.pairwise_loss(draws, draws),
}
FUNCTIONS = WEIGHTED | UNWEIGHTED


def sample(**others: np.ndarray) -> Draws:
    log_weights = 2 * np.random.default_rng(2).standard_normal(LABELS.shape[:2])
    return Draws(assignments=LABELS, log_weights=log_weights, **others)


@pytest.mark.parametrize("form", FORMS)
def test_labels_are_the_same_in_every_form(form):
    np.testing.assert_array_equal(raw_labels("draws", FORMS[form]()), LABELS)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_take_what_holds_draws(function):
    expected = FUNCTIONS[function](LABELS)
    for form in ("tensor", "draws", "array of xarray"):
        found = FUNCTIONS[function](FORMS[form]())
        np.testing.assert_equal(found, expected)


@pytest.mark.parametrize("function", WEIGHTED)
def test_a_weighted_sample_counts_with_its_weights(function):
    weighted = sample()
    flat, weights = weighted.flat, softmax(weighted.log_weights.ravel())
    found = WEIGHTED[function](weighted)
    np.testing.assert_equal(found, WEIGHTED[function](flat, weights=weights))
    if not function.endswith("_test"):
        with pytest.raises(AssertionError):
            np.testing.assert_equal(found, WEIGHTED[function](flat))


@pytest.mark.parametrize("function", UNWEIGHTED)
def test_weights_are_never_dropped(function):
    with pytest.raises(ValueError, match=r"of type Draws with log_weights, .*resample\("):
        UNWEIGHTED[function](sample())


def test_a_data_frame_of_one_draw_a_row():
    found = raw_labels("draws", pd.DataFrame(LABELS[0]))
    np.testing.assert_array_equal(found, LABELS[0])


def test_a_run_of_pyro():
    pyro.set_rng_seed(0)
    mcmc = MCMC(CollapsedGibbs(gaussian2d()), num_samples=5, warmup_steps=1, disable_progbar=True)
    with pytest.raises(
        ValueError, match=r"draws is of type MCMC and has no draws yet: call its run\(data\) first"
    ):
        diagnostics.co_assignment(mcmc)
    mcmc.run(torch.from_numpy(DATA).float())
    np.testing.assert_array_equal(
        diagnostics.point_estimate(mcmc, seed=0),
        diagnostics.point_estimate(assignments(mcmc).numpy(), seed=0),
    )


@pytest.mark.parametrize(
    ("draws", "sentence"),
    [
        (3, "draws is of type int, expected draws of partitions"),
        (object(), "draws is of type object, expected draws of partitions"),
        ("draws.csv", "draws is of type str, expected draws of partitions"),
        ([[0, 1], [0]], "draws is of type list with rows of unequal lengths"),
        ({"z": LABELS}, "draws holds z, expected 'assignments'"),
        ({}, "draws holds nothing, expected 'assignments'"),
        (torch.rand(3, 4), "draws has values of type float32, expected integers"),
        (LABELS + 9, "draws has labels from 9 to 11, expected 0 to 5"),
        (LABELS[0, 0], r"draws has shape \(6,\), expected"),
    ],
)
def test_what_holds_no_draws_is_refused_in_one_sentence(draws, sentence):
    with pytest.raises(ValueError, match=sentence):
        diagnostics.co_assignment(draws)


def test_a_guide_is_no_draws():
    class Guide:
        def posterior(self, data):
            return data

    with pytest.raises(ValueError, match=r"draws is of type Guide, which can be drawn from"):
        diagnostics.point_estimate(Guide(), seed=0)


def test_weights_twice():
    weighted = sample()
    with pytest.raises(ValueError, match="weights are given, but draws are draws with log_weights"):
        labels_and_weights("draws", weighted, np.ones(60))


def test_weights_of_a_guides_independent_draws_are_smoothed():
    weighted = sample(log_prob=np.zeros((2, 30)))
    expected = diagnostics.importance_weights(weighted.log_weights)
    np.testing.assert_equal(labels_and_weights("draws", weighted)[1], expected)
    assert not np.allclose(expected, softmax(weighted.log_weights.ravel()))


def test_the_second_source_has_no_weights():
    with pytest.raises(ValueError, match="draws_b is of type Draws with log_weights"):
        diagnostics.compare_sources(LABELS, sample(), seed=0)


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.uint64])
def test_whole_numbers_of_any_type_say_the_same(kind: type):
    rng = np.random.default_rng(0)
    truth = np.sort(rng.integers(4, size=2500))
    draws = np.where(rng.random((2, 20, 2500)) < 0.02, rng.integers(4, size=(2, 20, 2500)), truth)
    draws[..., 7] = 4
    draws = canonical(torch.from_numpy(draws)).numpy()
    found = [
        DrawsSummary(Draws(assignments=one), name="mine", seed=0, data=truth[:, None] * 1.0)
        for one in (draws, draws.astype(kind))
    ]
    first, second = (one.figures() for one in found)
    np.testing.assert_equal(second, first)
    for part in ("membership", "own_membership", "co_assignment"):
        np.testing.assert_array_equal(*(getattr(one, part) for one in found))


def test_labels_of_large_tables_are_not_copied():
    draws = canonical(torch.from_numpy(np.random.default_rng(0).integers(5, size=(1, 9, 3000)))).int().numpy()
    assert np.shares_memory(flatten(draws), draws)
    labels, counts = compact(flatten(draws))
    assert np.shares_memory(labels, draws)
    np.testing.assert_array_equal(counts, draws[0].max(-1) + 1)
    # In another order they have to be.
    turned = compact(flatten(draws[..., ::-1]))[0]
    np.testing.assert_array_equal(turned, canonical(torch.from_numpy(draws[0, :, ::-1].copy())).numpy())


def test_what_would_copy_all_draws_of_a_large_table_takes_some(monkeypatch: pytest.MonkeyPatch):
    draws = canonical(torch.from_numpy(np.random.default_rng(0).integers(3, size=(2, 30, 50)))).numpy()
    monkeypatch.setattr("pyroclust.results.summaries._MOST_LABELS", 50 * 20)
    monkeypatch.setattr("pyroclust.results.summaries._FEWEST", 10)
    found = DrawsSummary(Draws(assignments=draws), name="mine", seed=0)
    assert found.ball is not None
    assert found.estimate is not None
    assert len(found.ball.distances) == 20
    # The rows' certainty is that of all draws.
    every = diagnostics.point_uncertainty(draws, found.assignments)
    np.testing.assert_array_equal(found.estimate.uncertainty, every)
