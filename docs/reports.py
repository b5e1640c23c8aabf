"""Write the table of docs/reports.md from the cases and results of benchmarks/public_reports.py.

python docs/reports.py

"""

import sys
from pathlib import Path

from benchmark_tables import result, table

PAGE = Path(__file__).parent / "reports.md"
sys.path.insert(0, str(PAGE.parents[1] / "benchmarks"))
from public_reports import REPORTS, Report  # noqa: E402

BEGIN, END = "<!-- table: written by docs/reports.py -->", "<!-- end of table -->"
HEAD = ("report", "data", "right answer, and how it is known", "what we say", "", "s", "what was changed")


def said(row: dict[str, str]) -> str:
    """Say what came out, in the words of the answer where they are short."""
    if row["judged"] == "refused":
        return f"refused: {row['said']}"
    verdict, _, doubts = row["said"].partition(": ")
    _, _, doubts = doubts.partition(" But ")
    bic = f" BIC: {row['by BIC']}." if "by BIC" in row else ""
    return f"{row['how many']}. {verdict}{f': {doubts}' if doubts else '.'}{bic}"


def line(report: Report, row: dict[str, str]) -> list[str]:
    place = report.address.replace("/issues/", " ").replace("/pull/", " ")
    link = f"{report.asked} ([{place}](https://github.com/{report.address}))"
    cells = [link, report.data, report.right, said(row), row["judged"]]
    return [*(one.replace("|", "/") for one in cells), f"{float(row['seconds']):.0f}", report.changed]


def page() -> str:
    """Return the page with its table written anew."""
    text, found = PAGE.read_text("utf-8"), result("public_reports")
    head, tail = text.split(BEGIN)[0], text.split(END)[1]
    kinds = [found[name]["judged"] for name in REPORTS]
    counts = ", ".join(
        f"{kinds.count(kind)} {kind}" for kind in ("right", "not sure", "refused", "silently wrong")
    )
    rows = [line(report, found[name]) for name, report in REPORTS.items()]
    return f"{head}{BEGIN}\nOf {len(rows)}: {counts}.\n\n{table(HEAD, rows)}\n{END}{tail}"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
