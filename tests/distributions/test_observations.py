"""Likelihoods of deep models: each against its formula, and what they refuse."""

import math

import pytest
import torch

from pyroclust.distributions import BernoulliObservation, CountsObservation, NormalObservation


def test_word_counts_sum_to_one_for_documents_of_any_length() -> None:
    torch.manual_seed(0)
    logits = torch.randn(2, 3)
    law = CountsObservation(9).law(logits, event_dim=1)
    for words in (1, 4):
        pairs = [(a, b) for a in range(words + 1) for b in range(words + 1 - a)]
        every = torch.tensor([[a, b, words - a - b] for a, b in pairs], dtype=torch.float32)
        total = law.log_prob(every.unsqueeze(1)).logsumexp(0)
        torch.testing.assert_close(total, torch.zeros(2), atol=1e-5, rtol=0)
    draws = law.sample((2000,))
    assert (draws.sum(-1) == 9).all()
    torch.testing.assert_close(draws.mean(0), 9 * logits.softmax(-1), atol=0.2, rtol=0)


def test_pixels_are_a_cross_entropy_also_where_they_are_grey() -> None:
    outputs, pixels = torch.tensor([[0.5, -1.0]]), torch.tensor([[0.25, 1.0]])
    found = BernoulliObservation().law(outputs, event_dim=1).log_prob(pixels)
    on = outputs.sigmoid()
    wanted = (pixels * on.log() + (1 - pixels) * (1 - on).log()).sum(-1)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(BernoulliObservation().mean(outputs, event_dim=1), on)


def test_normal_noise_is_a_squared_error() -> None:
    found = NormalObservation(2.0).law(torch.zeros(3, 2), event_dim=1).log_prob(torch.ones(3, 2))
    torch.testing.assert_close(
        found, torch.full((3,), -2 * (math.log(2.0) + 0.5 * math.log(2 * math.pi)) - 0.25)
    )


def test_means_of_words_are_shares() -> None:
    torch.testing.assert_close(CountsObservation().mean(torch.zeros(4), event_dim=1), torch.full((4,), 0.25))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: BernoulliObservation().check(torch.tensor([[0.0, 255.0]])), "divide pixels"),
        (lambda: CountsObservation().check(torch.tensor([[1.0, -1.0]])), "give counts of words"),
        (lambda: NormalObservation(0.0), "scale is 0.0"),
        (lambda: CountsObservation(0), "length is 0"),
    ],
)
def test_what_a_law_cannot_have_is_refused(call, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
