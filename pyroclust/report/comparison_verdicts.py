"""The first table and the tiles of a comparison with MCMC."""

import math

from pyroclust.diagnostics.verdict import MAX_DIFFERENCE, MAX_PARETO_K, MIN_ESS
from pyroclust.report.calibration_section import calibration_row
from pyroclust.report.familiarity_section import familiarity_row
from pyroclust.report.parts import Mark, Tile, VerdictRow
from pyroclust.report.verdict_words import agreement_row, clear_row, convergence_row, labels_row
from pyroclust.report.words import number
from pyroclust.results.comparison_summary import ComparisonSummary

__all__ = ["comparison_tiles", "comparison_verdicts"]


def comparison_verdicts(summary: ComparisonSummary) -> tuple[VerdictRow, ...]:
    """Answer what the verdict rests on, MCMC first: without it nothing else can be judged.

    Args:
        summary: the figures.
    """
    found, rand = summary.agreement, summary.estimate_mcmc.truth_rand
    return (
        convergence_row("Did MCMC converge?", max_rhat=summary.mcmc.max_rhat, min_ess=summary.mcmc.min_ess),
        agreement_row(
            "Does the guide agree with MCMC on the number of clusters?",
            "total variation",
            found=found.total_variation,
            noise=found.noise_total_variation,
        ),
        agreement_row(
            "Does the guide agree with MCMC on which rows belong together?",
            "largest difference of a pair",
            found=found.largest_difference,
            noise=found.noise_largest_difference,
        ),
        _usable(summary),
        _corrected(summary),
        *(() if summary.familiarity is None else (familiarity_row(summary.familiarity),)),
        *(() if summary.calibration is None else (calibration_row(summary.calibration),)),
        clear_row(summary.estimate_mcmc.uncertainty),
        *(() if rand is None else (labels_row(rand),)),
    )


def _usable(summary: ComparisonSummary) -> VerdictRow:
    shape, draws = summary.weighting.pareto_k, summary.weighting.effective_draws
    # Written so that nan, a tail that could not be fitted, passes, as it does in the verdict.
    usable = not shape >= MAX_PARETO_K and draws >= MIN_ESS
    tail = "bounded" if shape == -math.inf else f"Pareto k {number(shape, 2)}"
    return VerdictRow(
        "Are the guide's importance weights usable?",
        "Yes" if usable else "No",
        Mark.GOOD if usable else Mark.BAD,
        f"{tail}, worth {number(draws, 0)} draws",
        f"k below {MAX_PARETO_K:g} and {MIN_ESS:.0f} draws",
    )


def _corrected(summary: ComparisonSummary) -> VerdictRow:
    found = summary.agreement_corrected
    largest = max(found.total_variation, found.largest_difference)
    agrees = largest <= MAX_DIFFERENCE
    noisy = max(found.noise_total_variation, found.noise_largest_difference) > MAX_DIFFERENCE
    return VerdictRow(
        "Do the weighted draws agree with MCMC?",
        "Yes" if agrees else "Cannot tell" if noisy else "No",
        Mark.GOOD if agrees else Mark.UNKNOWN if noisy else Mark.BAD,
        f"total variation {number(found.total_variation)}, largest difference "
        f"{number(found.largest_difference)}",
        f"both at most {MAX_DIFFERENCE:g}",
    )


def comparison_tiles(summary: ComparisonSummary) -> tuple[Tile, ...]:
    """Return the numbers that people ask for first.

    Args:
        summary: the figures.
    """
    found, ratio = summary.num_clusters, summary.speed_ratio
    likeliest = found.mcmc.argmax()
    return (
        Tile(
            "Likeliest number of clusters",
            str(found.values[likeliest]),
            f"probability {number(found.mcmc[likeliest], 2)} by MCMC, {number(found.guide[likeliest], 2)} by "
            "the guide",
        ),
        Tile(
            "Efficiency",
            f"{number(100 * summary.weighting.efficiency, 1)} %",
            "exact draws per draw of the guide",
        ),
        Tile(
            "Speed",
            f"{number(ratio, 0 if ratio >= 10 else 1 if ratio >= 1 else 2)} ×",
            "seconds per effective draw, MCMC over guide",
        ),
        Tile(
            "Log evidence",
            number(summary.weighting.log_evidence, 1),
            f"nats, standard error {number(summary.weighting.log_evidence_error, 2)}",
        ),
    )
