"""Sums over the number of components against sums of all their terms."""

import numpy as np
import pytest
import torch
from scipy.special import gammaln, logsumexp

from pyroclust.distributions.priors.component_numbers import ShiftedSums, shifted_log_sums

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
