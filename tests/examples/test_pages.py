"""Pages that scripts write are those in the docs."""

import importlib
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_of_benchmarks_is_what_the_results_say(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    written = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    assert written == importlib.import_module("benchmarks").page(), "run python docs/benchmarks.py"
