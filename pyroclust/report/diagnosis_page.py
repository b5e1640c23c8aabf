"""The page of draws from any software."""

import math

from pyroclust.diagnostics import SourceComparison, Trust
from pyroclust.plots.names import counted
from pyroclust.report.agreement_section import agreement_section
from pyroclust.report.baseline_section import baseline_section
from pyroclust.report.certainty_section import certainty_section
from pyroclust.report.clustering_section import clustering_section
from pyroclust.report.convergence_section import convergence_section
from pyroclust.report.counts_section import counts_section, posteriors_of_k
from pyroclust.report.data_rows import diagnosed_rows
from pyroclust.report.page import Page
from pyroclust.report.pairs_section import pairs_section
from pyroclust.report.parts import Headline, Mark, Section, Tile, VerdictRow
from pyroclust.report.profile_section import profile_section
from pyroclust.report.verdict_words import clear_row, convergence_row, labels_row
from pyroclust.report.view import View, view_of_diagnosis
from pyroclust.report.words import number
from pyroclust.results.diagnosis import Diagnosis

__all__ = ["diagnosis_page"]

_COUNTS = "The height of a bar is the share of the draws with so many clusters."


def diagnosis_page(found: Diagnosis) -> Page:
    """Return the page: verdicts, pictures, tables, points.

    Args:
        found: the diagnosis.
    """
    views = [view_of_diagnosis(found, place) for place in range(len(found.summaries))]
    names = " beside ".join(one.source for one in views)
    sizes = "; ".join(
        f"{counted(one.summary.shape[0], 'chain')} of {one.summary.shape[1]:,} draws from {one.source}"
        for one in views
    )
    return Page(
        title=f"{names}: diagnosis",
        kicker="pyroclust diagnose",
        heading=names,
        introduction=f"Partitions of {found.draws[0].shape[-1]:,} points: {sizes}. No model was needed.",
        verdict=Headline.of(found.verdict),
        verdict_rows=_verdicts(found),
        tiles=_tiles(found),
        sections=tuple(_sections(found, views)),
        notes=found.notes,
        footer=(
            "Uncertainty of a point: the probability that it is apart from its companions in the estimate. "
            "Variation of information is measured in bits; 0 means equal partitions."
        ),
    )


def _verdicts(found: Diagnosis) -> tuple[VerdictRow, ...]:
    rows = [
        convergence_row(
            f"Did {one.name} converge?",
            max_rhat=one.max_rhat,
            min_ess=min(one.min_ess, math.prod(one.shape[:2])),
        )
        for one in found.summaries
    ]
    if found.between is not None:
        rows.append(_agreement(found.between))
    estimate = found.summaries[0].estimate
    rows.append(clear_row(estimate.uncertainty))
    if estimate.truth_rand is not None:
        rows.append(labels_row(estimate.truth_rand))
    return tuple(rows)


def _agreement(between: SourceComparison) -> VerdictRow:
    answers = {Trust.AGREE: ("Yes", Mark.GOOD), Trust.DIFFER: ("No", Mark.BAD)}
    answer, mark = answers.get(between.verdict.level, ("Cannot tell", Mark.UNKNOWN))
    one = between.agreement
    return VerdictRow(
        f"Do {between.names[0]} and {between.names[1]} agree?",
        answer,
        mark,
        f"total variation {number(one.total_variation)}, largest difference {number(one.largest_difference)}",
        "both at most 0.15, or within noise",
    )


def _tiles(found: Diagnosis) -> tuple[Tile, ...]:
    one = found.summaries[0]
    place = one.probabilities.argmax()
    return (
        Tile(
            "Likeliest number of clusters",
            str(one.values[place]),
            f"probability {number(one.probabilities[place], 2)} by {one.name}",
        ),
        Tile("Clusters", str(one.estimate.num_clusters), "of the point estimate"),
        Tile("Credible ball", number(one.ball.radius, 2), "bits around the estimate hold 95 % of the draws"),
        Tile("Uncertainty", number(one.estimate.uncertainty.mean(), 2), "mean over points"),
    )


def _sections(found: Diagnosis, views: list[View]) -> list[Section]:
    first = views[0]
    sections = []
    if found.between is not None:
        sections.append(agreement_section(found.between, *views, seed=found.seed))
    if first.data is not None:
        gist = f"{counted(first.summary.estimate.num_clusters, 'cluster')} by {first.source}"
        sections.append(clustering_section(first, gist=gist))
    sections.append(counts_section(*posteriors_of_k(views), caption=_COUNTS))
    sections.append(pairs_section(*views))
    sections.append(certainty_section(first))
    sections += [
        convergence_section(one, title=f"Has {one.source} converged", is_open=len(views) == 1)
        for one in views
    ]
    if first.data is not None:
        sections += [profile_section(first), baseline_section(found.baselines, first)]
    return [*sections, diagnosed_rows(found)]
