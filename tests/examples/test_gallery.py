"""The gallery draws every picture, and its page is the one in the docs."""

import importlib
import runpy
import sys
from pathlib import Path

import pytest

from pyroclust import plots

DOCS = Path(__file__).parents[2] / "docs"
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


@pytest.mark.parametrize("name", sorted(PICTURES))
def test_every_public_picture_is_in_the_gallery(gallery, name):
    assert any(f"plots.{name}(" in one.code for one in gallery.PICTURES)


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
