"""Further random numbers of a prior: a scale a column, and what counts and categories may have for a scale.

    python benchmarks/further_scales.py [--half choose] [--only KIND] [--candidate NAME] [--report]

Numbers: the data sets of `priors.py` of two columns or more and at most 600 rows, and two kinds of tables
where columns differ much in how far clusters are apart: centres are standard normal in every column, and the
variances of clusters about s_d, log-uniform between .01 and 1; covariances are full (inverse Wishart), or
columns independent. Counts: intensities of mean m_d, log-uniform between .5 and 50, and shape 1 or 6.
Categories: 2 to 5 in a column, of probabilities from Dirichlet(1/2) or Dirichlet(3). Mixed tables have two
numbers (kappa .15 or .5) and as many counts as categories. 3 to 8 columns, of 1, 2, 3 or 5 clusters. Of all
but the full covariances the law of the world is a model as well: the ceiling.

Worlds and halves are fixed before the first run, figures are those of `priors.py`, by real chains. One result
a data set and candidate is kept in runs/further_scales.
"""

import math
from collections.abc import Callable
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import torch
import typer
from kept import kept, write_report
from priors import CEILING, HALVES, SIZES, World, figures, simulate, standardised, table
from priors import worlds as worlds_of_numbers
from pyro.distributions import Categorical, LogNormal
from rich.console import Console
from torch import Tensor
from torch.distributions import Distribution

from pyroclust.core.compiling import inner
from pyroclust.distributions import (
    Categories,
    ConjugateComponent,
    FiniteMixturesPrior,
    NormalIndependent,
    NormalInverseGamma,
    NormalInverseWishart,
    PoissonGamma,
    Product,
)
from pyroclust.distributions.compiled.protocol import compile_family, compile_methods, log_rising
from pyroclust.distributions.families.inverse_wishart import cholesky
from pyroclust.distributions.families.normal_inverse_wishart import InverseWishartTables
from pyroclust.distributions.families.poisson_gamma import PoissonTables
from pyroclust.models import Mixture, default_mixture, normal_mixture
from pyroclust.models.standardised import diagonal_normals
from pyroclust.partitions import canonical

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs" / "further_scales"
RESULTS = Path(__file__).parent / "results" / "further_scales.json"

CLUSTERS, POINTS, MOST_POINTS = (1, 2, 3, 5), (100, 300), 600
SHAPE = {"apart": 1.0, "overlapping": 6.0}
CONCENTRATION = {"apart": 0.5, "overlapping": 3.0}
KAPPA = {"apart": 0.15, "overlapping": 0.5}
FULL, INDEPENDENT = "columns differ", "columns differ, independent"
TABLES = [f"{what}, {how}" for what in ("counts", "categories", "mixed") for how in SHAPE]


def worlds() -> list[World]:
    """Return all data sets, those of `priors.py` first."""
    found = [one for one in worlds_of_numbers() if one.dim > 1 and one.num_points <= MOST_POINTS]
    for half in HALVES:
        for kind in (FULL, INDEPENDENT):
            for place, (clusters, dim, again) in enumerate(product(CLUSTERS, (2, 4, 8), range(2))):
                sizes = list(SIZES)[place // 2 % 2]
                found.append(World(kind, clusters, dim, POINTS[again], sizes, half, again))
        for kind in TABLES:
            for place, (clusters, points, again) in enumerate(product(CLUSTERS, POINTS, range(2))):
                dim = 4 + 2 * (place % 3) if kind.startswith("mixed") else 3 + place % 6
                found.append(World(kind, clusters, dim, points, list(SIZES)[place % 2], half, again))
    return found


def simulated(world: World) -> tuple[np.ndarray, np.ndarray, ConjugateComponent | None, dict[str, Any]]:
    """Return points, true labels, the families of the columns, and their kinds for the default model."""
    rng = np.random.default_rng(world.seed)
    torch.manual_seed(world.seed)
    dim, clusters = world.dim, world.num_clusters
    weights = rng.dirichlet(np.full(clusters, SIZES[world.sizes]))
    labels = canonical(torch.from_numpy(rng.choice(clusters, size=world.num_points, p=weights)))
    if world.kind in (FULL, INDEPENDENT):
        scales = 0.01 ** rng.random(dim)
        if world.kind == INDEPENDENT:
            own = Product([NormalIndependent(0.0, 1.0, shape=2.0, rate=one) for one in scales])
            return own.sample(labels).double().numpy(), labels.numpy(), own, {"numbers": dim}
        noise = NormalInverseWishart(dim, 1e6, dof=dim + 2.0, scale=1.0).sample(labels).numpy()
        centres = rng.standard_normal((clusters, dim))
        return centres[labels] + noise * np.sqrt(scales), labels.numpy(), None, {"numbers": dim}
    what, how = world.kind.split(", ")
    numbers = 2 if what == "mixed" else 0
    counts = {"mixed": (dim - 2) // 2, "counts": dim, "categories": 0}[what]
    levels = [int(one) for one in rng.integers(2, 6, size=dim - numbers - counts)]
    means = 0.5 * 100 ** rng.random(counts)
    of_counts = [PoissonGamma(1, SHAPE[how], rate=SHAPE[how] / one) for one in means]
    counted = [part.sample(labels) for part in of_counts]
    order = np.argsort([float(one.mean()) or 1.0 for one in counted])
    parts: list[ConjugateComponent] = [of_counts[at] for at in order]
    columns = [counted[at] for at in order]
    if numbers:
        parts.insert(0, NormalInverseGamma(2, KAPPA[how], shape=2.0, rate=1.0))
        columns.insert(0, parts[0].sample(labels))
    if levels:
        parts.append(Categories(levels, CONCENTRATION[how]))
        columns.append(parts[-1].sample(labels))
    kinds = {
        "numbers": numbers,
        "count_means": [float(counted[at].double().mean()) or 1.0 for at in order],
        "levels": levels,
    }
    return torch.cat(columns, -1).double().numpy(), labels.numpy(), Product(parts), kinds


class ColumnScales(NormalInverseWishart):
    """Normal clusters whose scale matrix has a number for each column: a common one times its own."""

    def __init__(self, dim: int, kappa: float, *, dof: float, common: Any, own: Any) -> None:
        self.common, self.own = common, own
        ratios = [f"ratio_{d}" for d in range(dim)]
        self.hyper_names = (*NormalInverseWishart.hyper_names, *ratios)
        for name in ratios:
            setattr(self, name, own)
        super().__init__(dim, kappa, dof=dof, scale=common)

    @property
    def typical_scale(self) -> float:
        """That of standardised columns."""
        return 0.2

    def _ratios(self) -> Tensor:
        return torch.stack([self.hyper(name) for name in self.hyper_names[4:]], -1)

    def _posterior(self, counts: Tensor, moments: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        kappa, mean, scatter = self._scatter(counts, moments)
        scales = self.hyper("scale", trailing=2) * self._ratios()
        return kappa, mean, cholesky(scatter + scales.diag_embed())

    def log_marginal(self, counts: Tensor, moments: Tensor) -> Tensor:
        """Return the log marginal likelihood of blocks in nats."""
        return super().log_marginal(counts, moments) + 0.5 * self.hyper("dof") * self._ratios().log().sum(-1)


class SpreadOfCounts(PoissonGamma):
    """Counts whose intensities have a gamma law of a known mean."""

    hyper_names = ("shape", "mean")

    def __init__(self, dim: int, shape: Any, *, mean: float) -> None:
        self.mean = mean
        super().__init__(dim, shape, rate=1.0)

    @property
    def typical_scale(self) -> float:
        """Square root of the mean."""
        return math.sqrt(self.mean)

    def value(self, name: str) -> Tensor:
        """Return a hyperparameter."""
        return self.value("shape") / self.mean if name == "rate" else super().value(name)


_SHAPE, _MEAN = range(2)
_KAPPA, _DOF, _SCALE, _RATIO = range(1, 5)


@inner
def _factorise(family: Any, sums: np.ndarray, slot: int, kappa: float, mean: np.ndarray) -> float:
    dim, factor, log_product = family.data.shape[1], family.factor, 0.0
    for a in range(dim):
        mean[a] = sums[a] / kappa
        scale = family.hyper[_SCALE] * family.hyper[_RATIO + a]
        for b in range(a + 1):
            entry = sums[dim + a * dim + b] - kappa * mean[a] * mean[b]
            if a == b:
                entry = max(entry, 0.0) + scale
            for c in range(b):
                entry -= factor[a, c] * factor[b, c]
            if a == b:
                factor[a, a] = math.sqrt(max(entry, 1e-16 * scale))
            else:
                factor[a, b] = entry / factor[b, b]
        log_product += math.log(factor[a, a])
    return 2.0 * log_product


@compile_methods
class ScaledColumnsTables(InverseWishartTables):
    """Of scales that differ from column to column."""

    def refresh(self, sums: np.ndarray, slot: int, size: int) -> None:
        factor, whiten = self.factor, self.whiten
        self.log_det[slot] = _factorise(self, sums, slot, self.kappa[size], self.mean[slot])
        for a in range(self.data.shape[1]):
            pivot = 1.0 / factor[a, a]
            for b in range(a):
                entry = 0.0
                for c in range(b, a):
                    entry -= factor[a, c] * whiten[slot, c, b]
                whiten[slot, a, b] = entry * pivot
            whiten[slot, a, a] = pivot

    def log_marginal(self, sums: np.ndarray, slot: int, size: int) -> float:
        dim, kappa, half_dof = self.data.shape[1], self.hyper[_KAPPA], 0.5 * self.hyper[_DOF]
        found = -(half_dof + 0.5 * size) * _factorise(self, sums, slot, kappa + size, self.mean[slot])
        for a in range(dim):
            found += math.lgamma(half_dof + 0.5 * (size - a)) - math.lgamma(half_dof - 0.5 * a)
            found += half_dof * math.log(self.hyper[_SCALE] * self.hyper[_RATIO + a])
        return found + 0.5 * dim * (math.log(kappa / (kappa + size)) - size * math.log(math.pi))


@compile_methods
class SpreadOfCountsTables(PoissonTables):
    """Of counts with a known mean."""

    def tabulate(self) -> None:
        total, rate = 0.0, self.hyper[_SHAPE] / self.hyper[_MEAN]
        for count in range(len(self.rising)):
            self.rising[count] = total
            total += math.log(self.hyper[_SHAPE] + count)
        for size in range(len(self.log_rate)):
            self.log_rate[size] = math.log(rate + size)
        for size in range(len(self.shrink)):
            self.shrink[size] = math.log1p(1.0 / (rate + size))

    def log_marginal(self, sums: np.ndarray, slot: int, size: int) -> float:
        dim, shape, grand_total = self.totals.shape[1], self.hyper[_SHAPE], 0.0
        rate, found = shape / self.hyper[_MEAN], -sums[dim]
        for d in range(dim):
            found += log_rising(shape, sums[d])
            grand_total += sums[d]
        return found - dim * shape * math.log1p(size / rate) - grand_total * math.log(rate + size)


@compile_family.register
def _(component: ColumnScales, data: np.ndarray, num_slots: int, num_points: int) -> Any:
    tables = compile_family.dispatch(NormalInverseWishart)(component, data, num_slots, num_points)
    return ScaledColumnsTables(*tables)


@compile_family.register
def _(component: SpreadOfCounts, data: np.ndarray, num_slots: int, num_points: int) -> Any:
    tables = compile_family.dispatch(PoissonGamma)(component, data, num_slots, num_points)
    return SpreadOfCountsTables(*tables)


def _with_scales(dim: int, common: Any, own: Any) -> Mixture:
    return Mixture(normal_mixture().prior, ColumnScales(dim, 0.05, dof=dim + 2.0, common=common, own=own))


def _around(median: float, spread: float = 1.0) -> LogNormal:
    return LogNormal(math.log(median), spread)


OF_NUMBERS: dict[str, Callable[[int], Mixture]] = {
    "one scale": normal_mixture,
    "a scale a column": lambda dim: _with_scales(dim, 0.2, _around(1.0)),
    "a scale a column around a common one": lambda dim: _with_scales(dim, _around(0.2), _around(1.0, 0.5)),
}
OF_INDEPENDENT: dict[str, Callable[[int], Mixture]] = {
    "one scale, independent": lambda dim: Mixture(normal_mixture().prior, diagonal_normals(dim)),
    "a scale a column, independent": lambda dim: Mixture(
        normal_mixture().prior, Product([diagonal_normals(1)] * dim)
    ),
}
# What stands for the family of counts, given the means of its columns, and the concentration of categories.
OF_TABLES: dict[
    str, tuple[Callable[[list[float]], list[ConjugateComponent]] | None, Distribution | float]
] = {
    "fixed": (None, 0.5),
    "own means": (lambda means: [PoissonGamma(1, 1.0, rate=1 / one) for one in means], 0.5),
    "random mean": (
        lambda means: [PoissonGamma(len(means), 1.0, rate=_around(1 / float(np.mean(means))))],
        0.5,
    ),
    "random shape": (
        lambda means: [PoissonGamma(len(means), _around(1.0), rate=1 / float(np.mean(means)))],
        0.5,
    ),
    "random spread": (
        lambda means: [SpreadOfCounts(len(means), _around(1.0), mean=float(np.mean(means)))],
        _around(0.5),
    ),
    "random spread, own means": (
        lambda means: [SpreadOfCounts(1, _around(1.0), mean=one) for one in means],
        _around(0.5),
    ),
    "random spread, around 1": (None, _around(1.0)),
}
USED = {
    "counts": (
        "fixed",
        "random mean",
        "random shape",
        "random spread",
        "own means",
        "random spread, own means",
    ),
    "categories": ("fixed", "random spread", "random spread, around 1"),
    "mixed": ("fixed", "random spread", "own means", "random spread, own means"),
}


def candidates(world: World) -> tuple[str, ...]:
    """Return the names of the models that are measured on a data set."""
    if world.kind in TABLES:
        return CEILING, *USED[world.kind.split(",")[0]]
    if world.kind == INDEPENDENT:
        return CEILING, next(iter(OF_NUMBERS)), *OF_INDEPENDENT
    return tuple(OF_NUMBERS)


def model_of(candidate: str, world: World, own: ConjugateComponent | None, kinds: dict[str, Any]) -> Mixture:
    """Return a candidate for a table."""
    if candidate == CEILING:
        assert own is not None
        chances = torch.zeros(max(CLUSTERS))
        chances[torch.tensor(CLUSTERS) - 1] = 1.0
        return Mixture(FiniteMixturesPrior(SIZES[world.sizes], Categorical(chances)), own)
    if candidate not in OF_TABLES:
        return (OF_NUMBERS | OF_INDEPENDENT)[candidate](world.dim)
    of_counts, concentration = OF_TABLES[candidate]
    default, means = default_mixture(**kinds), list(kinds["count_means"])
    found: list[ConjugateComponent] = []
    for part in default.component.parts if isinstance(default.component, Product) else [default.component]:
        if isinstance(part, PoissonGamma) and of_counts is not None:
            found += of_counts(means[: part.dim])
        else:
            found.append(Categories(part.levels, concentration) if isinstance(part, Categories) else part)
        if isinstance(part, PoissonGamma):
            means = means[part.dim :]
    return Mixture(default.prior, found[0] if len(found) == 1 else Product(found))


def measure(world: World, candidate: str) -> dict[str, Any]:
    """Return the figures of a candidate on a data set."""
    if world.kind in (FULL, INDEPENDENT, *TABLES):
        points, truth, own, kinds = simulated(world)
    else:
        (points, truth), own, kinds = simulate(world), None, {"numbers": world.dim}
    if candidate != CEILING:
        numbers = kinds["numbers"]
        points = np.concatenate([standardised(points[:, :numbers]), points[:, numbers:]], 1)
    model = model_of(candidate, world, own, kinds)
    return {**asdict(world), "candidate": candidate, **figures(world, model, points, truth)}


def main(
    *,
    half: Annotated[str, typer.Option(help="choose or report.")] = "choose",
    only: Annotated[str | None, typer.Option(help="Kinds of data sets that begin so.")] = None,
    candidate: Annotated[str | None, typer.Option(help="One candidate.")] = None,
    report: Annotated[bool, typer.Option(help="Only print what was measured.")] = False,
) -> None:
    """Measure what has no result yet, and print and keep the table."""
    torch.set_num_threads(1)
    rows = []
    for world in worlds():
        if (world.half != half and not report) or not world.kind.startswith(only or ""):
            continue
        for name in candidates(world) if candidate is None else {candidate} & set(candidates(world)):
            path = RUNS / f"{name}-{world.name}.json"
            if path.exists() or not report:
                rows.append(kept(path, lambda world=world, name=name: measure(world, name)))
    found = table(pd.DataFrame(rows)).drop(columns=["large probability", "large error", "brier", "excess"])
    Console(width=220).print(found.round(3).to_string())
    if report:
        write_report(RESULTS, {"rows": found.round(4).reset_index().to_dict("records")})


if __name__ == "__main__":
    typer.run(main)
