"""Whether a model has a likelihood to evaluate, or can only be simulated."""

from typing import Any

import torch

__all__ = ["has_likelihood"]


def has_likelihood(model: Any) -> bool:
    """Say whether a model can evaluate log p(assignments, data), which MCMC and importance weights need.

    Args:
        model: any model of a guide.

    Example:
        >>> from pyroclust.models import gaussian2d, warped_clusters
        >>> has_likelihood(gaussian2d()), has_likelihood(warped_clusters())
        (True, False)
    """
    if not hasattr(model, "log_joint"):
        return False
    try:
        model.log_joint(torch.zeros(1, *model.event_shape), torch.zeros(1, dtype=torch.int64))
    except (ValueError, NotImplementedError):
        # A mixture whose family is not conjugate says so only here.
        return False
    return True
