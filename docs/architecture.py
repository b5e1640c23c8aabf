"""Draw the house: which package imports which, and the table of the import law in docs/architecture.md.

    python docs/architecture.py

Both come from the imports of the source files and from the law in ``tests/test_import_law.py``.
"""

import sys
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from test_import_law import DIAGNOSTICS, LAW, LAWS, SOURCES, ours  # noqa: E402

PAGE, PICTURE = ROOT / "docs" / "architecture.md", ROOT / "docs" / "architecture.png"
BEGIN, END = "<!-- law: written by docs/architecture.py -->", "<!-- end of law -->"
# What each package is, for the picture.
ABOUT = {
    "core": "checks, errors, files, randomness, threads, compiling, registry",
    "partitions": "label vectors, Draws, constraints, graphs as adjacency",
    "distributions": "priors, families, laws of guides, protocols",
    "diagnostics": "functions of draws:\nlimits and verdicts",
    "data": "tables, graphs, standardising",
    "nn": "scorers, attention,\nvisiting orders",
    "models": "mixtures as\nPyro programs",
    "baselines": "classical methods",
    "plots": "Axes in, Axes out",
    "guides": "amortized guides",
    "infer": "losses, training, exact,\nimportance, MCMC",
    "data.draws": "draws in and out",
    "saving": "objects as JSON, cards,\npretrained guides",
    "calibration": "simulation checks, certificates",
    "recipes": "how to train",
    "results": "what analyses return",
    "report": "page, HTML, terminal",
    "analysis": "compare, diagnose",
    "sklearn": "an estimator",
    "cli": "commands",
}
# Faces that CONTRIBUTING promises, see tests/test_faces.py.
FACES = {
    "sklearn",
    "models",
    "guides",
    "distributions",
    "infer",
    "nn",
    "diagnostics",
    "calibration",
    "plots",
    "baselines",
}
PUBLIC, INNER = "#d9e8f6", "#ffffff"


def box_of(module: str) -> str | None:
    """Return the box that a module lies in; None for the face of the library.

    Raises:
        KeyError: for a package that the picture does not know.
    """
    name = module.removeprefix("pyroclust").removeprefix(".")
    if name in ("", "__main__"):
        return None
    boxes = [one for one in ABOUT if name == one or name.startswith(f"{one}.")]
    if not boxes:
        raise KeyError(f"say in ABOUT what {name} is")
    return max(boxes, key=len)


def imported() -> dict[str, set[str]]:
    """Return which boxes each box imports."""
    found: dict[str, set[str]] = {}
    for module in SOURCES:
        if (above := box_of(module)) is None:
            continue
        boxes = {below for name in ours(module) if (below := box_of(name)) is not None}
        found.setdefault(above, set()).update(boxes - {above})
    return found


def floors(graph: dict[str, set[str]]) -> dict[str, int]:
    """Return the floor of each box: one above the highest that it imports."""
    found: dict[str, int] = {}
    while free := [name for name in graph.keys() - found.keys() if graph[name] <= found.keys()]:
        found |= {name: 1 + max((found[one] for one in graph[name]), default=-1) for name in free}
    if left := graph.keys() - found.keys():
        raise ValueError(f"{sorted(left)} import one another")
    return found


def draw(graph: dict[str, set[str]]) -> Figure:
    """Draw the boxes floor by floor: each needs boxes of floors below it alone."""
    floor = floors(graph)
    height = max(floor.values()) + 1
    figure = Figure(figsize=(10, 0.72 * height + 0.5))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, 10)
    axes.set_ylim(0, 0.72 * height + 0.5)
    for level in range(height):
        row = [name for name in ABOUT if floor.get(name) == level]
        width = 9.1 / len(row)
        for position, name in enumerate(row):
            left, bottom = 0.1 + position * width, 0.15 + 0.72 * level
            colour = PUBLIC if name in FACES else INNER
            shape = {"boxstyle": "round,pad=0,rounding_size=0.06", "fc": colour, "ec": "#33506f"}
            axes.add_patch(FancyBboxPatch((left + 0.04, bottom + 0.04), width - 0.08, 0.64, **shape))
            middle = left + width / 2
            axes.text(middle, bottom + 0.5, name, ha="center", va="center", weight="bold", size=10)
            axes.text(middle, bottom + 0.23, ABOUT[name], ha="center", va="center", size=7.5, linespacing=1.1)
    arrow = {"arrowstyle": "-|>", "color": "#33506f", "lw": 2}
    axes.annotate("", (9.55, 0.3), (9.55, 0.72 * height), arrowprops=arrow)
    axes.text(9.8, 0.36 * height, "imports point down", rotation=90, ha="center", va="center", size=10)
    axes.text(0.15, 0.72 * height + 0.28, "Blue: promised faces. White: inner packages.", va="center", size=9)
    return figure


def law_table() -> str:
    """Return the import law as a table, what needs nothing of ours first."""
    rows = [f"| `{name}` | {_allowed(LAW[name]) or 'nothing of ours'} |" for name in LAW]
    return "\n".join(["| package or module | may import |", "| --- | --- |", *rows])


def _allowed(names: set[str]) -> str:
    """List rows, those of a group under one name where all of them are allowed."""
    found = [f"`{name}`" for name in sorted(names)]
    groups = (DIAGNOSTICS, "all of `diagnostics`"), (LAWS, "all laws of `distributions`")
    for group, name in groups:
        if names >= group:
            found = [name, *(one for one in found if one.strip("`") not in group)]
    return ", ".join(found)


def page(text: str) -> str:
    """Return the page with the table of the law as it is now."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{law_table()}\n\n{END}{after}"


if __name__ == "__main__":
    draw(imported()).savefig(PICTURE, dpi=110)
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
