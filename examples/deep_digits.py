"""Handwritten digits, clustered by a deep mixture without any label: what it draws, says, and is too sure of.

Trains cluster and style of scikit-learn's 8 x 8 digits by the variational loss with views: a digit that is
shifted or turned a little stays in its cluster. The upper row has what the model generates after a fiftieth,
a twelfth and all of the training, a row a cluster, a column a style. Below, a Bayesian head: a mixture of
Gaussians on principal components of the network's own features, drawn from by MCMC, says how sure one may be
of the network's clusters. On the left the uncertainty of each image by both; then the images that the network
calls sure and the mixture does not; and the numbers of clusters that both draw.

python examples/deep_digits.py --out deep_digits.png
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from pyroclust.baselines import feature_scores
from pyroclust.diagnostics import pair_reliability, point_estimate, point_uncertainty
from pyroclust.distributions import BernoulliObservation
from pyroclust.guides import DeepMixtureGuide
from pyroclust.infer import FitSettings, fit
from pyroclust.infer.mcmc import CollapsedGibbs
from pyroclust.models import DeepMixture, PartiallyLabelled, niw_mixture
from pyroclust.nn import DenseDecoder, DenseEncoder, GumbelSoftmax, ImageDeformation, Views
from pyroclust.plots import new_figure, plot_generated, plot_uncertain_images, style

STYLES, STAGES = 8, (0.02, 0.08, 1.0)


def new_guide(width: int) -> DeepMixtureGuide:
    """Return an untrained guide of digits, with its model."""
    widths = (width, width)
    model = DeepMixture(
        (8, 8),
        num_clusters=10,
        decoder=DenseDecoder(20, (8, 8), widths=widths),
        observation=BernoulliObservation(),
    )
    small = ImageDeformation(shift=0.5, rotation=10.0, shear=0.1, scale=0.1)
    return DeepMixtureGuide(
        model,
        encoder=DenseEncoder((8, 8), widths=widths),
        relaxation=GumbelSoftmax(0.5),
        views=Views(small, weight=3.0, balance=5.0),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("deep_digits.png"))
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--images", type=int, default=400, help="of the Bayesian head")
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=2)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    digits = load_digits()
    images = torch.as_tensor(digits.images, dtype=torch.float32) / 16
    guide = new_guide(options.width)
    assert guide.views is not None
    law = PartiallyLabelled(images, deformation=guide.views.deformation)
    settings = FitSettings.of_batches(100, steps=options.steps, seed=options.seed)
    styles, generated = torch.randn(STYLES, 10), []
    with TemporaryDirectory() as folder:
        for stage in STAGES:
            told = {"folder": Path(folder), "resume": True, "max_steps": int(stage * options.steps)}
            fit(guide.model, guide, data=law, settings=settings, **told)
            generated.append(guide.model.generate(styles).numpy())

    with torch.no_grad():
        shares, features = guide.log_shares(images).exp().numpy(), guide.features(images).numpy()
    names = np.random.default_rng(0).random(len(images)) < 0.5
    print(feature_scores(shares, digits.target, validation=names, features=features))

    # Are the network's probabilities right? Against the classes, which it has never seen.
    sets = torch.randperm(len(images))[: 60 * (len(images) // 60)].view(-1, 60)
    draws = guide.posterior(images[sets]).sample((200,))
    classes = torch.as_tensor(digits.target)[sets]
    print(pair_reliability(classes.numpy(), draws.numpy()))

    # A Bayesian head: a mixture with full covariances on the features of some images.
    chosen = torch.randperm(len(images))[: options.images]
    parts = PCA(4, whiten=True).fit_transform(features[chosen])
    points = torch.as_tensor(parts, dtype=torch.float64)
    kernel = CollapsedGibbs(niw_mixture(4), thin=5)
    chains = kernel.run(points, num_draws=options.draws // 4, warmup=100, num_chains=4, seed=options.seed)
    by_network = guide.posterior(images[chosen]).sample((options.draws,)).numpy()
    estimate = point_estimate(by_network, seed=0)
    unsure = point_uncertainty(by_network, estimate), point_uncertainty(chains, estimate)
    surer = np.where(unsure[0] < 0.05, unsure[1], 0.0)
    print(
        f"{np.mean(unsure[0] < 0.05):.0%} of the images are sure to the network, "
        f"{np.mean(surer > 0.5):.0%} of the images to the network alone"
    )
    wrong = digits.target[chosen] != majority(estimate, digits.target[chosen])
    for name, kind in (("both", (unsure[0] < 0.05) & (unsure[1] <= 0.5)), ("the network alone", surer > 0.5)):
        share = np.mean(wrong[kind]) if kind.any() else 0.0
        print(f"of those sure to {name} {share:.1%} are in another digit's cluster")

    with style():
        figure = new_figure(13, 8.5)
        axes = figure.subplots(2, 3)
        for ax, stage, one in zip(axes[0], STAGES, generated, strict=True):
            plot_generated(one, ax=ax)
            ax.set_title(f"after {int(stage * options.steps):,} steps")
        axes[1, 0].scatter(*unsure, s=8, color="0.4", linewidths=0)
        axes[1, 0].set(xlabel="uncertainty by the network", ylabel="by the mixture of its features")
        plot_uncertain_images(images[chosen].numpy(), surer, ax=axes[1, 1], columns=8)
        axes[1, 1].set_title("sure to the network, unsure to the mixture")
        for found, name in (
            (by_network, "network"),
            (chains.num_clusters.ravel(), "mixture of its features"),
        ):
            counts = found.max(-1) + 1 if found.ndim > 1 else found
            values, number = np.unique(counts, return_counts=True)
            axes[1, 2].plot(values, number / number.sum(), "o-", label=name)
        axes[1, 2].set(xlabel="clusters", ylabel="probability")
        axes[1, 2].legend()
        figure.savefig(options.out)


def majority(estimate: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return for each point the class of most points of its cluster."""
    most = np.array([np.bincount(classes[estimate == one]).argmax() for one in range(estimate.max() + 1)])
    return most[estimate]


if __name__ == "__main__":
    main()
