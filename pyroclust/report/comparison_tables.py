"""The tables of figures of a comparison."""

from collections.abc import Sequence

from pyroclust.diagnostics import Convergence, LogEvidence
from pyroclust.report.parts import FigureTable
from pyroclust.report.words import functional_title, number, seconds
from pyroclust.results.comparison import Comparison
from pyroclust.results.comparison_summary import ComparisonSummary

__all__ = ["convergence_table", "cost_table", "distance_table", "evidence_table"]


def distance_table(summary: ComparisonSummary) -> FigureTable:
    """Set the distances to MCMC beside those between its halves.

    Args:
        summary: the figures.
    """
    plain, weighted = summary.agreement, summary.agreement_corrected
    rows = (
        (
            "number of clusters, total variation",
            plain.total_variation,
            weighted.total_variation,
            plain.noise_total_variation,
        ),
        (
            "co-assignment, largest difference",
            plain.largest_difference,
            weighted.largest_difference,
            plain.noise_largest_difference,
        ),
        (
            "co-assignment, mean difference",
            plain.mean_difference,
            weighted.mean_difference,
            plain.noise_mean_difference,
        ),
    )
    return FigureTable(
        "Distance to MCMC, beside what two halves of MCMC differ by; 0 is agreement.",
        ("", "guide", "weighted", "MCMC halves"),
        tuple((name, *(number(value) for value in values)) for name, *values in rows),
    )


def cost_table(comparison: Comparison, summary: ComparisonSummary) -> FigureTable:
    """Set the cost and the point estimates of both sources beside each other.

    Args:
        comparison: the draws.
        summary: the figures.
    """
    guide, mcmc = summary.estimate_guide, summary.estimate_mcmc
    rows = [
        ("seconds, all draws", seconds(comparison.guide.seconds), seconds(comparison.mcmc.seconds)),
        ("seconds per effective draw", seconds(summary.guide_seconds), seconds(summary.mcmc_seconds)),
        ("clusters of the point estimate", str(guide.num_clusters), str(mcmc.num_clusters)),
        ("mean uncertainty of a row", number(guide.uncertainty.mean()), number(mcmc.uncertainty.mean())),
    ]
    if guide.truth_rand is not None and mcmc.truth_rand is not None:
        rand = number(guide.truth_rand), number(mcmc.truth_rand)
        rows.append(("adjusted Rand index to the known labels", *rand))
    return FigureTable(
        "Cost, and how each source's point estimate looks.", ("", "guide", "MCMC"), tuple(rows)
    )


def evidence_table(found: Sequence[LogEvidence]) -> FigureTable:
    """List the estimates of log p(x).

    Args:
        found: one a method.
    """
    return FigureTable(
        "Log evidence log p(data) in nats, by draws of the guide (importance sampling), of MCMC (reciprocal "
        "importance sampling) and of both (bridge sampling). A guide that leaves out part of the posterior "
        "has the first below the others. From Pareto k 0.7 on an estimate and its error cannot be relied on.",
        ("", "nats", "standard error", "Pareto k"),
        tuple(
            (one.method, number(one.estimate, 2), number(one.error, 2), number(one.pareto_k, 2))
            for one in found
        ),
    )


def convergence_table(rows: Sequence[Convergence], *, source: str) -> FigureTable:
    """List the convergence of each functional.

    Args:
        rows: one a functional.
        source: whose chains.
    """
    return FigureTable(
        f"Convergence of {source} on numbers that renaming clusters leaves alone. Wanted: R-hat at most 1.01 "
        "and 400 effective draws (ESS), in the bulk and in the tails. A constant has no R-hat.",
        ("", "mean", "sd", "R-hat", "ESS bulk", "ESS tail"),
        tuple(_convergence(row) for row in rows),
    )


def _convergence(row: Convergence) -> tuple[str, ...]:
    moments = functional_title(row.name), number(row.mean), number(row.sd)
    if row.constant:
        return (*moments, "constant", "–", "–")
    return (*moments, number(row.rhat), number(row.ess_bulk, 0), number(row.ess_tail, 0))
