"""The page of draws from any software."""

import math

import numpy as np

from pyroclust import plots
from pyroclust.diagnosis import Diagnosis
from pyroclust.diagnostics import Trust, Verdict, dendrogram_order
from pyroclust.report.agreement_section import agreement_section, difference_picture
from pyroclust.report.baseline_section import baseline_section
from pyroclust.report.certainty_section import certainty_section
from pyroclust.report.convergence_section import convergence_section
from pyroclust.report.page import Page
from pyroclust.report.parts import Headline, Mark, RowColumn, Section, Tile, VerdictRow, rows_table
from pyroclust.report.picture import Picture, picture_of
from pyroclust.report.profile_section import profile_section
from pyroclust.report.verdict_words import clear_row, convergence_row, labels_row
from pyroclust.report.view import View, view_of_diagnosis
from pyroclust.report.words import number, short

__all__ = ["diagnosis_page"]


def diagnosis_page(found: Diagnosis) -> Page:
    """Return the page: verdicts, pictures, tables, points.

    Args:
        found: the diagnosis.
    """
    views = [view_of_diagnosis(found, place) for place in range(len(found.summaries))]
    names = " beside ".join(one.source for one in views)
    sizes = "; ".join(
        f"{one.summary.shape[0]} chain(s) of {one.summary.shape[1]:,} draws from {one.source}"
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
        rows.append(_agreement(found.between.verdict, found))
    estimate = found.summaries[0].estimate
    rows.append(clear_row(estimate.uncertainty))
    if estimate.truth_rand is not None:
        rows.append(labels_row(estimate.truth_rand))
    return tuple(rows)


def _agreement(verdict: Verdict, found: Diagnosis) -> VerdictRow:
    answers = {Trust.AGREE: ("Yes", Mark.GOOD), Trust.DIFFER: ("No", Mark.BAD)}
    answer, mark = answers.get(verdict.level, ("Cannot tell", Mark.UNKNOWN))
    assert found.between is not None
    one = found.between.agreement
    return VerdictRow(
        f"Do {found.between.names[0]} and {found.between.names[1]} agree?",
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
        sections.append(Section("The data, by the point estimate", (_data(first),), is_open=True))
    sections += [_num_clusters(views), _pairs(views)]
    sections += [certainty_section(first)]
    sections += [
        convergence_section(one, title=f"Has {one.source} converged", is_open=len(views) == 1)
        for one in views
    ]
    if first.data is not None:
        sections += [profile_section(first), baseline_section(found.baselines, first)]
    return [*sections, _points(found)]


def _data(view: View) -> Picture:
    assert view.data is not None
    estimate = view.summary.estimate
    with plots.style():
        figure = plots.new_figure(9, 2.7 if view.data.shape[1] == 1 else 4.8)
        plots.plot_clustering(
            view.data, estimate.assignments, estimate.uncertainty, ax=figure.subplots(), columns=view.columns
        )
        return picture_of(
            figure,
            alternative=f"The data coloured by the {estimate.num_clusters} clusters of the estimate.",
            caption="Colour and shape are clusters of the partition with the least expected "
            f"variation of information under {view.source}. A full mark is sure to be with its companions; a "
            "hollow one is apart from them in at least half of the draws.",
        )


def _num_clusters(views: list[View]) -> Section:
    low = min(int(one.summary.values[0]) for one in views)
    high = max(int(one.summary.values[-1]) for one in views)
    support = np.arange(low, high + 1)
    bars = {}
    for one in views:
        bars[one.source] = np.zeros(len(support))
        bars[one.source][one.summary.values - low] = one.summary.probabilities
    likeliest = ", ".join(f"{support[p.argmax()]} by {name}" for name, p in bars.items())
    with plots.style():
        figure = plots.new_figure(9, 3.2)
        plots.plot_num_clusters(
            support, {short(name, 28): p for name, p in bars.items()}, ax=figure.subplots()
        )
        picture = picture_of(
            figure,
            alternative=f"Bars of the posterior of the number of clusters; likeliest: {likeliest}.",
            caption="The height of a bar is the share of the draws with so many clusters.",
        )
    return Section("How many clusters", (picture,), is_open=True, gist=f"Likeliest: {likeliest}")


def _pairs(views: list[View]) -> Section:
    title, gist = "Which points belong together", "The probability of every pair of points"
    if len(views) == 2:
        return Section(title, (difference_picture(*views),), is_open=True, gist=gist)
    matrix = views[0].summary.co_assignment
    with plots.style():
        figure = plots.new_figure(5.4, 4.8)
        plots.plot_co_assignment(matrix, dendrogram_order(matrix), ax=figure.subplots())
        picture = picture_of(
            figure,
            alternative="Matrix of the probabilities that pairs of points share a cluster, points ordered so "
            "that clusters are squares on the diagonal.",
            caption="Each pixel is a pair of points, its darkness the probability that the "
            "pair shares a cluster. Dark squares on the diagonal are clusters, pale ones are doubtful.",
        )
    return Section(title, (picture,), is_open=True, gist=gist)


def _points(found: Diagnosis) -> Section:
    columns = [RowColumn("point", found.point_names)]
    table = found.table
    if table is not None:
        columns += [
            RowColumn(name, table.data[:, place], "{:.6g}".format) for place, name in enumerate(table.columns)
        ]
        if table.labels is not None:
            columns.append(RowColumn("known label", table.labels))
    for one in found.summaries:
        columns.append(RowColumn(f"cluster, {one.name}", one.estimate.assignments + 1))
        columns.append(RowColumn(f"uncertainty, {one.name}", one.estimate.uncertainty, _two_digits))
    caption = "Each point with its cluster in the point estimate, and the probability of being apart from it."
    part = rows_table(caption, columns, elsewhere="points.csv")
    return Section("Every point", (part,), gist=f"All {len(found.point_names):,} points")


def _two_digits(value: float) -> str:
    return number(value, 2)
