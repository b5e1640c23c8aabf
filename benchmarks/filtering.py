"""Deep amortized clustering on the test sets of its experiments, of more clusters than it was trained on.

    python benchmarks/filtering.py [--world gaussian] [--sets 1000] [--guide dac-mog] [--clusterwise FOLDER]

Worlds: ``gaussian``, sets of 900 to 3,000 points and up to twelve clusters in the plane
(models.filtering_clusters(12)); ``warped``, the same with curved clusters (models.warped_clusters); and
``warped-4``, curved clusters as in training, up to four, 300 to 1,000 points. Guides were trained on up to
four clusters. Ten sets of a size are filtered at once; partitions are what filtering finds, of one order of
anchors as published, and of the best of eight, each point given to its likeliest cluster. Besides adjusted
Rand index, normalised mutual information (arithmetic mean) and the distance of the number of clusters to the
truth stands the mean log-likelihood a point of the clusters that were found, weights as large as they are,
beside that of the true clusters where they have one. Another guide that makes partitions cluster by cluster
can stand beside it, by its most probable partition. Peers: k-means and expectation maximisation (full
covariances for curved clusters), told K; spectral clustering, told K, of one set of each ten; DBSCAN, whose
radius is the best on 50 other sets; and scikit-learn's variational mixture with at most twenty components.
Seconds are those of one set on one core. One result a batch is kept in runs/filtering. The last report of a
world is in benchmarks/results/filtering-WORLD.json.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import typer
from kept import kept, weights_of, write_report
from pyro import poutine
from pyro.distributions import Binomial
from rich.console import Console
from sklearn.cluster import DBSCAN, KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.neighbors import NearestNeighbors

from pyroclust import load_guide
from pyroclust.distributions import DiagonalMixture, FiniteMixturesPrior
from pyroclust.models import filtering_clusters, warped_clusters

RUNS = Path(__file__).parents[1] / "runs" / "filtering"
RESULTS = Path(__file__).parent / "results"
AT_ONCE, SEED, CHOSEN_ON = 10, 55_000, range(1000, 1005)
ORDERS = 8
RADII = tuple(np.geomspace(0.1, 1.6, 13))


@dataclass(frozen=True)
class World:
    """A law of data sets: at most so many clusters, and points."""

    clusters: int
    largest: int
    curved: bool

    def model(self) -> Any:
        """Return the program that simulates it."""
        if self.curved:
            return warped_clusters(FiniteMixturesPrior(5.0, Binomial(self.clusters - 1, 0.5)))
        return filtering_clusters(self.clusters)

    def batch_of(self, seed: int) -> dict[str, torch.Tensor]:
        """Simulate ten sets of one size."""
        torch.manual_seed(SEED + seed)
        size = int(torch.randint(int(0.3 * self.largest), self.largest, ()))
        program = poutine.uncondition(self.model())
        trace = poutine.trace(program).get_trace(torch.empty(AT_ONCE, size, 2))
        return {name: site["value"] for name, site in trace.nodes.items() if site["type"] == "sample"}


WORLDS = {
    "gaussian": World(12, 3000, curved=False),
    "warped": World(12, 3000, curved=True),
    "warped-4": World(4, 1000, curved=True),
}


def scores(labels: np.ndarray, found: np.ndarray) -> dict[str, float]:
    return {
        "ari": adjusted_rand_score(labels, found),
        "nmi": normalized_mutual_info_score(labels, found),
        "K off by": abs(len(np.unique(found)) - len(np.unique(labels))),
    }


def of_truth(world: World, seed: int) -> list[dict[str, float]]:
    """Return the likelihood of the true clusters, their weights as large as they are."""
    sites = world.batch_of(seed)
    shares = torch.nn.functional.one_hot(sites["labels"], world.clusters).float().mean(1)
    size = sites["data"].shape[1]
    law = DiagonalMixture(shares.log(), sites["means"], sites["scales"], num_points=size)
    return [{"likelihood": one} for one in (law.log_prob(sites["data"]) / size).tolist()]


def by_filtering(guide: Any, num_orders: int, world: World, seed: int) -> list[dict[str, float]]:
    """Measure what filtering finds: as published of one order, else the best of several, reassigned."""
    sites = world.batch_of(seed)
    data, labels = sites["data"], sites["assignments"].numpy()
    torch.manual_seed(0)
    begin = time.perf_counter()
    found = guide.filtering(data, num_orders=num_orders)
    if num_orders > 1:
        found = guide.reassigned(data, found)
    seconds = (time.perf_counter() - begin) / AT_ONCE
    likelihood = (guide.log_density(data, found) / data.shape[1]).tolist()
    never = (~found.filtered).double().mean(-1).tolist()
    return [
        scores(*pair) | {"likelihood": one, "never filtered": left, "seconds": seconds}
        for *pair, one, left in zip(labels, found.assignments.numpy(), likelihood, never, strict=True)
    ]


def by_search(guide: Any, world: World, seed: int) -> list[dict[str, float]]:
    """Measure the most probable partition that a guide finds."""
    sites = world.batch_of(seed)
    torch.manual_seed(0)
    begin = time.perf_counter()
    with torch.no_grad():
        found = guide.posterior(sites["data"]).map_partition(width=1)
    seconds = (time.perf_counter() - begin) / AT_ONCE
    pairs = zip(sites["assignments"].numpy(), found.numpy(), strict=True)
    return [scores(*pair) | {"seconds": seconds} for pair in pairs]


def by_method(make: Callable[[int], Any], most: int, world: World, seed: int) -> list[dict[str, float]]:
    """Measure one of scikit-learn's methods on some sets of a batch."""
    sites, rows = world.batch_of(seed), []
    for data, labels in list(zip(sites["data"].numpy(), sites["assignments"].numpy(), strict=True))[:most]:
        method = make(len(np.unique(labels)))
        begin = time.perf_counter()
        found = method.fit_predict(data)
        seconds = time.perf_counter() - begin
        found = nearest_of_noise(data, found)
        one = {"likelihood": float(method.score(data))} if hasattr(method, "weights_") else {}
        rows.append(scores(labels, found) | one | {"seconds": seconds})
    return rows


def nearest_of_noise(data: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Give what DBSCAN calls noise to the cluster of the nearest point that is none."""
    noise = found < 0
    if noise.all() or not noise.any():
        return np.where(noise, 0, found)
    inside = NearestNeighbors(n_neighbors=1).fit(data[~noise])
    found = found.copy()
    found[noise] = found[~noise][inside.kneighbors(data[noise], return_distance=False)[:, 0]]
    return found


def told_k_means(number: int) -> KMeans:
    return KMeans(number, n_init=10, random_state=0)


def told_mixture(shape: str, number: int) -> GaussianMixture:
    return GaussianMixture(number, covariance_type=shape, n_init=3, random_state=0)


def told_spectral(number: int) -> Any:
    return SpectralClustering(number, affinity="nearest_neighbors", n_neighbors=20, random_state=0)


def variational(shape: str, _: int, *, most: int = 20) -> BayesianGaussianMixture:
    return BayesianGaussianMixture(
        n_components=most,
        covariance_type=shape,
        max_iter=1000,
        random_state=0,
        weight_concentration_prior=0.05,
    )


def by_radius(radius: float, _: int) -> DBSCAN:
    return DBSCAN(eps=radius, min_samples=5)


def best_radius(world: World) -> float:
    """Choose the radius of DBSCAN on other sets."""

    def score(radius: float) -> float:
        rows = [
            row for seed in CHOSEN_ON for row in by_method(partial(by_radius, radius), AT_ONCE, world, seed)
        ]
        return float(np.mean([row["ari"] for row in rows]))

    return max(RADII, key=score)


def main(world: str = "gaussian", sets: int = 1000, guide: str = "dac-mog", clusterwise: str = "") -> None:
    """Measure all sets of a world and print one table."""
    torch.set_num_threads(1)
    law, own = WORLDS[world], load_guide(guide)
    shape = "full" if law.curved else "diag"
    methods: dict[str, tuple[str, Callable[[World, int], list[dict[str, float]]]]] = {}
    if not law.curved:
        methods["true clusters"] = ("truth", of_truth)
    name = Path(guide).name
    for orders in (1, ORDERS):
        row = name if orders == 1 else f"{name}, {orders} orders"
        methods[row] = (f"dac-{weights_of(own)}-{orders}", partial(by_filtering, own, orders))
    if clusterwise:
        other = load_guide(clusterwise)
        methods[Path(clusterwise).name] = (f"clusterwise-{weights_of(other)}", partial(by_search, other))
    peers: dict[str, Callable[[int], Any]] = {
        "k-means, told K": told_k_means,
        "EM, told K": partial(told_mixture, shape),
        "variational mixture": partial(variational, shape),
        "DBSCAN": partial(by_radius, kept(RUNS / world / "radius.json", partial(best_radius, law))),
    }
    methods |= {name: (name, partial(by_method, make, AT_ONCE)) for name, make in peers.items()}
    methods["spectral, told K"] = ("spectral", partial(by_method, told_spectral, 1))
    found = {}
    for name, (folder, measure) in methods.items():
        rows: list[dict[str, float]] = []
        for seed in range(sets // AT_ONCE):
            rows += kept(RUNS / world / folder / f"{seed}.json", partial(measure, law, seed))
        frame = pd.DataFrame(rows)
        means = {key: float(frame[key].mean()) for key in frame}
        found[name] = means | {"error of ari": float(frame["ari"].sem()) if "ari" in frame else 0.0}
        found[name] |= {"sets": len(frame)}
    Console(width=140).print(pd.DataFrame(found).T.round(4).to_string())
    write_report(RESULTS / f"filtering-{world}.json", {"guide": guide, "rows": found})


if __name__ == "__main__":
    typer.run(main)
