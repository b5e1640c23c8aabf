"""The page of a guide's draws alone: its pictures and its rows."""

from pyroclust import plots
from pyroclust.diagnostics import dendrogram_order
from pyroclust.guide_alone import AloneSummary, GuideAlone
from pyroclust.report.picture import Picture, picture_address

__all__ = ["alone_page", "alone_pictures"]


def alone_page(alone: GuideAlone, summary: AloneSummary) -> dict[str, object]:
    """Return what the template of the page needs.

    Args:
        alone: the draws.
        summary: their figures.
    """
    return {
        "alone": alone,
        "summary": summary,
        "level": summary.verdict.level.name.lower(),
        "pictures": alone_pictures(alone, summary),
        "rows": _rows(alone, summary),
        "num_points": len(alone.data),
        "num_draws": alone.guide.assignments.shape[1],
    }


def alone_pictures(alone: GuideAlone, summary: AloneSummary) -> tuple[Picture, ...]:
    """Draw the three pictures, in their order on the page.

    Args:
        alone: the draws.
        summary: their figures.
    """
    with plots.style():
        return _clustering(alone, summary), _num_clusters(summary), _co_assignment(summary)


def _clustering(alone: GuideAlone, summary: AloneSummary) -> Picture:
    data = alone.data * alone.scale + alone.location
    figure = plots.new_figure(9, 2.7 if data.shape[1] == 1 else 4.8)
    estimate = summary.estimate
    shown = alone.data if data.shape[1] > 2 else data
    plots.plot_clustering(
        shown, estimate.assignments, estimate.uncertainty, ax=figure.subplots(), columns=alone.columns
    )
    return Picture(
        "The data, by the point estimate",
        picture_address(figure),
        f"The data in {estimate.num_clusters} clusters, uncertain rows hollow.",
        "Colour and shape are clusters of the partition with the least expected variation of information "
        "under the guide. A full mark is sure to be with its companions; a hollow one is apart from them in "
        "at least half of the draws.",
    )


def _num_clusters(summary: AloneSummary) -> Picture:
    figure = plots.new_figure(9, 3.4)
    plots.plot_num_clusters(summary.values, {"guide": summary.probabilities}, ax=figure.subplots())
    likeliest = summary.values[summary.probabilities.argmax()]
    return Picture(
        "How many clusters",
        picture_address(figure),
        f"Bars of the posterior of the number of clusters by the guide; {likeliest} is the likeliest.",
        "The share of the guide's draws with so many clusters; no other source can be put beside it.",
    )


def _co_assignment(summary: AloneSummary) -> Picture:
    figure = plots.new_figure(5, 4.4)
    order = dendrogram_order(summary.co_assignment)
    plots.plot_co_assignment(summary.co_assignment, order, ax=figure.subplots())
    return Picture(
        "Which rows belong together",
        picture_address(figure),
        "Co-assignment matrix of the guide.",
        "Each pixel is a pair of rows, its darkness the probability that the pair shares a cluster. Dark "
        "squares on the diagonal are clusters, pale ones are doubtful.",
    )


def _rows(alone: GuideAlone, summary: AloneSummary) -> list[dict[str, object]]:
    values = alone.data * alone.scale + alone.location
    names = alone.row_names or tuple(str(row + 1) for row in range(len(values)))
    return [
        {
            "name": names[row],
            "values": [f"{value:.6g}" for value in values[row]],
            "cluster": int(summary.estimate.assignments[row]) + 1,
            "uncertainty": summary.estimate.uncertainty[row],
            "label": None if alone.true_labels is None else alone.true_labels[row],
        }
        for row in range(len(values))
    ]
