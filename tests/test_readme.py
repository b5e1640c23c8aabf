"""Every block of Python in README and documentation runs, and README says what the library does."""

import importlib
import json
import re
from pathlib import Path

import pytest
from test_faces import blocks

from pyroclust import guides, list_guides, models
from pyroclust.analysis import steps
from pyroclust.core import registry
from pyroclust.report import page

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
# The gallery shows one line of code a picture; its own tests run all of them.
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / "README.md", *(page for page in DOCS if page.stem != "gallery")]
# Imported before any block is run: what registers itself meanwhile is forgotten after the block.
FACES = (guides, models)
SMALLER = {"steps=1000": "steps=20", "num_datasets=100": "num_datasets=20"}


BLOCKS = {f"{page.stem} {number}": code for page in PAGES for number, code in enumerate(blocks(page), 1)}


@pytest.fixture(autouse=True)
def questions_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a block registers is gone after it."""
    monkeypatch.setattr(steps, "_REGISTERED", {})
    monkeypatch.setattr(page, "_SECTIONS", dict(page._SECTIONS))


def run(name: str) -> None:
    code = BLOCKS[name]
    for long, short in SMALLER.items():
        code = code.replace(long, short)
    exec(compile(code, name, "exec"), {"__name__": "__main__"})


def test_the_answer_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    run("README 1")
    how_many, *rows, rely = capsys.readouterr().out.strip().splitlines()
    assert re.match(r"\d+ clusters \(probability", how_many)
    assert rows[0].split() == ["row", "cluster", "probability"]
    assert len(rows) == 4
    assert rely.startswith("Yes: MCMC converged")


def test_two_answers_become_one(capsys: pytest.CaptureFixture[str]) -> None:
    run("README 2")
    ends, converged, agree, reported = capsys.readouterr().out.strip().splitlines()
    assert re.findall(r"\d+", ends) == ["11", "6"]
    assert re.match(r"The 4 chains of .* agree", converged)
    assert "agree: total variation of the number of clusters" in agree
    estimate, radius, upper, lower = reported.split()
    assert (estimate, f"{float(radius):.1f}", upper, lower) == ("4", "2.0", "3", "14")


def test_training_to_calibration(capsys: pytest.CaptureFixture[str]) -> None:
    run("README 3")
    efficiency, shape, calibrated = capsys.readouterr().out.strip().splitlines()[-3:]
    assert 0 < float(efficiency.removeprefix("tensor(").split(",")[0].rstrip(")")) <= 1
    assert shape == "torch.Size([1, 1000, 9])"
    assert "alibrated" in calibrated


@pytest.mark.parametrize("name", [name for name in BLOCKS if not name.startswith("README")])
def test_blocks_of_the_documentation_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # What other tests of the same process registered may have the names of the page's own.
    shipped = {
        kind: {one: made for one, made in known.items() if made.__module__.startswith("pyroclust.")}
        for kind, known in registry._FACTORIES.items()
    }
    monkeypatch.setattr(registry, "_FACTORIES", shipped)
    run(name)


def test_no_block_of_the_readme_is_forgotten():
    assert [name for name in BLOCKS if name.startswith("README")] == ["README 1", "README 2", "README 3"]
    assert len(README.splitlines()) <= 130


def test_two_commands_set_everything_up():
    commands = re.findall(r"^    (make \w+)", README, re.MULTILINE)
    assert commands == ["make demo", "make test"]


def test_the_table_of_the_shelf_is_the_shelf():
    rows = [row.split("|")[1:-1] for row in README.splitlines() if row.startswith("| `")]
    said = {
        name: (size.strip(), verdict.strip())
        for names, _, size, verdict in rows
        for name in re.findall(r"`([a-z0-9-]+)`", names)
    }
    earlier = {"ncp-nig1d", "ncp-niw2d", "ncp-niw3d", "ncp-niw4d"}
    earlier |= {"ncp-mfm2d", "ncp-tables", "filter-nig1d", "filter-niw2d"}
    assert said == {
        card.name: (
            str(card.max_points or "any"),
            "passes" if card.certificate["verdict"]["passed"] else "reference",
        )
        for card in list_guides()
        if card.name not in earlier
    }


def test_figures_of_the_readme_are_those_of_the_benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    text = " ".join(importlib.import_module("benchmarks").page().split())
    ours = " ".join(README.split())
    proposals = re.search(r"guide proposals give (\d+) times .* moves give (\d+) to (\d+) times", text)
    errors = re.search(
        r"of MCMC, ([\d.]+); the guide's draws ([\d.]+), .* refined \(`refine=True`\) ([\d.]+) "
        r"\(independent draws ([\d.]+)\)",
        text,
    )
    ahead = re.search(r"MCMC is ahead in (\d+ of \d+) rows; there it arrives (\d+) times sooner", text)
    assert proposals
    assert errors
    assert ahead
    assert f"largest co-assignment error was {errors[2]} as drawn, and {errors[3]} refined, where" in ours
    assert f"1,000 independent draws have {errors[4]} (medians)" in ours
    assert f"which MCMC gives in four processor seconds, was {errors[1]}" in ours
    assert f"MCMC is ahead in {ahead[1]} rows of time to accuracy" in ours
    assert f"there it arrives {ahead[2]} times sooner (median)" in ours
    assert f"guide proposals inside MCMC give {proposals[1]} times its effective draws" in ours
    assert f"give {proposals[2]} to {proposals[3]} times those of guide proposals" in ours


def test_seconds_of_the_readme_are_those_of_the_benchmark():
    measured = json.loads((ROOT / "benchmarks" / "results" / "draws.json").read_text(encoding="utf-8"))
    rows, (student, skewed) = measured["rows"], measured["unweighted"][:2]
    guides, chains, filters = (
        [row[f"{kind}: s to 1,000"] for row in rows] for kind in ("guide", "chains", "filter")
    )
    compiled = [
        one for one, row in zip(guides, rows, strict=True) if row["guide"] != "ncp-published-gaussian2d"
    ]
    ranges = [f"{min(each):.1g} to {float(f'{max(each):.2g}'):g} s by" for each in (compiled, chains)]
    ranges.append(f"{min(filters):.1g} to {max(filters):.1g} s by")
    ahead = sum(one < other for one, other in zip(guides, chains, strict=True))
    first = sum(one < min(others) for one, *others in zip(filters, guides, chains, strict=True))
    ours = " ".join(README.split())
    for said in (*ranges, f"ahead of chains in {ahead} of {len(rows)} rows, the filter of both in {first}."):
        assert said in ours
    assert f"draws 1,000 in {student['guide: s for 1,000']:.1g} s, unweighted" in ours
    assert f"(pairs off by {student['pairs: mean difference']:.1g} in the mean)" in ours
    assert f"chains need {student['chains: s to 1,000']:.1g} s".replace("6e+01", "60") in ours
    worst = f"one of ten sets by {skewed['pairs: worst set']:.2g})"
    off = f"(off by {skewed['pairs: mean difference']:.1g}, {worst}"
    assert f"{skewed['guide: s for 1,000']:.1g} s {off} for {skewed['chains: s to 1,000']:.3g} s." in ours


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    lost = [one for one in targets if not one.startswith("http") and not (page.parent / one).exists()]
    assert not lost
