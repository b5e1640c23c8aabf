"""What candidates do to the points to come: against the joint density, and exact for one point."""

from typing import Any

import pytest
import torch
from torch import Tensor

from pyroclust.distributions import (
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    PitmanYorPrior,
    PoissonGamma,
)
from pyroclust.distributions.sequential.scorer import Candidates
from pyroclust.guides import NeuralClusteringProcess, light_scorer_for
from pyroclust.infer import exact_posterior
from pyroclust.models import Mixture, gaussian2d, sensitivity2d
from pyroclust.nn import RandomOrder
from pyroclust.nn.foresight import foresee

MODELS = [
    Mixture(ChineseRestaurantPrior(0.7), NormalKnownVariance(2, prior_scale=3.0), name="known"),
    Mixture(PitmanYorPrior(0.3, 0.5), NormalInverseGamma(2, 0.2, shape=2.0, rate=0.4), name="gamma"),
    Mixture(
        DirichletMultinomialPrior(3, 0.5), NormalInverseWishart(3, 0.1, dof=5.0, scale=0.3), name="wishart"
    ),
]


def points_of(model: Mixture, number: int) -> Tensor:
    return 2 * torch.randn(number, *model.event_shape, dtype=torch.float64)


def log_next(model: Mixture, data: Tensor, labels: Tensor, point: Tensor) -> Tensor:
    """Return the log predictive density of a further point, given labelled ones."""
    more = torch.cat([data, point.unsqueeze(0)])
    every = [torch.cat([labels, torch.tensor([k])]) for k in range(int(labels.max()) + 2)]
    joint = torch.stack([model.log_joint(more, one) for one in every])
    return joint.logsumexp(0) - model.log_joint(data, labels)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_gains_are_ratios_of_predictive_densities(model: Mixture) -> None:
    data, labels = points_of(model, 9), torch.tensor([0, 1, 0, 1])
    scorer: Any = light_scorer_for(model, foresight=1)
    encoding = scorer.filter.encode(data.unsqueeze(0))
    zero, member = torch.zeros(1, dtype=torch.int64), torch.nn.functional.one_hot(labels).double()
    sums = (member.T @ encoding.moments[0, :4]).unsqueeze(0)
    candidates = Candidates(
        zero, zero + 4, zero + 2, torch.tensor([0, 0]), torch.tensor([0, 1]), member.sum(0), sums
    )
    joining, opening = foresee(encoding, candidates, references=100)
    for candidate, found in enumerate([*joining, *opening]):
        now = torch.cat([labels, torch.tensor([candidate])])
        gains = torch.stack(
            [log_next(model, data[:5], now, one) - log_next(model, data[:4], labels, one) for one in data[5:]]
        )
        net, gained, lost = gains.sum(), gains.clamp(min=0).sum(), (-gains).clamp(min=0).sum()
        wanted = torch.stack([net.asinh(), net / 5**0.5, gained.log1p(), lost.log1p()])
        torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_filter_and_gains_are_the_posterior_of_three_points(model: Mixture) -> None:
    """The first decision has one point to come, the second none."""
    guide = NeuralClusteringProcess(model, scorer=light_scorer_for(model, foresight=8), order=RandomOrder())
    with torch.no_grad():
        guide.scorer.trust.bias[1] = 2**0.5
        for _ in range(5):
            data = points_of(model, 3)
            partitions, log_probs = exact_posterior(model, data)
            found = guide.posterior(data).log_prob(partitions)
            torch.testing.assert_close(found, log_probs, rtol=1e-4, atol=1e-4)


def test_sampling_and_scoring_agree() -> None:
    torch.manual_seed(0)
    guide = NeuralClusteringProcess(MODELS[2], scorer=light_scorer_for(MODELS[2], foresight=5))
    with torch.no_grad():
        for one in (
            guide.scorer.trust,
            guide.scorer.ahead_to_head,
            guide.scorer.to_join,
            guide.scorer.to_open,
        ):
            one.weight.normal_()
        law = guide.posterior(torch.randn(2, 12, 3))
        draws, log_q = law.sample_and_log_prob((7,))
        torch.testing.assert_close(law.log_prob(draws), log_q, rtol=1e-4, atol=1e-4)
        alone = guide.posterior(torch.randn(2, 12, 3)[:1])
        assert alone.sample((3,)).shape == (3, 1, 12)


def test_every_kth_point_stands_for_k() -> None:
    model = MODELS[0]
    scorer: Any = light_scorer_for(model, foresight=1)
    data = torch.cat([points_of(model, 2), torch.ones(12, 2, dtype=torch.float64)])
    encoding = scorer.filter.encode(data.unsqueeze(0))
    zero = torch.zeros(1, dtype=torch.int64)
    one_point = torch.ones(1, 1, dtype=torch.float64)
    candidates = Candidates(zero, zero + 1, zero + 1, zero, zero, one_point, encoding.moments[:, :1])
    every, some = (foresee(encoding, candidates, references=number) for number in (100, 5))
    for one, other in zip(every, some, strict=True):
        torch.testing.assert_close(one, other)


def test_foresight_needs_the_filter_of_normal_clusters() -> None:
    counts = Mixture(ChineseRestaurantPrior(0.7), PoissonGamma(2, 2.0, rate=0.5), name="counts")
    for make in (
        lambda: light_scorer_for(counts, foresight=8),
        lambda: light_scorer_for(gaussian2d(), use_filter=False, foresight=8),
        lambda: light_scorer_for(sensitivity2d(), conditions=["concentration", "prior_scale"], foresight=8),
    ):
        with pytest.raises(ValueError, match="foresight is 8, expected 0"):
            make()
