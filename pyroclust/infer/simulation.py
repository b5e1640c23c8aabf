"""Data sets and partitions from a model's prior, the same for every guide with the same seed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from pyro import poutine
from torch import Tensor

from pyroclust.core.random_state import exclusive_random_state
from pyroclust.distributions.points import Points, as_points, check_finite
from pyroclust.distributions.programs import as_model
from pyroclust.distributions.protocols import Guide, LawOfModels, data_shape

__all__ = ["DataGroup", "SimulatedBatch", "group_by_size", "simulate", "simulate_batches"]

DataGroup = tuple[Tensor, Tensor]
_MOST_WORLDS, _MOST_MODELS = 8, 25


def group_by_size(data: Points | Sequence[Points], dim: int) -> list[DataGroup]:
    """Batch data sets of equal numbers of points, small ones first, and remember where they were.

    Shape:
        data: ``(*batch, N, D)``, or a sequence of ``(N, D)``; output: pairs of positions ``(B,)`` and data
        ``(B, N, D)``.

    Raises:
        ValueError: if there is no data set, one is not ``(N, dim)`` with N of at least 2, or one is not
            finite.

    Example:
        >>> groups = group_by_size([torch.zeros(5, 2), torch.ones(3, 2), torch.zeros(5, 2)], 2)
        >>> [(positions.tolist(), tuple(some.shape)) for positions, some in groups]
        [([1], (1, 3, 2)), ([0, 2], (2, 5, 2))]
    """
    if isinstance(data, list | tuple):
        sets = [as_points(one) for one in data]
    else:
        every = as_points(cast(Points, data))
        if every.dim() < 2 or not every.numel():
            raise ValueError(f"data has shape {tuple(every.shape)}, expected (*batch, N, {dim}) and some")
        sets = list(every.reshape(-1, *every.shape[-2:]))
    if not sets:
        raise ValueError("data holds no data set, expected at least one")
    for position, one in enumerate(sets):
        if one.dim() != 2 or one.shape[0] < 2 or one.shape[1] != dim:
            raise ValueError(
                f"data set {position} has shape {tuple(one.shape)}, expected (N, {dim}) "
                "with at least 2 points"
            )
        check_finite(one)
    sizes = torch.tensor([len(one) for one in sets])
    positions = [(sizes == size).nonzero()[:, 0] for size in sizes.unique()]
    return [(index, torch.stack([sets[i] for i in index.tolist()])) for index in positions]


@dataclass(frozen=True)
class SimulatedBatch:
    """Data sets simulated under one setting of the hyperparameters that a guide is conditioned on.

    Attributes:
        model: the model under this setting.
        guide: the guide under this setting.
        baseline: another guide under this setting; ``None`` without one.
        data: ``(B, N, ...)``.
        assignments: the partitions they were simulated from, ``(B, N)``.
    """

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
    sites = (trace.nodes.get(name, {}).get("value") for name in ("data", "assignments"))
    data, assignments = sites
    if data is None or assignments is None:
        raise ValueError("model has no value at its sites 'data' and 'assignments', expected both")
    return data, assignments


def simulate_batches(
    model: Any, guide: Any, baseline: Any | None, *, num_datasets: int, num_points: int
) -> tuple[SimulatedBatch, ...]:
    """Simulate data sets to measure a guide on.

    A guide without conditions needs one world. For a guide with conditions, eight settings are drawn from the
    priors of the hyperparameters, and the data sets are shared out among them. A law of models in place of
    the model gives at most 25 models, each with the guide that ``guide.of`` makes for it, and no baseline.

    Example:
        >>> from pyroclust.guides import PredictiveFilter
        >>> from pyroclust.models import gaussian2d
        >>> guide = PredictiveFilter(gaussian2d())
        >>> worlds = simulate_batches(guide.model, guide, None, num_datasets=3, num_points=9)
        >>> [one.data.shape for one in worlds]
        [torch.Size([3, 9, 2])]
    """
    if isinstance(model, LawOfModels):
        return _of_laws(model, guide, num_datasets=num_datasets, num_points=num_points)
    model = as_model(model)
    names = guide.conditions if isinstance(guide, Guide) else ()
    if not names:
        data, assignments = simulate(model, torch.empty(num_datasets, *data_shape(model, num_points)))
        return (SimulatedBatch(model, guide, baseline, data, assignments),)
    found = []
    for part in torch.arange(num_datasets).tensor_split(min(_MOST_WORLDS, num_datasets)):
        values = {name: model.hyperpriors[name].sample().item() for name in names}
        known = guide.condition(**values)
        template = torch.empty(len(part), *data_shape(model, num_points))
        data, assignments = simulate(known.model, template)
        other = None if baseline is None else baseline.condition(**values)
        found.append(SimulatedBatch(known.model, known, other, data, assignments))
    return tuple(found)


def _of_laws(
    law: LawOfModels, guide: Any, *, num_datasets: int, num_points: int
) -> tuple[SimulatedBatch, ...]:
    found = []
    for part in torch.arange(num_datasets).tensor_split(min(_MOST_MODELS, num_datasets)):
        one = law.draw_model()
        data, assignments = simulate(one, torch.empty(len(part), *data_shape(one, num_points)))
        found.append(SimulatedBatch(one.model, guide.of(one.model), None, data, assignments))
    return tuple(found)
