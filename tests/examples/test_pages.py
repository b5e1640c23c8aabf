"""Pages that scripts write are those in the docs, and what pages name is there."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module


def test_the_page_of_benchmarks_is_what_the_results_say(script):
    written = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    assert written == script("benchmarks").page(), "run python docs/benchmarks.py"


def test_the_law_of_the_architecture_is_the_law_that_is_tested(script):
    written = (DOCS / "architecture.md").read_text(encoding="utf-8")
    assert written == script("architecture").page(written), "run python docs/architecture.py"


def test_the_picture_of_the_house_knows_every_package_and_no_other(script):
    architecture = script("architecture")
    floors = architecture.floors(architecture.imported())
    assert floors.keys() <= architecture.ABOUT.keys()
    assert floors["core"] == 0
    assert floors["distributions"] < floors["nn"] < floors["guides"] < floors["calibration"] < floors["cli"]


def test_floors_find_circles(script):
    with pytest.raises(ValueError, match=re.escape("['cli', 'report'] import one another")):
        script("architecture").floors({"ground": set(), "report": {"cli"}, "cli": {"report", "ground"}})


@pytest.mark.parametrize("page", ["architecture", "extending", "glossary", "testing"])
def test_files_that_pages_name_are_there(page):
    named = re.findall(r"`([\w./-]+/[\w./-]*)`", (DOCS / f"{page}.md").read_text(encoding="utf-8"))
    folders = (
        "",
        "docs",
        "pyroclust",
        "pyroclust/diagnostics",
        "pyroclust/distributions",
        "pyroclust/infer",
        "pyroclust/infer/mcmc",
        "pyroclust/nn",
        "tests",
    )
    bases = [ROOT / folder for folder in folders]
    assert [one for one in named if not any((base / one).exists() for base in bases)] == []
