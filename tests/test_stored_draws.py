"""The same seeds give the draws that they have always given, for every kernel and every guide."""

import json

import pytest
from stored_draws import CASES, STORED

DRAWS = json.loads(STORED.read_text(encoding="utf-8"))


def test_every_case_is_stored():
    assert sorted(DRAWS) == sorted(CASES)


@pytest.mark.parametrize("name", DRAWS)
def test_draws_are_those_of_the_first_day(name):
    assert CASES[name]() == DRAWS[name]
