"""Posteriors that others have published, drawn anew: galaxies, eye tracking data, thyroid.

    python benchmarks/published_posteriors.py [--draws 10000] [--only eyes]

The models are those of docs/published_posteriors.md, which has the figures beside the published ones. The
thyroid table is read from Debian's package r-cran-mclust, installed or unpacked under --r, by pyreadr (`pip
install pyreadr`), and left out where one of them is missing. Errors are those of the means of 40 batches.
"""

import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import torch
import typer
from kept import add_to_report
from prior_weights import beta_negative_binomial
from pyro.distributions import Categorical, Gamma
from rich.console import Console
from scipy.stats import wishart
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix
from torch import Tensor

from pyroclust import read_table
from pyroclust.diagnostics import point_estimate
from pyroclust.distributions import (
    DynamicMixturesPrior,
    FiniteMixturesPrior,
    NormalIndependent,
    NormalInverseWishart,
    PoissonGamma,
)
from pyroclust.infer.mcmc import ChainStates, CollapsedGibbs, Compose, MergeSplit, SliceHyperparameters
from pyroclust.models import Mixture
from pyroclust.partitions import Draws

RESULTS = Path(__file__).parent / "results" / "published_posteriors.json"
LIBRARY = Path("/usr/lib/R/site-library")
BATCHES, SWEEPS = 40, 5

EYES = (
    [34, 24, 22, 17, 17, 15, 15, 14, 12, 12, 11, 11, 10, 10, 9, 9, 8, 7, 7, 7, 6, 6, 6, 5, 5, 5, 4, 4]
    + [3] * 4 + [2] * 9 + [1] * 14 + [0] * 46
)  # fmt: skip


def eyes() -> tuple[Mixture, Tensor]:
    """Return counts, and Poisson clusters with dynamic weights."""
    data = torch.tensor(EYES, dtype=torch.float64).unsqueeze(-1)
    rate = Gamma(0.5, 0.5 * data.mean().item() / 0.1)
    prior = DynamicMixturesPrior(Gamma(1.0, 2.0), beta_negative_binomial())
    return Mixture(prior, PoissonGamma(1, 0.1, rate=rate), name="eyes"), data


def galaxies() -> tuple[Mixture, Tensor]:
    """Return velocities in 1,000 km/s, and the mixture of Richardson and Green."""
    data = torch.from_numpy(read_table("galaxies").data) / 1000
    low, high = data.min().item(), data.max().item()
    square = (high - low) ** 2
    family = NormalIndependent((low + high) / 2, square, shape=2.0, rate=Gamma(0.2, 10 / square))
    prior = FiniteMixturesPrior(1.0, Categorical(torch.ones(30, dtype=torch.float64)))
    return Mixture(prior, family, name="galaxies"), data


def thyroid_draws(table: pd.DataFrame, *, num_draws: int, seed: int) -> np.ndarray:
    """Return partitions of one chain that also draws the scale matrix C of all covariances.

    Covariances are IW(c, C), C ~ W(g, G) in the published parametrisation, on columns in units of their
    ranges. Means are N(median, Sigma / 0.03) here, where the published ones do not depend on Sigma: 0.03 is
    the prior mean of Sigma. Columns that are multiplied by the inverse root of C have the identity for C,
    so that sweeps given C are those of a known scale; then covariances are drawn, and C given these.
    """
    points = table.drop(columns="Diagnosis").to_numpy(float)
    points = (points - np.median(points, 0)) / np.ptp(points, 0)
    dim, kappa = points.shape[1], 0.03
    c, g = 2.5 + (dim - 1) / 2, 0.5 + (dim - 1) / 2
    rate = 100 * g / c * np.eye(dim)
    family = NormalInverseWishart(dim, kappa, dof=2 * c, scale=2.0)
    model = Mixture(FiniteMixturesPrior(Gamma(1.0, 20.0), beta_negative_binomial()), family)
    kernel = Compose([CollapsedGibbs(model), MergeSplit(model), SliceHyperparameters(model)])
    rng, scale = np.random.default_rng(seed), g * np.linalg.inv(rate)
    labels, weight = torch.zeros(1, len(points), dtype=torch.int64), torch.tensor([0.05], dtype=torch.float64)
    found = []
    for _ in range(num_draws):
        data = torch.tensor(np.linalg.solve(np.linalg.cholesky(scale), points.T).T)
        states = ChainStates(labels, {"weight_concentration": weight}, torch.zeros(1, dtype=torch.float64))
        last = kernel.bind(data, states, rng).advance(states, 2).last()
        labels, weight = last.assignments, last.hyperparameters["weight_concentration"]
        precisions = np.zeros((dim, dim))
        for k in range(int(labels.max()) + 1):
            members = points[labels[0].numpy() == k]
            size, mean = len(members), members.mean(0)
            spread = (members - mean).T @ (members - mean)
            spread += 2 * scale + kappa * size / (kappa + size) * np.outer(mean, mean)
            precisions += wishart.rvs(2 * c + size, np.linalg.inv(spread), random_state=rng)
        freedom = 2 * (g + (k + 1) * c)
        scale = wishart.rvs(freedom, np.linalg.inv(2 * (rate + precisions)), random_state=rng)
        found.append(labels[0].numpy())
    return np.array(found[num_draws // 5 :])


def thyroid_table(library: Path = LIBRARY) -> pd.DataFrame:
    """Read mclust's table from the file in which R keeps the objects of a package, each compressed."""
    import pyreadr

    packed = (library / "mclust" / "data" / "Rdata.rdb").read_bytes()
    while packed:
        one = zlib.decompressobj()
        found, packed = one.decompress(packed[4:]), one.unused_data
        if b"Diagnosis" in found and b"RT3U" in found:
            with tempfile.NamedTemporaryFile(suffix=".rds") as file:
                file.write(found)
                file.flush()
                return pyreadr.read_r(file.name)[None]
    raise ValueError(f"{library} has a package mclust without the table thyroid")


def draw(model: Mixture, data: Tensor, *, num_draws: int, seed: int = 0) -> Draws:
    """Return draws of four chains, five sweeps each."""
    parts = [CollapsedGibbs(model), MergeSplit(model), SliceHyperparameters(model)]
    kernel = Compose(parts, thin=SWEEPS)
    return kernel.run(data, num_draws=num_draws, warmup=num_draws // 5, num_chains=4, seed=seed)


def eye_figures(model: Mixture, draws: Draws) -> np.ndarray:
    """Return P(M = 3..12 | c), E(M | c), and whether K is 3, ..., 8, ``(chains, draws, 17)``."""
    prior = model.prior.given({"concentration": torch.from_numpy(draws.parameters["concentration"])})
    numbers = prior.log_components(torch.from_numpy(draws.assignments)).exp().numpy()
    mean = numbers @ np.arange(1, numbers.shape[-1] + 1)
    clusters = draws.num_clusters[..., None] == np.arange(3, 9)
    return np.concatenate([numbers[..., 2:12], mean[..., None], clusters], -1)


def galaxy_figures(model: Mixture, draws: Draws) -> np.ndarray:
    """Return P(M = 3..14 | c), ``(chains, draws, 12)``."""
    num_points = draws.assignments.shape[-1]
    numbers = model.prior.log_components(torch.from_numpy(draws.num_clusters), num_points)
    return numbers[..., 2:14].exp().numpy()


@dataclass(frozen=True)
class Published:
    """Figures that were published, and how to draw them.

    Attributes:
        build: model and data.
        figures: what a draw says of each, ``(chains, draws, F)``.
        names: of the figures.
        values: as they were published.
    """

    build: Callable[[], tuple[Mixture, Tensor]]
    figures: Callable[[Mixture, Draws], np.ndarray]
    names: tuple[str, ...]
    values: tuple[float, ...]


_M = "P(M = {})".format
PUBLISHED = {
    # An independent collapsed Gibbs sampler, 100,000 sweeps.
    "eyes": Published(
        eyes,
        eye_figures,
        (*map(_M, range(3, 13)), "E(M)", *(f"P(K = {k})" for k in range(3, 9))),
        (.007, .087, .129, .134, .119, .100, .080, .064, .051, .039, 9.50,
         .013, .196, .265, .222, .143, .081),
    ),
    # Richardson & Green (1997), by reversible jumps.
    "galaxies": Published(
        galaxies,
        galaxy_figures,
        tuple(map(_M, range(3, 15))),
        (.061, .128, .182, .199, .160, .109, .071, .040, .023, .013, .006, .003),
    ),
}  # fmt: skip


def batch_means(figures: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the means of figures ``(chains, draws, F)`` and their standard errors."""
    chains, draws, number = figures.shape
    batches = figures.reshape(BATCHES, chains * draws // BATCHES, number).mean(1)
    return batches.mean(0), batches.std(0, ddof=1) / BATCHES**0.5


def thyroid_figures(draws: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """Return quartiles and mode of the number of clusters, and how the estimate agrees with the diagnosis."""
    numbers = draws.max(-1) + 1
    labels = point_estimate(draws[:: max(1, len(draws) // 1000)], seed=0)
    table = contingency_matrix(truth, labels)
    return {
        "quartiles of K": np.quantile(numbers, (0.25, 0.5, 0.75)).tolist(),
        "mode of K": int(np.bincount(numbers).argmax()),
        "adjusted Rand": round(adjusted_rand_score(truth, labels), 3),
        "misclassified": round(float(1 - table.max(0).sum() / len(truth)), 3),
    }


def main(
    *,
    draws: Annotated[int, typer.Option(help="Of each of four chains, five sweeps each.")] = 10_000,
    only: Annotated[str | None, typer.Option(help="eyes, galaxies or thyroid.")] = None,
    r: Annotated[Path, typer.Option(help="Where packages of R lie.")] = LIBRARY,
) -> None:
    """Draw, print and keep the figures."""
    torch.set_num_threads(1)
    console = Console(width=120)
    for name, published in PUBLISHED.items():
        if only in (None, name):
            model, data = published.build()
            found = draw(model, data, num_draws=draws)
            means, errors = batch_means(published.figures(model, found))
            columns = {"published": published.values, "found": means, "error": errors}
            table = pd.DataFrame(columns, index=list(published.names))
            console.print(f"{name}: {found.seconds:.0f} s\n{table.round(4).to_string()}")
            add_to_report(RESULTS, {name: table.round(4).reset_index().to_dict("records")})
            if name == "eyes":
                total, clusters = torch.from_numpy(found.parameters["concentration"]), found.assignments
                prior = model.prior.given({"concentration": total})
                weight = total / prior.sample_components(torch.from_numpy(clusters))
                quartiles = np.quantile(weight.numpy(), (0.25, 0.5, 0.75)).round(4).tolist()
                console.print("quartiles of a / M", quartiles)
                add_to_report(RESULTS, {"eyes, quartiles of a / M": quartiles})
    if only in (None, "thyroid"):
        try:
            table = thyroid_table(r)
        except (ImportError, FileNotFoundError) as error:
            console.print(f"thyroid: SKIPPED, {error}")
            return
        chains = [thyroid_draws(table, num_draws=draws // 5, seed=seed) for seed in range(2)]
        row = thyroid_figures(np.concatenate(chains), table["Diagnosis"].cat.codes.to_numpy())
        console.print("thyroid:", row)
        add_to_report(RESULTS, {"thyroid": row})


if __name__ == "__main__":
    typer.run(main)
