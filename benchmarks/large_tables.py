"""Three ways to the posterior of a large table, beside long chains that are exact, where these still end.

    python benchmarks/large_tables.py [--table overlapping] [--size 20000]

Tables are simulated, and one has the digits of scikit-learn in five principal components; columns have mean 0
and variance 1. The reference are chains of the default kernel of smaller tables, half of which begin with few
clusters and half with many. Methods:

subsample: the same chains on some rows; a draw of parameters given each of their draws labels all others.
coreset: the same on as many rows with weights, which are copies: drawn with probabilities half of which are
    those of the squared distances from the centres of k-means (Bachem, Lucic and Krause 2017).
blocked: what the library does from 50,000 rows on, with starts on subsamples of several sizes.
collapsed: chains of smaller tables from the starts of smaller tables, for the seconds of blocked.

All keep 240 draws of four chains. Errors are the total variation of P(K), the mean absolute difference of
the probabilities that two of 200 rows are together, and the adjusted Rand index of draws with the simulated
labels. Halves of the reference, two chains each, differ by chance. The result
is kept in benchmarks/results/large_tables.json; tables that are not run again keep their rows.
"""

import json
import os
import platform
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from rich.console import Console
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from torch import Tensor

import pyroclust.analysis.chains as of_tables
from pyroclust.distributions import ConjugateComponent
from pyroclust.infer.mcmc import FromDraws
from pyroclust.infer.mcmc.chains import Chains
from pyroclust.infer.mcmc.named_kernels import BLOCKED, default_kernel, named_kernel
from pyroclust.models import niw_mixture

RESULTS = Path(__file__).parent / "results" / "large_tables.json"
CHAINS, DRAWS, WARMUP, ROWS, SCORED = 4, 240, 100, 200, 40
REFERENCE_SWEEPS, SUBSAMPLES, SIZES = 900, (500, 1000, 2000), (2000, 10_000)


def mixture(
    num_points: int, dim: int, clusters: int, *, apart: float, seed: int, freedom: float = np.inf
) -> tuple[np.ndarray, np.ndarray]:
    """Simulate clusters with full covariances of their own, normal or Student-t, and their labels."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(clusters, num_points, p=rng.dirichlet(np.full(clusters, 3.0)))
    centres = apart * rng.standard_normal((clusters, dim))
    roots = rng.standard_normal((clusters, dim, dim)) / np.sqrt(2 * dim) + 0.6 * np.eye(dim)
    noise = rng.standard_normal((num_points, dim))
    if freedom < np.inf:
        noise /= np.sqrt(rng.chisquare(freedom, size=(num_points, 1)) / freedom)
    return centres[labels] + np.einsum("nij,nj->ni", roots[labels], noise), labels


def digits(num_points: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the digits of scikit-learn in five principal components."""
    images, labels = load_digits(return_X_y=True)
    return PCA(5, random_state=0).fit_transform(images)[:num_points], labels[:num_points]


TABLES: dict[str, Callable[[int], tuple[np.ndarray, np.ndarray]]] = {
    "separated": partial(mixture, dim=5, clusters=8, apart=3.0, seed=11),
    "overlapping": partial(mixture, dim=5, clusters=8, apart=0.9, seed=12),
    "ten columns": partial(mixture, dim=10, clusters=12, apart=0.8, seed=13),
    "heavy tails": partial(mixture, dim=6, clusters=6, apart=2.0, seed=14, freedom=4.0),
    "digits": digits,
}


def chain_labels(
    kernel: Any, data: Tensor, starts: Tensor, *, every: int, warmup: int = WARMUP
) -> np.ndarray:
    """Return draws of a kernel, ``(chains, draws, N)``."""
    kernel.init = FromDraws(starts)
    return (
        Chains(kernel, data, len(starts), seed=1)
        .draw(DRAWS // CHAINS, warmup=warmup, every=every)
        .assignments
    )


def labelled(model: Any, data: Tensor, rows: Tensor, labels: np.ndarray, times: Tensor) -> np.ndarray:
    """Draw parameters given rows that count so many times each, and the clusters of all others."""
    component = ConjugateComponent.of(model.component, otherwise="")
    mark = torch.nn.functional.one_hot(torch.from_numpy(labels).long()).double() * times[:, None]
    counts, sums = mark.sum(0), mark.T @ component.moments(data[rows])
    drawn = component.sample_parameters(counts, sums)
    log_weight = torch._standard_gamma(counts).log()
    law = torch.distributions.MultivariateNormal(drawn["loc"], scale_tril=drawn["scale_tril"])
    logits = law.log_prob(data[:, None]) + log_weight
    found = torch.distributions.Categorical(logits=logits, validate_args=False).sample()
    found[rows] = torch.from_numpy(labels).long()
    return found.numpy()


def extended(model: Any, data: Tensor, rows: Tensor, times: Tensor | None = None) -> np.ndarray:
    """Return draws of chains on some rows, with weights or none, and of all others given these."""
    some, law = data[rows], model if times is None else model.weighted(times)
    starts, _ = of_tables.overdispersed_starts(law, some, num_chains=CHAINS, seed=0)
    draws = chain_labels(default_kernel(law), some, starts.draws, every=2)
    count = torch.ones(len(rows)) if times is None else times
    each = [labelled(model, data, rows, one, count) for one in draws.reshape(-1, len(rows))]
    return np.stack(each).reshape(CHAINS, -1, len(data))


def subsample(model: Any, data: Tensor, *, size: int) -> np.ndarray:
    """Return draws by way of so many rows."""
    rows = np.random.default_rng(2).choice(len(data), size, replace=False)
    return extended(model, data, torch.from_numpy(rows))


def coreset(model: Any, data: Tensor, *, size: int) -> np.ndarray:
    """Return draws by way of at most so many rows with weights."""
    rng, points = np.random.default_rng(2), data.numpy()
    centres = KMeans(20, n_init=1, random_state=0).fit(points[rng.permutation(len(points))[:5000]])
    distance = (centres.transform(points) ** 2).min(1)
    share = 0.5 * distance / distance.sum() + 0.5 / len(points)
    times = rng.multinomial(size, share) / (size * share)
    whole = np.floor(times + rng.random(len(points))).astype(np.int64)
    rows = torch.from_numpy(whole.nonzero()[0])
    return extended(model, data, rows, torch.from_numpy(whole)[rows])


def blocked(model: Any, data: Tensor, *, size: int) -> np.ndarray:
    """Return draws of all rows at once, from starts on subsamples of a size."""
    before = of_tables.ALL_AT_ONCE, of_tables.SUBSAMPLE
    of_tables.ALL_AT_ONCE, of_tables.SUBSAMPLE = 1, size
    try:
        starts, _ = of_tables.overdispersed_starts(model, data, num_chains=CHAINS, seed=0)
    finally:
        of_tables.ALL_AT_ONCE, of_tables.SUBSAMPLE = before
    return chain_labels(named_kernel(BLOCKED, model), data, starts.draws, every=4)


def collapsed(model: Any, data: Tensor, *, seconds: float) -> np.ndarray:
    """Return the last half of chains of smaller tables for so many processor seconds, starts among them."""
    began = time.process_time()
    kernel = default_kernel(model)
    kernel.init, _ = of_tables.overdispersed_starts(model, data, num_chains=CHAINS, seed=0)
    chains, kept = Chains(kernel, data, CHAINS, seed=1), []
    while time.process_time() - began < seconds:
        kept.append(chains.draw(1).assignments)
    return np.concatenate(kept[len(kept) // 2 :] or [chains.states.assignments.numpy()[:, None]], 1)


def reference(model: Any, data: Tensor) -> np.ndarray:
    """Return draws of long chains."""
    starts, _ = of_tables.overdispersed_starts(model, data, num_chains=CHAINS, seed=100)
    every = REFERENCE_SWEEPS // (DRAWS // CHAINS)
    return chain_labels(default_kernel(model), data, starts.draws, every=every, warmup=REFERENCE_SWEEPS // 3)


def numbers_of(draws: np.ndarray) -> np.ndarray:
    """Return the share of draws with each number of clusters."""
    clusters = draws.max(-1).reshape(-1) + 1
    return np.bincount(clusters, minlength=500) / len(clusters)


def together_of(draws: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the probabilities that two of some rows are together, whose labels may be more than the rows."""
    first, second = np.triu_indices(len(rows), 1)
    some = draws[..., rows].reshape(-1, len(rows))
    return np.asarray((some[:, first] == some[:, second]).mean(0))


def compared(draws: np.ndarray, exact: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """Return how far draws are from exact ones, and from the truth."""
    rows = np.random.default_rng(3).choice(len(truth), ROWS, replace=False)
    flat = draws.reshape(-1, draws.shape[-1])
    some = flat[np.linspace(0, len(flat) - 1, SCORED).astype(int)]
    clusters = numbers_of(draws)
    return {
        "K": float(clusters @ np.arange(len(clusters))),
        "chains": [float(one.max(-1).mean() + 1) for one in draws],
        "variation": float(0.5 * np.abs(clusters - numbers_of(exact)).sum()),
        "pairs": float(np.abs(together_of(draws, rows) - together_of(exact, rows)).mean()),
        "adjusted_rand": float(np.mean([adjusted_rand_score(truth, one) for one in some])),
    }


def timed(function: Callable[[], np.ndarray]) -> tuple[np.ndarray, float]:
    """Return draws and the processor seconds that they took."""
    began = time.process_time()
    return function(), time.process_time() - began


def rows_of(name: str, num_points: int) -> list[dict[str, Any]]:
    """Compare all methods on one table."""
    points, truth = TABLES[name](num_points)
    data = torch.from_numpy((points - points.mean(0)) / points.std(0))
    model, found = niw_mixture(data.shape[1]), []
    exact, seconds = timed(lambda: reference(model, data))

    def add(method: str, size: int | None, draws: np.ndarray, took: float, beside: np.ndarray) -> None:
        row = {"table": name, "N": len(data), "method": method, "rows": size, "seconds": took}
        found.append(row | compared(draws, beside, truth))

    add("reference, halves", None, exact[::2], seconds, exact[1::2])
    usual = 0.0
    for size in (one for one in SUBSAMPLES if one < len(data)):
        for method in (subsample, coreset, blocked):
            draws, took = timed(partial(method, model, data, size=size))
            add(method.__name__, size, draws, took, exact)
        usual = usual or took
    draws, took = timed(partial(collapsed, model, data, seconds=usual))
    add("collapsed", None, draws, took, exact)
    return found


def main(
    table: Annotated[list[str] | None, typer.Option()] = None,
    size: Annotated[list[int] | None, typer.Option()] = None,
) -> None:
    """Compare methods by table and size."""
    torch.set_num_threads(1)
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))["rows"] if RESULTS.exists() else []
    console = Console(width=160)
    warm = torch.randn(1000, 5).double()
    for kernel in (default_kernel, partial(named_kernel, BLOCKED)):
        kernel(niw_mixture(5)).run(warm, num_draws=2, num_chains=1, seed=0)
    for num_points in size or SIZES:
        for name in table or TABLES:
            if name == "digits" and num_points != SIZES[0]:
                continue
            torch.manual_seed(0)
            rows = rows_of(name, num_points)
            for row in rows:
                shown = (f"{one:.3g}" if isinstance(one, float) else str(one) for one in row.values())
                console.print(*shown)
            done = {(row["table"], row["N"]) for row in rows}
            kept = [row for row in kept if (row["table"], row["N"]) not in done] + rows
            found = {"machine": f"{platform.machine()}, {os.cpu_count()} cores", "rows": kept}
            RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
