"""Handwritten digits of which 100 have a label and three classes none: an embedding that tells all ten apart.

Trains an embedding by spanning forests on scikit-learn's 8 x 8 digits. Batches of 64 images, half of which
have a label, say which images belong together; the rest is left to the forest of ten trees. The figure has
images that the training never saw, laid out by t-SNE of the pixels and of the embedding; the classes without
any label are drawn as crosses. A linear classifier on the embedding of all training images says how much it
knows of the classes.

python examples/forest_digits.py --out forest_digits.png
"""

import argparse
from pathlib import Path

import numpy as np
import pyro
import torch
from matplotlib.axes import Axes
from pyro.infer import SVI
from pyro.optim import Adam
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.manifold import TSNE
from sklearn.metrics import normalized_mutual_info_score
from torch import Tensor

from pyroclust.guides import SpanningForestGuide
from pyroclust.infer import PartialFenchelYoungLoss
from pyroclust.models import PartiallyLabelled
from pyroclust.nn import ImageEncoder
from pyroclust.plots import CYCLE, new_figure, style

WITHHELD = (3, 5, 8)


def some_labels(classes: Tensor, number: int) -> Tensor:
    """Keep the labels of some images, none of them of a withheld class; -1 elsewhere."""
    allowed = (~torch.isin(classes, torch.tensor(WITHHELD))).nonzero().squeeze(-1)
    rows = allowed[torch.randperm(len(allowed))[:number]]
    labels = torch.full_like(classes, -1)
    labels[rows] = classes[rows]
    return labels


def draw(ax: Axes, vectors: np.ndarray, classes: np.ndarray, title: str) -> None:
    """Draw vectors in the plane, neighbours side by side, a colour a class."""
    places = TSNE(2, init="pca", random_state=0).fit_transform(vectors)
    for name in range(10):
        own = places[classes == name]
        marker = "x" if name in WITHHELD else "o"
        ax.scatter(*own.T, s=14, marker=marker, color=CYCLE[name % len(CYCLE)], alpha=0.7, label=str(name))
    shared = normalized_mutual_info_score(classes, KMeans(10, n_init=10, random_state=0).fit_predict(vectors))
    ax.set_title(f"{title}: mutual information of k-means {shared:.2f}")
    ax.set_xticks([])
    ax.set_yticks([])
    print(f"{title}: normalised mutual information of k-means with ten classes {shared:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("forest_digits.png"))
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--labels", type=int, default=100)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    pyro.set_rng_seed(options.seed)
    bundle = load_digits()
    images, classes = torch.tensor(bundle.images / 16).float(), torch.tensor(bundle.target)
    order = torch.randperm(len(images))
    train, test = order[:1200], order[1200:]

    labels = some_labels(classes[train], options.labels)
    model = PartiallyLabelled(images[train], labels, share=0.5)
    guide = SpanningForestGuide(model, embedding=ImageEncoder(8, 8, dim=16), num_clusters=10, noise_scale=1.0)
    loss = PartialFenchelYoungLoss(options.draws)
    svi = SVI(model, guide, Adam({"lr": 1e-3}), loss)
    for step in range(options.steps):
        found = svi.step(torch.empty(1, 64, 8, 8))
        if step % 100 == 0 or step == options.steps - 1:
            print(f"step {step}: {found:.2f} by which forests that keep the labels are lighter")

    with torch.no_grad():
        before, after = guide.embed(images[train]).numpy(), guide.embed(images[test]).numpy()
    probe = LogisticRegression(max_iter=2000).fit(before, classes[train].numpy())
    print(f"linear classifier on the embedding, images never seen: {probe.score(after, classes[test]):.1%}")
    with style():
        figure = new_figure(11, 5)
        left, right = figure.subplots(1, 2)
        draw(left, images[test].flatten(1).numpy(), classes[test].numpy(), "Pixels")
        draw(right, after, classes[test].numpy(), "Embedding")
        right.legend(title="class", fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
        figure.savefig(options.out)
    print(f"Written: {options.out}")


if __name__ == "__main__":
    main()
