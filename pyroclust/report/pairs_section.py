"""The section on which rows belong together."""

import numpy as np

from pyroclust import plots
from pyroclust.diagnostics import dendrogram_order
from pyroclust.plots.names import counted
from pyroclust.report.parts import Section
from pyroclust.report.picture import Picture, picture_of
from pyroclust.report.view import View
from pyroclust.report.words import number

__all__ = ["pairs_section"]

_TITLE = "Which rows belong together"


def pairs_section(first: View, second: View | None = None, *, more: str = "") -> Section:
    """Show the co-assignment matrix of one source, or of two with their difference.

    Args:
        first: one source.
        second: another, which orders the rows, or ``None``.
        more: a sentence that ends the caption.
    """
    if second is None:
        gist = "The probability of every pair of rows"
        return Section(_TITLE, (_matrix(first),), is_open=True, gist=gist)
    gap = float(np.abs(first.summary.co_assignment - second.summary.co_assignment).max())
    gist = f"Probabilities of pairs differ by at most {number(gap, 2)}"
    return Section(_TITLE, (_difference(first, second, gap, more),), is_open=True, gist=gist)


def _matrix(view: View) -> Picture:
    matrix = view.summary.co_assignment
    with plots.style():
        figure = plots.new_figure(5.4, 4.8)
        plots.plot_co_assignment(matrix, dendrogram_order(matrix), ax=figure.subplots())
        return picture_of(
            figure,
            alternative=f"Matrix of pairs of rows: the probability by {view.source} that they share a "
            f"cluster, rows ordered so that {counted(view.summary.estimate.num_clusters, 'cluster')} show as "
            "squares on the diagonal.",
            caption="Each pixel is a pair of rows, its darkness the probability that the pair shares a "
            "cluster. Dark squares on the diagonal are clusters, pale ones are doubtful.",
        )


def _difference(first: View, second: View, gap: float, more: str) -> Picture:
    a, b = first.summary.co_assignment, second.summary.co_assignment
    order = dendrogram_order(b)
    with plots.style():
        figure = plots.new_figure(9, 3.9)
        axes = figure.subplots(1, 3)
        plots.plot_co_assignment(a, order, ax=axes[0]).set_title(first.source)
        plots.plot_co_assignment(b, order, ax=axes[1]).set_title(second.source)
        title = f"{first.source} minus {second.source}"
        plots.plot_co_assignment_difference(a, b, order, ax=axes[2]).set_title(
            title if len(title) < 30 else "first minus second"
        )
        return picture_of(
            figure,
            alternative=f"Three matrices of pairs of rows: co-assignment probabilities by {first.source}, by "
            f"{second.source}, and their difference, at most {number(gap, 2)}.",
            caption="Each pixel is a pair of rows, its darkness the probability that the pair shares a "
            "cluster. All three panels have the same order of rows, from the dendrogram of the matrix of "
            f"{second.source}: dark squares on the diagonal are clusters, pale ones are doubtful. In the "
            f"third panel white is agreement. Largest difference: {number(gap, 2)}. {more}".rstrip(),
        )
