"""How good a guide is on fresh data of its model: divergence, efficiency, log-probability of the truth."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import pyro
import torch
from pyro import poutine
from torch import Tensor

from pyroclust.partitions import enumerate_partitions

__all__ = ["Certificate", "ExactRow", "SampledRow", "certify", "simulate"]


@dataclass(frozen=True)
class ExactRow:
    """Against enumeration of all partitions of N points, nats.

    Attributes:
        num_points: N.
        num_datasets: fresh data sets.
        mean_kl: mean of KL(exact || guide).
        median_kl: its median.
        mean_kl_se: standard error of the mean.
    """

    num_points: int
    num_datasets: int
    mean_kl: float
    median_kl: float
    mean_kl_se: float


@dataclass(frozen=True)
class SampledRow:
    """From draws of the guide and the true partitions.

    Attributes:
        num_points: N.
        num_datasets: fresh data sets.
        num_draws: draws a data set.
        median_efficiency: median over data sets of the importance-sampling ESS over the number of draws.
        mean_efficiency: its mean.
        low_efficiency: its 5th percentile.
        log_prob_truth: mean log q of the simulated partition, nats.
        log_evidence: mean importance-sampling estimate of log p(data), nats: a proposal that misses modes
            falls behind others.
    """

    num_points: int
    num_datasets: int
    num_draws: int
    median_efficiency: float
    mean_efficiency: float
    low_efficiency: float
    log_prob_truth: float
    log_evidence: float


@dataclass(frozen=True)
class Certificate:
    """Rows by number of points; ``to_dict`` is what a card stores."""

    seed: int
    exact: tuple[ExactRow, ...]
    sampled: tuple[SampledRow, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, ready for JSON."""
        return asdict(self)


def simulate(model: Callable[..., Any], template: Tensor) -> tuple[Tensor, Tensor]:
    """Draw data sets and their partitions from a model's prior.

    Shape:
        template: ``(B, N, D)``; output: data like the template, assignments ``(B, N)``.
    """
    trace = poutine.trace(poutine.uncondition(model)).get_trace(template)
    data, assignments = trace.nodes["data"]["value"], trace.nodes["assignments"]["value"]
    if data is None or assignments is None:
        raise ValueError("model has no value at its sites 'data' and 'assignments', expected both")
    return data, assignments


def certify(
    model: Any,
    guide: Any,
    *,
    seed: int = 1,
    num_exact: int = 200,
    exact_points: int = 8,
    num_sampled: int = 50,
    sampled_points: tuple[int, ...] = (20, 50, 100),
    num_draws: int = 1000,
) -> Certificate:
    """Measure a guide on fresh data sets; the same seed gives the same data sets to every guide.

    Args:
        model: collapsed model with ``log_joint``.
        guide: anything with ``posterior(data)``.
        seed: of the data sets.
        num_exact: data sets that are enumerated.
        exact_points: their number of points, at most 10.
        num_sampled: data sets at each larger size.
        sampled_points: the larger sizes.
        num_draws: draws a data set.
    """
    dim = model.component.dim
    with torch.no_grad():
        pyro.set_rng_seed(seed)
        data, _ = simulate(model, torch.empty(num_exact, exact_points, dim))
        worlds = [simulate(model, torch.empty(num_sampled, n, dim)) for n in sampled_points]
        exact = _exact_row(model, guide, data)
        sampled = tuple(_sampled_row(model, guide, d, c, num_draws) for d, c in worlds)
    return Certificate(seed, (exact,), sampled)


def _exact_row(model: Any, guide: Any, data: Tensor) -> ExactRow:
    partitions = enumerate_partitions(data.shape[1])
    divergences = []
    for block in data.split(10):
        joint = model.log_joint(block, partitions.unsqueeze(1))
        exact = joint.log_softmax(0)
        log_q = guide.posterior(block).log_prob(partitions.unsqueeze(1).expand(-1, len(block), -1))
        divergences.append((exact.exp() * (exact - log_q)).sum(0))
    kl = torch.cat(divergences)
    error = kl.std().item() / len(kl) ** 0.5
    return ExactRow(data.shape[1], len(kl), kl.mean().item(), kl.median().item(), error)


def _sampled_row(model: Any, guide: Any, data: Tensor, assignments: Tensor, num_draws: int) -> SampledRow:
    efficiency, evidence = [], []
    for one in data:
        draws, log_q = guide.posterior(one).sample_and_log_prob((num_draws,))
        log_weight = model.log_joint(one, draws) - log_q
        efficiency.append((2 * log_weight.logsumexp(0) - (2 * log_weight).logsumexp(0)).exp() / num_draws)
        evidence.append(log_weight.logsumexp(0) - torch.tensor(float(num_draws)).log())
    share = torch.stack(efficiency)
    return SampledRow(
        num_points=data.shape[1],
        num_datasets=len(data),
        num_draws=num_draws,
        median_efficiency=share.median().item(),
        mean_efficiency=share.mean().item(),
        low_efficiency=share.quantile(0.05).item(),
        log_prob_truth=guide.posterior(data).log_prob(assignments).mean().item(),
        log_evidence=torch.stack(evidence).mean().item(),
    )
