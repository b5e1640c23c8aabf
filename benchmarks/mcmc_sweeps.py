"""Measure collapsed Gibbs sweeps per second on one core, beside a plain hand-written sweep.

Run ``python benchmarks/mcmc_sweeps.py``; the result is kept in ``benchmarks/results/mcmc_sweeps.json``.
"""

import json
import math
import os
import platform
import time
from pathlib import Path

import numba
import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from pyroclust.infer.mcmc import CollapsedGibbs
from pyroclust.models import gaussian2d, nig_mixture, niw_mixture, overlap2d

RESULT = Path(__file__).parent / "results" / "mcmc_sweeps.json"
SECONDS = 2.0


@numba.njit(cache=True, fastmath=True)
def plain_sweeps(data, sweeps, concentration, prior_scale):
    """Remove, weigh, draw, add: the textbook sweep for known unit variance, nothing cached."""
    num_points, dim = data.shape
    labels, sizes = np.zeros(num_points, np.int64), np.zeros(num_points + 1, np.int64)
    sums, weights = np.zeros((num_points + 1, dim)), np.zeros(num_points + 1)
    sizes[0], clusters, total_clusters = num_points, 1, 0
    for i in range(num_points):
        for d in range(dim):
            sums[0, d] += data[i, d]
    for _ in range(sweeps):
        for i in range(num_points):
            own = labels[i]
            sizes[own] -= 1
            for d in range(dim):
                sums[own, d] -= data[i, d]
            if sizes[own] == 0:
                clusters -= 1
                sizes[own] = sizes[clusters]
                for d in range(dim):
                    sums[own, d] = sums[clusters, d]
                for j in range(num_points):
                    if labels[j] == clusters:
                        labels[j] = own
            best = -np.inf
            for k in range(clusters + 1):
                size = sizes[k] if k < clusters else 0
                precision = size + 1.0 / prior_scale**2
                variance = 1.0 + 1.0 / precision
                distance = 0.0
                for d in range(dim):
                    centre = sums[k, d] / precision if k < clusters else 0.0
                    distance += (data[i, d] - centre) ** 2
                weight = math.log(size if size > 0 else concentration) - 0.5 * dim * math.log(variance)
                weights[k] = weight - 0.5 * distance / variance
                best = max(best, weights[k])
            total = 0.0
            for k in range(clusters + 1):
                total += math.exp(weights[k] - best)
                weights[k] = total
            target, k = np.random.random() * total, 0  # noqa: NPY002  (numba's own generator)
            while k < clusters and weights[k] <= target:
                k += 1
            if k == clusters:
                clusters += 1
                sizes[k] = 0
                for d in range(dim):
                    sums[k, d] = 0.0
            labels[i] = k
            sizes[k] += 1
            for d in range(dim):
                sums[k, d] += data[i, d]
        total_clusters += clusters
    return total_clusters / sweeps


def ring(num_points, radius):
    """Five unit-variance clusters on a ring."""
    torch.manual_seed(0)
    angle = 2 * math.pi * (torch.arange(num_points) % 5) / 5
    return radius * torch.stack([angle.cos(), angle.sin()], -1) + torch.randn(num_points, 2)


def measure(run):
    """Return sweeps per second and mean number of clusters, the best of three runs after a calibration."""
    began = time.perf_counter()
    run(200)
    sweeps = max(200, int(200 * SECONDS / 3 / (time.perf_counter() - began)))
    found = [run(sweeps) for _ in range(3)]
    return max(sweeps / seconds for seconds, _ in found), found[-1][1]


def gibbs(model, data):
    def run(sweeps):
        draws = CollapsedGibbs(model).run(data, num_draws=sweeps, num_chains=1, seed=0)
        return draws.seconds, draws.num_clusters.double().mean().item()

    return run


def plain(data, prior_scale):
    points = data.double().numpy()

    def run(sweeps):
        began = time.perf_counter()
        clusters = plain_sweeps(points, sweeps, 0.7, prior_scale)
        return time.perf_counter() - began, clusters

    return run


def cases():
    """Yield name, number of points and a function that runs a number of sweeps."""
    for num_points in (100, 1000):
        apart, close = ring(num_points, 12.0), ring(num_points, 3.5)
        scaled = (apart - apart.mean(0)) / apart.std(0)
        yield "plain sweep, known variance, apart", num_points, plain(apart, 10.0)
        yield "CollapsedGibbs, known variance, apart", num_points, gibbs(gaussian2d(), apart)
        yield "plain sweep, known variance, overlapping", num_points, plain(close, 3.0)
        yield "CollapsedGibbs, known variance, overlapping", num_points, gibbs(overlap2d(), close)
        yield "CollapsedGibbs, normal-inverse-gamma", num_points, gibbs(nig_mixture(2), scaled)
        yield "CollapsedGibbs, normal-inverse-Wishart", num_points, gibbs(niw_mixture(2), scaled)


def machine():
    """Describe the machine that the numbers come from."""
    names = [
        line.split(":")[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if "model name" in line
    ]
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numba": numba.__version__,
        "load": os.getloadavg()[0],
    }


def main():
    torch.set_num_threads(1)
    rows = []
    for name, num_points, run in cases():
        run(2)
        rate, clusters = measure(run)
        rows.append(
            {"sampler": name, "num_points": num_points, "sweeps_per_second": rate, "mean_clusters": clusters}
        )
    table = Table("sampler", "points", "sweeps / s", "mean K", title="one core, D = 2")
    for row in rows:
        table.add_row(
            row["sampler"],
            str(row["num_points"]),
            f"{row['sweeps_per_second']:,.0f}",
            f"{row['mean_clusters']:.1f}",
        )
    Console().print(table)
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
