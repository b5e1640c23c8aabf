"""Whether draws of partitions obey a law that is known: the exact posterior of few points, or a prior."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyro
import torch
from scipy.stats import chi2
from torch import Tensor

from pyroclust.distributions import PartitionPrior
from pyroclust.infer.exact import exact_posterior
from pyroclust.partitions import Draws, enumerate_partitions, num_clusters

Posterior = tuple[Tensor, Tensor]

BATCHES = 40
# Student's t with 39 degrees of freedom is beyond this once in 100,000 times.
DEVIATIONS = 5.0


def effective_partitions(log_probs: Tensor) -> float:
    """Return the exponential of the entropy of a posterior: over how many partitions it is spread."""
    return (-torch.special.xlogy(log_probs.exp(), log_probs.exp()).sum()).exp().item()


def partition_index(partitions: Tensor, draws: Tensor) -> Tensor:
    """Return the row of every draw among all partitions, ``(..., N) -> (...)``."""
    base = partitions.shape[-1] ** torch.arange(partitions.shape[-1])
    codes, order = (partitions @ base).sort()
    index = order[torch.searchsorted(codes, draws @ base)]
    assert torch.equal(partitions[index], draws)
    return index


def functionals(partitions: Tensor, log_probs: Tensor) -> Tensor:
    """Return the number of clusters, the log-probability and all co-memberships, ``(F, partitions)``."""
    rows, columns = torch.triu_indices(partitions.shape[-1], partitions.shape[-1], offset=1)
    together = (partitions[:, rows] == partitions[:, columns]).T
    return torch.cat([num_clusters(partitions)[None], log_probs.clamp(min=-100.0)[None], together]).double()


def check_law(
    model: object, data: Tensor, draws: Tensor | np.ndarray, exact: Posterior | None = None
) -> None:
    """Assert that draws of chains obey the exact posterior, within their Monte Carlo error.

    Total variation sums |f - p|, so its Monte Carlo error is the sum of the partitions' own: half the sum of
    sqrt(2 v / pi), v the variance of a frequency estimated from batches, autocorrelation included. The means
    of the number of clusters, of the log-probability and of all co-memberships are each compared with the
    truth as well: they notice small errors that many partitions share.

    Args:
        model: a model with ``log_joint``.
        data: few points, ``(N, D)``.
        draws: canonical labels, ``(chains, draws, N)``; their number is a multiple of 40.
        exact: the posterior, where it is known already.
    """
    partitions, log_probs = exact_posterior(model, data) if exact is None else exact
    batches = partition_index(partitions, torch.as_tensor(draws)).reshape(BATCHES, -1)
    check_frequencies(batches, log_probs)
    check_means(batches, partitions, log_probs)


def check_log_joint(
    model: Any, data: Tensor, draws: Draws, *, last: int = 0, rtol: float = 1e-5, atol: float = 1e-8
) -> None:
    """Compare the log joint of the last draws of each chain, by default all, with the model's own."""
    expected = model.log_joint(data, torch.from_numpy(draws.assignments[:, -last:]))
    np.testing.assert_allclose(draws.log_joint[:, -last:], expected.numpy(), rtol=rtol, atol=atol)


def check_frequencies(batches: Tensor, log_probs: Tensor) -> None:
    """Compare frequencies with probabilities in total variation; batches hold indices, ``(40, draws)``."""
    offsets = torch.arange(BATCHES).unsqueeze(-1) * len(log_probs)
    counts = torch.bincount((batches + offsets).flatten(), minlength=BATCHES * len(log_probs))
    frequency = counts.reshape(BATCHES, -1).double() / batches.shape[1]
    error = frequency.std(0) / BATCHES**0.5
    total_variation = 0.5 * (frequency.mean(0) - log_probs.exp()).abs().sum()
    expected = 0.5 * error.sum() * math.sqrt(2 / math.pi)
    unseen = 0.5 * log_probs.exp()[frequency.mean(0) == 0].sum()
    # Where few partitions make up the sum, it fluctuates more around its mean.
    assert total_variation < max(1.5 * expected, expected + 2.0 * error.norm()) + unseen


def check_means(batches: Tensor, partitions: Tensor, log_probs: Tensor) -> None:
    """Compare the means of functionals with the truth, each in units of its Monte Carlo error."""
    values = functionals(partitions, log_probs)
    means = values[:, batches].mean(-1)
    truth = values @ log_probs.exp()
    error = means.std(-1) / BATCHES**0.5
    seen = torch.bincount(batches.flatten(), minlength=len(log_probs)) > 0
    unseen = (values.abs() * log_probs.exp() * ~seen).sum(-1)
    assert ((means.mean(-1) - truth).abs() < DEVIATIONS * error + 2.0 * unseen + 1e-12).all()


def check_invariance(
    step: Callable[[Tensor], Tensor], exact: Posterior, *, num_draws: int, seed: int
) -> None:
    """Assert that one step from exact draws leads to exact draws, ``(draws, N) -> (draws, N)``.

    All draws are independent, so Pearson's statistic has a chi-square law: partitions that are expected fewer
    than ten times count as one.
    """
    partitions, log_probs = exact
    torch.manual_seed(seed)
    start = torch.multinomial(log_probs.exp(), num_draws, replacement=True)
    index = partition_index(partitions, step(partitions[start]))
    assert (index != start).double().mean() > 0.02
    expected = num_draws * log_probs.exp()
    counts = torch.bincount(index, minlength=len(log_probs)).double()
    rare = expected < 10
    expected = torch.cat([expected[~rare], expected[rare].sum()[None]])
    counts = torch.cat([counts[~rare], counts[rare].sum()[None]])
    statistic = ((counts - expected) ** 2 / expected.clamp(min=1e-9)).sum()
    freedom = torch.tensor(float((~rare).sum()))
    survival = 1.0 - torch.special.gammainc(freedom / 2, (statistic / 2).to(freedom))
    assert survival > 1e-4


def simulate_prior(prior: PartitionPrior, num_points: int, draws: int) -> tuple[Tensor, PartitionPrior]:
    """Draw partitions as a Pyro program would, each with its own random hyperparameters."""
    with pyro.plate("draws", draws):
        known = prior.sampled()
        return pyro.sample("assignments", known.partition(num_points)), known


def assert_counts_fit(seen: Tensor, probabilities: Tensor) -> None:
    """Compare counts with exact probabilities by a chi-square test, rare cells put together."""
    assert seen[probabilities == 0].sum() == 0
    expected = seen.sum() * probabilities
    rare = expected < 5
    cells = torch.stack([seen.double(), expected])
    cells = torch.cat([cells[:, ~rare], cells[:, rare].sum(-1, keepdim=True)], -1)
    cells = cells[:, cells[1] > 0]
    statistic = ((cells[0] - cells[1]).square() / cells[1]).sum().item()
    assert cells.shape[1] == 1 or chi2.sf(statistic, cells.shape[1] - 1) > 1e-3


def partition_counts(draws: Tensor) -> Tensor:
    """Count how often each enumerated partition was drawn."""
    every = enumerate_partitions(draws.shape[-1])
    base = draws.shape[-1] ** torch.arange(draws.shape[-1])
    codes, order = (every @ base).sort()
    return torch.bincount(order[torch.searchsorted(codes, draws @ base)], minlength=len(every))


def log_subsets(component: Any, data: Tensor, loc: Tensor, level: Tensor) -> Tensor:
    """Return log p(x_S) of all subsets S of points, ``(2 ** N,)``: sums over a centre and a log precision."""
    grid = torch.cartesian_prod(loc, level)
    parameters = {"loc": grid[:, :1], "precision": grid[:, 1:].exp()}
    volume = math.log(loc[1] - loc[0]) + math.log(level[1] - level[0])
    log_weight = component.log_prior(parameters).double() + grid[:, 1] + volume
    log_likelihood = component.likelihood(parameters).log_prob(data.double().view(-1, 1, 1))
    subsets = (torch.arange(1 << len(data)).unsqueeze(-1) >> torch.arange(len(data))) & 1
    return (subsets.double() @ log_likelihood + log_weight).logsumexp(-1)


def posterior_of_subsets(prior: PartitionPrior, log_subsets: Tensor) -> Posterior:
    """Return the posterior of N points from log p(x_S) of all subsets S."""
    points = torch.arange(len(log_subsets).bit_length() - 1)
    partitions = enumerate_partitions(len(points))
    blocks = ((partitions.unsqueeze(-2) == points.unsqueeze(-1)) << points).sum(-1)
    return partitions, (prior.log_prob(partitions) + log_subsets[blocks].sum(-1)).log_softmax(-1)
