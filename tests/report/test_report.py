import ast
import base64
import hashlib
import html as entities
import re
from dataclasses import replace
from html.parser import HTMLParser
from io import BytesIO, StringIO
from pathlib import Path

import numpy as np
import pytest
import report_pages
from PIL import Image
from quick_comparisons import PIXEL
from report_pages import HOSTILE, KINDS, RENDERED, alone_case, comparison_case, mcmc_case, written
from rich.console import Console

import pyroclust
from pyroclust import plots
from pyroclust.diagnostics import Finding, Mark, Trust, Verdict, limits
from pyroclust.plots.drawable import counted
from pyroclust.report import Page, page_of, render_page, terminal_view
from pyroclust.report.parts import (
    ChecksTable,
    FigureTable,
    Paragraph,
    Picture,
    Section,
    functional_title,
    number,
    seconds,
)
from pyroclust.report.points import rows_table

VOID = {"meta", "link", "img", "br", "path", "circle", "rect"}


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.addresses, self.images, self.text, self.styles = [], [], [], [], []
        self.handlers = []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.addresses += [found[name] for name in ("src", "href", "srcset", "action") if name in found]
        self.handlers += [name for name in found if name.startswith("on") or name == "style"]
        if tag == "img":
            self.images.append(found)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.text.append(data)


def parsed(html):
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


def words(html):
    return " ".join(" ".join(parsed(html).text).split())


def small_page(*parts, **changes):
    fields = {
        "title": "t",
        "kicker": "k",
        "heading": "h",
        "introduction": "i",
        "answer": (),
        "mark": Mark.PLAIN,
        "picture": None,
        "sections": (Section("Parts", tuple(parts)),),
        "notes": (),
        "missing": (),
    }
    return Page(**fields | changes)


@pytest.mark.prove
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in RENDERED])
def test_pages_of_other_kinds_render_their_pictures(kind):
    page = page_of(report_pages.result(kind))
    check_page(render_page(page))
    assert page.failures == report_pages.page(kind).failures


@pytest.mark.parametrize("kind", KINDS)
def test_page_is_whole_and_alone(kind):
    check_page(written(kind))


def check_page(html):
    page = parsed(html)
    assert all(address.startswith(("data:", "#")) for address in page.addresses)
    assert not re.search(r"https?://|url\(|@import", html)
    assert page.handlers == []
    assert len(page.images) >= 3
    for image in page.images:
        picture = Image.open(BytesIO(base64.b64decode(image["src"].split(",")[1])))
        assert picture.format == "PNG"
        shape = int(image["width"]) / int(image["height"])
        assert picture.width / picture.height == pytest.approx(shape, rel=0.02)
        assert len(image["alt"]) > 20
    assert len(html) < 1_000_000


@pytest.mark.parametrize("kind", KINDS)
def test_policy_lets_in_this_script_and_this_style_only(kind):
    html = written(kind)
    policy = entities.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1])
    assert "default-src 'none'; img-src data:;" in policy
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        (content,) = re.findall(f"<{tag}>(.*?)</{tag}>", html, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert html.index("Content-Security-Policy") < html.index("<style>")
    assert "unsafe" not in policy


@pytest.fixture
def pixels(monkeypatch):
    """Draw pictures and do not render them: pages of every kind are looked at as users have them."""
    monkeypatch.setattr("pyroclust.report.parts._palette_png", lambda figure: PIXEL)


@pytest.mark.usefixtures("pixels")
def test_names_are_text_wherever_they_stand():
    names = tuple(HOSTILE for _ in range(40))
    html = render_page(
        page_of(comparison_case(name=HOSTILE, columns=(HOSTILE,), row_names=names, notes=(HOSTILE,)))
    )
    assert html.count("<script") == 1
    assert "alert(1)</" not in html
    assert words(html).count(HOSTILE) >= 45
    html = render_page(page_of(alone_case(columns=("x", HOSTILE), name=HOSTILE)))
    assert html.count("<script") == 1
    assert words(html).count(HOSTILE) >= 4
    html = render_page(page_of(mcmc_case(columns=("x", HOSTILE), name=HOSTILE, model_in_words=HOSTILE)))
    assert html.count("<script") == 1
    assert words(html).count(HOSTILE) >= 5


@pytest.mark.usefixtures("pixels")
def test_written_without_labels_and_notes():
    html = render_page(page_of(comparison_case(labels=None, notes=())))
    assert "known label" not in html
    assert "notes" not in parsed(html).addresses


def test_first_sections_are_open_and_all_are_in_the_contents():
    page = parsed(html := written("one column"))
    opened = [bool(one) for one in re.findall(r"<details( open)?>", html)]
    assert opened[:2] == [True] * 2
    assert not opened[-1]
    targets = [address[1:] for address in page.addresses if address.startswith("#")]
    assert len(targets) == len(opened) + 2
    assert all(html.count(f'id="{target}"') == 1 for target in targets)


def test_parts_have_their_place_and_order():
    table = FigureTable("How much.", ("", "a", "b"), (("one", "1", "2"),))
    html = render_page(small_page(Paragraph("First & foremost."), table))
    assert words(html).index("First & foremost.") < words(html).index("How much.")
    assert '<th scope="row">one</th><td>1</td><td>2</td>' in html
    assert '<td></td><th scope="col">a</th>' in html
    with pytest.raises(ValueError, match="a row has 2 cells, expected 3"):
        FigureTable("", ("", "a", "b"), (("one", "1"),))


@pytest.mark.parametrize("mark", Mark)
def test_marks_have_a_word_and_a_shape(mark):
    def shapes(one):
        table = ChecksTable((Finding("Is it?", 0.1, 0.2, True, "0.1", mark=one),))
        html = render_page(small_page(table, mark=one))
        assert html.count(f'aria-label="{one.value}:"') == 2
        return re.findall(r"<svg[^>]*>(.*?)</svg>", html, re.DOTALL)

    first, second = shapes(mark)
    page = small_page(mark=mark, answer=(("Is it?", "why"),))
    assert f'class="headline {mark.name.lower()}"' in render_page(page)
    assert "Is it? why" in words(render_page(page))
    assert first == second
    assert (first == shapes(Mark.GOOD)[0]) is (mark is Mark.GOOD)


@pytest.mark.parametrize("kind", KINDS)
def test_page_prints_the_findings_and_nothing_of_its_own(kind):
    page, found = report_pages.page(kind), report_pages.result(kind)
    rows = [words(row) for row in re.findall(r"<tr role=\"row\" class.*?</tr>", written(kind), re.DOTALL)]
    expected = [f"{one.question} {one.answer} {one.sentence} {one.wanted}".split() for one in found.findings]
    assert [row.split() for row in rows] == expected
    assert page.answer == found.in_words.lines
    assert page.notes == (*found.notes, *found.failures)
    assert {one.question for one in found.verdict.findings} <= {one.question for one in found.findings}


@pytest.mark.parametrize("kind", ["many columns", "two sources"])
def test_the_verdict_on_two_sources_is_shown_with_all_its_findings(kind):
    (found,) = [one.verdict for one in report_pages.result(kind).results["two_samples"].values()]
    (section,) = [one for one in report_pages.page(kind).sections if one.title.startswith("Tests of")]
    (table,) = [one for one in section.parts if getattr(one, "header", ())[:2] == ("", "answer")]
    assert table.rows == tuple((one.question, one.answer, one.sentence, one.wanted) for one in found.findings)
    assert len(found.findings) > 3
    assert section.parts[0] == Paragraph(found.sentence)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("kind", KINDS)
def test_terminal_shows_what_the_page_says(kind, width):
    console = Console(width=width, file=StringIO(), color_system=None)
    console.print(terminal_view(found := report_pages.result(kind), verbose=True))
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    page, shown = report_pages.page(kind), "".join("".join(lines).split())
    assert shown.endswith("".join(found.verdict.sentence.split()))
    tables = [part for section in page.sections for part in section.parts if isinstance(part, FigureTable)]
    marked = [one.terminal_title for one in tables if one.terminal_title is not None]
    assert {"Posterior of the number of clusters", "The partition"} <= set(marked)
    assert all("".join(title.split()) in shown for title in marked)


@pytest.mark.parametrize("kind", KINDS)
def test_terminal_begins_with_the_answer_and_says_no_more_unasked(kind):
    console = Console(width=1000, file=StringIO(), color_system=None)
    console.print(terminal_view(found := report_pages.result(kind)))
    lines = [" ".join(line.split()) for line in console.file.getvalue().splitlines() if line.strip()]
    said = [
        f"{'Next:' if question == 'Next' else question} {answer}" for question, answer in found.in_words.lines
    ]
    assert lines == [" ".join(line.split()) for line in (found.name, *said)]


BESIDE_MCMC = "one column, many columns, refined, no weights"
MCMC_ALONE = "no guide, constraints"
EVERY = f"{MCMC_ALONE}, forest, {BESIDE_MCMC}, alone, draws, two sources"
WITH_DATA = f"{MCMC_ALONE}, forest, {BESIDE_MCMC}, alone, two sources"


def test_every_kind_of_page_has_its_sections():
    every = {
        "How many clusters": EVERY,
        "What the clusters are like": WITH_DATA,
        "Which rows belong together": EVERY,
        "What sets them apart": WITH_DATA,
        "What the constraints changed": "constraints, forest",
        "Every row": EVERY,
        "How far to rely on it": EVERY,
        "How sure is the estimate": EVERY,
        "The guide against MCMC": BESIDE_MCMC,
        "The refined draws": "refined, no weights",
        "The guide's importance weights": "one column, many columns, refined",
        "Does the visiting order matter": "refined, no weights",
        "The log evidence": "one column, many columns, refined",
        "Summary statistics of the rows, among simulations": "alone",
        "Is the guide calibrated near these data": "one column, alone",
        "What classical methods find": WITH_DATA,
        "Tests of": f"{BESIDE_MCMC}, refined, no weights, two sources",
        "Convergence of": f"{MCMC_ALONE}, {BESIDE_MCMC}, draws, two sources, two sources",
        "Cost": f"{MCMC_ALONE}, forest, {BESIDE_MCMC}, alone",
        "How it was computed": EVERY,
    }
    for kind in KINDS:
        expected = [title for title, kinds in every.items() for one in kinds.split(", ") if one == kind]
        found = [one.title for one in report_pages.page(kind).sections]
        assert [re.sub("^(Convergence of|Tests of) .*", r"\1", title) for title in found] == expected, kind


@pytest.mark.parametrize("kind", KINDS)
def test_everything_in_the_page_is_in_the_html(kind):
    page, text = report_pages.page(kind), words(written(kind))
    said = [page.kicker, page.heading, page.introduction]
    said += [*page.notes, report_pages.result(kind).verdict.sentence]
    said += [text for pair in page.answer for text in pair]
    said += [text for section in page.sections for text in (section.title, section.gist)]
    said += [one.text for section in page.sections for one in section.parts if isinstance(one, Paragraph)]
    assert "Uncertainty of a row: the probability that it is apart" in text
    assert [one for one in said if " ".join(one.split()) not in text] == []
    assert "nan" not in text.split()
    verdict = " ".join(report_pages.result(kind).verdict.sentence.split())
    order = [text.index(" ".join(answer.split())) for _, answer in page.answer]
    order += [text.index("On this page"), text.index(verdict, text.index("On this page"))]
    assert order == sorted(order)
    has_data = report_pages.result(kind).data is not None
    if has_data:
        table = report_pages.result(kind).data.table
        assert {f"{table.data[row, 0]:.6g}" for row in (0, -1)} <= set(text.split())
    assert ("answer-picture" in written(kind).split("</style>")[1]) is has_data


@pytest.mark.parametrize("kind", KINDS)
def test_terminal_shows_every_finding_every_row_and_every_note_where_it_is_asked_to(kind):
    console = Console(width=2000, file=StringIO(), color_system=None)
    console.print(terminal_view(found := report_pages.result(kind), verbose=True))
    page = report_pages.page(kind)
    lines = [" ".join(line.split()) for line in console.file.getvalue().splitlines()]
    said = [page.heading, found.introduction, *(f"Note: {note}" for note in page.notes)]
    said += [f"{one.question} {one.answer} {one.sentence} {one.wanted}" for one in found.findings]
    for part in (part for section in page.sections for part in section.parts):
        if isinstance(part, FigureTable) and part.terminal_title is not None:
            said += [" ".join(row) for row in part.rows]
    assert [one for one in said if " ".join(one.split()) not in lines] == []


def in_colour(renderable):
    console = Console(width=200, file=StringIO(), color_system="standard", force_terminal=True)
    console.print(renderable)
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("mark", "colour"), [(Mark.GOOD, 32), (Mark.CAUTION, 33), (Mark.BAD, 31), (Mark.UNKNOWN, 35)]
)
def test_answers_have_their_colour_in_the_terminal(mark, colour):
    asked = Finding("Is it?", 0.1, 0.2, True, "0.1", answer="Yes", mark=mark)
    found = replace(report_pages.result("draws"), verdict=Verdict(Trust.TRUST, "", (asked,)))
    assert f"\x1b[{colour}mYes" in in_colour(terminal_view(found, verbose=True))
    word = {Mark.GOOD: "Yes", Mark.CAUTION: "Roughly", Mark.BAD: "No", Mark.UNKNOWN: "Not yet"}[mark]
    first = in_colour(terminal_view(replace(found, about={"rely": f"{word}: why"})))
    assert f"\x1b[{colour}m{word}" in first


def compared_with_limits(source: str) -> list[int]:
    """Return the lines that compare with a limit of the library, or order by a number of their own.

    Numbers of draws, of columns and of letters may be compared with whole numbers, and anything with 0 and 1.
    """
    tree = ast.parse(source)
    named = {name for name in vars(limits) if name.isupper()}
    named |= {
        alias.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name in named and alias.asname
    }
    constants = [node for node in tree.body if isinstance(node, ast.Assign)]
    fractions = [node for node in constants if isinstance(getattr(node.value, "value", None), float)]
    named |= {one.id for node in fractions for one in node.targets if isinstance(one, ast.Name)}
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        names = {getattr(one, "id", getattr(one, "attr", "")) for side in sides for one in ast.walk(side)}
        numbers = [one.value for side in sides for one in arithmetic(side) if isinstance(one, ast.Constant)]
        own = [one for one in numbers if isinstance(one, int | float) and one not in (0, 1)]
        ordered = any(isinstance(one, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for one in node.ops)
        counts = any(name in ("len", "shape") or name.endswith("draws") for name in names)
        fraction = any(isinstance(one, float) for one in own)
        if names & named or fraction or (own and ordered and not counts):
            found.append(node.lineno)
    return found


def arithmetic(node):
    """Go through the terms and factors of an expression."""
    if isinstance(node, ast.BinOp):
        return [*arithmetic(node.left), *arithmetic(node.right)]
    return arithmetic(node.operand) if isinstance(node, ast.UnaryOp) else [node]


def test_no_limit_is_decided_where_results_are_shown():
    """A figure is compared with a limit in diagnostics alone; others may name a limit, not apply it."""
    root = Path(pyroclust.__file__).parent
    for folder in ("report", "results", "cli", "analysis"):
        for path in (root / folder).rglob("*.py"):
            if path.name != "parts.py":
                assert compared_with_limits(path.read_text(encoding="utf-8")) == [], path.name


def test_addresses_of_sections_differ():
    titles = ("How many?", "How many", "How many 2", "Main", "–")
    page = small_page(sections=tuple(Section(title, ()) for title in titles))
    assert page.addresses == ("how-many", "how-many-2", "how-many-2-2", "main-2", "section")


def test_large_tables_are_cut_and_say_so():
    rows = np.arange(100_000)
    wide = [(f"{column} " + "x" * 200, rows, str) for column in range(40)]
    for columns, shown in ((wide[:2], 2000), (wide, 600)):
        table = rows_table("All.", columns)
        assert (len(table.rows), table.of_rows) == (shown, 100_000)
        html = render_page(small_page(table))
        assert f"first {shown:,} of 100,000 rows; assignments.csv has them all" in words(html)
        assert len(html) < 1_200_000
    long = rows_table("All.", [("name", ["y" * 500], str)])
    assert len(long.rows[0][0]) == 60
    assert "has them all" not in render_page(small_page(long))


def test_pictures_keep_their_colours_and_stay_small():
    noise = np.random.default_rng(0).random((300, 300))

    def draw(figure):
        figure.subplots().imshow(noise, cmap="PuOr")

    picture = Picture(draw, size=(9, 4), alternative="noise", caption="noise")
    with plots.style():
        draw(figure := plots.new_figure(9, 4))
        drawn = Image.open(BytesIO(plots.png_bytes(figure, dpi=110))).convert("RGB")
    kept = Image.open(BytesIO(base64.b64decode(picture.source.split(",")[1])))
    assert 'width="864" height="384" class="wide"' in render_page(small_page(picture))
    assert (kept.mode, kept.size) == ("P", drawn.size)
    # Of 255: the common quantisation of Pillow is off by 60, and draws a purple scale in grey.
    assert np.abs(np.asarray(kept.convert("RGB"), dtype=int) - np.asarray(drawn, dtype=int)).max() < 20
    assert len(picture.source) < 400_000


def test_pictures_are_drawn_once():
    asked = []
    page = small_page(Picture(asked.append, size=(1, 1), alternative="", caption=""))
    assert render_page(page) == render_page(page)
    assert len(asked) == 1


def test_the_terminal_draws_no_pictures(monkeypatch):
    monkeypatch.setattr("pyroclust.report.parts.plots.new_figure", None)
    Console(file=StringIO()).print(terminal_view(report_pages.result("draws"), verbose=True))


def test_words():
    assert functional_title("together_0_4") == "points 1 and 5 together"
    assert functional_title("unheard_of") == "unheard_of"
    assert [number(value) for value in (1234.5678, -1, np.inf, np.nan)] == ["1,234.568", "−1.000", "∞", "–"]
    assert [seconds(value) for value in (75.0, 0.02, 3e-5, 4e-8)] == ["75 s", "20 ms", "30 µs", "0.04 µs"]
    assert [counted(value, "row") for value in (0, 1, 2000)] == ["0 rows", "1 row", "2,000 rows"]
