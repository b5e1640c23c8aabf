"""The set transformer on the test sets of its experiments: likelihood and partitions, beside true parameters.

    python benchmarks/set_transformer.py [--sets 1000] [--guide settransformer-mog4]

Sets have 100 to 500 points of four Gaussians in the plane (models.set_transformer_clusters). The mean
log-likelihood a point, as the network says the parameters and after one step of expectation maximisation, and
the adjusted Rand index of the most probable component of each point. Beside it stand the true parameters;
expectation maximisation from k-means, told K (scikit-learn, diagonal); and scikit-learn's variational mixture
with at most ten components. Seconds are those of the parameters of one set on one core, of ten sets at once
for the guide. The last report is in benchmarks/results/set_transformer.json.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import typer
from kept import write_report
from pyro import poutine
from rich.console import Console
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

from pyroclust import load_guide
from pyroclust.distributions import DiagonalMixture
from pyroclust.models import set_transformer_clusters

RESULTS = Path(__file__).parent / "results" / "set_transformer.json"
SMALLEST, LARGEST, AT_ONCE, SEED = 100, 500, 10, 77_000


def batch_of(seed: int) -> dict[str, torch.Tensor]:
    """Simulate ten sets of one size."""
    torch.manual_seed(SEED + seed)
    size = int(torch.randint(SMALLEST, LARGEST + 1, ()))
    program = poutine.uncondition(set_transformer_clusters(4))
    trace = poutine.trace(program).get_trace(torch.empty(AT_ONCE, size, 2))
    names = ("weights", "means", "scales", "assignments", "data")
    return {name: trace.nodes[name]["value"] for name in names}


def judged(mixture: DiagonalMixture, data: torch.Tensor, labels: torch.Tensor) -> list[dict[str, float]]:
    joint = mixture.log_joint(data)
    likelihood = joint.logsumexp(-1).mean(-1).tolist()
    found = joint.argmax(-1).numpy()
    scores = [adjusted_rand_score(*pair) for pair in zip(labels.numpy(), found, strict=True)]
    return [{"likelihood": one, "ari": score} for one, score in zip(likelihood, scores, strict=True)]


def by_sklearn(method: Any, data: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    begin = time.perf_counter()
    found = method.fit_predict(data)
    seconds = time.perf_counter() - begin
    # The variational mixture scores by the means of its posterior.
    likelihood = float(method.score(data))
    return {"likelihood": likelihood, "ari": adjusted_rand_score(labels, found), "seconds": seconds}


def main(sets: int = 1000, guide: str = "settransformer-mog4") -> None:
    """Measure all sets and print one table."""
    torch.set_num_threads(1)
    loaded = load_guide(guide)
    rows: dict[str, list[dict[str, float]]] = {
        name: [] for name in ("true parameters", "guide", "guide, one EM step", "EM, told K", "variational")
    }
    for seed in range(sets // AT_ONCE):
        sites = batch_of(seed)
        data, labels = sites["data"], sites["assignments"]
        size = data.shape[1]
        truth = DiagonalMixture(sites["weights"].log(), sites["means"], sites["scales"], num_points=size)
        with torch.no_grad():
            begin = time.perf_counter()
            mixture = loaded.mixture_of(data)
            first = (time.perf_counter() - begin) / AT_ONCE
            after = mixture.after_one_step(data)
            second = (time.perf_counter() - begin) / AT_ONCE
        rows["true parameters"] += judged(truth, data, labels)
        rows["guide"] += [one | {"seconds": first} for one in judged(mixture, data, labels)]
        rows["guide, one EM step"] += [one | {"seconds": second} for one in judged(after, data, labels)]
        for points, own in zip(data.numpy(), labels.numpy(), strict=True):
            told = GaussianMixture(4, covariance_type="diag", random_state=0)
            rows["EM, told K"].append(by_sklearn(told, points, own))
            many = BayesianGaussianMixture(
                n_components=10, covariance_type="diag", max_iter=500, random_state=0
            )
            rows["variational"].append(by_sklearn(many, points, own))
    frames = {name: pd.DataFrame(one) for name, one in rows.items()}
    found = {
        name: {key: float(one[key].mean()) for key in one} | {"error": float(one["likelihood"].sem())}
        for name, one in frames.items()
    }
    Console(width=120).print(pd.DataFrame(found).T.round(4).to_string())
    write_report(RESULTS, {"sets": sets, "guide": guide, "rows": found})


if __name__ == "__main__":
    typer.run(main)
