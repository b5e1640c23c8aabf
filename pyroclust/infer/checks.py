"""What inference asks of a model and a guide before it begins."""

from collections.abc import Iterator
from functools import partial
from types import FunctionType
from typing import Any

from pyro.poutine.do_messenger import DoMessenger
from pyro.poutine.messenger import Messenger, unwrap
from pyro.poutine.replay_messenger import ReplayMessenger

from pyroclust.programs import as_model
from pyroclust.protocols import Guide, JointModel, Model

__all__ = ["check_own_model", "require_likelihood"]

# Handlers that fix the values of sites, and so make another model.
_FIXING = (DoMessenger, ReplayMessenger)


def require_likelihood(model: object, *, what: str) -> None:
    """Refuse a model whose joint density cannot be evaluated.

    Args:
        model: any model.
        what: what needs it, for the error.

    Raises:
        ValueError: if it has no ``log_joint``.

    Example:
        >>> from pyroclust.models import gaussian2d
        >>> require_likelihood(gaussian2d(), what="exact_posterior")
    """
    if not isinstance(model, JointModel):
        raise ValueError(
            f"model is a {type(model).__name__} without log_joint, expected a model with a likelihood, as a "
            f"Mixture of a conjugate family: {what} evaluates log p(assignments, data); a guide of a program "
            "that can only be simulated is judged by pyroclust.calibrate"
        )


def check_own_model(model: Any, guide: object) -> None:
    """Refuse to train a guide on another model than its own, which is what would be saved with it.

    A model inside of Pyro's handlers, as ``poutine.scale(model, scale=0.1)``, counts as the model itself,
    unless a handler fixes values. Pyro guides of other kinds may be trained on any model.

    Raises:
        ValueError: if the models differ.

    Example:
        >>> from pyroclust.guides import NeuralClusteringProcess
        >>> from pyroclust.models import gaussian2d, overlap2d
        >>> check_own_model(overlap2d(), NeuralClusteringProcess(gaussian2d()))
        Traceback (most recent call last):
        ValueError: model is 'overlap2d', expected the guide's own, 'gaussian2d': build a guide of the ...
    """
    if not isinstance(guide, Guide):
        return
    fixing = [one for one in _handlers(model) if isinstance(one, _FIXING)]
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


def _handlers(program: Any) -> Iterator[Messenger]:
    """Go through the handlers around a program, the outermost first."""
    while isinstance(program, partial):
        inner = program.func
        if len(program.args) > 1 and isinstance(program.args[0], Messenger):
            yield program.args[0]
            inner = program.args[1]
        program = inner
