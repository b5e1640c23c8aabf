"""A classical method that fails is a row that says so, on the page and in the file."""

import numpy as np
import pytest

from pyroclust.analysis import of_draws
from pyroclust.analysis.diagnose import diagnose
from pyroclust.baselines import KMeans
from pyroclust.report import page_of, render_page


class Failing(KMeans):
    def _cluster(self, data, seed):
        raise ValueError("some components collapsed. Try again.")


@pytest.mark.parametrize("methods", [(Failing(), KMeans()), (Failing(),)])
def test_a_method_that_fails_is_a_row(monkeypatch, methods) -> None:
    monkeypatch.setattr(of_draws, "BASELINES", methods)
    draws = np.random.default_rng(0).integers(2, size=(2, 20, 6))
    found = diagnose(draws, data=np.random.default_rng(1).normal(size=(6, 2)))
    rows = found.results["baselines"]
    assert [row.result is None for row in rows] == [True, False][: len(methods)]
    assert found.to_dict()["baselines"][0] == {"name": "k-means", "failed": "some components collapsed"}
    page = page_of(found)
    (section,) = [one for one in page.sections if one.title == "What classical methods find"]
    assert any(
        "k-means failed: some components collapsed." in getattr(part, "text", "") for part in section.parts
    )
    assert "some components collapsed" in render_page(page)
