"""The draws that the pictures of the gallery show."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits

from pyroclust import diagnostics, load_guide, read_table, standardise
from pyroclust.calibration import LocalCalibration, calibrate_near
from pyroclust.distributions import BernoulliObservation
from pyroclust.guides import DeepMixtureGuide, NeuralClusteringProcess, light_scorer_for
from pyroclust.infer import FitSettings, Validation, fit, simulate
from pyroclust.infer.mcmc import CollapsedGibbs, Compose, MergeSplit
from pyroclust.models import DeepMixture, PartiallyLabelled, SpikeWaveforms, StochasticBlockModel, gaussian2d
from pyroclust.nn import GumbelSoftmax, ImageDeformation, Views

__all__ = ["Gallery", "Posterior", "Seen", "prepare", "shares_of_counts"]


@dataclass(frozen=True)
class Posterior:
    """Draws for one data set: of chains, and of a guide.

    Attributes:
        data: ``(N, D)`` in the units of the table.
        columns: names of the D columns.
        draws: of four Gibbs chains, ``(4, S, N)``.
        log_joint: of these draws, ``(4, S)``.
        guide: draws of the guide, ``(S, N)``.
        log_weights: their log importance weights, ``(S,)``.
        estimate: point estimate of the chains, ``(N,)``.
        similarity: co-assignment of the chains, ``(N, N)``.
        truth: labels that the table came with, ``(N,)``; zeros where it has none.
    """

    data: np.ndarray
    columns: tuple[str, ...]
    draws: np.ndarray
    log_joint: np.ndarray
    guide: np.ndarray
    log_weights: np.ndarray
    estimate: np.ndarray
    similarity: np.ndarray
    truth: np.ndarray


@dataclass(frozen=True)
class Seen:
    """Points that can be looked at, with a partition of them.

    Attributes:
        points: images ``(N, H, W)``, waveforms ``(N, channels, samples)`` or the matrix of a graph.
        estimate: of their partition, ``(N,)``.
        unsure: uncertainty of each, ``(N,)``.
        names: of the points, where they have some.
    """

    points: np.ndarray
    estimate: np.ndarray
    unsure: np.ndarray
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Gallery:
    """What the pictures are drawn from.

    Attributes:
        galaxies: velocities of 82 galaxies.
        few: every seventh of them.
        iris: petals of 150 irises.
        flowers: all four columns of the irises.
        truth: partitions of simulated data sets, ``(B, N)``.
        simulated: draws of a guide for these data sets, ``(S, B, N)``.
        near: calibration of the guide on simulations like the galaxies.
        familiar: simulations of as many points as there are galaxies, ``(B, 82, 1)``.
        digits: handwriting, clustered by a guide that was trained on fonts.
        generated: digits that a deep mixture makes after a short training, ``(K, S, 8, 8)``.
        spikes: simulated ones, by their neurons.
        novel: the characters of Les Misérables, by blocks.
        log: of a short training.
        validation: of the same.
    """

    galaxies: Posterior
    few: Posterior
    iris: Posterior
    flowers: Posterior
    truth: np.ndarray
    simulated: np.ndarray
    near: LocalCalibration
    familiar: np.ndarray
    digits: Seen
    generated: np.ndarray
    spikes: Seen
    novel: Seen
    log: dict[str, np.ndarray]
    validation: dict[str, np.ndarray]


def shares_of_counts(draws: np.ndarray) -> np.ndarray:
    """Return the shares of 1, ..., N clusters among draws."""
    values, probabilities = diagnostics.cluster_count_posterior(draws)
    shares = np.zeros(draws.shape[-1])
    shares[values - 1] = probabilities
    return shares


def posterior_of(
    source: str,
    guide_name: str,
    *,
    num_draws: int,
    columns: dict[str, str],
    scale: float = 1.0,
    every: int = 1,
) -> Posterior:
    """Draw partitions of a table, or of every so many rows, by Gibbs chains and a guide of the same model."""
    table = read_table(source, columns=list(columns))
    guide = load_guide(guide_name)
    data = torch.tensor(standardise(table).data[::every])
    run = CollapsedGibbs(guide.model, thin=10).run(data, num_draws=num_draws, warmup=200, seed=0)
    draws = run.assignments
    with torch.no_grad():
        torch.manual_seed(0)
        drawn, log_q = guide.posterior(data).sample_and_log_prob((num_draws,))
        log_weights = guide.model.log_joint(data, drawn) - log_q
    truth = np.zeros(len(data)) if table.labels is None else np.asarray(table.labels)[::every]
    return Posterior(
        data=np.asarray(table.data)[::every] / scale,
        columns=tuple(columns.values()),
        draws=draws,
        log_joint=run.log_joint,
        guide=drawn.numpy(),
        log_weights=log_weights.numpy(),
        estimate=diagnostics.point_estimate(draws, seed=0),
        similarity=diagnostics.co_assignment(draws),
        truth=np.unique(truth, return_inverse=True)[1],
    )


def handwriting(num_draws: int) -> Seen:
    """Cluster ninety digits of five classes by a guide that has seen glyphs of fonts and no handwriting."""
    bundle = load_digits()
    images = bundle.images[np.flatnonzero(bundle.target < 5)[:90]] / 16
    with torch.no_grad():
        torch.manual_seed(0)
        draws = load_guide("ncp-glyphs8").posterior(torch.tensor(images)).sample((num_draws,)).numpy()
    estimate = diagnostics.point_estimate(draws, seed=0)
    return Seen(images, estimate, diagnostics.point_uncertainty(draws, estimate))


def generated_digits(steps: int) -> np.ndarray:
    """Train a deep mixture of digits for a while and return what it makes of every cluster in some styles."""
    torch.manual_seed(0)
    images = torch.as_tensor(load_digits().images, dtype=torch.float32) / 16
    small = ImageDeformation(shift=0.5, rotation=10.0, shear=0.1, scale=0.1)
    model = DeepMixture((8, 8), num_clusters=10, observation=BernoulliObservation())
    views = Views(small, weight=3.0, balance=5.0)
    guide = DeepMixtureGuide(model, relaxation=GumbelSoftmax(0.5), views=views)
    settings = FitSettings.of_batches(100, steps=steps)
    fit(model, guide, data=PartiallyLabelled(images, deformation=small), settings=settings, progress=False)
    return model.generate(torch.randn(8, 10)).numpy()


def characters(num_draws: int) -> Seen:
    """Find blocks among the characters of a novel by MCMC."""
    table, model = read_table("les-miserables"), StochasticBlockModel()
    kernel = Compose([MergeSplit(model), CollapsedGibbs(model)], thin=2)
    draws = kernel.run(table.data, num_draws=num_draws, warmup=1000, num_chains=4, seed=0).assignments
    estimate = diagnostics.point_estimate(draws, seed=0)
    return Seen(table.data, estimate, diagnostics.point_uncertainty(draws, estimate), table.row_names)


def recording() -> Seen:
    """Simulate a recording of several neurons."""
    torch.manual_seed(8)
    spikes, neurons = simulate(SpikeWaveforms(), torch.empty(300, 7, 32))
    return Seen(spikes.numpy(), neurons.numpy(), np.zeros(len(neurons)))


def near_calibration(num_simulations: int, *, num_draws: int) -> LocalCalibration:
    """Calibrate the guide for one column on the third of some simulations that is most like the galaxies."""
    guide = load_guide("ncp-nig1d")
    data = torch.tensor(standardise(read_table("galaxies")).data)
    nearest = {"num_simulations": 3 * num_simulations // 2, "num_nearest": num_simulations // 2}
    return calibrate_near(guide, guide.model, data, num_draws=num_draws, **nearest)


def short_training(folder: Path, steps: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Train a small guide and return its log and validations, as the training wrote them."""
    torch.manual_seed(0)
    model = gaussian2d()
    settings = FitSettings(steps=steps, max_points=20, warmup_steps=min(20, steps))
    measured = Validation(every=max(1, steps // 8), num_datasets=10, exact_points=5, sampled_points=15)
    guide = NeuralClusteringProcess(model, scorer=light_scorer_for(model, use_filter=False))
    fit(model, guide, settings=settings, folder=folder, validation=measured, progress=False)
    tables = [
        np.genfromtxt(folder / f"{name}.csv", delimiter=",", names=True) for name in ("log", "validation")
    ]
    log, validation = ({name: np.atleast_1d(table[name]) for name in table.dtype.names} for table in tables)
    return log, validation


def prepare(folder: Path, *, num_draws: int, num_simulations: int, steps: int) -> Gallery:
    """Make all draws that the pictures need."""
    velocity = {"velocity_km_s": "velocity, 1000 km/s"}
    petals = {"petal_length_cm": "petal length, cm", "petal_width_cm": "petal width, cm"}
    sepals = {"sepal_length_cm": "sepal length, cm", "sepal_width_cm": "sepal width, cm"}
    guide = load_guide("ncp-nig1d")
    with torch.no_grad():
        torch.manual_seed(1)
        data, truth = simulate(guide.model, torch.empty(num_simulations, 30, 1))
        # So many that 20 bins hold equally many of the possible ranks.
        simulated = guide.posterior(data).sample((199 if num_draws > 199 else 19,))
        familiar, _ = simulate(guide.model, torch.empty(max(20, num_simulations), 82, 1))
    log, validation = short_training(folder, steps)
    return Gallery(
        galaxies=posterior_of("galaxies", "ncp-nig1d", num_draws=num_draws, columns=velocity, scale=1000),
        few=posterior_of("galaxies", "ncp-nig1d", num_draws=num_draws, columns=velocity, scale=1000, every=7),
        iris=posterior_of("iris", "ncp-niw2d", num_draws=num_draws, columns=petals),
        flowers=posterior_of(
            "iris", "ncp-niw4d", num_draws=max(20, num_draws // 10), columns=sepals | petals
        ),
        truth=truth.numpy(),
        simulated=simulated.numpy(),
        near=near_calibration(num_simulations, num_draws=99 if num_draws > 99 else 19),
        familiar=familiar.numpy(),
        digits=handwriting(num_draws),
        generated=generated_digits(steps),
        spikes=recording(),
        novel=characters(num_draws),
        log=log,
        validation=validation,
    )
