"""A classical method that fails is a row that says so, on the page and in the file."""

import numpy as np
import pytest

from pyroclust.analysis.diagnose import diagnose
from pyroclust.baselines import KMeans
from pyroclust.report.classical import baseline_section
from pyroclust.report.html import render_page
from pyroclust.report.page import page_of
from pyroclust.results import baseline_rows
from pyroclust.results.baseline_rows import BaselineRow, FailedRow


class Failing(KMeans):
    def _cluster(self, data, seed):
        raise ValueError("some components collapsed. Try again.")


@pytest.mark.parametrize("methods", [(Failing(), KMeans()), (Failing(),)])
def test_a_method_that_fails_is_a_row(monkeypatch, methods) -> None:
    monkeypatch.setattr(baseline_rows, "BASELINES", methods)
    draws = np.random.default_rng(0).integers(2, size=(2, 20, 6))
    found = diagnose(draws, data=np.random.default_rng(1).normal(size=(6, 2)))
    assert [type(row) for row in found.baselines] == [FailedRow, BaselineRow][: len(methods)]
    assert found.to_dict()["baselines"][0] == {"name": "k-means", "failed": "some components collapsed"}
    section = baseline_section(found.baselines, found.contents().reference)
    assert any(
        "k-means failed: some components collapsed." in getattr(part, "text", "") for part in section.parts
    )
    assert "some components collapsed" in render_page(page_of(found))
