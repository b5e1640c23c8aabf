"""Which prior answers "how many clusters": models with other laws of the number and of the scale of clusters.

    python benchmarks/priors.py [--half choose] [--only NAME] [--report]

Worlds and halves are fixed before the first run. A Gaussian world is a mixture that the library can write
down: M uniform on 1, 2, 3, 5, 8, equal or very unequal weights, normal clusters with covariances of their own
(normal-inverse-Wishart), means far apart or near. Its own law is therefore a model too, and the posterior
under it is the ceiling: nobody can do better on average. Other worlds have clusters that are no normal ones,
with heavy tails or skewed, where every mixture of normals counts too many. Data are standardised for the
candidates and left alone for the ceiling. The true number is that of the clusters that hold rows.

One half of the data sets is there to choose by, the other to report. One result a data set and candidate is
kept in runs/priors. The chains are those of `pyroclust cluster`, 250 draws of each of four. Figures: the
posterior probability of the true number, the error of the most probable number, the log score, cover and
width of the 90 % interval, adjusted Rand index of the point estimate, Brier score of the pairs, the share of
data sets whose chains converged, processor seconds.
"""

import time
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import torch
import typer
from kept import kept, write_report
from pyro.distributions import Categorical, Geometric, LogNormal
from rich.console import Console
from sklearn.metrics import adjusted_rand_score

from pyroclust.analysis.chains import draw_mcmc
from pyroclust.analysis.steps import Settings
from pyroclust.diagnostics import co_assignment, point_estimate
from pyroclust.diagnostics.chains import convergence_with_log_joint, have_converged_well
from pyroclust.distributions import (
    FiniteMixturesPrior,
    GammaConcentration,
    NormalInverseGamma,
    NormalInverseWishart,
)
from pyroclust.models import Mixture, table_mixture

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs" / "priors"
RESULTS = Path(__file__).parent / "results" / "priors.json"

NUMBERS, DIMENSIONS = (1, 2, 3, 5, 8), (1, 2, 4, 10)
# Precision of a cluster's mean beside that of a point: means are 1 / sqrt(kappa) standard deviations apart.
KAPPA = {"apart": 0.02, "overlapping": 0.15}
SIZES = {"equal": 5.0, "unequal": 0.7}
HALVES = ("choose", "report")


@dataclass(frozen=True)
class World:
    """A data set to come: everything that it is simulated from."""

    kind: str
    num_clusters: int
    dim: int
    num_points: int
    sizes: str
    half: str
    number: int

    @property
    def seed(self) -> int:
        """Another one for each world."""
        return zlib.crc32(repr(self).encode())

    @property
    def name(self) -> str:
        """A name for files."""
        return "-".join(str(one) for one in asdict(self).values())


def worlds() -> list[World]:
    """Return all data sets: of both halves, and with every combination as often in one as in the other."""
    found = []
    for half in HALVES:
        for place, (number, dim) in enumerate((k, d) for k in NUMBERS for d in DIMENSIONS):
            for kind in KAPPA:
                for again in range(2):
                    points = (100, 300, 600, 2000)[(place + again + 2 * (kind == "apart")) % 4]
                    if points == 2000 and dim == 10:
                        points = 600
                    sizes = list(SIZES)[(place + again) % 2]
                    found.append(World(kind, number, dim, points, sizes, half, again))
        for kind in ("heavy tails", "skewed"):
            for number in (1, 3):
                for dim in (1, 2, 4):
                    found.append(World(kind, number, dim, 300, "equal", half, 0))
    return found


def own_law(world: World) -> Mixture:
    """Return the law that a Gaussian world is drawn from."""
    chances = torch.zeros(max(NUMBERS))
    chances[torch.tensor(NUMBERS) - 1] = 1.0
    prior = FiniteMixturesPrior(SIZES[world.sizes], Categorical(chances))
    return Mixture(prior, normal_family(world.dim, KAPPA[world.kind], 1.0), name="own-law")


def simulate(world: World) -> tuple[np.ndarray, np.ndarray]:
    """Return points and true labels."""
    rng = np.random.default_rng(world.seed)
    dim, clusters = world.dim, world.num_clusters
    weights = rng.dirichlet(np.full(clusters, SIZES[world.sizes]))
    labels = rng.choice(clusters, size=world.num_points, p=weights)
    kappa = KAPPA.get(world.kind, KAPPA["apart"])
    points = np.empty((world.num_points, dim))
    for k in range(clusters):
        # Inverse Wishart with D + 2 degrees of freedom and scale I; in one column inverse gamma (2, 1).
        normals = rng.standard_normal((dim + 2, dim)) if dim > 1 else None
        covariance = np.linalg.inv(normals.T @ normals) if dim > 1 else np.array([[1 / rng.gamma(2.0, 1.0)]])
        root = np.linalg.cholesky(covariance)
        mean = root @ rng.standard_normal(dim) / np.sqrt(kappa)
        members = labels == k
        noise = rng.standard_normal((members.sum(), dim))
        if world.kind == "heavy tails":
            noise /= np.sqrt(rng.chisquare(4, size=(len(noise), 1)) / 4)
        if world.kind == "skewed":
            noise = (np.exp(0.6 * noise) - np.exp(0.18)) / np.sqrt((np.exp(0.36) - 1) * np.exp(0.36))
        points[members] = mean + noise @ root.T
    return points, np.unique(labels, return_inverse=True)[1]


def normal_family(dim: int, kappa: float, scale: Any) -> Any:
    """Return normal clusters with covariances of their own."""
    if dim == 1:
        return NormalInverseGamma(1, kappa, shape=2.0, rate=scale)
    return NormalInverseWishart(dim, kappa, dof=dim + 2.0, scale=scale)


def _log_normal(spread: float, median: float = 0.2) -> LogNormal:
    return LogNormal(float(np.log(median)), spread)


CANDIDATES: dict[str, Callable[[int], Mixture]] = {
    "today": lambda dim: table_mixture(numbers=dim),
    "mfm, random scale": lambda dim: Mixture(
        FiniteMixturesPrior(0.5, Geometric(0.4)), normal_family(dim, 0.05, _log_normal(1.0))
    ),
    "mfm, fixed scale": lambda dim: Mixture(
        FiniteMixturesPrior(0.5, Geometric(0.4)), normal_family(dim, 0.08, 0.2)
    ),
    "gamma-crp, random scale": lambda dim: Mixture(
        GammaConcentration(2.0, 4.0), normal_family(dim, 0.05, _log_normal(1.0))
    ),
}
CEILING = "its own law"


def measure(world: World, candidate: str) -> dict[str, Any]:
    """Return the figures of a candidate on a data set."""
    points, truth = simulate(world)
    if candidate == CEILING:
        return {**asdict(world), "candidate": candidate, **figures(world, own_law(world), points, truth)}
    model = CANDIDATES[candidate](world.dim)
    return {**asdict(world), "candidate": candidate, **figures(world, model, standardised(points), truth)}


def standardised(points: np.ndarray) -> np.ndarray:
    """Return points of mean 0 and variance 1 in each column."""
    return (points - points.mean(0)) / points.std(0)


def figures(world: World, model: Mixture, points: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """Return how well the posterior of a model answers on the points of a data set."""
    began = time.process_time()
    settings = Settings(mcmc_draws=250)
    draws = draw_mcmc(model, torch.tensor(points), settings, seed=world.seed % 2**31).draws
    seconds = time.process_time() - began
    flat = draws.flat
    numbers = flat.max(-1) + 1
    true = int(truth.max()) + 1
    chances = np.bincount(numbers, minlength=true + 1) / len(numbers)
    low, high = np.quantile(numbers, (0.05, 0.95), method="closest_observation")
    some = np.random.default_rng(0).permutation(world.num_points)[:200]
    pairs = np.triu_indices(len(some), 1)
    together = co_assignment(flat[:, some])[pairs]
    same = (truth[some][:, None] == truth[some])[pairs]
    # Rows of one or two, and of less than one in a hundred, are no clusters to the eye.
    least = max(2, world.num_points // 100)
    large = np.array([(np.bincount(one) >= least).sum() for one in flat])
    estimate = point_estimate(flat, seed=0)
    # Student-t clusters have none.
    log_joint = np.full(draws.num_clusters.shape, np.nan) if draws.log_joint is None else draws.log_joint
    return {
        "true": true,
        "probability": float(chances[true]),
        "error": abs(int(chances.argmax()) - true),
        "log score": float(np.log((chances[true] * len(numbers) + 0.5) / (len(numbers) + 1))),
        "cover": bool(low <= true <= high),
        "width": int(high - low),
        "large probability": float((large == true).mean()),
        "large error": abs(int(np.bincount(large).argmax()) - true),
        "ari": float(adjusted_rand_score(truth, estimate)),
        "brier": float(((together - same) ** 2).mean()),
        "excess": float((together - same).mean()),
        "converged": have_converged_well(convergence_with_log_joint(draws.assignments, log_joint)),
        "seconds": seconds,
    }


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return mean figures by half, kind of world and candidate."""
    figures = [
        "probability",
        "error",
        "log score",
        "cover",
        "width",
        "large probability",
        "large error",
        "ari",
        "brier",
        "excess",
        "converged",
        "seconds",
    ]
    groups = rows.groupby(["half", "kind", "candidate"], sort=False)
    one = rows[rows["true"] == 1].groupby(["half", "kind", "candidate"], sort=False)["probability"].mean()
    return groups[figures].mean().assign(one=one, sets=groups.size())


def main(
    *,
    half: Annotated[str | None, typer.Option(help="choose or report; both by default.")] = None,
    only: Annotated[str | None, typer.Option(help="One candidate.")] = None,
    report: Annotated[bool, typer.Option(help="Only print what was measured.")] = False,
) -> None:
    """Measure what has no result yet, and print and keep the table."""
    torch.set_num_threads(1)
    rows = []
    for candidate in [CEILING, *CANDIDATES] if only is None else [only]:
        for world in worlds():
            gaussian = world.kind in KAPPA
            if (half and world.half != half) or (candidate == CEILING and not gaussian):
                continue
            path = RUNS / f"{candidate}-{world.name}.json"
            if path.exists() or not report:
                rows.append(kept(path, lambda world=world, candidate=candidate: measure(world, candidate)))
        if rows and not report:
            typer.echo(f"{candidate}: done")
    found = table(pd.DataFrame(rows))
    Console(width=200).print(found.round(3).to_string())
    write_report(RESULTS, {"rows": found.round(4).reset_index().to_dict("records")})


if __name__ == "__main__":
    typer.run(main)
