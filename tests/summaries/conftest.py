"""Comparisons simulate less here and render no pictures: tests/calibration and tests/report look at those."""

from collections.abc import Iterator

import pytest
from quick_comparisons import quick_comparisons


@pytest.fixture(autouse=True, scope="module")
def quick() -> Iterator[None]:
    with quick_comparisons():
        yield
