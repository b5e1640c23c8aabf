"""Rows with weights: the joint density of the repeated table under must-links, and what refuses them."""

import numpy as np
import pytest
import torch
from cases import CONJUGATE, POSTERIOR_PRIORS
from pyro.distributions import Gamma

from pyroclust.data.draws.pointwise import pointwise_log_likelihood
from pyroclust.distributions import (
    ChineseRestaurantPrior,
    ClusteredData,
    NormalKnownVariance,
    PartlyObserved,
    student_t,
)
from pyroclust.guides import PredictiveFilter
from pyroclust.infer import (
    annealed_log_evidence,
    cluster_parameters,
    exact_posterior,
    log_evidence,
    refine,
    sequential_monte_carlo,
    simulate,
    tempered_populations,
)
from pyroclust.infer.mcmc import AuxiliaryGibbs
from pyroclust.models import Mixture, PosteriorPredictive, StochasticBlockModel, companion, gaussian2d
from pyroclust.partitions import canonical, enumerate_partitions
from pyroclust.partitions.constraints import Constraints
from pyroclust.saving.models import describe_model

WEIGHTS = torch.tensor([3, 1, 2, 1])
COPIES = torch.arange(4).repeat_interleave(WEIGHTS)
EVERY = enumerate_partitions(4)


def repeated(model: Mixture) -> Mixture:
    """The model of the repeated table, whose copies stay together."""
    return model.under(Constraints.of(7, must_link=[(0, 1), (1, 2), (4, 5)]))


def rows_of(component, *, missing=False):
    torch.manual_seed(3)
    data = component.sample(torch.tensor([0, 1, 0, 1])).double()
    if missing:
        data[0, 0] = data[3, -1] = torch.nan
    return data


@pytest.mark.parametrize("family", CONJUGATE)
def test_the_joint_density_is_that_of_the_repeated_table(family) -> None:
    component = CONJUGATE[family]
    data = rows_of(component, missing=component.takes_missing and component.dim > 1)
    for prior in POSTERIOR_PRIORS.values():
        model = Mixture(prior, component)
        expected = repeated(model).log_joint(data[COPIES], EVERY[:, COPIES])
        torch.testing.assert_close(model.weighted(WEIGHTS).log_joint(data, EVERY), expected)
    ones = model.weighted(torch.ones(4))
    assert torch.equal(ones.log_joint(data, EVERY), model.log_joint(data, EVERY))


def test_the_posterior_and_the_evidence_are_those_of_enumeration() -> None:
    model, data = gaussian2d(), torch.randn(4, 2)
    weighted, table = model.weighted(WEIGHTS), repeated(model)
    torch.testing.assert_close(log_evidence(weighted, data), log_evidence(table, data[COPIES]))
    partitions, log_probs = exact_posterior(table, data[COPIES])
    possible = log_probs > -torch.inf
    rows = [0, 3, 4, 6]
    order = partitions[possible][:, rows].tolist()
    found = {
        tuple(c): p for c, p in zip(*(one.tolist() for one in exact_posterior(weighted, data)), strict=True)
    }
    for labels, expected in zip(order, log_probs[possible].tolist(), strict=True):
        assert found[tuple(labels)] == pytest.approx(expected)


def test_weights_belong_to_the_model_and_go_with_constraints() -> None:
    model, data = gaussian2d(), torch.randn(4, 2)
    weighted = model.weighted([3, 1, 2, 1])
    assert weighted == model.weighted(WEIGHTS.numpy())
    assert weighted != model
    assert weighted.weighted(None) == model
    assert "4 rows that stand for 7" in repr(weighted)
    assert torch.equal(weighted.given({"concentration": 2.0}).row_weights, WEIGHTS)
    known = weighted.constrained(must_link=[(0, 1)], cannot_link=[(0, 2)])
    allowed = known.constraints.allows(EVERY)
    expected = torch.where(allowed, weighted.log_joint(data, EVERY), -torch.inf)
    assert torch.equal(known.log_joint(data, EVERY), expected)


def test_cluster_parameters_and_predictions_count_rows_by_their_weights() -> None:
    data, labels = torch.randn(4, 2).double(), torch.tensor([[0, 1, 0, 1], [0, 0, 1, 2]])
    model, new = gaussian2d(), torch.randn(5, 2)
    laws = (
        PosteriorPredictive(model.weighted(WEIGHTS), data, labels),
        PosteriorPredictive(model, data[COPIES], labels[:, COPIES]),
    )
    torch.testing.assert_close(laws[0].log_prob(new), laws[1].log_prob(new))
    partition = labels[0]
    torch.testing.assert_close(
        laws[0].cluster_probs(new, partition), laws[1].cluster_probs(new, partition[COPIES])
    )
    means = []
    for one, points, estimate in (
        (model.weighted(WEIGHTS), data, labels),
        (model, data[COPIES], labels[:, COPIES]),
    ):
        torch.manual_seed(0)
        means.append(cluster_parameters(one, points, estimate, num_samples=5)["loc"])
    torch.testing.assert_close(*means)


def test_a_row_that_is_left_out_goes_with_all_its_copies() -> None:
    data, model = torch.randn(4, 2).double(), gaussian2d()
    for labels in EVERY:
        law = PosteriorPredictive(model.weighted(WEIGHTS), data, labels)
        found = law.log_prob_left_out(torch.tensor([2, 0, 3]))
        for row, one in zip((2, 0, 3), found, strict=True):
            others = torch.arange(4) != row
            rest = PosteriorPredictive(
                model.weighted(WEIGHTS[others]), data[others], canonical(labels[others])
            )
            torch.testing.assert_close(one, rest.log_prob(data[row]))


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        (
            [1, 2, 0],
            "weights has 0 for row 2, expected whole numbers of at least 1: leave rows of weight zero out",
        ),
        ([1, -2, 3], "weights has -2 for row 1"),
        ([1, 1.5, 3], r"weights has 1\.5 for row 1, expected whole numbers"),
        ([1, np.nan, 3], "weights has no number for row 1"),
        (["a", "b"], "weights, of type list, is not an array of real numbers"),
        ([[1, 2]], r"weights has shape \(1, 2\)"),
        (3, r"weights has shape \(\)"),
        ([1, 10**8], "weights sum to 1e.08, expected at most 1,000,000"),
    ],
)
def test_other_weights_are_refused_in_a_sentence(weights, told) -> None:
    with pytest.raises(ValueError, match=told):
        gaussian2d().weighted(weights)


def test_what_does_not_look_at_weights_says_so() -> None:
    model, data = gaussian2d().weighted([2, 1, 1]), torch.randn(3, 2)
    free = PredictiveFilter(gaussian2d())
    for act in (
        lambda: model.log_joint(data[:2], torch.tensor([0, 0])),
        lambda: simulate(model, torch.empty(3, 2)),
        lambda: PredictiveFilter(model),
        lambda: sequential_monte_carlo(model, free, data, num_particles=4),
        lambda: refine(model, free, data, num_draws=4),
        lambda: annealed_log_evidence(model, data),
        lambda: tempered_populations(model, data),
        lambda: model.log_prob_constraints(),
        lambda: companion(model, num_components=3),
        lambda: AuxiliaryGibbs(model),
        lambda: describe_model(model),
        lambda: pointwise_log_likelihood(model, data, torch.zeros(2, 3, dtype=torch.int64)),
    ):
        with pytest.raises(ValueError, match="weights of rows"):
            act()
    with pytest.raises(ValueError, match="weights given"):
        ClusteredData(NormalKnownVariance(2), torch.zeros(3).long(), weights=torch.ones(3).long()).sample()
    with pytest.raises(ValueError, match="is a PyroComponent, expected a conjugate family"):
        Mixture(ChineseRestaurantPrior(1.0), student_t()).weighted([2, 1])
    assert StochasticBlockModel().row_weights is None
    assert not hasattr(StochasticBlockModel(), "weighted")


def test_random_hyperparameters_are_set_as_without_weights() -> None:
    model = Mixture(ChineseRestaurantPrior(Gamma(2.0, 4.0)), PartlyObserved(NormalKnownVariance(1), 2))
    data = rows_of(model.component, missing=True)
    known = model.given({"concentration": 0.7})
    expected = repeated(known).log_joint(data[COPIES], EVERY[:, COPIES])
    torch.testing.assert_close(
        model.weighted(WEIGHTS).given({"concentration": 0.7}).log_joint(data, EVERY), expected
    )
