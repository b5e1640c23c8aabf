"""Every kind of page in a real browser: light and dark, wide and narrow, by keyboard, on paper."""

import re
from io import BytesIO
from itertools import pairwise, product
from pathlib import Path

import pytest
from browser import Browser, browsing, need_browser
from cases import some_of
from pypdf import PdfReader
from report_pages import KINDS, written

HERE = Path(__file__).parent
WIDTHS, SCHEMES = (360, 1280), ("light", "dark")
LOOKS = list(product(KINDS, WIDTHS, SCHEMES))
# Each kind of page narrow and wide, light and dark, but not in all four ways.
SOME_LOOKS = [
    look
    for place, kind in enumerate(KINDS)
    for look in zip((kind, kind), WIDTHS, SCHEMES if place % 2 else SCHEMES[::-1], strict=True)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    need_browser()
    folder = tmp_path_factory.mktemp("browser")
    for kind in KINDS:
        page = written(kind)
        (folder / f"{kind}.html").write_text(page, encoding="utf-8")
        bare = re.sub("<script>.*</script>", "", page, flags=re.DOTALL)
        (folder / f"{kind}, no script.html").write_text(bare, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def browser(folder):
    with browsing(folder) as browser:
        yield browser


@pytest.fixture(scope="module")
def look(request, browser, folder):
    """Show a page in one way for all who look at it, everything unfolded."""
    kind, width, scheme = request.param
    path = folder / f"{kind}.html"
    browser.show(path, width=width, scheme=scheme)
    unfold(browser)
    return browser, path, width, scheme


def unfold(browser: Browser) -> None:
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")


def looks(*widths: int):
    """Give a test these widths, which share what is shown."""
    found = [
        pytest.param(look.values, id=look.id, marks=look.marks)
        for look in some_of(LOOKS, SOME_LOOKS)
        if look.values[1] in widths
    ]
    return pytest.mark.parametrize("look", found, indirect=True)


@looks(*WIDTHS)
def test_page_looks_right(look):
    browser, path, width, scheme = look
    images = browser.run(
        "return [...document.images].map((one) => [one.complete, one.naturalWidth, one.clientWidth])"
    )
    assert len(images) >= 3
    assert all(complete and natural > 300 and shown > 100 for complete, natural, shown in images)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    contrast = browser.run((HERE / "contrast.js").read_text(encoding="utf-8"))
    assert contrast["count"] > 60
    assert contrast["found"] == []
    dark = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert (max(map(int, re.findall(r"\d+", dark))) < 80) == (scheme == "dark")
    assert browser.complaints() == []
    assert browser.requests() == [path.as_uri()]


@looks(*WIDTHS)
def test_nothing_is_cut_and_nothing_lies_over_another(look):
    browser, *_ = look
    cut = browser.run((HERE / "cut.js").read_text(encoding="utf-8"))
    assert cut == []
    over = browser.run((HERE / "overlaps.js").read_text(encoding="utf-8"))
    assert over == []


@looks(1280)
def test_page_is_told_to_those_who_do_not_see_it(look):
    browser, *_ = look
    levels = browser.run(
        "return [...document.querySelectorAll('h1, h2, h3, h4')].map((one) => Number(one.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = browser.run("return [...document.querySelectorAll('[id]')].map((one) => one.id)")
    assert len(ids) == len(set(ids))
    unnamed = browser.run((HERE / "unnamed.js").read_text(encoding="utf-8"))
    assert unnamed == []
    landmarks = browser.run(
        "return ['header', 'main', 'nav', 'footer'].map((one) => document.querySelectorAll(one).length)"
    )
    assert landmarks == [1, 1, 1, 1]
    assert browser.run("return [document.documentElement.lang, document.title.length > 0]") == ["en", True]


@looks(1280)
def test_heads_of_the_verdicts_are_whole_words(look):
    browser, *_ = look
    broken = browser.run(
        """
        return [...document.querySelectorAll('.questions thead th')].flatMap((cell) => {
          const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), broken = [];
          while (texts.nextNode()) {
            for (const word of texts.currentNode.data.matchAll(/[A-Za-z]+/g)) {
              const range = document.createRange();
              range.setStart(texts.currentNode, word.index);
              range.setEnd(texts.currentNode, word.index + word[0].length);
              if (range.getClientRects().length > 1) broken.push(word[0]);
            }
          }
          return broken;
        });
        """
    )
    assert broken == []


def test_tree_for_screen_readers(browser, folder):
    browser.show(folder / "one column.html", width=360, scheme="light")
    found = browser.told()
    roles = [role for role, _ in found]
    assert {"banner", "main", "navigation", "contentinfo", "table", "rowheader", "columnheader"} <= set(roles)
    assert ("heading", "The answer") in found
    assert ("image", "with care:") in found or ("img", "with care:") in found
    browser.run("document.getElementById('how-far-to-rely-on-it').closest('details').open = true")
    assert ("rowheader", "Did MCMC converge?") in browser.told()
    assert any(role == "DisclosureTriangle" and "How many clusters" in name for role, name in found)


def test_keyboard(browser, folder):
    from selenium.webdriver import Keys

    browser.show(folder / "one column.html", width=1280, scheme="light")
    browser.press(Keys.TAB)
    assert browser.run("return document.activeElement.className") == "skip"
    assert browser.run("return document.activeElement.getBoundingClientRect().top") >= 0
    browser.press(Keys.ENTER)
    assert browser.run("return document.activeElement.id") == "main"
    opened = "return [...document.querySelectorAll('details')].map((one) => one.open)"
    before, reached = browser.run(opened), 0
    order = []
    for _ in range(150):
        browser.press(Keys.TAB)
        tag, outline, top = browser.run(
            """
            const [one, place] = [document.activeElement, document.activeElement.getBoundingClientRect()];
            return [one.tagName, getComputedStyle(one).outlineStyle, place.top + scrollY];
            """
        )
        if tag == "BODY":
            break
        assert outline != "none", tag
        if tag == "SUMMARY":
            order.append(top)
            is_open = "return document.activeElement.parentElement.open"
            assert browser.run(is_open) is before[reached]
            browser.press(Keys.ENTER)
            assert browser.run(is_open) is not before[reached]
            browser.press(Keys.SPACE)
            assert browser.run(is_open) is before[reached]
            reached += 1
    assert reached == len(before) > 5
    assert order == sorted(order)
    assert browser.complaints() == []


def test_open_all_and_close_all(browser, folder):
    browser.show(folder / "alone.html", width=1280, scheme="light")
    opened = "return [...document.querySelectorAll('details')].map((one) => one.open)"
    start = browser.run(opened)
    assert start[0]
    assert not start[-1]
    browser.run("document.getElementById('close-all').click()")
    assert not any(browser.run(opened))
    browser.run("document.getElementById('open-all').click()")
    assert all(browser.run(opened))
    assert browser.complaints() == []


@pytest.mark.parametrize("name", ["alone.html", "alone, no script.html"])
def test_a_link_unfolds_its_section(browser, folder, name):
    browser.show(folder / name, width=1280, scheme="light")
    details = "return document.querySelector('#every-row').closest('details')"
    assert not browser.run(details + ".open")
    browser.driver.find_element("css selector", "nav a[href='#every-row']").click()
    assert browser.run(details + ".open")
    assert -2 <= browser.run(details + ".getBoundingClientRect().top") < 900
    assert browser.complaints() == []


@pytest.mark.parametrize("name", ["one column.html", "one column, no script.html"])
def test_paper_has_what_is_folded(browser, folder, name):
    browser.show(folder / name, width=1280, scheme="dark")
    printed = browser.printed()
    assert printed.startswith(b"%PDF")
    assert not browser.run("return [...document.querySelectorAll('details')].at(-1).open")
    text = " ".join(" ".join(page.extract_text() for page in PdfReader(BytesIO(printed)).pages).split())
    for words in ("Did MCMC converge?", "Convergence of MCMC on numbers", "row 40 "):
        assert words in text
    assert "Open all" not in text


def test_without_a_script_nothing_is_offered_that_needs_one(browser, folder):
    browser.show(folder / "alone, no script.html", width=1280, scheme="light")
    assert browser.run(
        "return [...document.querySelectorAll('button')].every((one) => !one.checkVisibility())"
    )
    browser.show(folder / "alone.html", width=1280, scheme="light")
    assert browser.run(
        "return [...document.querySelectorAll('button')].every((one) => one.checkVisibility())"
    )
