"""A diagnosis as tables for the terminal."""

import math
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pyroclust.diagnostics import Convergence, SourceComparison
from pyroclust.results.diagnosis import Diagnosis
from pyroclust.results.draws_summary import DrawsSummary

__all__ = ["clusters_table", "convergence_table", "diagnosis_view"]

_MOST_ROWS = 12
_SMALLEST_SHOWN = 0.001


def diagnosis_view(found: Diagnosis) -> RenderableType:
    """Lay out a diagnosis: clusters, estimate, convergence, agreement, baselines, verdicts last.

    Args:
        found: the diagnosis.
    """
    parts: list[RenderableType] = []
    for one in found.summaries:
        chains, draws, points = one.shape
        parts.append(Text(f"{one.name}: {chains} chain(s) of {draws} draws, {points} points"))
    parts += [clusters_table(found.summaries), _estimates(found.summaries)]
    parts += [
        convergence_table(one.convergence, title=f"Convergence of {one.name}") for one in found.summaries
    ]
    if found.between is not None:
        parts.append(_agreement(found.between))
    if found.baselines:
        parts.append(_baselines(found))
    parts += [Text(f"Note: {note}") for note in found.notes]
    sentences = [one.sentence for one in found.verdicts]
    if found.between is not None:
        sentences.append(found.between.verdict.sentence)
    parts += [Text(sentence, style="bold") for sentence in sentences]
    return Group(*parts)


def clusters_table(summaries: Sequence[DrawsSummary]) -> Table:
    """List the probabilities of the numbers of clusters, one column a source.

    Args:
        summaries: the sources.
    """
    table = Table(title="Posterior of the number of clusters", title_justify="left")
    table.add_column("clusters", justify="right")
    found = []
    for one in summaries:
        table.add_column(one.name, justify="right")
        found.append(dict(zip(one.values.tolist(), one.probabilities.tolist(), strict=True)))
    totals = {value: sum(column.get(value, 0.0) for column in found) for column in found for value in column}
    likeliest = sorted(totals, key=lambda value: -totals[value])[:_MOST_ROWS]
    for value in sorted(value for value in likeliest if totals[value] >= _SMALLEST_SHOWN):
        table.add_row(str(value), *(f"{column.get(value, 0.0):.3f}" for column in found))
    return table


def convergence_table(rows: Sequence[Convergence], *, title: str) -> Table:
    """List R-hat and effective draws of each functional; constants are named as such.

    Args:
        rows: one a functional.
        title: of the table.
    """
    table = Table(title=title, title_justify="left")
    table.add_column("functional")
    for column in ("mean", "sd", "R-hat", "bulk ESS", "tail ESS"):
        table.add_column(column, justify="right")
    for row in rows:
        figures = (
            ("constant", "", "")
            if row.constant
            else (f"{row.rhat:.3f}", f"{row.ess_bulk:.0f}", f"{row.ess_tail:.0f}")
        )
        table.add_row(row.name, _short(row.mean), _short(row.sd), *figures)
    return table


def _estimates(summaries: Sequence[DrawsSummary]) -> Table:
    table = Table(title="The partition", title_justify="left")
    table.add_column("")
    for one in summaries:
        table.add_column(one.name, justify="right")
    rows = {
        "clusters of the point estimate": lambda one: str(one.estimate.num_clusters),
        "mean uncertainty of a point": lambda one: _short(one.estimate.uncertainty.mean()),
        "radius of the 95 % credible ball, bits": lambda one: _short(one.ball.radius),
        "entropy of the posterior, bits": lambda one: _short(one.entropy.corrected),
        "distinct partitions": lambda one: str(one.ranked.num_distinct),
        "probability of the likeliest": lambda one: _short(one.ranked.probabilities[0]),
        "modes (weights)": lambda one: ", ".join(f"{weight:.2f}" for weight in one.modes.weights),
        "ESS of co-memberships, least and median": lambda one: (
            f"{_whole(one.co_membership.min)}, {_whole(one.co_membership.median)}"
        ),
        "R-hat of distances": lambda one: _short(one.distance_rhat.rhat),
    }
    for title, figure in rows.items():
        table.add_row(title, *map(figure, summaries))
    if all(one.estimate.truth_rand is not None for one in summaries):
        table.add_row(
            "adjusted Rand index to the labels",
            *(_short(one.estimate.truth_rand or 0.0) for one in summaries),
        )
    return table


def _agreement(found: SourceComparison) -> Table:
    table = Table(title=f"{found.names[0]} beside {found.names[1]}", title_justify="left")
    table.add_column("")
    table.add_column("between", justify="right")
    table.add_column("noise", justify="right")
    one = found.agreement
    rows = (
        ("total variation of K", one.total_variation, one.noise_total_variation),
        ("largest co-assignment difference", one.largest_difference, one.noise_largest_difference),
        ("mean co-assignment difference", one.mean_difference, one.noise_mean_difference),
        ("expected VI, bits", found.vi_between, max(found.vi_within_a, found.vi_within_b)),
    )
    for title, figure, noise in rows:
        table.add_row(title, _short(figure), _short(noise))
    for title, test in (("kernel two-sample test, p", found.mmd), ("classifier test, p", found.classifier)):
        table.add_row(title, _short(test.p_value), "")
    return table


def _baselines(found: Diagnosis) -> Table:
    table = Table(title="Classical methods", title_justify="left")
    table.add_column("method")
    labelled = found.baselines[0].to_labels is not None
    columns = ["clusters", "ARI to the estimate", "expected VI, bits", "in the credible ball"]
    for column in [*columns, *(["ARI to the labels"] if labelled else [])]:
        table.add_column(column, justify="right")
    for row in found.baselines:
        figures = [
            str(row.result.num_clusters),
            _short(row.to_estimate.adjusted_rand),
            _short(row.expected_vi),
        ]
        figures.append("yes" if row.inside else "no")
        if row.to_labels is not None:
            figures.append(_short(row.to_labels.adjusted_rand))
        table.add_row(row.result.name, *figures)
    return table


def _short(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3g}"


def _whole(value: float) -> str:
    return f"{value:.0f}" if math.isfinite(value) else "-"
