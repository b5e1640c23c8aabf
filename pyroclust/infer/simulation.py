"""Data sets and partitions from a model's prior, the same for every guide with the same seed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

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
    data, assignments = (trace.nodes.get(name, {}).get("value") for name in ("data", "assignments"))
    if data is None or assignments is None:
        raise ValueError("model has no value at its sites 'data' and 'assignments', expected both")
    return data, assignments


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
