"""Seconds of filtering beside a variational mixture: ten sets of 1,000 points, four clusters, on one core.

    python benchmarks/filtering_speed.py [--guide dac-mog] [--repeats 20]

Each repeat makes ten fresh sets of four clusters (models.GaussianClusters) and partitions them: by filtering
of one order of anchors, all ten at once; by the best of eight orders with points reassigned; and by
scikit-learn's variational mixture with at most ten components, one set after the other. Medians of seconds,
means of adjusted Rand indices. Results in benchmarks/results/filtering_speed.json.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import typer
from filtering import ORDERS, variational
from kept import write_report
from sklearn.metrics import adjusted_rand_score

from pyroclust import load_guide
from pyroclust.infer import simulate
from pyroclust.models import GaussianClusters

RESULTS = Path(__file__).parent / "results" / "filtering_speed.json"
SETS, POINTS, CLUSTERS, SEED = 10, 1000, 4, 91_000


def by_mixture(data: torch.Tensor) -> np.ndarray:
    return np.stack([variational("diag", CLUSTERS, most=10).fit_predict(one) for one in data.numpy()])


def main(guide: str = "dac-mog", repeats: int = 20) -> None:
    """Time all methods on the same sets and print one line each."""
    torch.set_num_threads(1)
    own: Any = load_guide(guide)
    model = GaussianClusters(CLUSTERS, centre_scale=3.0, scale=0.25, scale_spread=0.1, name="speed")
    methods: dict[str, Callable[[torch.Tensor], np.ndarray]] = {
        guide: lambda data: own.filtering(data).assignments.numpy(),
        f"{guide}, {ORDERS} orders": lambda data: own.reassigned(
            data, own.filtering(data, num_orders=ORDERS)
        ).assignments.numpy(),
        "variational mixture": by_mixture,
    }
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    scores: dict[str, list[float]] = {name: [] for name in methods}
    for repeat in range(repeats + 1):
        torch.manual_seed(SEED + repeat)
        data, labels = simulate(model, torch.empty(SETS, POINTS, 2))
        for name, method in methods.items():
            begin = time.perf_counter()
            found = method(data)
            spent = time.perf_counter() - begin
            # The first repeat warms up.
            if repeat:
                seconds[name].append(spent)
                pairs = zip(labels.numpy(), found, strict=True)
                scores[name] += [adjusted_rand_score(*pair) for pair in pairs]
    rows = {
        name: {"seconds": float(np.median(seconds[name])), "ari": float(np.mean(scores[name]))}
        for name in methods
    }
    for name, row in rows.items():
        print(f"{name:24} {row['seconds']:.3f} s a batch of {SETS}, adjusted Rand index {row['ari']:.3f}")
    write_report(RESULTS, {"sets": SETS, "points": POINTS, "clusters": CLUSTERS, "rows": rows})


if __name__ == "__main__":
    typer.run(main)
