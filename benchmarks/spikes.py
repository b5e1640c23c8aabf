"""The guide of spikes beside a variational mixture, on simulated recordings of 500 to 2,000 spikes.

    python benchmarks/spikes.py [--sets 20] [--guide ncp-spikes]

Each recording is drawn anew from models.SpikeWaveforms. The guide's partition is the one among its 64 draws
that has the least expected variation of information under them. Beside it stand, on twelve principal
components of the waveforms, scikit-learn's variational mixture with at most twelve components, and k-means
told the number of neurons. One result a recording is kept in runs/spikes, so that a run goes on where the
last one ended. The last report is in benchmarks/results/spikes.json.
"""

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import typer
from rich.console import Console
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.mixture import BayesianGaussianMixture

from pyroclust import load_guide
from pyroclust.diagnostics import DrawsSearch, point_estimate
from pyroclust.files import replace_file
from pyroclust.infer import simulate

RUNS = Path(__file__).parents[1] / "runs" / "spikes"
RESULTS = Path(__file__).parent / "results" / "spikes.json"
SIZES, DRAWS, COMPONENTS = (500, 1000, 2000), 64, 12


def recording(model: Any, num_spikes: int, seed: int) -> tuple[torch.Tensor, np.ndarray]:
    """Simulate a recording of two neurons or more."""
    torch.manual_seed(1_000_000 + seed)
    while True:
        spikes, neurons = simulate(model, torch.empty(num_spikes, *model.event_shape))
        if int(neurons.max()) > 0:
            return spikes, neurons.numpy()


def measured(guide: Any, num_spikes: int, seed: int) -> dict[str, Any]:
    """Return the adjusted mutual information of every method on one recording, and seconds."""
    spikes, neurons = recording(guide.model, num_spikes, seed)
    begin = time.perf_counter()
    with torch.no_grad():
        draws = guide.posterior(spikes).sample((DRAWS,)).numpy()
    estimate = point_estimate(draws, seed=0, search=DrawsSearch())
    middle = time.perf_counter()
    components = PCA(COMPONENTS, random_state=0).fit_transform(spikes.flatten(1).numpy())
    mixture = BayesianGaussianMixture(n_components=12, max_iter=500, random_state=0)
    variational = mixture.fit_predict(components)
    end = time.perf_counter()
    number = len(np.unique(neurons))
    partitions = {
        "guide": estimate,
        "variational mixture": variational,
        "k-means, told K": KMeans(number, n_init=10, random_state=0).fit_predict(components),
    }
    return {
        "neurons": number,
        "clusters": {name: len(np.unique(one)) for name, one in partitions.items()},
        "ami": {name: adjusted_mutual_info_score(neurons, one) for name, one in partitions.items()},
        "seconds": {"guide": middle - begin, "variational mixture": end - middle},
    }


def main(sets: int = 20, guide: str = "ncp-spikes") -> None:
    """Measure all recordings and print one table."""
    torch.set_num_threads(1)
    loaded = load_guide(guide)
    weights = hashlib.sha256(b"".join(one.numpy().tobytes() for one in loaded.state_dict().values()))
    folder = RUNS / weights.hexdigest()[:12]
    folder.mkdir(parents=True, exist_ok=True)
    report = {}
    for size in SIZES:
        rows = []
        for seed in range(sets):
            path = folder / f"{size}-{seed}.json"
            if not path.exists():
                replace_file(path, json.dumps(measured(loaded, size, seed)).encode())
            rows.append(json.loads(path.read_text()))
        ami = pd.DataFrame([row["ami"] for row in rows])
        clusters = pd.DataFrame([row["clusters"] for row in rows])
        neurons = np.array([row["neurons"] for row in rows])
        spent = pd.DataFrame([row["seconds"] for row in rows]).mean()
        report[str(size)] = {
            name: {
                "ami": float(ami[name].mean()),
                "error": float(ami[name].std() / np.sqrt(len(rows))),
                "mean excess of K": float((clusters[name] - neurons).mean()),
                "seconds": float(spent[name]) if name in spent else None,
            }
            for name in ami
        }
        Console(width=140).print(f"{size} spikes", pd.DataFrame(report[str(size)]).T.round(3).to_string())
    if guide == "ncp-spikes":
        content = {"sets": sets, "draws": DRAWS, "rows": report}
        replace_file(RESULTS, (json.dumps(content, indent=1) + "\n").encode())


if __name__ == "__main__":
    typer.run(main)
