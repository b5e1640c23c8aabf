"""Guides of clusters of a random scale, and the exact filter of these, are exact distributions."""

import pytest
import torch

from pyroclust.distributions import ChineseRestaurantProcess
from pyroclust.guides import PredictiveFilter, ScaleAveragedProcess, column_scorer_for
from pyroclust.guides.anchored_guide import ContinuedDraws
from pyroclust.guides.scale_averaged_process import columns_of_scale
from pyroclust.infer import exact_posterior, simulate
from pyroclust.models import default_mixture, gaussian2d, normal_mixture, table_mixture


def guides():
    torch.manual_seed(0)
    return [
        PredictiveFilter(normal_mixture(2)),
        ScaleAveragedProcess(normal_mixture(2)).eval(),
        ScaleAveragedProcess(normal_mixture(2), num_scales=1).eval(),
    ]


def every_partition(num_points):
    return ChineseRestaurantProcess(1.0, num_points).enumerate_support()


@pytest.mark.parametrize("guide", guides(), ids=lambda one: type(one).__name__)
def test_probabilities_sum_to_one_and_draws_have_theirs(guide):
    torch.manual_seed(1)
    data = simulate(normal_mixture(2), torch.empty(3, 5, 2))[0]
    posterior = guide.posterior(data)
    with torch.no_grad():
        total = posterior.log_prob(every_partition(5).unsqueeze(1)).exp().sum(0)
        torch.testing.assert_close(total, torch.ones(3, dtype=torch.float64), atol=1e-4, rtol=0)
        draws, log_prob = posterior.sample_and_log_prob((40,))
        torch.testing.assert_close(posterior.log_prob(draws), log_prob, atol=1e-3, rtol=0)


@torch.no_grad()
@pytest.mark.parametrize("guide", guides()[1:], ids=["three scales", "one scale"])
def test_a_guide_that_has_found_the_scales_draws_the_same(guide):
    torch.manual_seed(1)
    data = simulate(normal_mixture(2), torch.empty(3, 30, 2))[0]
    known = guide.with_hyperparameters_of(data[0])
    # Of another number of data sets it finds those anew.
    for points in (data[0], data):
        draws = []
        for one in (guide, known):
            torch.manual_seed(2)
            draws.append(one.posterior(points).sample_and_log_prob((20,)))
        torch.testing.assert_close(draws[0], draws[1])
    assert not torch.equal(known._scales, guide.with_hyperparameters_of(data[1])._scales)


@pytest.mark.parametrize("guide", guides()[:2], ids=lambda one: type(one).__name__)
def test_weighted_draws_have_the_exact_posterior(guide):
    torch.manual_seed(2)
    model = normal_mixture(2)
    data = torch.tensor([[-0.9, -0.8], [-0.7, -1.0], [0.8, 0.9], [1.0, 0.7], [0.0, 0.1]])
    every, log_probs = exact_posterior(model, data)
    draws, log_q = guide.posterior(data).sample_and_log_prob((20_000,))
    weights = (model.log_joint(data, draws) - log_q).softmax(0)
    same = (draws.unsqueeze(1) == every).all(-1).double()
    found = weights @ same
    assert float(0.5 * (found - log_probs.exp()).abs().sum()) < 0.03


@pytest.mark.parametrize("guide", guides()[:2], ids=lambda one: type(one).__name__)
def test_the_same_data_have_the_same_law(guide):
    data, labels = torch.randn(6, 2), torch.tensor([0, 0, 1, 1, 2, 0])
    order = torch.arange(6)
    torch.manual_seed(3)
    first = guide.posterior(data, order=order).log_prob(labels)
    torch.manual_seed(4)
    again = guide.posterior(data, order=order).log_prob(labels)
    assert again.item() == pytest.approx(first.item())


def test_one_guide_of_tables_serves_other_columns_exactly():
    torch.manual_seed(6)
    few = default_mixture(numbers=2, missing=True)
    known = ScaleAveragedProcess.model_of_network(few, {})
    guide = ScaleAveragedProcess(few, scorer=column_scorer_for(known)).eval()
    other = default_mixture(numbers=1, yes_no=1, levels=[3], missing=True)
    data = torch.tensor([[-0.9, 0, 0], [-0.7, 0, torch.nan], [1.0, 1, 2], [0.8, torch.nan, 2], [0.1, 1, 1]])
    every, log_probs = exact_posterior(other, data)
    with torch.no_grad():
        draws, log_q = guide.of(other).posterior(data).sample_and_log_prob((20_000,))
    weights = (other.log_joint(data, draws) - log_q).softmax(0)
    found = weights @ (draws.unsqueeze(1) == every).all(-1).double()
    assert float(0.5 * (found - log_probs.exp()).abs().sum()) < 0.03
    assert columns_of_scale(other).tolist() == [True, False, False]


def test_averages_are_under_constraints():
    guide = guides()[1].constrained(must_link=[(0, 2)], cannot_link=[(0, 1)])
    drawn = guide.posterior(torch.randn(5, 2)).sample((50,))
    assert bool((drawn[:, 0] == drawn[:, 2]).all())
    assert bool((drawn[:, 0] != drawn[:, 1]).all())


def test_other_models_are_refused():
    with pytest.raises(ValueError, match=r"expected the scale of normal clusters alone"):
        ScaleAveragedProcess(gaussian2d())


def test_draws_are_continued_to_more_rows_with_exact_weights():
    torch.manual_seed(5)
    model = table_mixture(numbers=2, yes_no=1, family="normal", prior="mfm")
    data = torch.cat([torch.randn(6, 2).double(), torch.tensor([0.0, 1, 0, 1, 1, 0]).double()[:, None]], -1)
    old, log_old = exact_posterior(model, data[:4])
    draws = old[torch.distributions.Categorical(logits=log_old).sample((4000,))]
    continued, log_q = ContinuedDraws(model, draws).posterior(data).sample_and_log_prob((20_000,))
    weights = (model.log_joint(data, continued) - log_q).softmax(0)
    every, log_probs = exact_posterior(model, data)
    found = weights @ (continued.unsqueeze(1) == every).all(-1).double()
    assert float(0.5 * (found - log_probs.exp()).abs().sum()) < 0.05
