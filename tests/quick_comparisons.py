"""Comparisons with less to simulate and nothing to render, for tests that look at everything else."""

from base64 import b64decode
from collections.abc import Iterator

import pytest

PIXEL = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


@pytest.fixture(autouse=True, scope="module")
def quick_comparisons() -> Iterator[None]:
    """Simulate 39 data sets for 199, and put a pixel in the place of every picture.

    Pictures are drawn as ever, and not rendered, which takes nine tenths of writing a page.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pyroclust.calibration.simulations._SIMULATIONS", 39)
        patch.setattr("pyroclust.report.parts._palette_png", lambda figure: PIXEL)
        yield
