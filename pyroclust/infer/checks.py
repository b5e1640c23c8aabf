"""What inference asks of a model and a guide before it begins."""

from collections.abc import Iterator
from functools import partial
from types import FunctionType
from typing import Any

import torch
from pyro.poutine.do_messenger import DoMessenger
from pyro.poutine.messenger import Messenger, unwrap
from pyro.poutine.replay_messenger import ReplayMessenger
from torch import Tensor

from pyroclust.distributions.points import Points, as_points, check_points
from pyroclust.distributions.protocols import Guide, JointModel, Model, as_model, is_of_graphs, takes_missing
from pyroclust.partitions.adjacency import as_adjacency

MAX_LEARNING_RATE = 1e6
"""Longer steps are no learning: weights are out of single precision after a few."""

# Differences of numbers beyond this could overflow.
_LARGEST = 1e300

# Handlers that fix the values of sites, and so make another model.
_FIXING = (DoMessenger, ReplayMessenger)


def require_likelihood(model: object, *, what: str) -> None:
    """Refuse a model whose joint density cannot be evaluated."""
    if not isinstance(model, JointModel):
        raise ValueError(
            f"model is a {type(model).__name__} without log_joint, expected a model with a likelihood, as a "
            f"Mixture of a conjugate family: {what} evaluates log p(assignments, data); a guide of a program "
            "that can only be simulated is judged by pyroclust.calibrate"
        )


def points_of(model: JointModel, data: Points) -> Tensor:
    """Return data sets as finite points ``(*batch, N, *event_shape)`` of the shape that a model has."""
    if is_of_graphs(model):
        return as_adjacency(data, name="data")
    points = as_points(data)
    event = points.shape[points.dim() - model.event_dim + 1 :] if points.dim() >= model.event_dim else ()
    shape = getattr(model, "event_shape", event or (0,) * (model.event_dim - 1))
    check_points(points, shape, missing=takes_missing(model))
    return points


def one_data_set(model: JointModel, data: Points) -> Tensor:
    """Return one data set as :func:`points_of` does."""
    points = points_of(model, data)
    if points.dim() != model.event_dim:
        raise ValueError(
            f"data has shape {tuple(points.shape)}, expected one data set of {model.event_dim} dimensions: "
            "call it for each"
        )
    return points


def check_model_of_guide(model: Any, guide: object) -> None:
    """Refuse to train a guide on another model than its own, which is what would be saved with it."""
    if not isinstance(guide, Guide):
        return
    fixing = [handler for handler in _handlers(model) if isinstance(handler, _FIXING)]
    if fixing:
        raise ValueError(
            f"model is inside of a {type(fixing[0]).__name__}, which fixes values, expected the guide's own, "
            f"'{guide.model.name}': fix hyperparameters by model.given, and build a guide of that model"
        )
    inside: Any = unwrap(model)
    if isinstance(inside, Model | FunctionType) and guide.model != inside:
        raise ValueError(
            f"model is '{as_model(inside).name}', expected the guide's own, '{guide.model.name}': build a "
            "guide of the model that it is trained on, or carry one over with pyroclust.guides.retarget"
        )


def constrained_guide(guide: Any, model: Any) -> Any:
    """Return a guide under the constraints of a model, or as it is where there are none or it has them."""
    refuse_weights(model, "guides do not count by")
    wanted, present = getattr(model, "constraints", None), getattr(guide, "constraints", None)
    if present == wanted:
        return guide
    if present is not None:
        raise ValueError(
            f"guide has {present!r} and the model {wanted!r}, expected the same: call "
            "guide.under(model.constraints)"
        )
    if not hasattr(guide, "under"):
        raise ValueError(
            f"guide is a {type(guide).__name__} and the model has constraints, expected a guide that can be "
            "held to them, as NeuralClusteringProcess or PredictiveFilter"
        )
    return guide.under(wanted)


def refuse_weights(model: Any, why: str) -> None:
    """Refuse a model whose rows have weights, where nothing counts by them."""
    if getattr(model, "row_weights", None) is not None:
        raise ValueError(
            f"model has weights of rows, which {why}, expected none: use MCMC, as CollapsedGibbs or "
            "MergeSplit"
        )


def _handlers(program: Any) -> Iterator[Messenger]:
    """Go through the handlers around a program, the outermost first."""
    while isinstance(program, partial):
        inner = program.func
        if len(program.args) > 1 and isinstance(program.args[0], Messenger):
            yield program.args[0]
            inner = program.args[1]
        program = inner


def log_joint_of(model: JointModel, data: Tensor, assignments: Tensor) -> Tensor:
    """Return log p(assignments, data) of a model, once it is seen to be one number a partition."""
    log_joint = model.log_joint(data, assignments)
    if not isinstance(log_joint, Tensor):
        raise ValueError(
            f"model.log_joint returned a {type(log_joint).__name__}, expected a tensor of one number a "
            "partition"
        )
    return checked_log_joint(log_joint)


def checked_log_joint(log_joint: Tensor) -> Tensor:
    """Return log joint densities that can be compared: numbers, or minus infinity for what is impossible."""
    wrong = ~((log_joint.abs() < _LARGEST) | (log_joint == -torch.inf))
    if bool(wrong.any()):
        worst = log_joint[wrong].reshape(-1)[0].item()
        raise ValueError(
            f"model.log_joint returned {worst:g} for {int(wrong.sum())} of {wrong.numel()} partitions, "
            "expected numbers of nats: the data lie too far from 0 or from one another for the model's "
            "arithmetic; centre and rescale the data, or check the model"
        )
    return log_joint
