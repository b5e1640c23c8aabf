"""Posteriors that others have published, drawn anew: galaxies, eye tracking data, thyroid.

    python benchmarks/published_posteriors.py [--draws 10000] [--only eyes]

The models are those of docs/published_posteriors.md, which has the figures beside the published ones. The
thyroid table is read from Debian's package r-cran-mclust, installed or unpacked under --r, by pyreadr (`pip
install pyreadr`), and left out where one of them is missing. Errors are those of the means of 40 batches.
"""

import math
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
from pyro.distributions import Categorical, Gamma, MultivariateNormal, Normal
from rich.console import Console
from scipy.stats import wishart
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix
from torch import Tensor
from torch.nn.functional import one_hot

from pyroclust import read_table
from pyroclust.diagnostics import importance_efficiency, importance_weights, point_estimate
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
# Of the sweeps for the thyroid table, and draws of parameters for a weight there.
KAPPA, COPIES = 0.01, 64

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


def thyroid_draws(points: Tensor, *, num_draws: int, seed: int) -> Draws:
    """Return weighted partitions of one chain that also draws the scale matrix C of all covariances.

    Covariances are IW(c, C), C ~ W(g, G) in the published parametrisation, means N(0, I) whatever the
    covariances: points are columns less their medians, in units of their ranges. Sweeps have means
    N(0, Sigma / kappa) instead, which is conjugate; the weight of a draw is the mean over parameters, given
    partition and C, of the product of the ratios of both laws of a cluster's mean. Points times the inverse
    root of C have the identity for C, so that sweeps given C are those of a known scale.
    """
    dim = points.shape[1]
    c, g = 2.5 + (dim - 1) / 2, 0.5 + (dim - 1) / 2
    rate = 100 * g / c * torch.eye(dim, dtype=torch.float64)
    family = NormalInverseWishart(dim, KAPPA, dof=2 * c, scale=2.0)
    model = Mixture(FiniteMixturesPrior(Gamma(1.0, 20.0), beta_negative_binomial()), family)
    kernel = Compose([CollapsedGibbs(model), MergeSplit(model), SliceHyperparameters(model)])
    torch.manual_seed(seed)
    generator, scale = np.random.default_rng(seed), g * rate.inverse()
    labels, weight = torch.zeros(1, len(points), dtype=torch.int64), torch.tensor([0.05], dtype=torch.float64)
    assignments, log_weights, concentrations = [], [], []
    for _ in range(num_draws):
        root = torch.linalg.cholesky(scale)
        data = torch.linalg.solve_triangular(root, points.T, upper=False).T
        states = ChainStates(labels, {"weight_concentration": weight}, torch.zeros(1, dtype=torch.float64))
        last = kernel.bind(data, states, generator).advance(states, 2).last()
        labels, weight = last.assignments, last.hyperparameters["weight_concentration"]
        members = one_hot(labels[0]).double()
        counts, moments = members.sum(0), members.T @ family.moments(data)
        drawn = family.sample_parameters(counts.expand(COPIES, -1), moments.expand(COPIES, -1, -1))
        means, factors = drawn["loc"], drawn["scale_tril"]
        tied = MultivariateNormal(torch.zeros_like(means), scale_tril=factors / KAPPA**0.5)
        log_ratio = Normal(0.0, 1.0).log_prob(means @ root.T).sum(-1) - tied.log_prob(means)
        log_ratio += root.diagonal().log().sum()
        log_weights.append(log_ratio.logsumexp(0).sum() - len(counts) * math.log(COPIES))
        precisions = (root @ factors[0]).inverse()
        precisions = rate + (precisions.mT @ precisions).sum(0)
        dof = 2 * (g + len(counts) * c)
        matrix = wishart.rvs(dof, (2 * precisions).inverse(), random_state=generator)
        scale = torch.as_tensor(matrix, dtype=torch.float64).reshape(dim, dim)
        assignments.append(labels)
        concentrations.append(weight)
    kept = slice(num_draws // 5, None)
    return Draws(
        name="thyroid",
        assignments=torch.cat(assignments)[None, kept].numpy(),
        log_weights=torch.stack(log_weights)[None, kept].numpy(),
        parameters={"weight_concentration": torch.cat(concentrations)[None, kept].numpy()},
    )


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


def thyroid_figures(draws: Draws, truth: np.ndarray) -> dict[str, Any]:
    """Return K, quartiles of K and M, and how the estimate agrees with the diagnosis, by weight."""
    weights = importance_weights(draws.log_weights[0])
    generator = np.random.default_rng(0)
    some = generator.choice(len(weights), 1000, p=weights)
    partitions, concentration = draws.assignments[0, some], draws.parameters["weight_concentration"][0, some]
    clusters = partitions.max(-1) + 1
    components = torch.zeros(())
    for weight, number in zip(concentration.tolist(), torch.from_numpy(clusters), strict=True):
        prior = FiniteMixturesPrior(weight, beta_negative_binomial())
        components = components + prior.log_components(number, partitions.shape[-1]).exp() / len(some)
    labels = point_estimate(partitions, seed=0)
    table = contingency_matrix(truth, labels)
    quarters = (0.25, 0.5, 0.75)
    return {
        "P(K = 3, 4)": [round(float(weights[draws.num_clusters[0] == k].sum()), 4) for k in (3, 4)],
        "quartiles of K": np.quantile(clusters, quarters).tolist(),
        "quartiles of M": (np.searchsorted(components.cumsum(0).numpy(), quarters) + 1).tolist(),
        "adjusted Rand": round(adjusted_rand_score(truth, labels), 3),
        "misclassified": round(float(1 - table.max(0).sum() / len(truth)), 3),
        "effective share": round(importance_efficiency(draws.log_weights[0]), 2),
    }


def thyroid_points(table: pd.DataFrame) -> Tensor:
    """Return the columns less their medians, in units of their ranges."""
    points = table.drop(columns="Diagnosis").to_numpy(float)
    return torch.from_numpy((points - np.median(points, 0)) / np.ptp(points, 0))


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
        truth, rows = table["Diagnosis"].cat.codes.to_numpy(), []
        for seed in range(4):
            chain = thyroid_draws(thyroid_points(table), num_draws=draws // 5, seed=seed)
            rows.append(thyroid_figures(chain, truth))
            console.print("thyroid:", rows[-1])
        add_to_report(RESULTS, {"thyroid": rows})


if __name__ == "__main__":
    typer.run(main)
