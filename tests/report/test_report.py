import base64
import dataclasses
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from synthetic_comparison import make_comparison

from pyroclust.comparison import summarise
from pyroclust.report import render, write_report
from pyroclust.report.words import functional_title, number, seconds

VOID = {"meta", "link", "img", "br"}


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.addresses, self.images, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.addresses += [found[name] for name in ("src", "href", "srcset", "action") if name in found]
        if tag == "img":
            self.images.append(found)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parsed(html):
    page = Page()
    page.feed(html)
    page.close()
    assert page.open == []
    return page


@pytest.fixture(scope="module", params=[1, 3])
def case(request):
    comparison = make_comparison(dim=request.param, num_points=40, draws=200)
    comparison = dataclasses.replace(comparison, source="<b>table & co</b>")
    return comparison, summarise(comparison)


def test_page_is_whole_and_alone(case):
    html = render(*case)
    page = parsed(html)
    assert all(address.startswith("data:") for address in page.addresses)
    assert not re.search(r"https?://|url\(|@import|<script", html)
    assert len(page.images) == 5
    for image in page.images:
        assert base64.b64decode(image["src"].split(",")[1]).startswith(b"\x89PNG")
        assert len(image["alt"]) > 20
    assert len(html) < 3_000_000


def test_page_says_what_was_found(case):
    comparison, summary = case
    html = render(comparison, summary)
    text = " ".join(" ".join(parsed(html).text).split())
    assert summary.verdict.sentence in text
    assert text.index(summary.verdict.sentence) < text.index("How many clusters")
    assert f"{summary.agreement.largest_difference:.3f}" in text
    assert comparison.notes[0] in text
    assert "<b>table & co</b>" in text
    assert "<b>table" not in html
    assert "nan" not in text.split()


def test_every_row_has_its_values_in_the_original_units(case):
    comparison, summary = case
    text = " ".join(parsed(render(comparison, summary)).text)
    values = comparison.data * comparison.scale + comparison.location
    for row in (0, -1):
        assert f"{values[row, 0]:.6g}" in text


def test_written_without_labels_and_notes(case, tmp_path):
    comparison, _ = case
    bare = dataclasses.replace(comparison, true_labels=None, notes=(), row_names=tuple("r" * 40))
    path = write_report(bare, summarise(bare), tmp_path)
    assert path == tmp_path / "report.html"
    assert "known label" not in path.read_text(encoding="utf-8")
    with pytest.raises(OSError, match="nowhere"):
        write_report(bare, summarise(bare), tmp_path / "nowhere")


def test_words():
    assert functional_title("together_0_4") == "rows 1 and 5 together"
    assert functional_title("unheard_of") == "unheard_of"
    assert [number(value) for value in (1234.5678, -1, np.inf, np.nan)] == ["1,234.568", "−1.000", "∞", "–"]
    assert [seconds(value) for value in (75.0, 0.02, 3e-5, 4e-8)] == ["75 s", "20 ms", "30 µs", "0.04 µs"]
