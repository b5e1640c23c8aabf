"""Mixtures with a random number of components: their weights, and sums over that number."""

import math
from fractions import Fraction

import numpy as np
import pyro.distributions as dist
import pytest
import torch
from scipy.special import gammaln, logsumexp
from torch import Tensor
from torch.distributions import constraints

from pyroclust.distributions import (
    DirichletMultinomialPrior,
    FiniteMixturesPrior,
    MixtureOfFiniteMixtures,
)
from pyroclust.distributions.priors import component_numbers
from pyroclust.distributions.priors.component_numbers import (
    ShiftedSums,
    log_component_numbers,
    shifted_log_sums,
)
from pyroclust.partitions import enumerate_partitions

DOUBLE = {"dtype": torch.float64}


class PowerTail(dist.TorchDistribution):
    """Probabilities that fall like a power: (order - 1) (order - 1)! / (x + 1) (x + 2) ... (x + order)."""

    support = constraints.nonnegative_integer
    arg_constraints = {}  # noqa: RUF012

    def __init__(self, order: int) -> None:
        self.order = order
        super().__init__()

    def expand(self, batch_shape: torch.Size, _instance: object = None) -> "PowerTail":
        assert not batch_shape
        return self

    def log_prob(self, value: Tensor) -> Tensor:
        steps = (value.unsqueeze(-1) + torch.arange(1.0, self.order + 1, **DOUBLE)).log().sum(-1)
        return math.log((self.order - 1) * math.factorial(self.order - 1)) - steps


def exact_log_v(weight: Fraction, numbers: dict[int, Fraction], num_points: int, clusters: int) -> float:
    """Sum the definition in fractions."""
    total = Fraction(0)
    for components, probability in numbers.items():
        term = probability * weight**clusters
        for j in range(clusters):
            term *= components - j
        for i in range(num_points):
            term /= weight * components + i
        total += term
    # The quotient may be too small for a float: scale it to 80 bits first.
    shift = 80 + total.denominator.bit_length() - total.numerator.bit_length()
    return math.log((total.numerator << shift) // total.denominator) - shift * math.log(2)


GEOMETRIC = {m: Fraction(1, 4) * Fraction(3, 4) ** (m - 1) for m in range(1, 400)}
UNIFORM = {m: Fraction(1, 30) for m in range(1, 31)}
POISSON = {m: Fraction(3 ** (m - 1), math.factorial(m - 1)) for m in range(1, 120)}
REFERENCES = {
    "geometric": (GEOMETRIC, dist.Geometric(torch.tensor(0.25, **DOUBLE)), 0.0),
    "uniform": (UNIFORM, dist.Categorical(torch.ones(30, **DOUBLE)), 0.0),
    "poisson": (POISSON, dist.Poisson(torch.tensor(3.0, **DOUBLE)), -3.0),
}


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("weight", [Fraction(1, 4), Fraction(1), Fraction(13, 2)])
@pytest.mark.parametrize(("num_points", "clusters"), [(1, 1), (6, 2), (6, 6), (60, 1), (60, 25), (40, 30)])
def test_log_v_agrees_with_fractions(name: str, weight: Fraction, num_points: int, clusters: int) -> None:
    numbers, extra, log_scale = REFERENCES[name]
    expected = exact_log_v(weight, numbers, num_points, clusters) + log_scale
    found = FiniteMixturesPrior(float(weight), extra).log_v(num_points, torch.tensor(clusters)).item()
    assert found == pytest.approx(expected, rel=1e-14, abs=1e-13)


@pytest.mark.parametrize(
    "extra",
    [
        dist.Poisson(torch.tensor(3.0, **DOUBLE)),
        dist.Geometric(torch.tensor(0.1, **DOUBLE)),
        dist.Categorical(torch.ones(500, **DOUBLE)),
    ],
    ids=["poisson", "geometric", "uniform"],
)
@pytest.mark.parametrize("weight", [0.3, 1.0])
def test_weights_of_ten_thousand_points_obey_the_addition_rule(
    extra: dist.TorchDistribution, weight: float
) -> None:
    num_points = 10_000
    prior, clusters = FiniteMixturesPrior(weight, extra), torch.arange(1, num_points + 1)
    left = prior.log_v(num_points, clusters)
    following = prior.log_v(num_points + 1, torch.arange(1, num_points + 2))
    right = torch.logaddexp((num_points + weight * clusters.double()).log() + following[:-1], following[1:])
    assert torch.equal(left.isneginf(), clusters > 500) or left.isfinite().all()
    # The weights themselves reach exp(-82,000): sixteen digits leave 2e-11.
    torch.testing.assert_close(left, right, rtol=0, atol=2e-10)


def test_a_known_number_of_components_is_dirichlet_multinomial() -> None:
    probabilities = torch.zeros(7, **DOUBLE)
    probabilities[6] = 1
    prior = FiniteMixturesPrior(0.6, dist.Categorical(probabilities))
    clusters = torch.arange(1, 40)
    expected = DirichletMultinomialPrior(7, 0.6).log_v(300, clusters)
    torch.testing.assert_close(prior.log_v(300, clusters), expected, rtol=0, atol=1e-11)


def test_batches_of_both_parameters() -> None:
    weights = torch.tensor([[0.5], [2.0]], **DOUBLE)
    law = MixtureOfFiniteMixtures(weights, dist.Poisson(torch.tensor([1.0, 3.0, 9.0], **DOUBLE)), 5)
    assert law.batch_shape == (2, 3)
    every = enumerate_partitions(5)
    log_prob = law.log_prob(every[:, None, None])
    assert log_prob.logsumexp(0).abs().max() < 1e-12
    one = FiniteMixturesPrior(2.0, dist.Poisson(torch.tensor(9.0, **DOUBLE)))
    torch.testing.assert_close(log_prob[:, 1, 2], one.log_prob(every), rtol=0, atol=1e-12)
    many = FiniteMixturesPrior(weights, law.extra_components)
    torch.testing.assert_close(many.expected_num_clusters(9)[1, 2], one.expected_num_clusters(9))
    torch.testing.assert_close(many.log_prob_num_clusters(9)[1, 2], one.log_prob_num_clusters(9))
    assert law.expand((4, 2, 3)).sample((6,)).shape == (6, 4, 2, 3, 5)


def test_gradients_reach_all_parameters() -> None:
    weight = torch.tensor([0.7, 1.5], requires_grad=True, **DOUBLE)
    rate = torch.tensor(2.0, requires_grad=True, **DOUBLE)
    labels = torch.tensor([[[0, 0, 1, 2, 0]], [[0, 0, 0, 0, 0]]])

    def log_prob(weight: Tensor, rate: Tensor) -> Tensor:
        return FiniteMixturesPrior(weight, dist.Poisson(rate)).log_prob(labels)

    assert torch.autograd.gradcheck(log_prob, (weight, rate))


def test_probabilities_follow_a_parameter_changed_in_place() -> None:
    rate = torch.tensor(1.0, **DOUBLE)
    prior, labels = FiniteMixturesPrior(1.0, dist.Poisson(rate)), torch.tensor([0, 1])
    before = prior.log_prob(labels)
    rate.fill_(5.0)
    assert prior.log_prob(labels) > before + 0.1


def test_probabilities_in_single_precision_still_sum_to_one() -> None:
    prior = FiniteMixturesPrior(0.8, dist.Geometric(torch.tensor(0.003)))
    assert prior.log_prob(enumerate_partitions(6)).logsumexp(0).abs() < 1e-12


def test_a_tail_that_falls_like_a_power() -> None:
    prior = FiniteMixturesPrior(1.0, PowerTail(7))
    assert prior.log_prob(enumerate_partitions(7)).logsumexp(0).abs() < 1e-12
    components = torch.arange(12, 40_000, **DOUBLE)
    terms = PowerTail(7).log_prob(components - 1) + (components + 1).lgamma() - (components - 11).lgamma()
    terms = terms - torch.stack([(components + i).log() for i in range(12)]).sum(0)
    assert prior.log_v(12, torch.tensor(12)).item() == pytest.approx(terms.logsumexp(0).item(), abs=1e-11)


def test_a_tail_that_is_too_heavy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(component_numbers, "MOST_TERMS", 1 << 14)
    with pytest.raises(ValueError, match=r"the first 16384 sum to 0.99993"):
        FiniteMixturesPrior(1.0, PowerTail(2)).log_prob(torch.tensor([0, 1]))
    monkeypatch.setattr(component_numbers, "_MISSING", 1e-3)
    with pytest.raises(ValueError, match=r"expected a lighter tail: 16384 terms leave more than 1e-17"):
        FiniteMixturesPrior(1.0, PowerTail(2)).log_prob(torch.tensor([0, 1]))


def test_sums_that_do_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(component_numbers, "MOST_TERMS", 1 << 14)
    prior = FiniteMixturesPrior(1.0, PowerTail(6))
    assert prior.log_v(500, torch.tensor(3)).isfinite()
    with pytest.raises(ValueError, match=r"V_N\(K\) at N = 500 and K = 500 needs over 16384 terms"):
        prior.log_v(500, torch.tensor(500))


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (3, "extra_components is 3, expected a Pyro distribution"),
        (dist.Gamma(1.0, 1.0), "expected a distribution of one of 0, 1, 2"),
        (dist.Poisson(torch.ones(3)).to_event(1), "expected a distribution of one of 0, 1, 2"),
    ],
)
def test_number_of_components_is_checked(extra: object, message: str) -> None:
    for build in (lambda: FiniteMixturesPrior(1.0, extra), lambda: MixtureOfFiniteMixtures(1.0, extra, 4)):
        with pytest.raises(ValueError, match=message):
            build()


def test_probabilities_must_sum_to_one() -> None:
    class Half(PowerTail):
        has_enumerate_support = True

        def enumerate_support(self, expand: bool = True) -> Tensor:  # noqa: FBT001, FBT002
            return torch.arange(2)

    with pytest.raises(ValueError, match=r"expected probabilities of 0, 1, 2, ... that sum to one"):
        log_component_numbers(Half(2))


def test_components_are_a_whole_positive_number() -> None:
    for bad in (0, 2.5, torch.tensor([3, 0])):
        with pytest.raises(ValueError, match="expected a positive whole number"):
            DirichletMultinomialPrior(bad, 1.0)
    with pytest.raises(ValueError, match=r"num_components is random, .* use FiniteMixturesPrior"):
        DirichletMultinomialPrior(dist.Poisson(3.0), 1.0)


@pytest.mark.parametrize("weight", [Fraction(1), Fraction(1, 2), Fraction(5, 2)], ids=str)
def test_components_given_clusters_are_those_of_the_definition(weight: Fraction) -> None:
    prior = FiniteMixturesPrior(float(weight), dist.Categorical(torch.ones(30, **DOUBLE)))
    clusters = torch.tensor([1, 3, 7])
    found = prior.log_components(clusters, 12).exp()
    assert found.shape == (3, 30)
    for row, number in zip(found.tolist(), clusters.tolist(), strict=True):
        terms = []
        for components, probability in UNIFORM.items():
            term = probability
            for j in range(number):
                term *= components - j
            for i in range(12):
                term /= weight * components + i
            terms.append(term)
        assert row == pytest.approx([float(one / sum(terms)) for one in terms], rel=1e-9, abs=1e-300)


def test_impossible_numbers_of_clusters_are_refused() -> None:
    prior = FiniteMixturesPrior(1.0, dist.Categorical(torch.ones(3, **DOUBLE)))
    with pytest.raises(ValueError, match="clusters is 4, expected at most as many"):
        prior.log_components(torch.tensor([1, 4]), 10)
    batch = FiniteMixturesPrior(torch.ones(2), dist.Poisson(torch.tensor(2.0)))
    with pytest.raises(ValueError, match=r"batch shape \(2,\), expected \(\)"):
        batch.log_components(torch.tensor(1), 10)


COUNT = np.arange(5001.0)
LOG_FACTORIAL = gammaln(COUNT + 1)
NOISE = np.random.default_rng(0).normal(size=5001)
FAR = np.full(5001, -np.inf)
FAR[[1, 2, 700, 4000]] = [0.0, 1.0, 2.0, 3.0]
# Given the factorial of M, sums over M - K are broad; without it they end within a few terms.
TERMS = {
    "short": -0.01 * COUNT,
    "broad": LOG_FACTORIAL - np.abs(COUNT - 900) / 25,
    "rough": LOG_FACTORIAL + 5 * NOISE - np.abs(COUNT - 2000) / 60,
    "two_modes": LOG_FACTORIAL + np.logaddexp(-np.abs(COUNT - 300) / 9, -np.abs(COUNT - 4200) / 9),
    "gaps": np.where(COUNT % 7 == 3, LOG_FACTORIAL - COUNT / 30, -np.inf),
    "far": FAR + LOG_FACTORIAL,
    "steep": 3 * LOG_FACTORIAL - 27 * COUNT,
    "nothing": np.full(5001, -np.inf),
}
CLUSTERS = np.array([1, 2, 3, 31, 32, 33, 64, 500, 2047, 2048, 2049, 4999, 5000])


def every_term(log_terms: np.ndarray, k: int) -> float:
    if k >= len(log_terms):
        return -np.inf
    return float(logsumexp(log_terms[k:] - LOG_FACTORIAL[: len(log_terms) - k]))


@pytest.mark.parametrize("name", TERMS)
def test_no_term_is_lost(name: str) -> None:
    found, _ = shifted_log_sums(TERMS[name][None], np.append(CLUSTERS, 6000))
    with np.errstate(divide="ignore"):
        expected = [every_term(TERMS[name], k) for k in [*CLUSTERS, 6000]]
    np.testing.assert_allclose(found[0], expected, rtol=0, atol=2e-11)


def test_rows_and_many_sums() -> None:
    rows = np.stack([TERMS["broad"], TERMS["short"], TERMS["gaps"]])
    found, _ = shifted_log_sums(rows, np.arange(1, 601))
    for row, terms in zip(found, rows, strict=True):
        alone, _ = shifted_log_sums(terms[None], np.arange(1, 601))
        np.testing.assert_array_equal(row, alone[0])


@pytest.mark.parametrize(
    ("log_terms", "expected"),
    [
        (LOG_FACTORIAL - COUNT / 25, True),
        (LOG_FACTORIAL - COUNT / 250, False),
        (LOG_FACTORIAL - 2 * np.log1p(COUNT), False),
        (LOG_FACTORIAL - 8 * np.log1p(COUNT), True),
        (LOG_FACTORIAL + COUNT / 250, False),
        (np.where(COUNT > 4990, LOG_FACTORIAL, -np.inf), False),
        (np.where(COUNT < 500, LOG_FACTORIAL, -np.inf), True),
    ],
)
def test_unfinished_sums_are_told(log_terms: np.ndarray, expected: object) -> None:
    assert shifted_log_sums(log_terms[None], np.array([1, 2]))[1].tolist() == [[expected, expected]]


def test_gradient_is_the_share_of_each_term() -> None:
    log_terms = torch.from_numpy(np.stack([TERMS["rough"], TERMS["gaps"]])).requires_grad_()
    ShiftedSums.apply(log_terms, np.array([5, 40]))[:, 1].sum().backward()
    terms = log_terms.detach()[:, 40:] - torch.from_numpy(LOG_FACTORIAL[:-40])
    torch.testing.assert_close(log_terms.grad[:, 40:], terms.softmax(-1), rtol=1e-10, atol=1e-15)
    assert not log_terms.grad[:, :40].any()
