"""What is known of the rows: what the data say of it, which rows it moved, how far the uncertainty fell."""

import math

import numpy as np
from matplotlib.figure import Figure

from pyroclust import plots
from pyroclust.diagnostics import dendrogram_order
from pyroclust.diagnostics.differences.conditioning import Conditioning
from pyroclust.diagnostics.verdicts.constraints import ConstraintOdds
from pyroclust.plots.constraints import plot_moved_points
from pyroclust.report.parts import FigureTable, Paragraph, Part, Picture, Section
from pyroclust.report.words import axis_names, number
from pyroclust.results.analysis import Analysis
from pyroclust.results.constraints import ConstraintSummary

__all__ = ["constraints_section"]

_MOST_ROWS = 10
_WITHOUT, _WITH = "without", "with the constraints"


def constraints_section(found: Analysis, known: ConstraintSummary) -> Section:
    """Show constraints, and the posterior beside the one without them."""
    rows = known.knowledge.rows
    said = "" if known.odds is None else known.odds.sentence
    parts: list[Part] = [
        Paragraph(f"Known: {rows.sentence}. {said}".rstrip()),
        Paragraph(" ".join(rows.spelled)),
    ]
    if known.odds is not None:
        parts.append(_odds(known, known.odds))
    effect = known.effect
    if effect is not None:
        parts.append(_uncertainty(effect))
        if found.reference.data is not None:
            parts.append(_map(found, known, effect))
        parts += [_moved(known, effect), _counts(effect), _matrices(effect)]
    return Section("What the constraints changed", tuple(parts), is_open=True, gist=known.sentence)


def _odds(known: ConstraintSummary, odds: ConstraintOdds) -> FigureTable:
    free = known.knowledge.free
    rows = [
        ("log P(constraints)", number(odds.log_prior, 2), "–"),
        ("log P(constraints | data)", number(odds.log_posterior, 2), number(odds.error, 2)),
        ("log Bayes factor", number(odds.log_bayes_factor, 2), number(odds.error, 2)),
    ]
    if free is not None:
        share = f"{number(100 * float(free.kept.mean()), 1)} %"
        rows.append((f"draws without the constraints that keep them ({free.draws.name})", share, "–"))
    told = f" It comes from {odds.method}." if odds.method else ""
    why = f" P(constraints) is unknown: {odds.why_no_prior}." if math.isnan(odds.log_prior) else ""
    return FigureTable(
        "How probable the constraints are under the prior of partitions and given the data, in nats; the "
        "difference is the log Bayes factor of the constraints against the model without them, by which the "
        f"data make them more probable (above 0) or less.{told}{why}",
        ("", "nats", "standard error"),
        tuple(rows),
        "What the data say of the constraints",
    )


def _uncertainty(effect: Conditioning) -> FigureTable:
    before, after = effect.before, effect.after
    rows = (
        ("pairs about which two draws disagree", before.disagreeing, after.disagreeing, 1),
        ("entropy of all pairs, bits", before.pair_entropy, after.pair_entropy, 1),
        ("mean number of clusters", before.mean_clusters, after.mean_clusters, 2),
        ("entropy of the number of clusters, bits", before.cluster_entropy, after.cluster_entropy, 2),
    )
    return FigureTable(
        "How unsure the posterior is without and with the constraints, over "
        f"{before.num_pairs:,} pair{'s' * (before.num_pairs != 1)} of rows.",
        ("", _WITHOUT, _WITH),
        tuple((name, number(one, digits), number(two, digits)) for name, one, two, digits in rows),
        "Uncertainty without and with the constraints",
    )


def _map(found: Analysis, known: ConstraintSummary, effect: Conditioning) -> Picture:
    own, rows = found.reference, known.knowledge.rows
    place = np.full(len(rows.row_names), -1)
    place[effect.points] = np.arange(len(effect.points))
    together, apart = (_inside(place, pairs) for pairs in (rows.must_link, rows.cannot_link))
    bound = place[rows.bound]
    data, names = own.points[effect.points], axis_names(own.columns)

    def draw(figure: Figure) -> None:
        plot_moved_points(
            data,
            effect.change.clip(0, 1),
            ax=figure.subplots(),
            together=together,
            apart=apart,
            bound=bound[bound >= 0],
            columns=names,
        )

    return Picture(
        draw,
        size=(9, 3.2 if data.shape[1] == 1 else 4.8),
        alternative=f"The rows over {', '.join(names)}, darker where the constraints changed more: "
        f"{len(known.moved):,} rows moved, by up to {number(float(effect.change.max()), 2)}.",
        caption="Each mark is a row. Its colour says by how much its probabilities of being together with "
        "each other row changed on average; dark rows are elsewhere than without the constraints. Full lines "
        "join rows that are known to be together, dashed ones rows that are known to be apart.",
    )


def _inside(place: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    found: np.ndarray = place[pairs]
    return found[(found >= 0).all(-1)]


def _moved(known: ConstraintSummary, effect: Conditioning) -> FigureTable:
    place = {int(point): at for at, point in enumerate(effect.points.tolist())}
    names, bound = known.knowledge.rows.row_names, set(known.knowledge.rows.bound.tolist())
    rows = tuple(
        (
            names[point],
            number(float(effect.change[place[point]]), 2),
            number(float(effect.noise[place[point]]), 2),
            "yes" if point in bound else "no",
        )
        for point in known.moved[:_MOST_ROWS].tolist()
    )
    what = "The rows whose probabilities of being together with other rows changed most"
    shown = f"{what}, {len(rows)} of {len(known.moved):,} that moved" if rows else "No row moved"
    return FigureTable(
        f"{shown}: the mean change, beside what two halves of the draws without the constraints differ by.",
        ("row", "change", "by chance", "constrained"),
        rows,
        "Rows that moved most" if rows else None,
    )


def _counts(effect: Conditioning) -> Picture:
    values = effect.clusters_from + np.arange(len(effect.counts_before))
    bars = {_WITHOUT: effect.counts_before, _WITH: effect.counts_after}
    likeliest = ", ".join(f"{values[p.argmax()]} {name}" for name, p in bars.items())
    return Picture(
        lambda figure: plots.plot_num_clusters(values, bars, ax=figure.subplots()),
        size=(9, 2.8),
        alternative="Bars of the posterior of the number of clusters without and with the constraints. The "
        f"likeliest number is {likeliest}.",
        caption="The height of a bar is the probability of so many clusters.",
    )


def _matrices(effect: Conditioning) -> Picture:
    pair = effect.together_after, effect.together_before
    gap = float(np.abs(pair[0].astype(np.float64) - pair[1]).max())

    def draw(figure: Figure) -> None:
        axes, order = figure.subplots(1, 3), dendrogram_order(effect.together_after)
        for matrix, title, ax in zip(pair[::-1], (_WITHOUT, _WITH), axes, strict=False):
            plots.plot_co_assignment(matrix, order, ax=ax).set_title(title)
        plots.plot_co_assignment_difference(*pair, order, ax=axes[-1]).set_title("difference")

    return Picture(
        draw,
        size=(9, 3.9),
        alternative="Matrices of pairs of rows: co-assignment probabilities without and with the "
        f"constraints, and their difference, at most {number(gap, 2)}.",
        caption="Each pixel is a pair of rows, its darkness the probability that the pair shares a cluster; "
        "all panels have the order of the second. In the last one, with less without, colour is what the "
        "constraints changed.",
    )
