"""The page of a guide's draws alone."""

from pyroclust.report.alone_sections import alone_sections
from pyroclust.report.calibration_section import calibration_row
from pyroclust.report.familiarity_section import familiarity_row
from pyroclust.report.page import Page
from pyroclust.report.parts import Headline, Mark, Tile, VerdictRow
from pyroclust.report.verdict_words import clear_row, labels_row
from pyroclust.report.words import listed, number, seconds
from pyroclust.results.guide_alone import AloneSummary, GuideAlone

__all__ = ["alone_page"]


def alone_page(alone: GuideAlone, summary: AloneSummary) -> Page:
    """Return the page: what is missing and why, verdicts, pictures, rows.

    Args:
        alone: the draws.
        summary: their figures.
    """
    return Page(
        title=f"{alone.source}: {alone.guide_name}",
        kicker="pyroclust compare",
        heading=alone.source,
        introduction=(
            f"{len(alone.data):,} rows of {listed(alone.columns)}. The guide {alone.guide_name} of the "
            f"model {alone.model_name} drew {alone.guide.assignments.shape[1]:,} partitions. {alone.missing}"
        ),
        verdict=Headline.of(summary.verdict),
        verdict_rows=_verdicts(summary),
        tiles=_tiles(summary),
        sections=alone_sections(alone, summary),
        notes=alone.notes,
        footer=(
            "Uncertainty of a row: the probability that it is apart from its companions in the estimate. "
            "Familiarity: distances between the rows, beside those of data sets that the model simulates; "
            "labels play no part."
        ),
    )


def _verdicts(summary: AloneSummary) -> tuple[VerdictRow, ...]:
    rand = summary.estimate.truth_rand
    return (
        familiarity_row(summary.familiarity),
        _calibrated(summary),
        *(() if summary.calibration is None else (calibration_row(summary.calibration),)),
        VerdictRow(
            "Does the guide agree with MCMC here?",
            "Cannot tell",
            Mark.UNKNOWN,
            "no MCMC: the likelihood has no formula",
            "–",
        ),
        clear_row(summary.estimate.uncertainty),
        *(() if rand is None else (labels_row(rand),)),
    )


def _calibrated(summary: AloneSummary) -> VerdictRow:
    tests, passed = summary.calibration_tests, summary.calibration_passed
    question = "Is the guide calibrated on simulated data?"
    if not tests:
        return VerdictRow(question, "Cannot tell", Mark.UNKNOWN, "no certificate", "all tests")
    return VerdictRow(
        question,
        "Yes" if passed == tests else "No",
        Mark.GOOD if passed == tests else Mark.BAD,
        f"{passed} of {tests} tests passed",
        "all tests",
    )


def _tiles(summary: AloneSummary) -> tuple[Tile, ...]:
    likeliest = summary.draws.probabilities.argmax()
    return (
        Tile(
            "Likeliest number of clusters",
            str(summary.draws.values[likeliest]),
            f"probability {number(summary.draws.probabilities[likeliest], 2)}",
        ),
        Tile("Clusters", str(summary.estimate.num_clusters), "of the point estimate"),
        Tile("Uncertainty", number(summary.estimate.uncertainty.mean(), 2), "mean over rows"),
        Tile("Speed", seconds(summary.guide_seconds), "per draw, all independent"),
    )
