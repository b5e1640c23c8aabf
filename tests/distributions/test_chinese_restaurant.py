import pytest
import torch
from scipy.stats import chi2

from pyroclust.distributions import ChineseRestaurantProcess
from pyroclust.distributions.priors.gibbs_type import block_sizes
from pyroclust.partitions import enumerate_partitions, is_canonical


@pytest.mark.parametrize("concentration", [0.05, 0.7, 5.0, 300.0])
def test_probabilities_sum_to_one(concentration):
    law = ChineseRestaurantProcess(torch.tensor(concentration, dtype=torch.float64), 6)
    assert law.log_prob(law.enumerate_support()).logsumexp(0).abs() < 1e-10


def test_log_prob_is_the_seating_rule():
    concentration = 0.7
    for labels in ([0, 0, 1, 0, 2], [0, 1, 1, 1, 1]):
        product, counts = 1.0, []
        for i, label in enumerate(labels):
            counts += [0] * (label + 1 - len(counts))
            product *= (counts[label] or concentration) / (i + concentration)
            counts[label] += 1
        law = ChineseRestaurantProcess(torch.tensor(concentration, dtype=torch.float64), 5)
        assert law.log_prob(torch.tensor(labels)).exp().item() == pytest.approx(product, rel=1e-12)


@pytest.mark.parametrize("concentration", [0.7, 3.0])
def test_frequencies_match_enumeration(concentration):
    torch.manual_seed(1)
    law = ChineseRestaurantProcess(concentration, 6)
    draws = law.sample((50_000,))
    support = law.enumerate_support()
    base = 6 ** torch.arange(6)
    codes, order = (support @ base).sort()
    seen = torch.bincount(order[torch.searchsorted(codes, draws @ base)], minlength=len(support)).double()
    expected = len(draws) * law.log_prob(support).exp().double()
    statistic = ((seen - expected).square() / expected).sum().item()
    assert chi2.sf(statistic, len(support) - 1) > 1e-3


def test_large_samples_are_canonical_with_the_expected_number_of_clusters():
    torch.manual_seed(2)
    draws = ChineseRestaurantProcess(2.0, 500).sample((400,))
    assert is_canonical(draws).all()
    clusters = draws.amax(-1).double() + 1
    index = torch.arange(500, dtype=torch.float64)
    mean, variance = (2 / (2 + index)).sum(), (2 * index / (2 + index).square()).sum()
    assert (clusters.mean() - mean).abs() < 4 * (variance / 400).sqrt()


def test_shapes_and_expansion():
    law = ChineseRestaurantProcess(torch.tensor([0.5, 2.0]), 4)
    assert (law.batch_shape, law.event_shape) == ((2,), (4,))
    wide = law.expand((3, 2))
    assert wide.batch_shape == (3, 2)
    assert wide.sample((5,)).shape == (5, 3, 2, 4)
    values = wide.sample((5,))
    assert wide.log_prob(values).shape == (5, 3, 2)
    assert torch.equal(wide.log_prob(values), law.log_prob(values))
    assert law.enumerate_support().shape == (15, 2, 4)
    assert law.enumerate_support(expand=False).shape == (15, 1, 4)
    draws, log_prob = wide.sample_and_log_prob((2,))
    assert torch.equal(log_prob, wide.log_prob(draws))


def test_gradient_reaches_the_concentration():
    concentration = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([0, 0, 1])
    assert torch.autograd.gradcheck(
        lambda a: ChineseRestaurantProcess(a, 3).log_prob(labels), (concentration,)
    )


def test_errors():
    with pytest.raises(ValueError, match="num_points is 0"):
        ChineseRestaurantProcess(1.0, 0)
    with pytest.raises(ValueError, match="concentration"):
        ChineseRestaurantProcess(torch.tensor(-1.0), 3, validate_args=True)
    law = ChineseRestaurantProcess(1.0, 3, validate_args=True)
    with pytest.raises(ValueError, match=r"value has shape \(4,\), expected \(..., 3\)"):
        law.log_prob(torch.tensor([0, 0, 0, 0]))
    with pytest.raises(ValueError, match="not canonical"):
        law.log_prob(torch.tensor([1, 0, 0]))


def test_block_sizes():
    labels = enumerate_partitions(5)
    sizes = block_sizes(labels)
    assert (sizes.sum(-1) == 5).all()
    assert sizes.tolist() == [[row.count(k) for k in range(5)] for row in labels.tolist()]
