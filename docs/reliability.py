"""Write the table of cases of docs/reliability.md from the cases in tests/faults.

python docs/reliability.py

"""

import sys
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from faults.cases import Case, all_cases  # noqa: E402

PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- cases: written by docs/reliability.py -->", "<!-- end of cases -->"


def page() -> str:
    """Return the page with its cases written anew."""
    text = PAGE.read_text("utf-8")
    head, tail = text.split(BEGIN)[0], text.split(END)[1]
    return f"{head}{BEGIN}\n{_cases()}\n{END}{tail}"


def _cases() -> str:
    cases = sorted(all_cases(), key=lambda one: one.family)
    parts = [f"{len(cases)} cases; those marked * take seconds and run in `make faults` alone.\n"]
    for family, members in groupby(cases, key=lambda one: one.family):
        rows = [_row(one) for one in members]
        parts += [f"### {family.capitalize()} ({len(rows)})\n", "| case | what happens |", "|---|---|"]
        parts += [*rows, ""]
    return "\n".join(parts)


def _row(case: Case) -> str:
    return f"| {_cell(case.name)}{' *' if case.slow else ''} | {_cell(case.expected)} |"


def _cell(text: str) -> str:
    shown = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
    for letter in "\\|<*_`":
        shown = shown.replace(letter, "\\" + letter)
    return shown


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
