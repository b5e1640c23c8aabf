"""The guides of spikes beside a variational mixture, on simulated recordings of 500 to 2,000 spikes.

    python benchmarks/spikes.py [--sets 20] [--guide FOLDER]

Each recording is drawn anew from models.SpikeWaveforms. A guide's partition is the one among its 64 draws
that has the least expected variation of information under them. Beside the guides stand, on twelve principal
components of the waveforms, scikit-learn's variational mixture with at most twelve components, and k-means
told the number of neurons. One result a recording and method is kept in runs/spikes, so that a run goes on
where the last one ended. The last report is in benchmarks/results/spikes.json; --guide measures another guide
and leaves it as it is.
"""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import typer
from kept import kept, weights_of, write_report
from rich.console import Console
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.mixture import BayesianGaussianMixture

from pyroclust import load_guide
from pyroclust.diagnostics import DrawsSearch, point_estimate
from pyroclust.infer import simulate
from pyroclust.models import SpikeWaveforms

RUNS = Path(__file__).parents[1] / "runs" / "spikes"
RESULTS = Path(__file__).parent / "results" / "spikes.json"
GUIDES = ("ncp-spikes", "acp-spikes")
MODEL = SpikeWaveforms()
SIZES, DRAWS, COMPONENTS = (500, 1000, 2000), 64, 12


def recording(model: Any, num_spikes: int, seed: int) -> tuple[torch.Tensor, np.ndarray]:
    """Simulate a recording of two neurons or more."""
    torch.manual_seed(1_000_000 + seed)
    while True:
        spikes, neurons = simulate(model, torch.empty(num_spikes, *model.event_shape))
        if int(neurons.max()) > 0:
            return spikes, neurons.numpy()


def by_guide(guide: Any, spikes: torch.Tensor) -> np.ndarray:
    """Return the point estimate of a guide's draws."""
    with torch.no_grad():
        draws = guide.posterior(spikes).sample((DRAWS,)).numpy()
    return point_estimate(draws, seed=0, search=DrawsSearch())


def by_mixture(spikes: torch.Tensor, _: int) -> np.ndarray:
    """Return the partition of a variational mixture."""
    mixture = BayesianGaussianMixture(n_components=12, max_iter=500, random_state=0)
    return mixture.fit_predict(components_of(spikes))


def by_k_means(spikes: torch.Tensor, number: int) -> np.ndarray:
    """Return the partition of k-means that is told the number of neurons."""
    return KMeans(number, n_init=10, random_state=0).fit_predict(components_of(spikes))


def components_of(spikes: torch.Tensor) -> np.ndarray:
    return PCA(COMPONENTS, random_state=0).fit_transform(spikes.flatten(1).numpy())


OTHERS: dict[str, Callable[[torch.Tensor, int], np.ndarray]] = {
    "variational mixture": by_mixture,
    "k-means, told K": by_k_means,
}


def measured(method: Callable[[torch.Tensor, int], np.ndarray], num_spikes: int, seed: int) -> dict[str, Any]:
    """Return the adjusted mutual information of a method on one recording, and seconds."""
    spikes, neurons = recording(MODEL, num_spikes, seed)
    number = len(np.unique(neurons))
    begin = time.perf_counter()
    found = method(spikes, number)
    return {
        "seconds": time.perf_counter() - begin,
        "excess": len(np.unique(found)) - number,
        "ami": adjusted_mutual_info_score(neurons, found),
    }


def summary(folder: str, method: Callable[[torch.Tensor, int], np.ndarray], size: int, sets: int) -> Any:
    """Measure the recordings of one size that an earlier run left unmeasured, and average over all."""
    rows = []
    for seed in range(sets):
        rows.append(kept(RUNS / folder / f"{size}-{seed}.json", partial(measured, method, size, seed)))
    frame = pd.DataFrame(rows)
    return {
        "ami": float(frame.ami.mean()),
        "error": float(frame.ami.sem()),
        "mean excess of K": float(frame.excess.mean()),
        "seconds": float(frame.seconds.mean()),
    }


def methods_of(guides: tuple[str, ...]) -> dict[str, tuple[str, Callable[[torch.Tensor, int], np.ndarray]]]:
    """Return a folder of results, named after its weights for a guide, and a function for every method."""
    found: dict[str, tuple[str, Callable[[torch.Tensor, int], np.ndarray]]] = {}
    for name in guides:
        guide = load_guide(name)
        found[name] = (weights_of(guide), lambda spikes, _, guide=guide: by_guide(guide, spikes))
    return found | {name: (name.split()[0], one) for name, one in OTHERS.items()}


def main(sets: int = 20, guide: str = "") -> None:
    """Measure all recordings and print one table a size."""
    torch.set_num_threads(1)
    methods = methods_of((guide,) if guide else GUIDES)
    report = {}
    for size in SIZES:
        report[str(size)] = {name: summary(*one, size, sets) for name, one in methods.items()}
        Console(width=140).print(f"{size} spikes", pd.DataFrame(report[str(size)]).T.round(3).to_string())
    if not guide:
        write_report(RESULTS, {"sets": sets, "draws": DRAWS, "rows": report})


if __name__ == "__main__":
    typer.run(main)
