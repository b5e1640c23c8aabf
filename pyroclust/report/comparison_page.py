"""The page of a comparison of a guide with MCMC."""

import numpy as np

from pyroclust.report.comparison_sections import comparison_sections
from pyroclust.report.comparison_verdicts import comparison_tiles, comparison_verdicts
from pyroclust.report.page import Page
from pyroclust.report.parts import Headline
from pyroclust.report.words import listed
from pyroclust.results.comparison import Comparison
from pyroclust.results.comparison_summary import ComparisonSummary

__all__ = ["comparison_page"]


def comparison_page(comparison: Comparison, summary: ComparisonSummary) -> Page:
    """Return the page: verdicts, pictures, tables, rows.

    Args:
        comparison: the draws.
        summary: their figures.
    """
    chains = comparison.mcmc.assignments.shape[0]
    total = int(np.prod(comparison.mcmc.assignments.shape[:2]))
    return Page(
        title=f"{comparison.source}: {comparison.guide_name} against MCMC",
        kicker="pyroclust compare",
        heading=comparison.source,
        introduction=(
            f"{len(comparison.data):,} rows of {listed(comparison.columns)}. The guide "
            f"{comparison.guide_name} drew {len(summary.weighting.weights):,} partitions; MCMC on the same "
            f"model, {comparison.model_name}, kept {total:,} in {chains} chains."
        ),
        verdict=Headline.of(summary.verdict),
        verdict_rows=comparison_verdicts(summary),
        tiles=comparison_tiles(summary),
        sections=comparison_sections(comparison, summary),
        notes=comparison.notes,
        footer=(
            "Uncertainty of a row: the probability that it is apart from its companions in the estimate. "
            "Effective draws: for the guide by its importance weights, for MCMC by its slowest functional."
        ),
    )
