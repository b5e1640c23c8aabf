"""The sections of a comparison with MCMC, each a function of the draws and their figures."""

from pyroclust import plots
from pyroclust.report.agreement_section import agreement_section
from pyroclust.report.baseline_section import baseline_section
from pyroclust.report.calibration_section import calibration_section
from pyroclust.report.certainty_section import certainty_section
from pyroclust.report.clustering_section import clustering_section
from pyroclust.report.comparison_tables import cost_table, distance_table, evidence_table
from pyroclust.report.convergence_section import convergence_section
from pyroclust.report.counts_section import counts_section
from pyroclust.report.data_rows import compared_rows
from pyroclust.report.familiarity_section import familiarity_section
from pyroclust.report.pairs_section import pairs_section
from pyroclust.report.parts import Section
from pyroclust.report.picture import picture_of
from pyroclust.report.profile_section import profile_section
from pyroclust.report.view import View, view_of_compared
from pyroclust.report.words import number
from pyroclust.results.comparison import Comparison
from pyroclust.results.comparison_summary import ComparisonSummary

__all__ = ["comparison_sections"]


def comparison_sections(comparison: Comparison, summary: ComparisonSummary) -> tuple[Section, ...]:
    """Return the sections of the page, in their order.

    Args:
        comparison: the draws.
        summary: their figures.
    """
    guide = view_of_compared(comparison, comparison.guide.assignments, summary.guide, source="guide")
    mcmc = view_of_compared(comparison, comparison.mcmc.assignments, summary.mcmc, source="MCMC")
    found, near = summary.familiarity, summary.calibration
    return (
        _clustering(summary, mcmc),
        _num_clusters(summary),
        pairs_section(guide, mcmc, more=_halves(summary)),
        certainty_section(mcmc),
        agreement_section(summary.sources, guide, mcmc, seed=0),
        _distances(comparison, summary),
        _weights(summary),
        *(() if found is None else (familiarity_section(found),)),
        *(() if near is None else (calibration_section(near),)),
        convergence_section(mcmc, title="Has MCMC converged"),
        profile_section(mcmc),
        *([baseline_section(summary.baselines, mcmc)] if summary.baselines else []),
        compared_rows(comparison, {"MCMC": summary.estimate_mcmc, "guide": summary.estimate_guide}),
    )


def _clustering(summary: ComparisonSummary, mcmc: View) -> Section:
    clusters = summary.estimate_mcmc.num_clusters, summary.estimate_guide.num_clusters
    same = (
        f"The guide's own estimate has {clusters[1]} clusters (adjusted Rand index to this one "
        f"{number(summary.estimates_rand, 2)}, 1 being equal)."
    )
    gist = f"{clusters[0]} clusters by MCMC, {clusters[1]} by the guide"
    return clustering_section(mcmc, gist=gist, more=same)


def _num_clusters(summary: ComparisonSummary) -> Section:
    found, plain, weighted = summary.num_clusters, summary.agreement, summary.agreement_corrected
    rows = {"guide": found.guide, "guide, weighted": found.corrected, "MCMC": found.mcmc}
    caption = (
        "Bars of equal height at each number mean that the guide and MCMC agree. Weighted are the same draws "
        "of the guide, each counted by its importance weight. Total variation to MCMC: "
        f"{number(plain.total_variation)} as drawn, {number(weighted.total_variation)} weighted (0 equal, 1 "
        f"disjoint; two halves of MCMC: {number(plain.noise_total_variation)})."
    )
    return counts_section(found.values, rows, caption=caption)


def _halves(summary: ComparisonSummary) -> str:
    return f"Two halves of MCMC differ by {number(summary.agreement.noise_largest_difference, 2)}."


def _distances(comparison: Comparison, summary: ComparisonSummary) -> Section:
    return Section(
        "Distances and cost",
        (distance_table(summary), cost_table(comparison, summary), evidence_table(summary.evidences)),
        gist="What the guide and two halves of MCMC differ by, seconds, point estimates",
    )


def _weights(summary: ComparisonSummary) -> Section:
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
