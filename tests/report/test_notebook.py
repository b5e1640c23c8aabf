"""Results in a notebook, and as a page in the browser."""

import html
import sys
import types
from dataclasses import replace

import numpy as np
import pytest

from pyroclust import cluster, diagnose
from pyroclust.report import writing as written


@pytest.fixture(scope="module")
def result():
    points = np.concatenate([np.zeros(10), np.ones(10)]) + np.linspace(0, 0.1, 20)
    return cluster(points, mcmc_draws=20, num_chains=2, warmup=20)


def test_a_cell_has_answer_picture_and_how_to_go_on(result):
    cell = result._repr_html_()
    said = html.unescape(cell)
    assert all(text in said for pair in result.in_words.lines for text in pair)
    assert cell.count("data:image/png;base64,") == 1
    assert "result.show()" in cell
    assert "<script" not in cell


def test_draws_of_any_software_too(result):
    cell = diagnose(result.draws["mcmc"])._repr_html_()
    assert "How many clusters" in cell
    assert "result.show()" in cell


def test_names_are_text_in_a_cell(tmp_path):
    path = tmp_path / "<b>x.csv"
    path.write_text("a\n0\n1\n0.1\n", encoding="utf-8")
    cell = cluster(path, mcmc_draws=10, num_chains=2, warmup=10)._repr_html_()
    assert "&lt;b&gt;x" in cell
    assert "<b>x" not in cell


def test_outside_of_notebooks_the_browser_opens(result, monkeypatch, tmp_path):
    opened = []
    monkeypatch.setattr(written.webbrowser, "open", opened.append)
    monkeypatch.setattr(written.tempfile, "mkdtemp", lambda prefix: str(tmp_path))
    assert result.show() is None
    assert opened == [(tmp_path / "report.html").resolve().as_uri()]
    assert "<h1>" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_page_that_is_written_is_not_made_again(result, monkeypatch, tmp_path):
    opened = []
    monkeypatch.setattr(written.webbrowser, "open", opened.append)
    (tmp_path / "report.html").write_text("a page", encoding="utf-8")
    replace(result, folder=tmp_path).show()
    assert opened == [(tmp_path / "report.html").resolve().as_uri()]


def test_in_a_notebook_the_page_is_in_the_cell(result, monkeypatch):
    shown = []
    shell = type("ZMQInteractiveShell", (), {})()
    display = types.ModuleType("IPython.display")
    display.HTML, display.display = str, shown.append
    package = types.ModuleType("IPython")
    package.get_ipython, package.display = lambda: shell, display
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    result.show()
    assert shown[0].startswith("<iframe srcdoc=")
    assert "&lt;h1&gt;" in shown[0]
