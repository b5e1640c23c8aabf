"""Answers of the first table that more than one page gives."""

import numpy as np

from pyroclust.diagnostics.verdict import GOOD_ESS, GOOD_RHAT, MAX_DIFFERENCE, MAX_RHAT, MIN_ESS
from pyroclust.report.parts import Mark, VerdictRow
from pyroclust.report.words import number

__all__ = ["agreement_row", "clear_row", "convergence_row", "labels_row"]

_CLEAR, _DOUBTFUL = 0.1, 0.3
_CLOSE, _FAR = 0.9, 0.5


def convergence_row(question: str, *, max_rhat: float, min_ess: float) -> VerdictRow:
    """Answer whether chains converged.

    Args:
        question: names the source.
        max_rhat: the largest R-hat.
        min_ess: the fewest effective draws; infinity where nothing varies.
    """
    if max_rhat <= GOOD_RHAT and min_ess >= GOOD_ESS:
        answer, mark = "Yes", Mark.GOOD
    elif max_rhat <= MAX_RHAT and min_ess >= MIN_ESS:
        answer, mark = "Roughly", Mark.CAUTION
    else:
        answer, mark = "No", Mark.BAD
    figure = f"R-hat {number(max_rhat)}, {number(min_ess, 0)} effective draws"
    limit = f"R-hat at most {GOOD_RHAT:g} and {GOOD_ESS:.0f} draws; roughly: {MAX_RHAT:g} and {MIN_ESS:.0f}"
    return VerdictRow(question, answer, mark, figure, limit)


def agreement_row(question: str, what: str, *, found: float, noise: float) -> VerdictRow:
    """Answer whether a distance between two sources is small, and whether that can be told.

    Args:
        question: names the two.
        what: the distance, in words.
        found: the distance.
        noise: the same between the halves of the second source.
    """
    if found <= MAX_DIFFERENCE:
        answer, mark = "Yes", Mark.GOOD
    elif noise > MAX_DIFFERENCE:
        answer, mark = "Cannot tell", Mark.UNKNOWN
    else:
        answer, mark = "No", Mark.BAD
    figure = f"{what} {number(found)}; between halves of MCMC {number(noise)}"
    return VerdictRow(question, answer, mark, figure, f"at most {MAX_DIFFERENCE:g}")


def clear_row(uncertainty: np.ndarray) -> VerdictRow:
    """Answer whether one partition can stand for the posterior.

    Args:
        uncertainty: of each row in the point estimate, ``(N,)``.
    """
    mean, apart = float(uncertainty.mean()), int((uncertainty > 0.5).sum())
    if mean <= _CLEAR:
        answer, mark = "Yes", Mark.GOOD
    elif mean <= _DOUBTFUL:
        answer, mark = "Partly", Mark.CAUTION
    else:
        answer, mark = "No", Mark.CAUTION
    figure = f"mean uncertainty of a row {number(mean, 2)}; {apart:,} of {len(uncertainty):,} rows above 0.5"
    return VerdictRow(
        "Is the point estimate clear?", answer, mark, figure, f"at most {_CLEAR:g}; partly: {_DOUBTFUL:g}"
    )


def labels_row(rand: float) -> VerdictRow:
    """Answer whether the clusters are the known labels, which no posterior has to find.

    Args:
        rand: adjusted Rand index of the point estimate to them.
    """
    answer = "Closely" if rand >= _CLOSE else "Partly" if rand >= _FAR else "Hardly"
    figure = f"adjusted Rand index {number(rand, 2)}"
    return VerdictRow("Are the clusters the known labels?", answer, Mark.PLAIN, figure, "1 equal, 0 chance")
