"""Simulations that a model would not make: clusters bent, skewed, heavy-tailed, contaminated or rounded."""

import math

import pyro
import torch
from pyro.distributions import Delta
from torch import Tensor

from pyroclust.core.counts import check_number
from pyroclust.distributions.points import check_shape, standardised
from pyroclust.distributions.programs import SimulatedModel, sampled
from pyroclust.distributions.protocols import Model


class DistortedClusters(SimulatedModel):
    r"""Data sets of a model, each changed in some of five ways, and standardised: for training guides on.

    .. math::
        \text{tails:} \quad & x_i \leftarrow m_{c_i} + (x_i - m_{c_i}) \sqrt{\nu / g_i}, \;
            g_i \sim \chi^2_\nu, \; \nu \sim U(2, 8) \\
        \text{bends:} \quad & x_i \leftarrow x_i + a \sin(W x_i + b), \;
            a \sim U(0, .6), \; W \sim N(0, I), \; b \sim U(0, 2 \pi) \\
        \text{skews:} \quad & x_{id} \leftarrow \sinh(\operatorname{arcsinh}(x_{id}) + e_d), \;
            e_d \sim N(0, .7^2) \\
        \text{contamination:} \quad & x_i \leftarrow U(\text{box of the data}) \;
            \text{with probability } \epsilon \sim U(0, .1) \\
        \text{rounding:} \quad & x_{id} \leftarrow r \lfloor x_{id} / r + 1/2 \rfloor, \; r \sim U(.01, .3)

    with m the means of the clusters. Each happens to a data set with the same probability; the columns are
    standardised before and after. The partition of the simulation is no draw of the model's posterior any
    more, and there is none: a :class:`~pyroclust.infer.PosteriorPool` draws some.

    The only site is ``"data"``. Cost O(N D^2) a data set, beside the simulation.

    Args:
        model: what data sets are simulated from: points are vectors.
        probability: of each way.
        name: what messages call the law.

    Raises:
        ValueError: if points are no vectors, or the probability is none.

    Example:
        >>> from pyro import poutine
        >>> from pyroclust.models import niw_mixture
        >>> law = DistortedClusters(niw_mixture(2))
        >>> trace = poutine.trace(poutine.uncondition(law)).get_trace(torch.empty(3, 20, 2))
        >>> trace.nodes["data"]["value"].shape
        torch.Size([3, 20, 2])
    """

    def __init__(self, model: Model, *, probability: float = 0.4, name: str = "distorted_clusters") -> None:
        if len(model.event_shape) != 1:
            raise ValueError(
                f"model has points of shape {tuple(model.event_shape)}, expected vectors, (D,): other points "
                "have no columns to distort"
            )
        self.model, self.name = model, name
        self.probability = check_number("probability", probability, at_least=0, at_most=1)

    @property
    def event_shape(self) -> tuple[int, ...]:
        return tuple(self.model.event_shape)

    def __call__(self, data: Tensor) -> Tensor:
        check_shape(data, self.event_shape)
        batch = data.shape[:-2]
        nodes = sampled(self.model, data.reshape(-1, *data.shape[-2:]))
        points, labels = nodes["data"]["value"], nodes["assignments"]["value"]
        with pyro.plate_stack("datasets", batch):
            changed = self._changed(standardised(points), labels).view(data.shape)
            return pyro.sample("data", Delta(changed.to(data), event_dim=2), obs=data)

    def _changed(self, points: Tensor, labels: Tensor) -> Tensor:
        for change in (_tails, _bends, _skews, _contamination, _rounding):
            chosen = torch.rand(len(points), 1, 1) < self.probability
            points = torch.where(chosen, change(points, labels), points)
        return standardised(points)


def _uniform(like: Tensor, low: float, high: float) -> Tensor:
    """Draw one number a data set, ``(B, 1, 1)``."""
    return low + (high - low) * torch.rand(len(like), 1, 1, dtype=like.dtype)


def _tails(points: Tensor, labels: Tensor) -> Tensor:
    member = torch.nn.functional.one_hot(labels).to(points)
    means = member @ ((member.mT @ points) / member.sum(1).unsqueeze(-1).clamp(min=1))
    freedom = _uniform(points, 2.0, 8.0).expand(-1, points.shape[1], -1)
    gamma = torch.distributions.Chi2(freedom).sample().clamp(min=1e-3)
    return means + (points - means) * (freedom / gamma).sqrt()


def _bends(points: Tensor, labels: Tensor) -> Tensor:
    sets, _, dim = points.shape
    turn = torch.randn(sets, dim, dim, dtype=points.dtype)
    phase = 2 * math.pi * torch.rand(sets, 1, dim, dtype=points.dtype)
    return points + _uniform(points, 0.0, 0.6) * (points @ turn + phase).sin()


def _skews(points: Tensor, labels: Tensor) -> Tensor:
    shift = 0.7 * torch.randn(len(points), 1, points.shape[2], dtype=points.dtype)
    return (points.asinh() + shift).sinh()


def _contamination(points: Tensor, labels: Tensor) -> Tensor:
    low, high = points.amin(1, keepdim=True), points.amax(1, keepdim=True)
    anywhere = low + (high - low) * torch.rand_like(points)
    outlier = torch.rand(*points.shape[:2], 1) < _uniform(points, 0.0, 0.1)
    return torch.where(outlier, anywhere, points)


def _rounding(points: Tensor, labels: Tensor) -> Tensor:
    step = _uniform(points, 0.01, 0.3)
    return (points / step).round() * step
