"""The sections of a guide's draws alone, each a function of the draws and their figures."""

from collections.abc import Callable

from pyroclust import plots
from pyroclust.diagnostics import dendrogram_order
from pyroclust.guide_alone import AloneSummary, GuideAlone
from pyroclust.report.clustering import clustering_picture
from pyroclust.report.data_rows import data_rows
from pyroclust.report.parts import Section
from pyroclust.report.picture import picture_of
from pyroclust.report.words import count, number

__all__ = ["SECTIONS"]


def _clustering(alone: GuideAlone, summary: AloneSummary) -> Section:
    return Section(
        "The data, by the point estimate",
        (clustering_picture(alone, summary.estimate, source="the guide"),),
        is_open=True,
        gist=count(summary.estimate.num_clusters, "cluster"),
    )


def _num_clusters(alone: GuideAlone, summary: AloneSummary) -> Section:
    likeliest = summary.probabilities.argmax()
    gist = (
        f"{summary.values[likeliest]} is the likeliest, with probability "
        f"{number(summary.probabilities[likeliest], 2)}"
    )
    with plots.style():
        figure = plots.new_figure(9, 3.2)
        plots.plot_num_clusters(summary.values, {"guide": summary.probabilities}, ax=figure.subplots())
        picture = picture_of(
            figure,
            alternative=f"Bars of the posterior of the number of clusters by the guide; {gist}.",
            caption="The height of a bar is the share of the guide's draws with so many "
            "clusters; no other source can be put beside it.",
        )
    return Section("How many clusters", (picture,), is_open=True, gist=gist)


def _co_assignment(alone: GuideAlone, summary: AloneSummary) -> Section:
    order = dendrogram_order(summary.co_assignment)
    with plots.style():
        figure = plots.new_figure(5.4, 4.8)
        plots.plot_co_assignment(summary.co_assignment, order, ax=figure.subplots())
        picture = picture_of(
            figure,
            alternative="Matrix of pairs of rows: the probability by the guide that they share a cluster, "
            f"rows ordered so that the {summary.estimate.num_clusters} clusters are squares on the diagonal.",
            caption="Each pixel is a pair of rows, its darkness the probability that the "
            "pair shares a cluster. Dark squares on the diagonal are clusters, pale ones are doubtful.",
        )
    return Section(
        "Which rows belong together", (picture,), is_open=True, gist="The probability of every pair of rows"
    )


def _rows(alone: GuideAlone, summary: AloneSummary) -> Section:
    return data_rows(alone, {"guide": summary.estimate})


SECTIONS: tuple[Callable[[GuideAlone, AloneSummary], Section], ...] = (
    _clustering,
    _num_clusters,
    _co_assignment,
    _rows,
)
"""In their order on the page."""
