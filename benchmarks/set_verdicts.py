"""Verdicts of many data sets beside long chains: how far off are draws that are called sure?

    python benchmarks/set_verdicts.py [--sets 67]

Data sets of 20, 40 or 80 points come from the model of the guide, with tails of three degrees of freedom,
and with centres so near that clusters overlap. A verdict is that of 100 draws. The error is the largest
difference of a probability of a number of clusters, or of a pair of points, to two chains of 20,000 sweeps
after 4,000: of 2,000 further draws, which is what the verdict speaks of, and of the 100, with their noise.
The result is kept in benchmarks/results/set_verdicts.json.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
import typer

from pyroclust import Draws, cluster_many, load_guide
from pyroclust.diagnostics import co_assignment, importance_weights
from pyroclust.infer import simulate
from pyroclust.infer.mcmc.named_kernels import default_kernel_name, named_kernel

RESULT = Path(__file__).parent / "results" / "set_verdicts.json"
GUIDE, SEED, SWEEPS, BURN_IN, THIN = "ncp-gaussian2d", 77, 20_000, 4000, 5
Law = tuple[np.ndarray, np.ndarray]


def sets_of_kinds(number: int) -> dict[str, np.ndarray]:
    """Simulate as many data sets of each kind, by kind and number."""
    rng, sets = np.random.default_rng(SEED), {}
    torch.manual_seed(SEED)
    for place in range(number):
        points = int(rng.choice([20, 40, 80]))
        data, _ = simulate(load_guide(GUIDE).model, torch.empty(1, points, 2))
        sets[f"model {place}"] = data[0].double().numpy()
        clusters = rng.integers(1, 5)
        centres = 4 * rng.normal(size=(clusters, 2))
        sets[f"tails {place}"] = centres[rng.integers(0, clusters, points)] + rng.standard_t(3, (points, 2))
        centres = 2 * rng.normal(size=(clusters, 2))
        sets[f"overlap {place}"] = centres[rng.integers(0, clusters, points)] + rng.normal(size=(points, 2))
    return sets


def law(labels: np.ndarray, weights: np.ndarray | None = None) -> Law:
    """Return probabilities of the numbers of clusters and of pairs."""
    shares = np.full(len(labels), 1 / len(labels)) if weights is None else weights
    counts = np.bincount(labels.max(-1) + 1, shares, minlength=labels.shape[1] + 1)
    return counts, co_assignment(labels, weights=shares)


def error(one: Law, other: Law) -> float:
    """Return the largest difference of a probability."""
    return max(float(np.abs(a - b).max()) for a, b in zip(one, other, strict=True))


def errors(draws: Draws, truth: Law) -> dict[str, float]:
    """Return the errors of draws of a guide, without weights and with them."""
    weights = None if draws.log_weights is None else importance_weights(draws.log_weights)
    return {"plain": error(law(draws.flat), truth), "weighted": error(law(draws.flat, weights), truth)}


def main(*, sets: int = 67) -> None:
    """Draw by the guide, then by chains, and compare."""
    data, rows = sets_of_kinds(sets), list[dict[str, Any]]()
    options: dict[str, Any] = {"guide": GUIDE, "raw": True, "budget": 0}
    few = cluster_many(data, num_draws=100, **options)
    more = cluster_many(data, num_draws=2000, seed=1, **options)
    model = load_guide(GUIDE).model
    kernel = named_kernel(default_kernel_name(model), model)
    for name, points in data.items():
        chains = [
            law(
                kernel.run(
                    torch.from_numpy(points), num_draws=SWEEPS, warmup=BURN_IN, num_chains=1, seed=seed
                ).flat[::THIN]
            )
            for seed in (0, 1)
        ]
        truth = (chains[0][0] + chains[1][0]) / 2, (chains[0][1] + chains[1][1]) / 2
        row = few.summaries.loc[name]
        rows.append(
            {
                "kind": name.split()[0],
                "N": len(points),
                "verdict": row["verdict"],
                "efficiency": float(row["efficiency"]),
                "between chains": error(*chains),
                "of 100": errors(few.draws(name), truth),
                "of 2,000": errors(more.draws(name), truth),
            }
        )
        RESULT.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    typer.run(main)
