"""The part of the page of benchmarks on refined draws."""

from collections.abc import Sequence
from statistics import median

from benchmark_tables import RESULTS, Row, count, listed, number, result, table

_ERRORS = ("guide", "weighted", "refined", "filter refined", "floor")


def refined() -> str:
    """Say how far refined draws are from the posterior, on real tables and in time."""
    parts = {
        "refined_accuracy": accuracy,
        "real_pairs": pairs,
        "time_to_accuracy": time_to_accuracy,
        "wide_tables": wide,
    }
    told = [part() for name, part in parts.items() if (RESULTS / f"{name}.json").exists()]
    head = """## Refined draws

`infer.refine` with its default settings, 1,000 draws, held against long merge-split chains of the same model
from starts far apart, half of which are to differ from the other half by less than 0.02 in any co-assignment
probability. 1,000 independent draws of the posterior have a largest error too, which stands beside."""
    return "\n\n".join([head, *told])


def accuracy() -> str:
    found = result("refined_accuracy")["rows"]
    names = list(dict.fromkeys(one["table"] for one in found))
    rows = [
        [
            name,
            *(
                " / ".join(number(one[figure], 3) for one in found if one["table"] == name)
                for figure in ("largest", "mean")
            ),
            number(next(one["floor"] for one in found if one["table"] == name), 3),
            " / ".join(str(one["sweeps"]) for one in found if one["table"] == name),
        ]
        for name in names
    ]
    head = ("table", "largest error, by seed", "mean error", "largest of independent draws", "sweeps")
    return f"`python benchmarks/refined_accuracy.py`:\n\n{table(head, rows)}"


def pairs() -> str:
    found = result("real_pairs")["figures"]
    said = found["verdicts"], found["verdicts refined"]
    return f"""`python benchmarks/real_pairs.py`: {found["pairs"]} pairs of columns of real tables, 30 to 200
rows, chosen by a rule before anything was drawn, by `compare(points)` with `{result("real_pairs")["guide"]}`;
{found["references that agreed"]} of the references agree with themselves. Largest errors, medians: the
answer, of MCMC, {number(found["median answer"], 3)}; the guide's draws {number(found["median drawn"])}, by
their weights {number(found["median weighted"])}, refined (`refine=True`) {number(found["median largest"], 3)}
(independent draws {number(found["median floor"], 3)}). The worst answer is off by
{number(found["worst answer"])}, the worst refined draws by {number(found["worst largest"])};
{found["settled"]} of {found["pairs"]} had settled, of which the worst are off by
{number(found["worst settled"])}. The verdict is {_told(said[0])}; with refined draws {_told(said[1])}. A
comparison took {number(found["median seconds"], 1)} processor seconds (median), with refined draws
{number(found["median seconds refined"], 1)}."""


def _told(verdicts: dict[str, int]) -> str:
    return listed([f'"{name}" of {count}' for name, count in verdicts.items()])


def seconds_of(value: float | None) -> str:
    return "not there" if value is None else number(value, 1 if value >= 1 else 2)


def times_faster(row: Row, name: str) -> str:
    """Write how many times faster refined draws are than the best MCMC."""
    if row[name] is not None:
        return number(row[name])
    return "MCMC not there" if 2 * row["refined arrived"] > row["sets"] else "neither there"


def time_to_accuracy() -> str:
    found = result("time_to_accuracy")
    rows = [
        [
            f"`{one['model']}`" if one["N"] != "tables" else one["model"],
            f"{one['N']:,}" if one["N"] != "tables" else "",
            str(one["sets"]),
            " / ".join(
                number(one[name]) for name in ("guide", "weighted", "refined", "filter refined", "floor")
            ),
            " / ".join(seconds_of(one[f"seconds {name}"]) for name in ("refined", "filter")),
            " / ".join(seconds_of(one[f"seconds {name}"]) for name in ("Gibbs", "merge-split + Gibbs")),
            times_faster(one, "ratio"),
            times_faster(one, "ratio filter"),
            times_faster(one, "ratio by error"),
        ]
        for one in found["rows"]
    ]
    head = (
        "model or table",
        "N",
        "data sets",
        "largest error: guide / weighted / refined / filter refined / independent draws",
        "seconds: refined / filter refined",
        "seconds to 0.1: Gibbs / merge-split + Gibbs",
        "best MCMC / refined",
        "best MCMC / filter refined",
        "the same, stopping at 0.1",
    )
    agreed = sum(one["references that agreed"] for one in found["rows"])
    return f"""### Time to accuracy

`python benchmarks/time_to_accuracy.py`: {found["sets"]} data sets, fresh ones of the shelf's models and real
tables; medians. Everything ran on one core, and seconds are those of its processor. Refined draws stop when
nothing moves any more, and are there if their largest error is at most 0.1. Chains of MCMC start far apart,
stop when R-hat is at most 1.01 for every functional, their burn-in included, and are there if the 1,000
equally spaced draws of their second half have a largest error of at most 0.1. The ratios say how many times
faster refined draws are than the better kernel: **below 1 MCMC is ahead**. The last column asks when each
first has an error of 0.1, which nobody can see without the answer. The references of {agreed} data sets agree
with themselves.

{table(head, rows)}

![Largest co-assignment error against time, and how many times faster refined draws are than
MCMC](time_to_accuracy.png)

{ahead(found["rows"])}"""


def ahead(rows: Sequence[Row]) -> str:
    """Say where MCMC is ahead, and where refined draws are."""
    slower = [one for one in rows if one["ratio"] is not None and one["ratio"] < 1]
    sooner = sorted(1 / one["ratio"] for one in slower if one["ratio"] > 0)
    faster = [one for one in rows if one not in slower and one["refined arrived"]]
    by_how_much = f"there it arrives {count(median(sooner))} times sooner (median)" if sooner else ""
    said = f"MCMC is ahead in {len(slower)} of {len(rows)} rows; {by_how_much}."
    names = listed([one["model"] if one["N"] == "tables" else f"`{one['model']}`" for one in faster])
    return f"{said} Refined draws are ahead on {names}." if faster else said


def arrivals(seconds: Sequence[float | None]) -> str:
    there = [number(value, 0) for value in seconds if value is not None]
    return f"{len(there)} of {len(seconds)}" + (f": {' / '.join(there)}" if there else "")


def wide() -> str:
    found = result("wide_tables")
    rows = [
        [
            f"`{one['kernel']}`",
            f"{one['sweeps']:,}",
            number(one["seconds"], 0),
            arrivals(one["arrived"]),
            *(
                " / ".join(number(value, 1) for value in one[f"clusters, from {side}"])
                for side in ("few", "many")
            ),
            number(one["rhat"], 3),
        ]
        for one in found["rows"]
    ]
    heads = ("columns", "tables", "full misses", "independent misses", "says so", "false alarms")
    few = [[str(value) for value in one.values()] for one in found["few rows"]]
    head = (
        "kernel",
        "steps a chain",
        "processor seconds a chain",
        "chains there, after seconds",
        "clusters, from few",
        "from many",
        "largest R-hat",
    )
    return f"""### Many columns

`python benchmarks/wide_tables.py`: {found["table"]}. Two chains begin with few clusters, and eight with draws
of the exact filter, which have 45 to 50; every chain has the same processor time. A chain from many clusters
is there when it comes within 10 nats of the log joint density of those from few; clusters and R-hat are those
of the last half. Where both sides do not meet, `compare` says that MCMC has not converged and how many
clusters its chains have.

{table(head, rows)}

`python benchmarks/wide_tables.py --few-rows`: simulated tables of 4 to 20 columns, of a third to four rows
for each entry of a covariance, with 1 to 4 clusters. How often the 90 % interval misses their number with
full covariances, the default, and with independent columns (`--family diagonal`); how often the answer with
full covariances then says that independent columns tell another number, and how often it does where it is
right. Full covariances stay the default, however wide a table is: where columns go together, independent
ones divide the clusters.

{table(heads, few)}"""
