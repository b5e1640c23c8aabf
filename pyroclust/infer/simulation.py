"""Data sets and partitions from a model's prior, and which of them are worth a training step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import torch
from pyro import poutine
from torch import Tensor

from pyroclust.core.random_state import exclusive_random_state
from pyroclust.distributions.points import Points, as_points, check_finite
from pyroclust.distributions.protocols import Guide, LawOfModels, as_model, data_shape

# Settings of hyperparameters, and models of a law, that data sets are shared out among.
_MOST_SETTINGS, _MOST_MODELS = 8, 25


def group_by_size(data: Points | Sequence[Points], dim: int) -> list[tuple[Tensor, Tensor]]:
    """Return positions ``(B,)`` and data ``(B, N, D)`` of data sets of one size, small ones first."""
    if isinstance(data, list | tuple):
        sets = [as_points(points) for points in data]
    else:
        every = as_points(cast(Points, data))
        if every.dim() < 2 or not every.numel():
            raise ValueError(f"data has shape {tuple(every.shape)}, expected (*batch, N, {dim}) and some")
        sets = list(every.reshape(-1, *every.shape[-2:]))
    if not sets:
        raise ValueError("data holds no data set, expected at least one")
    for position, points in enumerate(sets):
        if points.dim() != 2 or points.shape[0] < 2 or points.shape[1] != dim:
            raise ValueError(
                f"data set {position} has shape {tuple(points.shape)}, expected (N, {dim}) "
                "with at least 2 points"
            )
        check_finite(points)
    sizes = torch.tensor([len(points) for points in sets])
    positions = [(sizes == size).nonzero()[:, 0] for size in sizes.unique()]
    return [(index, torch.stack([sets[i] for i in index.tolist()])) for index in positions]


@dataclass(frozen=True)
class SimulatedBatch:
    """Data sets ``(B, N, ...)`` and partitions ``(B, N)`` of one model, with the guides of that model."""

    model: Any
    guide: Any
    baseline: Any | None
    data: Tensor
    assignments: Tensor


def simulate(model: Callable[..., Any], template: Tensor) -> tuple[Tensor, Tensor]:
    """Draw data sets and their partitions from a model's prior.

    Shape:
        template: ``(B, N, D)``; output: data like the template, assignments ``(B, N)``.

    Raises:
        ValueError: if the model has no values at its sites ``"data"`` and ``"assignments"``.

    Example:
        >>> import torch
        >>> from pyroclust.models import gaussian2d
        >>> data, assignments = simulate(gaussian2d(), torch.empty(3, 20, 2))
        >>> data.shape, assignments.shape
        (torch.Size([3, 20, 2]), torch.Size([3, 20]))
    """
    sites = simulate_sites(model, template)
    data, assignments = (sites.get(name) for name in ("data", "assignments"))
    if data is None or assignments is None:
        raise ValueError("model has no value at its sites 'data' and 'assignments', expected both")
    return data, assignments


def simulate_sites(model: Callable[..., Any], template: Tensor) -> dict[str, Tensor]:
    """Draw data sets and all else from a model's prior, by the names of the sites."""
    if not isinstance(template, Tensor):
        raise ValueError(
            f"template is a {type(template).__name__}, expected a tensor of the shape of the data sets, "
            "such as torch.empty(3, 20, 2)"
        )
    try:
        with exclusive_random_state():
            trace = poutine.trace(poutine.uncondition(model)).get_trace(template)
    except ValueError as error:
        # Pyro writes the shapes of all sites below a sentence.
        raise error.__cause__ if isinstance(error.__cause__, ValueError) else error from None
    values = {name: site.get("value") for name, site in trace.nodes.items()}
    return {name: one for name, one in values.items() if isinstance(one, Tensor)}


def simulate_batches(
    model: Any, guide: Any, baseline: Any | None, *, num_datasets: int, num_points: int
) -> tuple[SimulatedBatch, ...]:
    """Simulate data sets to measure a guide, and perhaps another as baseline, on.

    A guide without conditions needs one batch. For a guide with conditions, eight settings are drawn from the
    priors of the hyperparameters, and the data sets are shared out among them. A law of models in place of
    the model gives at most 25 models, each with the guide that ``guide.of`` makes for it, and no baseline.
    """

    def batch(simulator: Any, size: int, model: Any, guide: Any, baseline: Any | None) -> SimulatedBatch:
        data, assignments = simulate(simulator, torch.empty(size, *data_shape(simulator, num_points)))
        return SimulatedBatch(model, guide, baseline, data, assignments)

    def shares(most: int) -> list[int]:
        return [len(part) for part in torch.arange(num_datasets).tensor_split(min(most, num_datasets))]

    batches = []
    if isinstance(model, LawOfModels):
        for size in shares(_MOST_MODELS):
            law = model.draw_model()
            batches.append(batch(law, size, law.model, guide.of(law.model), None))
        return tuple(batches)
    model = as_model(model)
    names = guide.conditions if isinstance(guide, Guide) else ()
    if not names:
        return (batch(model, num_datasets, model, guide, baseline),)
    for size in shares(_MOST_SETTINGS):
        values = {name: model.hyperpriors[name].sample().item() for name in names}
        conditioned = guide.condition(**values)
        other = None if baseline is None else baseline.condition(**values)
        batches.append(batch(conditioned.model, size, conditioned.model, conditioned, other))
    return tuple(batches)


class Choice(Protocol):
    """Chooses data sets among ``oversampling`` times as many simulations as a step uses.

    A choice may look at the data and at nothing else. Given x, the partition then still follows p(c | x),
    so the guide's target is the same posterior as before; only the p(x) over which it is averaged is tilted.
    """

    oversampling: int

    def __call__(self, data: Tensor, num_kept: int) -> Tensor: ...

    def learn(self, loss: Tensor) -> None:
        """Take the losses of the data sets kept last, nats per data set, ``(num_kept,)``."""
        ...

    def state_dict(self) -> dict[str, Tensor]:
        """Return what it has learned, for a checkpoint."""
        ...

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Go on from what was learned before."""
        ...


class HardStandardised:
    """Half of the data sets as they come, half hard ones among the nearly standardised.

    Where clusters overlap and the posterior is wide, early decisions are hardest and simulations rarest.
    The loss per point of a data set is predicted from kernel densities of its points by a ridge regression
    that learns from the losses of the training; of ``hardness`` data sets near to mean 0 and variance 1, the
    one with the highest prediction is kept.
    """

    _bandwidths: tuple[float, ...] = (0.05, 0.15, 0.4, 1.0)

    def __init__(self, oversampling: int = 16, *, hardness: int = 4) -> None:
        if oversampling < hardness + 1 or hardness < 1:
            raise ValueError(
                f"oversampling and hardness are {oversampling} and {hardness}, "
                "expected oversampling > hardness > 0"
            )
        self.oversampling, self.hardness = oversampling, hardness
        width = 2 * len(self._bandwidths) + 2
        self._gram = torch.eye(width, dtype=torch.float64)
        self._target = torch.zeros(width, dtype=torch.float64)
        self._kept, self._points = torch.zeros(0, width, dtype=torch.float64), 1

    def __call__(self, data: Tensor, num_kept: int) -> Tensor:
        plain = (num_kept + 1) // 2
        hard = num_kept - plain
        competing = torch.arange(plain, device=data.device)
        if hard:
            competing = torch.cat([competing, plain + self._finalists(data[plain:], hard * self.hardness)])
        features = self._features(data[competing])
        prediction = features @ torch.linalg.solve(self._gram, self._target)
        kept = torch.cat([torch.arange(plain), plain + prediction[plain:].topk(hard).indices])
        self._kept, self._points = features[kept], data.shape[1]
        return competing[kept.to(data.device)]

    def learn(self, loss: Tensor) -> None:
        target = loss.detach().double().cpu() / self._points
        self._gram = 0.998 * self._gram + self._kept.T @ self._kept
        self._target = 0.998 * self._target + self._kept.T @ target

    def state_dict(self) -> dict[str, Tensor]:
        return {"gram": self._gram, "target": self._target}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self._gram, self._target = state["gram"], state["target"]

    def _finalists(self, data: Tensor, number: int) -> Tensor:
        """Return those with the smallest sum over columns of squared mean and squared log variance."""
        score = data.mean(1).square() + data.var(1).clamp(min=1e-6).log().square()
        return score.sum(-1).topk(number, largest=False).indices

    def _features(self, data: Tensor) -> Tensor:
        squared = torch.cdist(data, data).square()
        # Below -60 nothing is left beside the point's own 1; subnormal numbers would take most of the time.
        density = [
            (squared * (-0.5 / h**2)).clamp_(min=-60.0).exp_().mean(-1).log() for h in self._bandwidths
        ]
        means, spreads = ([f(d) for d in density] for f in (lambda d: d.mean(-1), lambda d: d.std(-1)))
        constant = torch.ones_like(means[0])
        return torch.stack([constant, constant / data.shape[1], *means, *spreads], -1).double().cpu()


class HardSimulations(HardStandardised):
    """Half of the data sets as they come, half the ones with the highest predicted loss.

    For models of a known ``scale``, the standard deviation within a cluster and unit of the bandwidths.
    """

    def __init__(self, scale: float, oversampling: int = 4) -> None:
        super().__init__(oversampling, hardness=oversampling - 1)
        self._bandwidths = (0.5 * scale, scale, 2 * scale, 4 * scale)

    def _finalists(self, data: Tensor, number: int) -> Tensor:
        return torch.arange(number, device=data.device)
