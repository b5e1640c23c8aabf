"""Tables and pictures of benchmarks/time_to_accuracy.py, from whatever results are there.

    python benchmarks/time_to_accuracy.py --report

One picture a data set goes beside its result in runs/time_to_accuracy, the summary over all to
docs/time_to_accuracy.png and its figures to benchmarks/results/time_to_accuracy.json.
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator, ScalarFormatter
from rich.console import Console

from pyroclust.plots import CYCLE, new_figure, style

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "time_to_accuracy.json"
PICTURE = ROOT / "docs" / "time_to_accuracy.png"
ENOUGH, CONVERGED = 0.1, 1.01
MCMC = ("Gibbs", "merge-split + Gibbs")
COLOURS = dict(zip(("refined", "filter", *MCMC), CYCLE, strict=False))
NAMES = {"refined": "guide, refined", "filter": "filter, refined"} | {name: name for name in MCMC}
Found = dict[str, Any]


def by_own_rule(found: Found, name: str) -> float:
    """Return the seconds at which a method stops by its own rule with an error of at most .1."""
    one = found[name]
    if name not in MCMC:
        return one["seconds"] if one["largest"] <= ENOUGH else math.inf
    good = (spent for spent, largest, _, rhat, _ in one["curve"] if rhat <= CONVERGED and largest <= ENOUGH)
    return next(good, math.inf)


def by_error(found: Found, name: str) -> float:
    """Return the seconds at which a method first has an error of at most .1, which nobody can see."""
    one = found[name]
    curve = one["curve"] if name in MCMC else [one["drawn"], one["weighted"], *one["curve"]]
    return next((spent for spent, largest, *_ in curve if largest <= ENOUGH), math.inf)


def ratio(found: Found, name: str, seconds: Any) -> float:
    """Return how many times faster a method is than the best of MCMC; nan where neither arrives."""
    best, own = min(seconds(found, kernel) for kernel in MCMC), seconds(found, name)
    if math.isinf(own):
        return math.nan if math.isinf(best) else 0.0
    return best / own


def summary(rows: Sequence[Found]) -> Found:
    """Return the medians of one model and number of points; none where more than half never arrived."""

    def middle(values: list[float]) -> float | None:
        known = [value for value in values if not math.isnan(value)]
        value = float(np.median(known)) if known else math.nan
        return value if math.isfinite(value) else None

    best = [min(by_own_rule(one, kernel) for kernel in MCMC) for one in rows]
    return {
        "sets": len(rows),
        "guide": middle([one["refined"]["drawn"][1] for one in rows]),
        "weighted": middle([one["refined"]["weighted"][1] for one in rows]),
        "refined": middle([one["refined"]["largest"] for one in rows]),
        "worst refined": max(one["refined"]["largest"] for one in rows),
        "filter refined": middle([one["filter"]["largest"] for one in rows]),
        "floor": middle([one["floor"][0] for one in rows]),
        "sweeps": middle([one["refined"]["sweeps"] for one in rows]),
        "seconds refined": middle([one["refined"]["seconds"] for one in rows]),
        "seconds filter": middle([one["filter"]["seconds"] for one in rows]),
        **{f"seconds {kernel}": middle([by_own_rule(one, kernel) for one in rows]) for kernel in MCMC},
        "MCMC arrived": sum(math.isfinite(one) for one in best),
        "refined arrived": sum(one["refined"]["largest"] <= ENOUGH for one in rows),
        "ratio": middle([ratio(one, "refined", by_own_rule) for one in rows]),
        "ratio filter": middle([ratio(one, "filter", by_own_rule) for one in rows]),
        "ratio by error": middle([ratio(one, "refined", by_error) for one in rows]),
        "references that agreed": sum(one["reference"]["halves"] < 0.02 for one in rows),
    }


def grouped(every: Sequence[Found]) -> list[Found]:
    """Return one summary a model and number of points, and one line a real table."""
    rows = []
    keys = sorted({(one["group"], one["size"]) for one in every}, key=lambda key: (key[1], key[0]))
    for group, size in keys:
        some = [one for one in every if (one["group"], one["size"]) == (group, size)]
        rows.append({"model": group, "N": size} | summary(some))
    return rows


def curves(axes: Axes, found: Found) -> None:
    """Draw the largest error of every method against time."""
    for name, colour in COLOURS.items():
        seconds, largest = np.array([one[:2] for one in found[name]["curve"]]).T
        axes.plot(seconds, largest, color=colour, label=NAMES[name], lw=1.5)
        if name in MCMC:
            stops = next((one for one in found[name]["curve"] if one[3] <= CONVERGED), None)
            if stops is not None:
                axes.plot(stops[0], stops[1], "o", color=colour)
            continue
        for part, marker in (("drawn", "x"), ("weighted", "+")):
            axes.plot(*found[name][part][:2], marker, color=colour, ms=8)
        axes.plot(found[name]["seconds"], found[name]["largest"], "o", color=colour)
    _finish(axes, found["floor"][0], xlabel="seconds", ylabel="largest co-assignment error")


def _finish(axes: Axes, floor: float, **labels: str) -> None:
    axes.axhline(floor, color="grey", lw=1, ls=":", label="1,000 independent draws")
    axes.axhline(ENOUGH, color="grey", lw=0.8)
    axes.set(xscale="log", yscale="log", ylim=(0.005, 1), **labels)
    axes.yaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_major_formatter(ScalarFormatter())


def medians(axes: Axes, some: Sequence[Found], title: str) -> None:
    """Draw the median over data sets of the largest error that each method has by a time.

    A cross is the guide as drawn, a plus sign its weighted draws.
    """
    grid = np.geomspace(0.01, max(one["refined"]["seconds"] for one in some), 60)
    for name, colour in COLOURS.items():
        middle = np.median([_error_at(one[name]["curve"], grid) for one in some], 0)
        axes.plot(grid[middle < 1], middle[middle < 1], color=colour, label=NAMES[name], lw=2)
        for part, marker in (("drawn", "x"), ("weighted", "+")) if name not in MCMC else ():
            found = np.array([one[name][part][:2] for one in some])
            axes.plot(*np.median(found, 0), marker, color=colour, ms=8)
    floor = float(np.median([one["floor"][0] for one in some]))
    _finish(axes, floor, xlabel="seconds", title=title)


def _error_at(curve: Sequence[Sequence[float]], grid: np.ndarray) -> np.ndarray:
    """Return the error of the last point before each time, 1 before the first."""
    seconds, largest = np.array([one[:2] for one in curve]).T
    place = np.searchsorted(seconds, grid, side="right") - 1
    return np.where(place >= 0, largest[place.clip(0)], 1.0)


def ratios(axes: Axes, every: Sequence[Found], groups: Sequence[str]) -> None:
    """Draw how many times faster refined draws are than the best of MCMC, a dot a data set."""
    for place, group in enumerate(groups):
        values = np.array([ratio(one, "refined", by_own_rule) for one in every if one["group"] == group])
        values = values[~np.isnan(values)].clip(1e-3, 1e2)
        spread = place + 0.3 * (np.arange(len(values)) / max(1, len(values) - 1) - 0.5)
        axes.plot(spread, np.sort(values), "o", ms=4, color=CYCLE[0], alpha=0.7)
        if len(values):
            axes.plot([place - 0.3, place + 0.3], [np.median(values)] * 2, color=CYCLE[3], lw=2)
    axes.axhline(1, color="grey", lw=1)
    axes.set(yscale="log", xticks=range(len(groups)), xticklabels=groups)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(axis="x", rotation=60)


def picture(every: Sequence[Found]) -> None:
    """Write the summary over all data sets."""
    sizes = _sizes(every)
    with style():
        figure = new_figure(4 * len(sizes), 7.5)
        above, below = figure.subplots(2, len(sizes), sharey="row", squeeze=False)
        for upper, lower, size in zip(above, below, sizes, strict=True):
            some = [one for one in every if one["size"] == size]
            title = "real tables" if size == "tables" else f"N = {size:,}"
            medians(upper, some, f"{title}, {len(some)} data sets")
            ratios(lower, some, sorted({one["group"] for one in some}))
        above[0].set_ylabel("largest co-assignment\nerror, median")
        below[0].set_ylabel("time of the best MCMC /\ntime of refined draws")
        handles = above[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside upper center", ncols=2 * len(sizes))
        figure.savefig(PICTURE, dpi=100)


def write(folder: Path) -> None:
    """Draw one picture a data set and the summary, and print and keep the table."""
    every = []
    for path in sorted(folder.glob("*.json")):
        found = json.loads(path.read_text())
        is_table = path.stem.startswith("table-")
        name = path.stem.removeprefix("table-").replace("-", " ") if is_table else path.stem.split("-")[0]
        every.append(found | {"group": name, "size": "tables" if is_table else found["N"]})
        with style():
            figure = new_figure(6, 4)
            axes = figure.subplots()
            curves(axes, found)
            axes.set_title(f"{found['name']}, N = {found['N']}, D = {found['D']}")
            axes.legend()
            figure.savefig(path.with_suffix(".png"), dpi=80)
    rows = [row for size in _sizes(every) for row in grouped([one for one in every if one["size"] == size])]
    console = Console(width=260)
    console.print(pd.DataFrame(rows).round(3).to_string(index=False))
    console.print(f"{len(every)} data sets")
    RESULTS.write_text(
        json.dumps({"sets": len(every), "rows": rows}, indent=1).replace("Infinity", "null") + "\n"
    )
    picture(every)


def _sizes(every: Sequence[Found]) -> list[Any]:
    return sorted({one["size"] for one in every}, key=lambda size: (isinstance(size, str), size))
