"""The same seeds give the draws that they have always given, for every kernel and every guide."""

import json

import pytest
from stored_draws import GUIDES, KERNELS, STORED, STORED_LOG_PROBS

DRAWS = json.loads(STORED.read_text(encoding="utf-8"))
LOG_PROBS = json.loads(STORED_LOG_PROBS.read_text(encoding="utf-8"))


def test_every_case_is_stored():
    assert sorted(DRAWS) == sorted(KERNELS | GUIDES)
    assert sorted(LOG_PROBS) == sorted(GUIDES)


@pytest.mark.parametrize("name", KERNELS)
def test_draws_of_kernels_are_those_of_the_first_day(name):
    assert KERNELS[name]() == DRAWS[name]


@pytest.mark.parametrize("name", GUIDES)
def test_draws_of_guides_are_those_of_the_first_day(name):
    draws, log_probs = GUIDES[name]()
    assert draws == DRAWS[name]
    assert log_probs == pytest.approx(LOG_PROBS[name], rel=1e-4, abs=1e-3)
