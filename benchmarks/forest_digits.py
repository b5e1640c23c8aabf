"""Digits of which 100 have a label and three classes none: how well an embedding tells all ten apart.

    python benchmarks/forest_digits.py [--explore] [--seeds 5]

scikit-learn's digits (1,797 images, 8 x 8) are cut into three parts at random, once: 797 to train on, 400 to
choose settings on, 600 to report on. A seed picks three classes that have no label and 100 labelled images of
the other seven; the rest of the 797 images are seen without labels, and those of the other parts never. The
images of a part are embedded and clustered by k-means, told that there are ten classes, and its normalised
mutual information with the classes (arithmetic mean) is reported, that of the images of the three classes
without labels as well.

The same convolutional network is trained by PartialFenchelYoungLoss on a SpanningForestGuide, and by the
cross-entropy of a linear layer on the 100 labels, which is all that it can use; beside them stands k-means on
the pixels. With --explore the settings of both trainings are compared, by the part to choose on and by seeds
that the report does not have, and the best of each is what SETTINGS says. One result a seed is kept in
runs/forest_digits. The last report is in benchmarks/results/forest_digits.json.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import typer
from kept import kept, write_report
from rich.console import Console
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import normalized_mutual_info_score
from torch import Tensor, nn

from pyroclust.guides import SpanningForestGuide
from pyroclust.infer import PartialFenchelYoungLoss
from pyroclust.models import PartiallyLabelled
from pyroclust.nn import ImageEncoder

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs" / "forest_digits"
RESULTS = Path(__file__).parent / "results" / "forest_digits.json"
LABELS, WITHHELD, CLASSES, BATCH, LABELLED = 100, 3, 10, 64, 32
EXPLORED = range(100, 105)

Settings = dict[str, Any]
SETTINGS: dict[str, Settings] = {
    "forests": {"steps": 600, "learning_rate": 1e-3, "dim": 16, "noise_scale": 1.0, "num_draws": 100},
    "cross-entropy": {"steps": 100, "learning_rate": 1e-3, "dim": 16, "weight_decay": 0.0},
}
GRID: dict[str, list[Settings]] = {
    "forests": [
        {},
        {"noise_scale": 0.3},
        {"noise_scale": 2.0},
        {"noise_scale": 4.0},
        {"steps": 300},
        {"steps": 1200},
        {"dim": 8},
        {"dim": 32},
        {"num_draws": 30},
        {"learning_rate": 3e-3},
    ],
    "cross-entropy": [
        {},
        {"steps": 30},
        {"steps": 300},
        {"steps": 600},
        {"dim": 8},
        {"dim": 32},
        {"learning_rate": 3e-3},
        {"weight_decay": 0.1},
        {"weight_decay": 1.0},
    ],
}


class Digits:
    """Images and classes of one seed: what has a label, and what is embedded to be judged."""

    def __init__(self, seed: int, *, explore: bool) -> None:
        bundle = load_digits()
        images = torch.tensor(bundle.images / 16, dtype=torch.float32)
        classes = torch.tensor(bundle.target)
        order = torch.randperm(len(images), generator=torch.Generator().manual_seed(12_345))
        judged, pool = order[600:1000] if explore else order[:600], order[1000:]
        generator = torch.Generator().manual_seed(seed)
        self.withheld = torch.randperm(CLASSES, generator=generator)[:WITHHELD]
        self.images, own = images[pool], classes[pool]
        allowed = (~torch.isin(own, self.withheld)).nonzero().squeeze(-1)
        self.rows = allowed[torch.randperm(len(allowed), generator=generator)[:LABELS]]
        self.labels = torch.full_like(own, -1)
        self.labels[self.rows] = own[self.rows]
        self.judged, self.truth = images[judged], classes[judged]


def network(dim: int) -> ImageEncoder:
    return ImageEncoder(8, 8, dim=dim)


def optimiser(parameters: Any, settings: Settings) -> tuple[Any, Any]:
    rate, decay = settings["learning_rate"], settings.get("weight_decay", 0.0)
    made = torch.optim.AdamW(parameters, lr=rate, weight_decay=decay)
    return made, torch.optim.lr_scheduler.OneCycleLR(made, rate, total_steps=settings["steps"])


def by_forests(digits: Digits, settings: Settings) -> nn.Module:
    """Train on batches of which half have a label."""
    embedding = network(settings["dim"])
    model = PartiallyLabelled(digits.images, digits.labels, share=LABELLED / BATCH)
    guide = SpanningForestGuide(
        model, embedding=embedding, num_clusters=CLASSES, noise_scale=settings["noise_scale"]
    )
    loss = PartialFenchelYoungLoss(settings["num_draws"])
    optimizer, rate = optimiser(embedding.parameters(), settings)
    for _ in range(settings["steps"]):
        optimizer.zero_grad()
        loss.differentiable_loss(model, guide, torch.empty(1, BATCH, 8, 8)).backward()
        optimizer.step()
        rate.step()
    return embedding


def by_cross_entropy(digits: Digits, settings: Settings) -> nn.Module:
    """Train on batches of as many labelled images, and return the network below the last layer."""
    embedding, last = network(settings["dim"]), nn.Linear(settings["dim"], CLASSES)
    optimizer, rate = optimiser([*embedding.parameters(), *last.parameters()], settings)
    for _ in range(settings["steps"]):
        rows = digits.rows[torch.randperm(LABELS)[:LABELLED]]
        optimizer.zero_grad()
        logits = last(embedding(digits.images[rows].unsqueeze(0)).squeeze(0))
        nn.functional.cross_entropy(logits, digits.labels[rows]).backward()
        optimizer.step()
        rate.step()
    return embedding


TRAININGS: dict[str, Callable[[Digits, Settings], nn.Module]] = {
    "forests": by_forests,
    "cross-entropy": by_cross_entropy,
}


def judge(digits: Digits, vectors: Tensor, seed: int) -> dict[str, float]:
    """Cluster by k-means, told ten classes, and compare with these."""
    found = KMeans(CLASSES, n_init=10, random_state=seed).fit_predict(vectors.double().numpy())
    truth, unseen = digits.truth.numpy(), torch.isin(digits.truth, digits.withheld).numpy()
    return {
        "nmi": float(normalized_mutual_info_score(truth, found)),
        "nmi_withheld": float(normalized_mutual_info_score(truth[unseen], found[unseen])),
    }


def measure(method: str, settings: Settings, seed: int, *, explore: bool) -> dict[str, Any]:
    """Train with one seed, and judge."""
    torch.manual_seed(seed)
    digits = Digits(seed, explore=explore)
    begin = time.perf_counter()
    if method == "pixels":
        vectors = digits.judged.flatten(1)
    else:
        embedding = TRAININGS[method](digits, settings)
        with torch.no_grad():
            vectors = embedding(digits.judged.unsqueeze(0)).squeeze(0)
    seconds = time.perf_counter() - begin
    figures: dict[str, Any] = judge(digits, vectors, seed)
    return {"method": method, "seed": seed, "seconds": seconds, **figures}


def result(method: str, settings: Settings, seed: int, *, explore: bool) -> dict[str, Any]:
    part = "explored" if explore else "reported"
    told = "-".join(f"{name}={value}" for name, value in sorted(settings.items()))
    path = RUNS / part / f"{method}-{told}-{seed}.json"
    found: dict[str, Any] = kept(path, lambda: measure(method, settings, seed, explore=explore))
    return found


def show(title: str, rows: list[dict[str, Any]], by: str) -> None:
    """Print means over seeds, and their standard errors."""
    table = pd.DataFrame(rows).groupby(by, sort=False)
    columns = ["nmi", "nmi_withheld", "seconds"]
    means, errors = table[columns].mean(), table[columns].sem()
    console = Console()
    console.print(title)
    for name in means.index:
        told = ", ".join(f"{one} {means[one][name]:.3f} ({errors[one][name]:.3f})" for one in columns)
        console.print(f"  {name}: {told}", soft_wrap=True)


def main(explore: bool = False, seeds: int = 5) -> None:  # noqa: FBT001, FBT002  (an option)
    """Compare settings, or report what the chosen ones reach."""
    torch.set_num_threads(1)
    if explore:
        rows = []
        for method, changes in GRID.items():
            for change in changes:
                for seed in EXPLORED:
                    row = result(method, SETTINGS[method] | change, seed, explore=True)
                    rows.append({**row, "settings": f"{method} {change or 'as chosen'}"})
        show(f"{len(EXPLORED)} seeds, 400 images to choose on", rows, "settings")
        return
    rows = [
        result(method, SETTINGS.get(method, {}), seed, explore=False)
        for seed in range(seeds)
        for method in ("pixels", "cross-entropy", "forests")
    ]
    show(f"{seeds} seeds, 600 images that no choice was made on", rows, "method")
    pivot = pd.DataFrame(rows).pivot(index="seed", columns="method", values="nmi")
    ahead = pivot["forests"] - pivot.drop(columns="forests").max(axis=1)
    print(f"forests are ahead of the better of both by {ahead.min():.3f} to {ahead.max():.3f}")
    report = {
        "labels": LABELS,
        "withheld_classes": WITHHELD,
        "settings": SETTINGS,
        "ahead": {"least": float(np.min(ahead)), "mean": float(np.mean(ahead))},
        # Seconds are those of a core that may have been busy.
        "rows": [{name: one for name, one in row.items() if name != "seconds"} for row in rows],
    }
    write_report(RESULTS, report)
    print(json.dumps(report["ahead"]))


if __name__ == "__main__":
    typer.run(main)
