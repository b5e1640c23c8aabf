"""The two-parameter family: formulas at the edges, the urn, gradients."""

import math

import pytest
import torch
from partition_laws import assert_counts_fit, partition_counts

from pyroclust.distributions import (
    ChineseRestaurantPrior,
    DirichletMultinomialPartition,
    DirichletMultinomialPrior,
    PartitionPrior,
    PitmanYorPrior,
    PitmanYorProcess,
)
from pyroclust.distributions.priors import two_parameter
from pyroclust.distributions.priors.prior import log_stirling_numbers
from pyroclust.partitions import enumerate_partitions

DOUBLE = {"dtype": torch.float64}


@pytest.mark.parametrize("labels", [[0, 0, 1, 0, 2], [0, 1, 1, 1, 1], [0, 1, 2, 3, 4], [0, 0, 0, 0, 0]])
@pytest.mark.parametrize(("discount", "concentration"), [(0.0, 0.7), (0.4, 0.7), (0.7, -0.5), (-0.5, 1.5)])
def test_log_prob_is_the_seating_rule(labels: list[int], discount: float, concentration: float) -> None:
    product, counts = 1.0, []
    for i, label in enumerate(labels):
        opening = concentration + len(counts) * discount if i else 1.0
        if label == len(counts):
            counts.append(0)
            weight = opening
        else:
            weight = counts[label] - discount
        product *= weight / (i + concentration) if i else 1.0
        counts[label] += 1
    if discount >= 0:
        law = PitmanYorProcess(discount, concentration, 5)
    else:
        law = DirichletMultinomialPartition(round(-concentration / discount), -discount, 5)
    assert law.log_prob(torch.tensor(labels)).exp().item() == pytest.approx(product, rel=1e-13, abs=1e-300)


LIMITS = [
    (PitmanYorPrior(1e-13, 0.7), ChineseRestaurantPrior(0.7)),
    (PitmanYorPrior(0.0, 0.7), ChineseRestaurantPrior(0.7)),
    (DirichletMultinomialPrior(10**12, 0.7e-12), ChineseRestaurantPrior(0.7)),
    (PitmanYorPrior(0.3, 1e-13), PitmanYorPrior(0.3, 0.0)),
    (PitmanYorPrior(0.3, -1e-13), PitmanYorPrior(0.3, 0.0)),
]


@pytest.mark.parametrize(("near", "limit"), LIMITS)
@pytest.mark.parametrize("num_points", [7, 400])
def test_limits_are_reached_without_loss_of_digits(
    near: PartitionPrior, limit: PartitionPrior, num_points: int
) -> None:
    clusters = torch.arange(1, num_points + 1)
    same = {"rtol": 1e-9, "atol": 1e-9}
    torch.testing.assert_close(near.log_v(num_points, clusters), limit.log_v(num_points, clusters), **same)
    found, expected = near.expected_num_clusters(num_points), limit.expected_num_clusters(num_points)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=0)


def test_extreme_parameters() -> None:
    """Almost all points alone, or almost all together, to first order."""
    alone = ChineseRestaurantPrior(1e14)
    assert alone.log_prob(torch.arange(5)).item() == pytest.approx(-10e-14, rel=1e-9)
    assert 5 - alone.expected_num_clusters(5).item() == pytest.approx(10e-14, rel=0.02)
    together = ChineseRestaurantPrior(1e-14)
    assert together.log_prob(torch.zeros(5, dtype=torch.int64)).item() == pytest.approx(
        -1e-14 * 25 / 12, rel=0.05
    )
    even = DirichletMultinomialPrior(3, 1e12)
    assert even.log_prob(torch.tensor([0, 1, 1, 2])).item() == pytest.approx(math.log(6 / 81), abs=1e-9)


def test_gradients_reach_all_parameters() -> None:
    labels = torch.tensor([0, 0, 1, 2, 0])
    discount, concentration, weight = (
        torch.tensor(value, requires_grad=True, **DOUBLE) for value in ([0.3, 0.8], [0.7, -0.4], [0.6, 3.0])
    )
    components = torch.tensor([4, 9])
    for prior, law in (
        (PitmanYorPrior, PitmanYorProcess),
        (
            lambda *_: DirichletMultinomialPrior(components, weight),
            lambda *_: DirichletMultinomialPartition(components, weight, 5),
        ),
    ):
        used = (discount, concentration) if prior is PitmanYorPrior else (weight,)
        assert torch.autograd.gradcheck(lambda *a, p=prior: p(*a).log_prob(labels), used)
        assert torch.autograd.gradcheck(lambda *a, q=law: q(*a, 5).log_prob(labels), used)
        assert torch.autograd.gradcheck(lambda *a, p=prior: p(*a).expected_num_clusters(50), used)


@pytest.mark.parametrize(
    "build",
    [
        lambda batch: PitmanYorProcess(torch.tensor([0.2, 0.9]), torch.tensor([[1.0], [5.0], [0.2]]), batch),
        lambda batch: DirichletMultinomialPartition(
            torch.tensor([1, 6]), torch.tensor([[1.0], [5.0], [0.2]]), batch
        ),
    ],
)
def test_rows_have_their_own_parameters(build: object) -> None:
    law = build(5)
    assert law.batch_shape == (3, 2)
    draws = law.sample((20_000,))
    probabilities = law.log_prob(enumerate_partitions(5)[:, None, None]).exp()
    for i in range(3):
        for j in range(2):
            assert_counts_fit(partition_counts(draws[:, i, j]), probabilities[:, i, j])


def test_draws_do_not_depend_on_the_number_of_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    discount = torch.full((600,), 0.3)
    draws = []
    for cores in (1, 3):
        monkeypatch.setattr("pyroclust.core.machine.num_threads", lambda cores=cores: cores)
        torch.manual_seed(3)
        draws.append(two_parameter.draw_from_urn(discount, discount, num_points=1000))
    assert torch.equal(*draws)
    assert (draws[0][:300] != draws[0][300:]).any(-1).all()


def test_stirling_numbers() -> None:
    second = log_stirling_numbers(-1e12, 6, 6)  # d -> -inf: Stirling numbers of the second kind
    blocks = torch.arange(6, 0, -1, **DOUBLE) - 1
    assert (second - blocks * math.log(1e12)).exp().round().tolist() == [1, 31, 90, 65, 15, 1]
    assert log_stirling_numbers(0.0, 5, 3).exp().round().tolist() == [24, 50, 35]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: PitmanYorProcess(0.5, -0.5, 4), "concentration is -0.5, expected above -discount"),
        (lambda: PitmanYorPrior(0.5, -0.5), "concentration is -0.5, expected above -discount"),
        (lambda: PitmanYorPrior(1.0, 1.0), "discount is 1.0, expected at least 0 and below 1"),
        (lambda: PitmanYorPrior(torch.tensor([0.1, -0.1]), 1.0), "discount is .* expected at least 0"),
    ],
)
def test_errors(build: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("discount", [5e-324, 2e-313, 1e-300])
def test_a_discount_near_nothing_is_that_of_the_chinese_restaurant(discount):
    partitions = enumerate_partitions(6)
    with_it, without = PitmanYorProcess(discount, 1.5, 6), PitmanYorProcess(0.0, 1.5, 6)
    torch.testing.assert_close(
        with_it.log_prob(partitions), without.log_prob(partitions), rtol=1e-12, atol=1e-12
    )
    clusters = [PitmanYorPrior(one, 1.5).expected_num_clusters(6).item() for one in (discount, 0.0)]
    assert clusters[0] == pytest.approx(clusters[1], rel=1e-12)


def test_parameters_beyond_single_precision_are_refused():
    with pytest.raises(ValueError, match=r"concentration is 1e\+308, .* of a size that single precision has"):
        PitmanYorProcess(0.1, 1e308, 3)
