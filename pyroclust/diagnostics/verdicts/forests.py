"""The verdict on spanning forests, which have no model that could confirm them."""

import numpy as np

from pyroclust.diagnostics.limits import CLEAR, MIN_ESS
from pyroclust.diagnostics.verdicts.verdict import Finding, Mark, Trust, Verdict

__all__ = ["judge_forest"]


def judge_forest(*, num_draws: int, uncertainty: np.ndarray | None, excess: float) -> Verdict:
    """Say what draws of spanning forests are, which are independent and no posterior.

    The level is ``UNCONFIRMED``: what the draws say hangs on the noise, which no model of the data sets. With
    fewer than 100 draws it is ``UNKNOWN``.

    Args:
        num_draws: of the forest.
        uncertainty: of each row in the point estimate, ``(N,)``; ``None`` without an estimate.
        excess: share of the draws with more clusters than were asked for, which constraints can make.

    Example:
        >>> judge_forest(num_draws=1000, uncertainty=np.zeros(3), excess=0.0).level.value
        'not confirmed'
    """
    asked: tuple[Finding, ...] = ()
    if excess > 0:
        said = f"{excess:.1%} of the draws have more: rows that must be apart leave no fewer"
        question = "Does every draw have as many clusters as were asked for?"
        asked = (Finding(question, excess, 0.0, False, said, "all draws", mark=Mark.CAUTION),)
    if num_draws < MIN_ESS:
        why = f"No verdict: {num_draws} draws are too few; take at least {MIN_ESS:.0f}."
        return Verdict(Trust.UNKNOWN, why, asked)
    sure = ""
    if uncertainty is not None:
        mean = float(uncertainty.mean())
        sure = f" Under this noise the clusters are {'clear' if mean <= CLEAR else 'not clear'}."
    return Verdict(
        Trust.UNCONFIRMED,
        f"These are {num_draws:,} independent draws of spanning forests and no posterior: how sure they are "
        f"hangs on the noise, which no model sets.{sure} pyroclust compare has a model.",
        asked,
    )
