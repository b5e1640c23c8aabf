"""The log evidence by annealing, where no other estimate of it can be relied on."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from pyroclust.attempts import Attempts
from pyroclust.diagnostics import LogEvidence, evidence_headline
from pyroclust.infer import annealed_log_evidence
from pyroclust.protocols import is_of_graphs

__all__ = ["annealed_where_needed"]

_ANNEALED = "The log evidence by annealing"
# Annealing takes a time that grows with the square of the number of points.
_MOST_POINTS = 500


def annealed_where_needed(
    model: Any, data: Tensor, known: Sequence[LogEvidence], *, seed: int, tell: Callable[[str], None]
) -> tuple[tuple[LogEvidence, ...], tuple[str, ...]]:
    """Estimate log p(data) by annealing over the points unless another estimate can be relied on.

    Args:
        model: of the posterior.
        data: the points, ``(N, D)``.
        known: the estimates that there are.
        seed: of the estimate.
        tell: called with the name of the stage.

    Returns:
        the estimate, if there is one, and what a report should say of there being none.
    """
    can_be = model.is_conjugate and model.has_likelihood and not is_of_graphs(model)
    if evidence_headline(known).best is not None or not can_be:
        return (), ()
    if len(data) > _MOST_POINTS:
        why = (
            f"The log evidence was not estimated by annealing, as there are more than {_MOST_POINTS} rows: "
            "pyroclust.infer.annealed_log_evidence does it in a time that grows with their square."
        )
        return (), (why,)
    tell("estimating the log evidence by annealing")
    tries = Attempts()
    found = tries.make(_ANNEALED, lambda: annealed_log_evidence(model, data, seed=seed))
    return () if found is None else (found,), tries.failures
