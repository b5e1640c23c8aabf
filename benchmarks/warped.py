"""Warped clusters: a guide that was trained on up to 4 of them, beside classical methods that are told more.

    python benchmarks/warped.py [--guide ncp-warped2d] [--datasets 12] [--points 200] [--draws 200]

For every number of clusters K from 1 to 8, fresh data sets of points on arcs; the adjusted Rand index of the
guide's point estimate (least expected variation of information) beside those of spectral clustering (told K),
Gaussian mixtures (told K, 10 restarts) and DBSCAN (not told K; points that it calls noise go to the nearest
cluster). Neighbours of the spectral graph and the radius of DBSCAN are the best on these very data sets.
Then the calibration of the guide's pair probabilities, on data sets of its own model, at most 4 clusters, and
on those with 5 to 8. Results in benchmarks/results/warped.json, picture in docs/warped.png.
"""

import json
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from filtering import nearest_of_noise
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table
from sklearn.cluster import DBSCAN, SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from pyroclust import diagnostics, load_guide, plots
from pyroclust.distributions import DirichletMultinomialPrior
from pyroclust.infer import simulate
from pyroclust.models import warped_clusters

RESULTS = Path(__file__).parent / "results" / "warped.json"
PICTURE = Path(__file__).parents[1] / "docs" / "warped.png"
MOST = 8
TRAINED = 4
NEIGHBOURS = (5, 7, 10, 15, 20)
RADII = tuple(np.geomspace(0.15, 2.0, 16))
MIN_SAMPLES = (3, 5)
BINS = 10
SHOWN = (2, 4, 6, 8)


@dataclass(frozen=True)
class Sets:
    """Data sets with the guide's answers: points, truth, draws and what follows from them."""

    data: np.ndarray
    truth: np.ndarray
    together: np.ndarray
    estimates: np.ndarray
    uncertainty: np.ndarray
    seconds: float


def fresh(num_clusters: int | None, *, datasets: int, points: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Simulate data sets with exactly so many clusters, or of the trained model."""
    prior = None if num_clusters is None else DirichletMultinomialPrior(num_clusters, 5.0)
    model = warped_clusters(prior)
    kept_data, kept = [], []
    while len(kept) < datasets:
        data, truth = simulate(model, torch.empty(datasets, points, 2))
        for one, labels in zip(data, truth, strict=True):
            if num_clusters is None or int(labels.max()) + 1 == num_clusters:
                kept_data.append(one)
                kept.append(labels)
    return torch.stack(kept_data[:datasets]), torch.stack(kept[:datasets])


@torch.no_grad()
def answer(guide: Any, data: torch.Tensor, truth: torch.Tensor, *, draws: int) -> Sets:
    """Draw from the guide, and condense."""
    began = time.perf_counter()
    drawn = guide.posterior(data).sample((draws,)).transpose(0, 1).numpy()
    seconds = (time.perf_counter() - began) / len(data)
    estimates = np.stack([diagnostics.point_estimate(one, seed=0) for one in drawn])
    unsure = [diagnostics.point_uncertainty(one, best) for one, best in zip(drawn, estimates, strict=True)]
    together = np.stack([diagnostics.co_assignment(one) for one in drawn])
    return Sets(data.double().numpy(), truth.numpy(), together, estimates, np.stack(unsure), seconds)


def spectral(points: np.ndarray, num_clusters: int, neighbours: int) -> np.ndarray:
    if num_clusters == 1:
        return np.zeros(len(points), int)
    method = SpectralClustering(
        num_clusters, affinity="nearest_neighbors", n_neighbors=neighbours, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # graphs in several pieces
        return method.fit_predict(points)


def mixture(points: np.ndarray, num_clusters: int) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no convergence
        return GaussianMixture(num_clusters, n_init=10, random_state=0).fit_predict(points)


def dbscan(points: np.ndarray, radius: float, min_samples: int) -> np.ndarray:
    """Cluster, and give the noise to the nearest cluster."""
    return nearest_of_noise(points, DBSCAN(eps=radius, min_samples=min_samples).fit_predict(points))


def scores(
    sets: Mapping[int, Sets], method: Callable[[np.ndarray, int], np.ndarray]
) -> dict[int, np.ndarray]:
    """Return the adjusted Rand index of every data set, by K."""
    return {
        k: np.array(
            [
                adjusted_rand_score(truth, method(points, k))
                for points, truth in zip(one.data, one.truth, strict=True)
            ]
        )
        for k, one in sets.items()
    }


def rivals(sets: Mapping[int, Sets]) -> dict[str, dict[int, np.ndarray]]:
    """Score the classical methods, their settings the best on these data sets."""
    graphs = {n: scores(sets, lambda x, k, n=n: spectral(x, k, n)) for n in NEIGHBOURS}
    circles = {
        (r, m): scores(sets, lambda x, _, r=r, m=m: dbscan(x, r, m)) for r in RADII for m in MIN_SAMPLES
    }
    neighbours, circle = (max(found, key=lambda key: pooled(found[key])[0]) for found in (graphs, circles))
    return {
        f"spectral, true K, {neighbours} neighbours": graphs[neighbours],
        f"DBSCAN, radius {circle[0]:.2f}, {circle[1]} points": circles[circle],
        "Gaussian mixture, true K": scores(sets, mixture),
    }


def pooled(found: Mapping[int, np.ndarray]) -> tuple[float, float]:
    """Return mean and standard error over all data sets."""
    every = np.concatenate(list(found.values()))
    return float(every.mean()), float(every.std(ddof=1) / len(every) ** 0.5)


def calibration(sets: list[Sets]) -> dict[str, Any]:
    """Compare the probabilities of pairs with how often they are together; errors over data sets."""
    rows = []
    for one in sets:
        for together, truth in zip(one.together, one.truth, strict=True):
            pairs = np.triu_indices(len(truth), 1)
            p, hit = together[pairs], (truth[:, None] == truth)[pairs]
            bin_ = np.minimum((p * BINS).astype(int), BINS - 1)
            rows.append([np.bincount(bin_, w, BINS) for w in (np.ones_like(p), p, hit.astype(float))])
    table = np.array(rows)
    resampled = np.random.default_rng(0).integers(len(table), size=(500, len(table)))
    errors = np.array([_expected_error(table[some]) for some in resampled])
    again = np.array([table[some].sum(0) for some in resampled])
    shares = again[:, 2] / np.maximum(again[:, 0], 1)
    counts, stated, found = table.sum(0)
    filled = np.maximum(counts, 1)
    return {
        "pairs": counts.tolist(),
        "stated": (stated / filled).tolist(),
        "found": (found / filled).tolist(),
        "found_sd": shares.std(0).tolist(),
        "expected_calibration_error": _expected_error(table),
        "bootstrap_sd": float(errors.std()),
        "mean_stated": float(stated.sum() / counts.sum()),
        "mean_found": float(found.sum() / counts.sum()),
        "datasets": len(table),
    }


def _expected_error(table: np.ndarray) -> float:
    counts, stated, found = table.sum(0)
    return float(np.abs(stated - found).sum() / counts.sum())


def picture(sets: Mapping[int, Sets], reliability: Mapping[str, dict[str, Any]]) -> Figure:
    """Draw a few data sets by truth and by estimate, and the reliability curves."""
    with plots.style():
        figure = plots.new_figure(13.5, 5.4)
        grid = figure.add_gridspec(2, len(SHOWN) + 1, width_ratios=[1] * len(SHOWN) + [1.15])
        for column, k in enumerate(SHOWN):
            one, none = sets[k], np.zeros(sets[k].data.shape[1])
            guess = one.estimates[0]
            rand = adjusted_rand_score(one.truth[0], guess)
            for row, (labels, unsure) in enumerate(((one.truth[0], none), (guess, one.uncertainty[0]))):
                ax = figure.add_subplot(grid[row, column])
                plots.plot_clustering(one.data[0], labels, unsure, ax=ax)
                ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
                ax.set_aspect("equal", adjustable="datalim")
                if ax.get_legend() is not None:
                    ax.get_legend().remove()
                ax.set_title(f"truth: {k}" if row == 0 else f"guide: {guess.max() + 1}, Rand {rand:.2f}")
        ax = figure.add_subplot(grid[:, -1])
        ax.plot([0, 1], [0, 1], color="grey", linewidth=1)
        for name, found in reliability.items():
            shown = np.array(found["pairs"]) > 0
            stated, share, error = (np.array(found[key])[shown] for key in ("stated", "found", "found_sd"))
            ax.errorbar(stated, share, error, fmt="o-", label=name, capsize=3)
        ax.set(xlabel="probability of a pair, by the guide", ylabel="share of pairs together", aspect="equal")
        ax.legend(loc="upper left")
        return figure


def main(
    guide: Annotated[str, typer.Option(help="Guide by name or folder.")] = "ncp-warped2d",
    datasets: Annotated[int, typer.Option(help="Data sets for every K.")] = 12,
    points: Annotated[int, typer.Option(help="Points of a data set.")] = 200,
    draws: Annotated[int, typer.Option(help="Draws of the guide a data set.")] = 200,
    out: Annotated[Path, typer.Option(help="Where the figures go.")] = RESULTS,
    figure: Annotated[Path, typer.Option(help="Where the picture goes.")] = PICTURE,
) -> None:
    """Measure, print one table, store figures and picture."""
    torch.manual_seed(2026)
    torch.set_num_threads(1)
    console, network = Console(width=150), load_guide(guide)
    sets = {}
    for k in range(1, MOST + 1):
        sets[k] = answer(network, *fresh(k, datasets=datasets, points=points), draws=draws)
        console.print(f"K = {k}: {sets[k].seconds:.1f} s a data set")
    own = answer(network, *fresh(None, datasets=MOST * datasets, points=points), draws=draws)
    ours = {
        k: np.array([adjusted_rand_score(t, e) for t, e in zip(one.truth, one.estimates, strict=True)])
        for k, one in sets.items()
    }
    rows = {f"{guide}, not told K": ours, **rivals(sets)}
    more = [one for k, one in sets.items() if k > TRAINED]
    reliability = {"own model, to 4 clusters": calibration([own]), "5 to 8 clusters": calibration(more)}
    console.print(_table(rows))
    for name, found in reliability.items():
        error = f"{found['expected_calibration_error']:.4f} ± {found['bootstrap_sd']:.4f}"
        console.print(f"Expected calibration error of pair probabilities, {name}: {error}")
    content = {
        "points": points,
        "datasets_per_K": datasets,
        "draws": draws,
        "seconds_a_dataset": float(np.mean([one.seconds for one in sets.values()])),
        "estimated_K": {k: (one.estimates.max(-1) + 1).tolist() for k, one in sets.items()},
        "adjusted_rand": {name: _figures(found) for name, found in rows.items()},
        "differences": {name: _paired(ours, found) for name, found in rows.items() if found is not ours},
        "calibration": reliability,
    }
    out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    figure.write_bytes(plots.png_bytes(picture(sets, reliability)))


def _figures(found: Mapping[int, np.ndarray]) -> dict[str, Any]:
    by_k = {str(k): pooled({k: one}) for k, one in found.items()}
    return {"by_K": by_k, "all": pooled(found), "to_4": _part(found, 1), "above_4": _part(found, TRAINED + 1)}


def _part(found: Mapping[int, np.ndarray], first: int) -> tuple[float, float]:
    return pooled({k: found[k] for k in range(first, first + TRAINED)})


def _paired(ours: Mapping[int, np.ndarray], other: Mapping[int, np.ndarray]) -> dict[str, Any]:
    """Return how far ours is ahead, data set by data set."""
    gap = {k: ours[k] - other[k] for k in ours}
    return {"all": pooled(gap), "to_4": _part(gap, 1), "above_4": _part(gap, TRAINED + 1)}


def _table(rows: Mapping[str, Mapping[int, np.ndarray]]) -> Table:
    table = Table(title="Adjusted Rand index, mean (standard error)", title_justify="left")
    table.add_column("")
    for k in (*range(1, MOST + 1), "all"):
        table.add_column(f"K = {k}" if k != "all" else "all", justify="right")
    for name, found in rows.items():
        cells = [pooled({k: one}) for k, one in found.items()] + [pooled(found)]
        table.add_row(name, *(f"{mean:.3f} ({error:.3f})" for mean, error in cells))
    return table


if __name__ == "__main__":
    typer.run(main)
