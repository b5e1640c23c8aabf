"""Figures of ``summary.json`` are what version 0.1 made of the same draws, whatever they are called now.

Wording, seconds and the order of questions are free. docs/reliability.md prints the table of names.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from report_pages import KINDS, result

from pyroclust.core.numbers import json_values

HERE = Path(__file__).parent
STORED = json.loads((HERE / "stored_summaries.json").read_text(encoding="utf-8"))
NEW_NAMES = {
    "agreement": "agreement.guide",
    "agreement_corrected": "agreement.weighted",
    "agreement_refined": "agreement.refined",
    "between": "two_samples.first",
    "calibration": "certificate",
    "calibration_near_data": "calibration",
    "convergence": "sources.mcmc.convergence",
    "importance": "weights",
    "log_evidence": "evidence",
    "num_clusters.corrected": "num_clusters.weighted",
    "num_clusters.probabilities": "num_clusters.forest",
    "point_estimates.answer": "point_estimates.ANSWER",
    "refined": "refining",
    "two_samples": "two_samples.guide",
    "two_samples_refined": "two_samples.refined",
}
GONE = (
    # Classical methods and estimates are compared with the estimate that is shown.
    "adjusted_rand_between_estimates",
    # The two figures that it divides are there.
    "seconds_per_effective_draw.ratio",
    # Computed from the proposals now; what was stored is what a made-up record was told.
    "refined.pareto_k",
    "refined.efficiency",
)
# Of the scores of an estimate against known labels the adjusted Rand index is left, under its own name.
GONE_OF_ESTIMATES = "scores"


def keyed(value: Any) -> Any:
    """Put rows of a list under their names, or their places."""
    if isinstance(value, dict):
        return {name: keyed(one) for name, one in value.items()}
    if not (isinstance(value, list) and value and isinstance(value[0], dict)):
        return value
    called = next((one for one in ("name", "question", "method") if one in value[0]), None)
    names = [one[called] if called else str(place) for place, one in enumerate(value)]
    return {name: keyed(one) for name, one in zip(names, value, strict=True)}


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield from leaves(one, (*path, name))
    else:
        yield path, value


def renamed(path: tuple[str, ...], answer: str) -> tuple[str, ...]:
    for size in (2, 1):
        new = NEW_NAMES.get(".".join(path[:size]))
        if new is not None and len(path) >= size:
            return (*new.replace("ANSWER", answer).split("."), *path[size:])
    return path


def at(figures: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        figures = figures.get(name) if isinstance(figures, dict) else None
    return figures


def same(old: Any, new: Any) -> bool:
    if old == []:
        # What was not asked for is null.
        return not new
    if isinstance(old, list):
        return isinstance(new, list) and len(old) == len(new) and all(map(same, old, new))
    if isinstance(old, float) and isinstance(new, int | float):
        return math.isclose(old, new, rel_tol=1e-6, abs_tol=1e-6)
    return type(old) is type(new) and bool(old == new)


@pytest.fixture(scope="module", params=KINDS)
def case(request):
    """Old and new figures; each source with all its figures, which files have of the answer's alone."""
    found, kind = result(request.param), request.param
    figures = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    for one in found.sources:
        figures["sources"][one.key] |= json.loads(json.dumps(json_values(one.figures())))
    return STORED[kind], keyed(figures)


def test_the_page_has_the_table():
    page = (HERE.parent / "docs" / "reliability.md").read_text(encoding="utf-8")
    rows = "\n".join(f"| `{old}` | `{new}` |" for old, new in NEW_NAMES.items())
    assert f"| 0.1 | now |\n|---|---|\n{rows}\n" in page


def test_every_figure_is_what_it_was(case):
    old, new = case
    differ, count = [], 0
    for path, value in leaves(old):
        of_estimate = "point_estimates" in path or "point_estimate" in path
        if ".".join(path).startswith(GONE) or (of_estimate and GONE_OF_ESTIMATES in path):
            continue
        found = at(new, renamed(path, old.get("answer") or ""))
        count += 1
        if not same(value, found):
            differ.append((".".join(path), value, found))
    assert not differ, differ
    assert count > 100
