"""Write the kinds of cases of docs/reliability.md, and the list of all, from the cases in tests/faults.

python docs/reliability.py

"""

import sys
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from faults.cases import Case, all_cases  # noqa: E402

PAGE, LIST = ROOT / "docs" / "reliability.md", ROOT / "docs" / "fault_cases.md"
BEGIN, END = "<!-- cases: written by docs/reliability.py -->", "<!-- end of cases -->"


def page() -> str:
    """Return the page with the numbers of its cases written anew."""
    text = PAGE.read_text("utf-8")
    head, tail = text.split(BEGIN)[0], text.split(END)[1]
    rows = [
        f"| {family} | {len(members)} | {sum(one.slow for one in members)} |"
        for family, members in _families()
    ]
    table = "\n".join(["| kind | cases | of them in `make faults` alone |", "|---|---|---|", *rows])
    return (
        f"{head}{BEGIN}\n{len(all_cases())} cases, listed in "
        f"[fault_cases.md](fault_cases.md).\n\n{table}\n{END}{tail}"
    )


def cases() -> str:
    """Return the list of all cases."""
    parts = ["# The fault cases\n", "Those marked * take seconds and run in `make faults` alone.\n"]
    for family, members in _families():
        parts += [f"## {family.capitalize()} ({len(members)})\n", "| case | what happens |", "|---|---|"]
        parts += [*map(_row, members), ""]
    return "\n".join(parts)


def _families() -> list[tuple[str, list[Case]]]:
    every = sorted(all_cases(), key=lambda one: one.family)
    return [(family, list(members)) for family, members in groupby(every, key=lambda one: one.family)]


def _row(case: Case) -> str:
    return f"| {_cell(case.name)}{' *' if case.slow else ''} | {_cell(case.expected)} |"


def _cell(text: str) -> str:
    shown = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
    for letter in "\\|<*_`":
        shown = shown.replace(letter, "\\" + letter)
    return shown


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    LIST.write_text(cases(), "utf-8")
