"""The sections of a guide's draws alone."""

from pyroclust.plots.names import counted
from pyroclust.report.baseline_section import baseline_section
from pyroclust.report.calibration_section import calibration_section
from pyroclust.report.certainty_section import certainty_section
from pyroclust.report.clustering_section import clustering_section
from pyroclust.report.counts_section import counts_section, posteriors_of_k
from pyroclust.report.data_rows import compared_rows
from pyroclust.report.familiarity_section import familiarity_section
from pyroclust.report.pairs_section import pairs_section
from pyroclust.report.parts import Section
from pyroclust.report.profile_section import profile_section
from pyroclust.report.view import view_of_compared
from pyroclust.results.guide_alone import AloneSummary, GuideAlone

__all__ = ["alone_sections"]

_COUNTS = (
    "The height of a bar is the share of the guide's draws with so many clusters; no other source can be put "
    "beside it."
)


def alone_sections(alone: GuideAlone, summary: AloneSummary) -> tuple[Section, ...]:
    """Return the sections of the page, in their order.

    Args:
        alone: the draws.
        summary: their figures.
    """
    view = view_of_compared(alone, alone.guide.assignments, summary.draws, source="the guide")
    return (
        clustering_section(view, gist=counted(summary.estimate.num_clusters, "cluster")),
        counts_section(*posteriors_of_k([view]), caption=_COUNTS),
        pairs_section(view),
        familiarity_section(summary.familiarity),
        *([calibration_section(summary.calibration)] if summary.calibration is not None else []),
        certainty_section(view),
        profile_section(view),
        *([baseline_section(summary.baselines, view)] if summary.baselines else []),
        compared_rows(alone, {"guide": summary.estimate}),
    )
