"""Deep amortized clustering on the test sets of its experiments, of more clusters than it was trained on.

    python benchmarks/filtering.py [--sets 1000] [--guide dac-mog] [--clusterwise FOLDER]

Gaussian sets of 900 to 3,000 points and up to twelve clusters in the plane (models.filtering_clusters(12)),
ten of a size at once; the guide was trained on up to four clusters. Partitions are what filtering finds.
Besides adjusted Rand index, normalised mutual information (arithmetic mean) and the distance of the number of
clusters to the truth stands the mean log-likelihood a point of the clusters that were found, weights as large
as they are, beside that of the true clusters. Another guide that makes partitions cluster by cluster can
stand beside it, by its most probable partition. Peers: k-means and expectation maximisation, told K, spectral
clustering, told K, of one set of each ten, and scikit-learn's variational mixture with at most twenty
components. Seconds are those of one set on one core. One result a batch is kept in runs/filtering. The last
report is in benchmarks/results/filtering.json.
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
from pyro import poutine
from rich.console import Console
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

from pyroclust import load_guide
from pyroclust.distributions import DiagonalMixture
from pyroclust.models import filtering_clusters

RUNS = Path(__file__).parents[1] / "runs" / "filtering"
RESULTS = Path(__file__).parent / "results" / "filtering.json"
LARGEST, CLUSTERS, AT_ONCE, SEED = 3000, 12, 10, 55_000


def batch_of(seed: int) -> dict[str, torch.Tensor]:
    """Simulate ten sets of one size."""
    torch.manual_seed(SEED + seed)
    size = int(torch.randint(int(0.3 * LARGEST), LARGEST, ()))
    program = poutine.uncondition(filtering_clusters(CLUSTERS))
    trace = poutine.trace(program).get_trace(torch.empty(AT_ONCE, size, 2))
    return {name: trace.nodes[name]["value"] for name in ("means", "scales", "labels", "assignments", "data")}


def scores(labels: np.ndarray, found: np.ndarray) -> dict[str, float]:
    return {
        "ari": adjusted_rand_score(labels, found),
        "nmi": normalized_mutual_info_score(labels, found),
        "K off by": abs(len(np.unique(found)) - len(np.unique(labels))),
    }


def of_truth(seed: int) -> list[dict[str, float]]:
    """Return the likelihood of the true clusters, their weights as large as they are."""
    sites = batch_of(seed)
    shares = torch.nn.functional.one_hot(sites["labels"], CLUSTERS).float().mean(1)
    size = sites["data"].shape[1]
    law = DiagonalMixture(shares.log(), sites["means"], sites["scales"], num_points=size)
    return [{"likelihood": one} for one in (law.log_prob(sites["data"]) / size).tolist()]


def by_filtering(guide: Any, seed: int) -> list[dict[str, float]]:
    """Measure what filtering finds."""
    sites = batch_of(seed)
    data, labels = sites["data"], sites["assignments"].numpy()
    torch.manual_seed(0)
    begin = time.perf_counter()
    found = guide.filtering(data)
    seconds = (time.perf_counter() - begin) / AT_ONCE
    likelihood = (guide.log_density(data, found) / data.shape[1]).tolist()
    never = (~found.filtered).double().mean(-1).tolist()
    return [
        scores(*pair) | {"likelihood": one, "never filtered": left, "seconds": seconds}
        for *pair, one, left in zip(labels, found.assignments.numpy(), likelihood, never, strict=True)
    ]


def by_search(guide: Any, seed: int) -> list[dict[str, float]]:
    """Measure the most probable partition that a guide finds."""
    sites = batch_of(seed)
    torch.manual_seed(0)
    begin = time.perf_counter()
    with torch.no_grad():
        found = guide.posterior(sites["data"]).map_partition(width=1)
    seconds = (time.perf_counter() - begin) / AT_ONCE
    pairs = zip(sites["assignments"].numpy(), found.numpy(), strict=True)
    return [scores(*pair) | {"seconds": seconds} for pair in pairs]


def by_method(make: Callable[[int], Any], most: int, seed: int) -> list[dict[str, float]]:
    """Measure one of scikit-learn's methods on some sets of a batch."""
    sites, rows = batch_of(seed), []
    for data, labels in list(zip(sites["data"].numpy(), sites["assignments"].numpy(), strict=True))[:most]:
        method = make(len(np.unique(labels)))
        begin = time.perf_counter()
        found = method.fit_predict(data)
        seconds = time.perf_counter() - begin
        one = {"likelihood": float(method.score(data))} if hasattr(method, "weights_") else {}
        rows.append(scores(labels, found) | one | {"seconds": seconds})
    return rows


def told_k_means(number: int) -> KMeans:
    return KMeans(number, n_init=10, random_state=0)


def told_mixture(number: int) -> GaussianMixture:
    return GaussianMixture(number, covariance_type="diag", n_init=3, random_state=0)


def told_spectral(number: int) -> Any:
    return SpectralClustering(number, affinity="nearest_neighbors", n_neighbors=20, random_state=0)


def variational(_: int) -> BayesianGaussianMixture:
    return BayesianGaussianMixture(
        n_components=20,
        covariance_type="diag",
        max_iter=1000,
        random_state=0,
        weight_concentration_prior=0.05,
    )


def main(sets: int = 1000, guide: str = "dac-mog", clusterwise: str = "") -> None:
    """Measure all sets and print one table."""
    torch.set_num_threads(1)
    own = load_guide(guide)
    methods: dict[str, tuple[str, Callable[[int], list[dict[str, float]]]]] = {
        "true clusters": ("truth", of_truth),
        guide: (f"dac-{weights_of(own)}", partial(by_filtering, own)),
    }
    if clusterwise:
        other = load_guide(clusterwise)
        methods[Path(clusterwise).name] = (f"clusterwise-{weights_of(other)}", partial(by_search, other))
    peers = {"k-means, told K": told_k_means, "EM, told K": told_mixture, "variational mixture": variational}
    methods |= {name: (name, partial(by_method, make, AT_ONCE)) for name, make in peers.items()}
    methods["spectral, told K"] = ("spectral", partial(by_method, told_spectral, 1))
    found = {}
    for name, (folder, measure) in methods.items():
        rows: list[dict[str, float]] = []
        for seed in range(sets // AT_ONCE):
            rows += kept(RUNS / folder / f"{seed}.json", partial(measure, seed))
        frame = pd.DataFrame(rows)
        found[name] = {key: float(frame[key].mean()) for key in frame} | {"sets": len(frame)}
    Console(width=140).print(pd.DataFrame(found).T.round(4).to_string())
    write_report(RESULTS, {"guide": guide, "rows": found})


if __name__ == "__main__":
    typer.run(main)
