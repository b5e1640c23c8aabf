"""The section that shows the data in the clusters of the point estimate."""

from pyroclust import plots
from pyroclust.plots.names import counted
from pyroclust.report.parts import Section
from pyroclust.report.picture import Picture, picture_of
from pyroclust.report.view import View
from pyroclust.report.words import axis_names

__all__ = ["clustering_section"]


def clustering_section(view: View, *, gist: str, more: str = "") -> Section:
    """Show the rows, coloured by cluster; uncertain ones are hollow.

    Args:
        view: a source with data.
        gist: of the section.
        more: a sentence that ends the caption.
    """
    return Section("The data, by the point estimate", (_picture(view, more),), is_open=True, gist=gist)


def _picture(view: View, more: str) -> Picture:
    data, estimate = view.points, view.summary.estimate
    num_points, dim = data.shape
    layout = "Each dot is one row, stacked where rows are close." if dim == 1 else "Each mark is one row."
    with plots.style():
        figure = plots.new_figure(9, 2.7 if dim == 1 else 4.8)
        plots.plot_clustering(
            data,
            estimate.assignments,
            estimate.uncertainty,
            ax=figure.subplots(),
            columns=axis_names(view.columns),
        )
        doubtful = int((estimate.uncertainty >= 0.5).sum())
        return picture_of(
            figure,
            alternative=f"The {num_points} rows over {', '.join(view.columns)}, coloured by "
            f"{counted(estimate.num_clusters, 'cluster')}; {doubtful} of them uncertain and hollow.",
            caption=f"{layout} Colour and shape are clusters of the partition with the least expected "
            f"variation of information under {view.source}. A full mark is sure to be with its companions; a "
            f"hollow one is apart from them in at least half of the draws. {more}".rstrip(),
        )
