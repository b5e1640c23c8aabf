"""The picture of the data in the clusters of a point estimate."""

from pyroclust import plots
from pyroclust.comparison import Estimate, GuideOnData
from pyroclust.report.picture import Picture, picture_of
from pyroclust.report.words import axis_names, count

__all__ = ["clustering_picture"]


def clustering_picture(compared: GuideOnData, estimate: Estimate, *, source: str, more: str = "") -> Picture:
    """Draw the rows, coloured by cluster; uncertain ones are hollow.

    Args:
        compared: the data.
        estimate: the clusters.
        source: whose estimate it is.
        more: a sentence that ends the caption.
    """
    data = compared.data * compared.scale + compared.location
    num_points, dim = data.shape
    # The first two principal components of columns in different units would be those of one column.
    shown = compared.data if dim > 2 else data
    layout = "Each dot is one row, stacked where rows are close." if dim == 1 else "Each mark is one row."
    with plots.style():
        figure = plots.new_figure(9, 2.7 if dim == 1 else 4.8)
        plots.plot_clustering(
            shown,
            estimate.assignments,
            estimate.uncertainty,
            ax=figure.subplots(),
            columns=axis_names(compared.columns),
        )
        return picture_of(
            figure,
            alternative=f"The {num_points} rows of {compared.source} over {', '.join(compared.columns)}, "
            f"coloured by {count(estimate.num_clusters, 'cluster')}; {_uncertain(estimate)}.",
            caption=f"{layout} Colour and shape are clusters of the partition with the least "
            f"expected variation of information under {source}. A full mark is sure to be with its "
            f"companions; a hollow one is apart from them in at least half of the draws. {more}".rstrip(),
        )


def _uncertain(estimate: Estimate) -> str:
    return f"{int((estimate.uncertainty >= 0.5).sum())} of them uncertain and hollow"
