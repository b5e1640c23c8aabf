"""Twenty answers about pairs that the posterior is least sure of, beside twenty about random pairs.

    python benchmarks/asking.py [--table "wine, 3 components"] [--seeds 5] [--report] [--tuning]

The answers are those of known classes. Draws of the posterior of a Gaussian mixture under all answers so far,
from four chains of merge-split moves and Gibbs sweeps, say what is asked next, and their point estimate
(variation of information) is compared with the classes by the adjusted Rand index. Clusters of a Gaussian
mixture need not be the classes: that is as hard for either way of asking. Beside random pairs stand
`most_informative_pairs` one at a time, five at a time, and with tolerance 0 (the pair nearest to one half,
whatever its answer does to other pairs). Where the draws agree on all pairs, a random one is asked.

Six tables of scikit-learn, standardised as `compare` does, and four simulated ones. Tolerance and the lengths
of chains were chosen on other tables (`--tuning`), not on those of the report. One result a table, way and
seed is kept in runs/asking, so that a run goes on where the last one ended. The last table is kept in
benchmarks/results/asking.json.
"""

import os
import platform
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import torch
import typer
from kept import kept, write_report
from real_tables import file_of, points_of
from rich.console import Console
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_moons
from sklearn.metrics import adjusted_rand_score

from pyroclust import read_table
from pyroclust.data.tables import principal_components, standardise
from pyroclust.diagnostics import most_informative_pairs, point_estimate
from pyroclust.infer.mcmc import CollapsedGibbs, Compose, MergeSplit
from pyroclust.models import Mixture, table_mixture

RUNS = Path(__file__).parents[1] / "runs" / "asking"
RESULTS = Path(__file__).parent / "results" / "asking.json"
ANSWERS, TOGETHER = 20, 5
CHAINS, DRAWS, WARMUP = 4, 250, 250
LabelledPoints = tuple[np.ndarray, np.ndarray]
Row = dict[str, Any]


def digits(classes: range, components: int, num_points: int) -> LabelledPoints:
    """Read the first images of some digits as principal components."""
    bunch = load_digits()
    kept_rows = np.flatnonzero(np.isin(bunch.target, classes))[:num_points]
    pixels = bunch.data[kept_rows]
    points = standardise(read_table(pixels[:, pixels.std(0) > 0]))
    return principal_components(points, components).data, bunch.target[kept_rows]


def known(name: str, load: Callable[[], Any]) -> LabelledPoints:
    """Return a table of the other benchmarks with its classes."""
    return points_of(name).numpy(), load().target


def gaussians(seed: int, *, clusters: int, dim: int, num_points: int, dof: float = np.inf) -> LabelledPoints:
    """Simulate clusters with covariances of their own, of heavy tails where ``dof`` is small."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(clusters, 3.0))
    labels = rng.choice(clusters, num_points, p=shares)
    centres, shapes = 2.2 * rng.normal(size=(clusters, dim)), 0.7 * rng.normal(size=(clusters, dim, dim))
    noise = rng.normal(size=(num_points, dim))
    if np.isfinite(dof):
        noise /= np.sqrt(rng.chisquare(dof, size=(num_points, 1)) / dof)
    return scaled(centres[labels] + np.einsum("nij,nj->ni", shapes[labels], noise)), labels


def moons(seed: int) -> LabelledPoints:
    """Simulate two bent clusters, which no Gaussian is like."""
    points, labels = make_moons(200, noise=0.1, random_state=seed)
    return scaled(points), labels


def scaled(points: np.ndarray) -> np.ndarray:
    return standardise(read_table(points)).data


TABLES: dict[str, Callable[[], LabelledPoints]] = {
    "iris, 4 columns": lambda: known("iris, 4 columns", load_iris),
    "wine, 3 components": lambda: known("wine, 3 components", load_wine),
    "wine, 4 components": lambda: known("wine, 4 components", load_wine),
    "breast cancer, 3 components": lambda: known("breast cancer, 3 components", load_breast_cancer),
    "digits 5 to 9, 3 components": lambda: digits(range(5, 10), 3, 300),
    "digits 5 to 9, 4 components": lambda: digits(range(5, 10), 4, 300),
    "simulated, 5 Gaussians in 2-D": lambda: gaussians(101, clusters=5, dim=2, num_points=200),
    "simulated, 8 Gaussians in 3-D": lambda: gaussians(102, clusters=8, dim=3, num_points=300),
    "simulated, 4 heavy-tailed in 2-D": lambda: gaussians(103, clusters=4, dim=2, num_points=200, dof=3.0),
    "simulated, 2 moons": lambda: moons(104),
}
TUNING: dict[str, Callable[[], LabelledPoints]] = {
    "iris, 2 columns": lambda: known("iris, 2 columns", load_iris),
    "wine, 2 components": lambda: known("wine, 2 components", load_wine),
    "digits 0 to 4, 2 components": lambda: digits(range(5), 2, 200),
    **{f"tuning, Gaussians {s}": lambda s=s: gaussians(s, clusters=5, dim=2, num_points=150) for s in (1, 2)},
    "tuning, moons": lambda: moons(1),
}
Draws = np.ndarray
# What is asked next, given draws: no pairs where it is random ones.
WAYS: dict[str, Callable[[Draws], np.ndarray]] = {
    "random": lambda draws: np.empty((0, 2), np.int64),
    "informative": lambda draws: most_informative_pairs(draws).pairs,
    "five at a time": lambda draws: most_informative_pairs(draws, number=TOGETHER).pairs,
    "nearest to one half": lambda draws: most_informative_pairs(draws, tolerance=0).pairs,
}
OTHER_TOLERANCES: dict[str, Callable[[Draws], np.ndarray]] = {
    f"tolerance {one}": lambda draws, one=one: most_informative_pairs(draws, tolerance=one).pairs
    for one in (0.03, 0.3, 1.0)
}
# Pairs that are asked before drawing anew.
STEPS = {"random": TOGETHER, "five at a time": TOGETHER}


def posterior(model: Mixture, points: np.ndarray, answers: list[tuple[int, int, bool]], seed: int) -> Draws:
    """Draw partitions under the answers so far, ``(chains, draws, N)``."""
    if answers:
        together = [(i, j) for i, j, same in answers if same]
        model = model.constrained(
            must_link=together, cannot_link=[(i, j) for i, j, same in answers if not same]
        )
    kernel = Compose([MergeSplit(model), CollapsedGibbs(model)])
    return kernel.run(points, num_draws=DRAWS, warmup=WARMUP, num_chains=CHAINS, seed=seed).assignments


def one(table: LabelledPoints, way: Callable[[Draws], np.ndarray], step: int, seed: int) -> Row:
    """Ask twenty times; return the adjusted Rand index after every five answers."""
    points, classes = table
    rng = np.random.default_rng(seed)
    model = table_mixture(numbers=points.shape[1])
    answers: list[tuple[int, int, bool]] = []
    scores: dict[int, float] = {}
    asking, empty, began = 0.0, 0, time.perf_counter()
    while True:
        draws = posterior(model, points, answers, seed=1000 * seed + len(answers))
        if len(answers) % TOGETHER == 0:
            estimate = point_estimate(draws, seed=seed)
            scores[len(answers)] = float(adjusted_rand_score(classes, estimate))
        if len(answers) >= ANSWERS:
            break
        start = time.perf_counter()
        pairs = way(draws)[:step]
        asking += time.perf_counter() - start
        at_random = np.array([rng.choice(len(points), 2, replace=False) for _ in range(step - len(pairs))])
        empty += len(at_random)
        answers += [(int(i), int(j), bool(classes[i] == classes[j])) for i, j in [*pairs, *at_random]]
    return {
        "scores": scores,
        "clusters": int(estimate.max()) + 1,
        "together": sum(same for _, _, same in answers),
        "at random": empty,
        "seconds asking": asking,
        "seconds": time.perf_counter() - began,
    }


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return float(values.mean()), float(error)


def summary(name: str, table: LabelledPoints, found: dict[str, list[Row]]) -> Row:
    """Return means and standard errors over the seeds, and the gain over random pairs."""
    points, classes = table
    row: Row = {"table": name, "N": len(points), "D": points.shape[1], "classes": len(np.unique(classes))}
    last = {way: np.array([one["scores"][str(ANSWERS)] for one in runs]) for way, runs in found.items()}
    for way, runs in found.items():
        curve = pd.DataFrame([one["scores"] for one in runs]).mean()
        row[way] = {
            "scores": {int(answers): float(score) for answers, score in curve.items()},
            "last": mean_and_error(last[way]),
            "gain": mean_and_error(last[way] - last["random"]),
            "clusters": float(np.mean([one["clusters"] for one in runs])),
            "together": float(np.mean([one["together"] for one in runs])),
            "at random": float(np.mean([one["at random"] for one in runs])),
            "seconds a question": float(np.mean([one["seconds asking"] for one in runs])) / ANSWERS,
        }
    return row


def shown(rows: list[Row]) -> str:
    ways = [name for name in rows[0] if isinstance(rows[0][name], dict)]
    lines = [
        {"table": row["table"], "N": row["N"], "0": row[ways[0]]["scores"][0]}
        | {way: "{:.3f} ({:.3f})".format(*row[way]["last"]) for way in ways}
        | {f"{way}, gain": "{:+.3f} ({:.3f})".format(*row[way]["gain"]) for way in ways[1:]}
        for row in rows
    ]
    return pd.DataFrame(lines).round(3).to_string(index=False)


def main(
    table: Annotated[list[str] | None, typer.Option()] = None,
    *,
    seeds: int = 5,
    report: bool = False,
    tuning: bool = False,
) -> None:
    """Ask about every table that has no result yet, and print and keep what is there."""
    torch.set_num_threads(1)
    tables = TUNING if tuning else TABLES
    ways = WAYS | OTHER_TOLERANCES if tuning else WAYS
    rows = []
    for name in table or tables:
        points = tables[name]()
        found: dict[str, list[Row]] = {}
        for way, ask in ways.items():
            for seed in range(seeds):
                path = RUNS / f"{file_of(name)}-{file_of(way)}-{seed}.json"
                if path.exists() or not report:
                    step = STEPS.get(way, 1)
                    result = kept(path, partial(one, points, ask, step, seed))
                    found.setdefault(way, []).append(result)
        if len({len(runs) for runs in found.values()}) == 1:
            rows.append(summary(name, points, found))
            typer.echo(f"{name}: {rows[-1]['informative']['gain'][0]:+.3f} above random pairs")
    if not rows:
        return
    Console(width=250).print(shown(rows))
    machine = {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count()}
    if table is None and not tuning:
        settings = {"seeds": seeds, "chains": CHAINS, "draws": DRAWS, "warmup": WARMUP}
        write_report(RESULTS, {"machine": machine, "settings": settings, "rows": rows})


if __name__ == "__main__":
    typer.run(main)
