"""The pictures of the report, as PNG files inside the page."""

from pyroclust import plots
from pyroclust.comparison import Comparison, ComparisonSummary
from pyroclust.diagnostics import dendrogram_order
from pyroclust.report.picture import Picture, picture_address
from pyroclust.report.words import functional_title

__all__ = ["Picture", "pictures"]

_TRACED = ("log_joint", "num_clusters", "largest_share", "distance_to_reference")


def pictures(comparison: Comparison, summary: ComparisonSummary) -> tuple[Picture, ...]:
    """Draw the report's five pictures, in their order on the page.

    Args:
        comparison: the draws.
        summary: the figures.
    """
    with plots.style():
        return (
            _clustering(comparison, summary),
            _num_clusters(summary),
            _co_assignment(summary),
            _weights(summary),
            _traces(summary),
        )


def _clustering(comparison: Comparison, summary: ComparisonSummary) -> Picture:
    data = comparison.data * comparison.scale + comparison.location
    one_column = data.shape[1] == 1
    figure = plots.new_figure(9, 2.7 if one_column else 4.8)
    estimate = summary.estimate_mcmc
    shown = comparison.data if data.shape[1] > 2 else data
    plots.plot_clustering(
        shown, estimate.assignments, estimate.uncertainty, ax=figure.subplots(), columns=comparison.columns
    )
    layout = "Each dot is one row, stacked where rows are close." if one_column else "Each mark is one row."
    same = f"The guide's own estimate has {summary.estimate_guide.num_clusters} clusters"
    return Picture(
        "The data, by the point estimate",
        picture_address(figure),
        f"The {len(data)} rows of {comparison.source} coloured by {estimate.num_clusters} clusters.",
        f"{layout} Colour and shape: the partition with the least expected variation of information under "
        "MCMC. A full mark is sure to be with its companions; a hollow one is apart from them in at least "
        f"half of the posterior. {same} (adjusted Rand index to this one {summary.estimates_rand:.2f}, 1 "
        "being equal).",
    )


def _num_clusters(summary: ComparisonSummary) -> Picture:
    figure = plots.new_figure(9, 3.4)
    found = summary.num_clusters
    rows = {"guide": found.guide, "guide, weighted": found.corrected, "MCMC": found.mcmc}
    plots.plot_num_clusters(found.values, rows, ax=figure.subplots())
    likeliest = found.values[found.mcmc.argmax()]
    return Picture(
        "How many clusters",
        picture_address(figure),
        f"Bars of the posterior of the number of clusters; by MCMC {likeliest} is the likeliest.",
        "Bars of equal height at each number mean that the guide and MCMC agree. Weighted: the same draws "
        "of the guide, each counted by its importance weight. Total variation to MCMC: "
        f"{summary.agreement.total_variation:.3f} as drawn, "
        f"{summary.agreement_corrected.total_variation:.3f} weighted (0 equal, 1 disjoint; two halves of "
        f"MCMC: {summary.agreement.noise_total_variation:.3f}).",
    )


def _co_assignment(summary: ComparisonSummary) -> Picture:
    figure = plots.new_figure(9, 3.9)
    order = dendrogram_order(summary.co_assignment_mcmc)
    guide, mcmc, gap = figure.subplots(1, 3)
    plots.plot_co_assignment(summary.co_assignment_guide, order, ax=guide).set_title("guide")
    plots.plot_co_assignment(summary.co_assignment_mcmc, order, ax=mcmc).set_title("MCMC")
    plots.plot_co_assignment_difference(
        summary.co_assignment_guide, summary.co_assignment_mcmc, order, ax=gap
    ).set_title("guide minus MCMC")
    return Picture(
        "Which rows belong together",
        picture_address(figure),
        "Co-assignment matrices of the guide and of MCMC, and their difference.",
        "Each pixel is a pair of rows, its darkness the probability that the pair shares a cluster. All "
        "three panels have the same order of rows, from the dendrogram of the MCMC matrix: dark squares "
        "on the diagonal are clusters, pale ones are doubtful. In the third panel white is agreement. "
        f"Largest difference: {summary.agreement.largest_difference:.2f} (two halves of MCMC: "
        f"{summary.agreement.noise_largest_difference:.2f}).",
    )


def _weights(summary: ComparisonSummary) -> Picture:
    figure = plots.new_figure(9, 2.8)
    plots.plot_log_weights(summary.weighting.log_weights, ax=figure.subplots())
    weighting = summary.weighting
    return Picture(
        "The guide's importance weights",
        picture_address(figure),
        "Histogram of the log importance weights of the guide's draws.",
        "A perfect guide has all its weight at the dashed line. Draws to the right stand for many that "
        f"the guide should have made. The {len(weighting.weights)} draws are worth "
        f"{weighting.effective_draws:.0f} exact ones. Weights see only where the guide went: a mode that "
        "it never visits does not show here, but above.",
    )


def _traces(summary: ComparisonSummary) -> Picture:
    figure = plots.new_figure(9, 4.4)
    for name, ax in zip(_TRACED, figure.subplots(2, 2).flat, strict=True):
        plots.plot_trace(summary.functionals[name], ax=ax, name=functional_title(name))
    handles, labels = ax.get_legend_handles_labels()
    legend = figure.legend(handles[:8], labels[:8], loc="outside lower center", ncols=8)
    for line in legend.get_lines():
        line.set_linewidth(2.5)
    return Picture(
        "Has MCMC converged",
        picture_address(figure),
        "Traces of four functionals over the draws of the MCMC chains.",
        "One colour a chain, burn-in removed. Chains that lie over each other and wander over the whole "
        "range have converged; chains at different levels have not, and then nothing above can be judged.",
    )
