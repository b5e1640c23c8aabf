"""The sections of a comparison with MCMC, each a function of the draws and their figures."""

from collections.abc import Callable

from pyroclust import plots
from pyroclust.comparison import Comparison, ComparisonSummary
from pyroclust.diagnostics import dendrogram_order
from pyroclust.report.clustering import clustering_picture
from pyroclust.report.comparison_tables import convergence_table, cost_table, distance_table
from pyroclust.report.data_rows import data_rows
from pyroclust.report.parts import Section
from pyroclust.report.picture import picture_of
from pyroclust.report.words import count, functional_title, number

__all__ = ["SECTIONS"]

_TRACED = ("log_joint", "num_clusters", "largest_share", "distance_to_reference")


def _clustering(comparison: Comparison, summary: ComparisonSummary) -> Section:
    estimate = summary.estimate_mcmc
    own = count(summary.estimate_guide.num_clusters, "cluster")
    same = (
        f"The guide's own estimate has {own} (adjusted Rand index "
        f"to this one {number(summary.estimates_rand, 2)}, 1 being equal)."
    )
    return Section(
        "The data, by the point estimate",
        (clustering_picture(comparison, estimate, source="MCMC", more=same),),
        is_open=True,
        gist=f"{count(estimate.num_clusters, 'cluster')} by MCMC, {own} by the guide",
    )


def _num_clusters(comparison: Comparison, summary: ComparisonSummary) -> Section:
    found, plain, weighted = summary.num_clusters, summary.agreement, summary.agreement_corrected
    rows = {"guide": found.guide, "guide, weighted": found.corrected, "MCMC": found.mcmc}
    with plots.style():
        figure = plots.new_figure(9, 3.2)
        plots.plot_num_clusters(found.values, rows, ax=figure.subplots())
        likeliest = {name: int(found.values[p.argmax()]) for name, p in rows.items()}
        picture = picture_of(
            figure,
            alternative="Bars of the posterior of the number of clusters. The likeliest number is "
            + ", ".join(f"{number_} by {name}" for name, number_ in likeliest.items())
            + ".",
            caption="Bars of equal height at each number mean that the guide and MCMC agree. Weighted are "
            "the same draws of the guide, each counted by its importance weight. Total variation to MCMC: "
            f"{number(plain.total_variation)} as drawn, {number(weighted.total_variation)} weighted (0 "
            f"equal, 1 disjoint; two halves of MCMC: {number(plain.noise_total_variation)}).",
        )
    gist = f"Likeliest: {likeliest['guide']} by the guide, {likeliest['MCMC']} by MCMC"
    return Section("How many clusters", (picture,), is_open=True, gist=gist)


def _co_assignment(comparison: Comparison, summary: ComparisonSummary) -> Section:
    found = summary.agreement
    order = dendrogram_order(summary.co_assignment_mcmc)
    with plots.style():
        figure = plots.new_figure(9, 3.9)
        guide, mcmc, gap = figure.subplots(1, 3)
        plots.plot_co_assignment(summary.co_assignment_guide, order, ax=guide).set_title("guide")
        plots.plot_co_assignment(summary.co_assignment_mcmc, order, ax=mcmc).set_title("MCMC")
        plots.plot_co_assignment_difference(
            summary.co_assignment_guide, summary.co_assignment_mcmc, order, ax=gap
        ).set_title("guide minus MCMC")
        picture = picture_of(
            figure,
            alternative="Three matrices of pairs of rows: co-assignment probabilities by the guide, by MCMC, "
            f"and their difference, at most {number(found.largest_difference, 2)}.",
            caption="Each pixel is a pair of rows, its darkness the probability that the "
            "pair shares a cluster. All three panels have the same order of rows, from the dendrogram of the "
            "MCMC matrix: dark squares on the diagonal are clusters, pale ones are doubtful. In the third "
            f"panel white is agreement. Largest difference: {number(found.largest_difference, 2)} (two "
            f"halves of MCMC: {number(found.noise_largest_difference, 2)}).",
        )
    gist = f"Probabilities of pairs differ by at most {number(found.largest_difference, 2)}"
    return Section("Which rows belong together", (picture,), is_open=True, gist=gist)


def _distances(comparison: Comparison, summary: ComparisonSummary) -> Section:
    return Section(
        "Distances and cost",
        (distance_table(summary), cost_table(comparison, summary)),
        gist="What the guide and two halves of MCMC differ by, seconds, point estimates",
    )


def _weights(comparison: Comparison, summary: ComparisonSummary) -> Section:
    weighting = summary.weighting
    worth = f"{len(weighting.weights):,} draws are worth {number(weighting.effective_draws, 0)} exact ones"
    with plots.style():
        figure = plots.new_figure(9, 2.8)
        plots.plot_log_weights(weighting.log_weights, ax=figure.subplots())
        picture = picture_of(
            figure,
            alternative=f"Histogram of the log importance weights of the guide's draws; {worth}.",
            caption="A perfect guide has all its weight at the dashed line. Draws to the "
            f"right stand for many that the guide should have made. The {worth}. Weights see only where the "
            "guide went: a mode that it never visits does not show here, but above.",
        )
    return Section("The guide's importance weights", (picture,), gist=worth)


def _convergence(comparison: Comparison, summary: ComparisonSummary) -> Section:
    with plots.style():
        figure = plots.new_figure(9, 4.4)
        for name, ax in zip(_TRACED, figure.subplots(2, 2).flat, strict=True):
            plots.plot_trace(summary.functionals[name], ax=ax, name=functional_title(name))
        handles, labels = ax.get_legend_handles_labels()
        legend = figure.legend(handles[:8], labels[:8], loc="outside lower center", ncols=8)
        for line in legend.get_lines():
            line.set_linewidth(2.5)
        picture = picture_of(
            figure,
            alternative="Traces over the draws of the MCMC chains, one panel each: "
            + ", ".join(functional_title(name) for name in _TRACED)
            + ".",
            caption="One colour a chain, burn-in removed. Chains that lie over each other "
            "and wander over the whole range have converged; chains at different levels have not, and then "
            "nothing above can be judged.",
        )
    return Section(
        "Has MCMC converged",
        (picture, convergence_table(summary.convergence, source="MCMC")),
        gist="Traces, R-hat and effective draws of the chains",
    )


def _rows(comparison: Comparison, summary: ComparisonSummary) -> Section:
    return data_rows(comparison, {"MCMC": summary.estimate_mcmc, "guide": summary.estimate_guide})


SECTIONS: tuple[Callable[[Comparison, ComparisonSummary], Section], ...] = (
    _clustering,
    _num_clusters,
    _co_assignment,
    _distances,
    _weights,
    _convergence,
    _rows,
)
"""In their order on the page."""
