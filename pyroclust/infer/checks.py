"""What inference asks of a model and a guide before it begins."""

from types import FunctionType
from typing import Any

from pyroclust.programs import as_model
from pyroclust.protocols import Guide, JointModel, Model

__all__ = ["check_own_model", "require_likelihood"]


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

    Pyro programs inside of handlers, as ``poutine.scale(model, scale=0.1)``, and guides of other kinds pass.

    Raises:
        ValueError: if the models differ.

    Example:
        >>> from pyroclust.guides import NeuralClusteringProcess
        >>> from pyroclust.models import gaussian2d, overlap2d
        >>> check_own_model(overlap2d(), NeuralClusteringProcess(gaussian2d()))
        Traceback (most recent call last):
        ValueError: model is 'overlap2d', expected the guide's own, 'gaussian2d': build a guide of the ...
    """
    if not isinstance(guide, Guide) or guide.model is model or not isinstance(model, Model | FunctionType):
        return
    if guide.model != model:
        raise ValueError(
            f"model is '{as_model(model).name}', expected the guide's own, '{guide.model.name}': build a "
            "guide of the model that it is trained on, or carry one over with pyroclust.guides.retarget"
        )
