"""One contract suite for every sequential guide: exact probabilities, agreement of its two paths, errors."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from cases import some_of

from pyroclust.distributions import ChineseRestaurantPrior, GammaConcentration
from pyroclust.guides import NeuralClusteringProcess, PredictiveFilter, SequentialGuide
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.infer import simulate
from pyroclust.models import Mixture, gaussian2d, nig_mixture, niw_mixture, overlap2d
from pyroclust.nn import FutureAttention, InducedFuture, RandomOrder, SummedScorer
from pyroclust.partitions import enumerate_partitions, is_canonical

MODELS: dict[str, Callable[[], Mixture]] = {
    "gaussian2d": gaussian2d,
    "overlap3d": lambda: overlap2d(3),
    "nig1d": lambda: nig_mixture(1),
    "niw2d": lambda: niw_mixture(2),
}


def light(model: Mixture) -> SequentialGuide:
    return NeuralClusteringProcess(model, scorer=light_scorer_for(model, width=16, num_bandwidths=3))


def light_without_filter(model: Mixture) -> SequentialGuide:
    scorer = light_scorer_for(model, width=16, num_bandwidths=3, use_filter=False)
    return NeuralClusteringProcess(model, scorer=scorer, order=RandomOrder())


def light_with_attention(model: Mixture) -> SequentialGuide:
    scorer = light_scorer_for(model, width=16, num_bandwidths=2, second_moments=True, num_attention=1)
    return NeuralClusteringProcess(model, scorer=scorer)


def light_with_future(model: Mixture) -> SequentialGuide:
    scorer = light_scorer_for(model, width=16, num_bandwidths=0, future=FutureAttention(16))
    return NeuralClusteringProcess(model, scorer=scorer)


def published(model: Mixture) -> SequentialGuide:
    scorer = SummedScorer(model.component.dim, width=16, sizes=(24, 32))
    return NeuralClusteringProcess(model, scorer=scorer, order=RandomOrder())


def published_with_future(model: Mixture) -> SequentialGuide:
    scorer = SummedScorer(
        model.component.dim, width=16, sizes=(24, 32), future=InducedFuture(12, num_inducing=3)
    )
    return NeuralClusteringProcess(model, scorer=scorer, order=RandomOrder())


def published_sizes(model: Mixture) -> SequentialGuide:
    return NeuralClusteringProcess(model, scorer=SummedScorer(2), order=RandomOrder())


GUIDES: dict[str, Callable[[Mixture], SequentialGuide]] = {
    "light": light,
    "light without filter": light_without_filter,
    "light with attention and second moments": light_with_attention,
    "light with attention to the future instead of kernels": light_with_future,
    "published": published,
    "published with induced attention to the future": published_with_future,
    "filter": PredictiveFilter,
}


CASES = {f"{guide}, {model}": (guide, model) for guide, model in product(GUIDES, MODELS)}
# Networks know of a model its dimension and scale alone: each meets two models, the filter all.
CHOSEN = [
    (name,) for place, name in enumerate(CASES) if name.startswith("filter") or (place + place // 4) % 2
]


@pytest.fixture(params=some_of([(name,) for name in CASES], CHOSEN))
def guide(request: pytest.FixtureRequest) -> SequentialGuide:
    name, model = CASES[request.param]
    torch.manual_seed(0)
    built = GUIDES[name](MODELS[model]()).eval()
    with torch.no_grad():
        for parameter in built.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return built


def data_of(guide: SequentialGuide, *batch: int) -> torch.Tensor:
    return simulate(guide.model, torch.empty(*batch, guide.model.component.dim))[0]


@torch.no_grad()
def test_probabilities_sum_to_one_over_all_partitions(guide: SequentialGuide) -> None:
    posterior = guide.posterior(data_of(guide, 3, 6))
    every = enumerate_partitions(6).unsqueeze(1).expand(-1, 3, -1)
    torch.testing.assert_close(
        posterior.log_prob(every).logsumexp(0), torch.zeros(3).double(), rtol=0, atol=1e-5
    )


@torch.no_grad()
@pytest.mark.parametrize("num_points", [1, 2, 60])
def test_sampled_and_teacher_forced_log_prob_agree(guide: SequentialGuide, num_points: int) -> None:
    posterior = guide.posterior(data_of(guide, 2, num_points))
    draws, log_prob = posterior.sample_and_log_prob((20,))
    assert draws.shape == (20, 2, num_points)
    assert draws.dtype == torch.int64
    assert is_canonical(draws).all()
    torch.testing.assert_close(posterior.log_prob(draws), log_prob, rtol=0, atol=1e-5)


@torch.no_grad()
def test_draws_follow_the_probabilities(guide: SequentialGuide) -> None:
    num_draws, num_points = 20_000, 4
    posterior = guide.posterior(data_of(guide, num_points))
    every = enumerate_partitions(num_points)
    base = 5 ** torch.arange(num_points)
    code = (posterior.sample((num_draws,)) * base).sum(-1)
    frequency = (code.unsqueeze(-1) == (every * base).sum(-1)).double().mean(0)
    probability = posterior.log_prob(every).exp()
    noise = (probability * (1 - probability) / num_draws).sqrt()
    assert ((frequency - probability).abs() <= 4.5 * noise + 1e-9).all()


@torch.no_grad()
def test_given_order_and_batches_do_not_change_a_data_set(guide: SequentialGuide) -> None:
    data = data_of(guide, 2, 3, 7)
    order = torch.rand(2, 3, 7).argsort(-1)
    together = guide.posterior(data, order=order)
    labels = together.sample()
    alone = guide.posterior(data[1, 2], order=order[1, 2])
    assert together.batch_shape == (2, 3)
    torch.testing.assert_close(
        together.log_prob(labels)[1, 2], alone.log_prob(labels[1, 2]), rtol=0, atol=1e-5
    )


@torch.no_grad()
def test_labels_go_in_and_out_in_the_order_of_the_data(guide: SequentialGuide) -> None:
    data, shuffle = data_of(guide, 6), torch.randperm(6)
    order = torch.rand(6).argsort(-1)
    every = enumerate_partitions(6)
    straight = guide.posterior(data, order=order).log_prob(every)
    inverse = shuffle.argsort()
    from pyroclust.partitions import canonical

    moved = guide.posterior(data[shuffle], order=inverse[order]).log_prob(canonical(every[:, shuffle]))
    torch.testing.assert_close(straight, moved, rtol=0, atol=1e-5)


def test_bad_input_is_named() -> None:
    guide, dim = light(gaussian2d()), 2
    with pytest.raises(ValueError, match=r"data has shape .* expected \(\.\.\., N, "):
        guide.posterior(torch.zeros(5, dim + 1))
    with pytest.raises(ValueError, match="at least one point"):
        guide.posterior(torch.zeros(0, dim))
    with pytest.raises(ValueError, match="nan or infinite"):
        guide.posterior(torch.full((5, dim), torch.nan))
    with pytest.raises(ValueError, match="expected permutations of 5 points"):
        guide.posterior(torch.zeros(5, dim), order=torch.zeros(5, dtype=torch.int64))
    with pytest.raises(ValueError, match="not canonical"):
        guide.posterior(torch.zeros(3, dim)).log_prob(torch.tensor([1, 0, 0]))
    with pytest.raises(ValueError, match=r"expected \(\.\.\., 3\)"):
        guide.posterior(torch.zeros(3, dim)).log_prob(torch.tensor([0, 0]))
    with pytest.raises(ValueError, match="num_orders is 0"):
        guide.order_averaged(torch.zeros(3, dim), 0)


@torch.no_grad()
@pytest.mark.parametrize("build", [light, light_without_filter, PredictiveFilter, published_sizes])
def test_no_drift_at_a_thousand_points(build: Callable[[Mixture], SequentialGuide]) -> None:
    torch.manual_seed(3)
    guide = build(overlap2d()).eval()
    posterior = guide.posterior(data_of(guide, 1000))
    draws, log_prob = posterior.sample_and_log_prob((2,))
    torch.testing.assert_close(posterior.log_prob(draws), log_prob, rtol=0, atol=1e-4)


@torch.no_grad()
@pytest.mark.parametrize("prior", [ChineseRestaurantPrior(0.7), GammaConcentration(2.0, 2.0)])
def test_filter_is_the_exact_predictive(prior: Any) -> None:
    """The filter's decision given the past equals the ratio of exact joints of the prefix."""
    model = Mixture(prior, niw_mixture(2).component, name="niw")
    data = simulate(model, torch.empty(5, 2))[0].double()
    every = enumerate_partitions(5)
    expected = torch.zeros(len(every)).double()
    for n in range(2, 6):
        prefix = enumerate_partitions(n)
        joint = model.log_joint(data[:n], prefix)
        same_past = (prefix[:, None, :-1] == prefix[None, :, :-1]).all(-1)
        conditional = joint - joint.expand(len(prefix), -1).masked_fill(~same_past, -torch.inf).logsumexp(-1)
        row = (every[:, None, :n] == prefix).all(-1).long().argmax(-1)
        expected += conditional[row]
    actual = PredictiveFilter(model).posterior(data, order=torch.arange(5)).log_prob(every)
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-9)
