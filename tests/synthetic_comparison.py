"""A comparison with known answers: points pick labels independently, so log p and log q are exact."""

from itertools import permutations

import numpy as np
import torch
from scipy.special import logsumexp, softmax

from pyroclust.partitions import canonical
from pyroclust.results.comparison import Comparison, PartitionDraws

LOG_EVIDENCE = -123.0


def _partition_log_prob(labels: np.ndarray, log_probs: np.ndarray) -> np.ndarray:
    points = np.arange(labels.shape[-1])
    names = [log_probs[points, np.array(names)[labels]].sum(-1) for names in permutations(range(3))]
    return logsumexp(names, axis=0)


def _sample(rng: np.random.Generator, log_probs: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    noise = rng.gumbel(size=(*shape, *log_probs.shape))
    return (log_probs + noise).argmax(-1)


def _canonical(labels: np.ndarray) -> np.ndarray:
    return canonical(torch.from_numpy(labels)).numpy()


def _sticky(rng: np.random.Generator, log_probs: np.ndarray, chains: int, draws: int) -> np.ndarray:
    fresh = _sample(rng, log_probs, (chains, draws))
    renew = rng.random(fresh.shape) < 0.5
    for step in range(1, draws):
        fresh[:, step] = np.where(renew[:, step], fresh[:, step], fresh[:, step - 1])
    return fresh


def make_comparison(
    *,
    dim: int = 1,
    num_points: int = 60,
    temperature: float = 1.1,
    stuck: bool = False,
    draws: int = 500,
    groups: float = 0.03,
    seed: int = 0,
) -> Comparison:
    """Build draws of a posterior of independent labels, the guide's flattened by ``temperature``."""
    rng = np.random.default_rng(seed)
    true_labels = rng.choice(3, p=[0.5, 0.5 - groups, groups], size=num_points)
    centres = np.zeros((3, dim))
    centres[:, 0] = [-1.0, 1.0, 2.2]
    if dim > 1:
        centres[2, 1] = 2.0
    data = centres[true_labels] + 0.45 * rng.standard_normal((num_points, dim))
    squares = ((data[:, None] - centres) ** 2).sum(-1)
    scores = -squares / (2 * 0.5**2) + np.log([0.5, 0.5 - groups, groups])
    target = np.log(softmax(scores, axis=-1) + 1e-12)
    guide = np.log(softmax(scores / temperature, axis=-1) + 1e-12)
    drawn = _sample(rng, guide, (1, 2 * draws))
    chains = _sticky(rng, target, 4, draws)
    if stuck:
        chains[0] = _sticky(rng, np.log(softmax(scores / 4, axis=-1)), 1, draws)[0]
    location, scale = data.mean(0), data.std(0) + 1e-9
    return Comparison(
        source="synthetic",
        model_name="independent labels",
        guide_name=f"tempered by {temperature:g}",
        columns=tuple(f"measurement_{d + 1}" for d in range(dim)),
        data=(data - location) / scale,
        guide=PartitionDraws(
            "guide",
            _canonical(drawn),
            LOG_EVIDENCE + _partition_log_prob(drawn, target),
            0.03,
            _partition_log_prob(drawn, guide),
        ),
        mcmc=PartitionDraws(
            "MCMC", _canonical(chains), LOG_EVIDENCE + _partition_log_prob(chains, target), 1.7
        ),
        location=10 + 2 * location,
        scale=2 * scale,
        true_labels=true_labels,
        notes=("Two rows with missing values were left out.",),
    )
