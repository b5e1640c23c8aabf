"""Pages and pictures that scripts write are those in the docs, and what pages name is there."""

import importlib
import re
import runpy
import sys
from pathlib import Path

import pytest

from pyroclust import plots

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module


def test_the_page_of_benchmarks_is_what_the_results_say(script):
    written = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    assert written == script("benchmarks").page(), "run python docs/benchmarks.py"


def test_the_table_of_public_reports_is_what_the_results_say(script):
    written = (DOCS / "reports.md").read_text(encoding="utf-8")
    assert written == script("reports").page(), "run python docs/reports.py"


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


PICTURES = {name for name in plots.__all__ if name.startswith("plot_")}


@pytest.fixture
def gallery(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("gallery")


def test_all_pictures_are_drawn_in_a_small_setting(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(DOCS))
    monkeypatch.setattr(
        plots, "png_bytes", lambda figure, **_: figure.draw_without_rendering() or bytes(2000)
    )
    sizes = ["--draws", "40", "--simulations", "20", "--steps", "8"]
    monkeypatch.setattr(sys, "argv", ["gallery.py", "--out", str(tmp_path), *sizes])
    runpy.run_path(str(DOCS / "gallery.py"), run_name="__main__")
    page = (tmp_path / "gallery.md").read_text(encoding="utf-8")
    files = sorted((tmp_path / "gallery").glob("*.png"))
    assert len(files) >= len(PICTURES)
    for path in files:
        assert path.stat().st_size > 1_000
        assert f"(gallery/{path.name})" in page


def test_every_public_picture_is_in_the_gallery(gallery):
    shown = "".join(one.code for one in gallery.PICTURES)
    assert [name for name in sorted(PICTURES) if f"plots.{name}(" not in shown] == []


def test_every_picture_has_its_section(gallery):
    assert {one.section for one in gallery.PICTURES} == set(gallery.SECTIONS)
    assert len({one.name for one in gallery.PICTURES}) == len(gallery.PICTURES)


def test_the_page_in_the_docs_is_this_one(gallery):
    written = (DOCS / "gallery.md").read_text(encoding="utf-8")
    assert written == gallery.page(gallery.PICTURES), "run python docs/gallery.py"
    files = {path.stem: path.stat().st_size for path in (DOCS / "gallery").glob("*.png")}
    assert set(files) == {one.name for one in gallery.PICTURES}
    assert max(files.values()) < 120_000
    assert sum(files.values()) < 2_500_000
