"""What the clusters of the estimate are like."""

from pyroclust import plots
from pyroclust.report.parts import FigureTable, Section
from pyroclust.report.picture import Picture, picture_of
from pyroclust.report.view import View
from pyroclust.report.words import axis_names, number

__all__ = ["profile_section"]

_MOST_COLUMNS = 4


def profile_section(view: View) -> Section:
    """Show the centres of the clusters with their intervals, and how stable each cluster is.

    Args:
        view: a source with data.

    Raises:
        ValueError: if there are no data.
    """
    profiles = view.summary.profiles
    if profiles is None:
        raise ValueError("view has no profiles, expected a source with data")
    firm = int((profiles.stability >= 0.75).sum())
    gist = f"{firm} of {len(profiles.sizes)} come back in most draws"
    return Section("What the clusters are like", (_picture(view), _table(view)), gist=gist)


def _picture(view: View) -> Picture:
    profiles = view.summary.profiles
    assert profiles is not None
    shown = min(_MOST_COLUMNS, profiles.centres.shape[1])
    with plots.style():
        figure = plots.new_figure(9, 1.6 + 0.26 * len(profiles.sizes))
        plots.plot_cluster_parameters(
            profiles.centres[:, :shown],
            profiles.centre_low[:, :shown],
            profiles.centre_high[:, :shown],
            axes=figure.subplots(1, shown, squeeze=False)[0],
            columns=axis_names(view.columns[:shown]),
            sizes=profiles.sizes,
        )
        return picture_of(
            figure,
            alternative=f"Means of {len(profiles.sizes)} clusters in {shown} column(s), with 95 % intervals.",
            caption="The mark is the mean of the cluster in the estimate; the bar holds the "
            "means of its counterparts, the most similar clusters, in 95 % of the draws.",
        )


def _table(view: View) -> FigureTable:
    profiles = view.summary.profiles
    assert profiles is not None
    points = profiles.sizes.sum()
    rows = tuple(
        (
            str(k + 1),
            str(size),
            f"{number(size / points, 2)} ({number(low, 2)} to {number(high, 2)})",
            number(stability, 2),
        )
        for k, (size, low, high, stability) in enumerate(
            zip(profiles.sizes, profiles.share_low, profiles.share_high, profiles.stability, strict=True)
        )
    )
    return FigureTable(
        "Size and share of each cluster of the estimate, the share with the 95 % interval of its "
        "counterparts; stability is the mean Jaccard index with them, 1 meaning that it comes back unchanged "
        "in every draw.",
        ("cluster", "rows", "share (95 %)", "stability"),
        rows,
    )
