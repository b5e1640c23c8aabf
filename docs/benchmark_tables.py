"""How the page of benchmarks reads results, and writes numbers and tables."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
Row = dict[str, Any]


def result(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def number(value: float | None, digits: int = 2) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def signed(value: float | None) -> str:
    if value is None:
        return ""
    return "0.00" if round(value, 2) == 0 else f"{value:+.2f}"


def count(value: float) -> str:
    """Write a number of things with three significant digits, thousands apart."""
    digits = max(len(f"{value:.0f}") - 3, 0)
    return f"{round(value, -digits):,.0f}" if value >= 10 else f"{value:.2g}"


def listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(one) + " |" for one in lines)
