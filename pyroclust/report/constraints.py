"""What is known of the rows: what the data say of it, which rows it moved, how far the uncertainty fell."""

import math

import numpy as np

from pyroclust.diagnostics.differences.constraint_effect import ConstraintEffect
from pyroclust.diagnostics.verdicts.constraints import ConstraintOdds
from pyroclust.plots.clusterings import plot_moved_points
from pyroclust.report.clusters import counts_picture, matrices_picture
from pyroclust.report.parts import FigureTable, Paragraph, Part, Picture, Section
from pyroclust.report.words import YES_OR_NO, axis_names, number, numbers
from pyroclust.results.analysis import Analysis
from pyroclust.results.constraints import RowConstraints
from pyroclust.results.data import AnalysedData

_MOST_ROWS = 10
_WITHOUT, _WITH = "without", "with the constraints"


def constraints_section(analysis: Analysis, known: RowConstraints) -> Section:
    """Show constraints, and the posterior beside the one without them."""
    said = "" if known.odds is None else known.odds.sentence
    parts: list[Part] = [Paragraph(f"Known: {known.sentence}. {said}".rstrip())]
    if known.spelled:
        parts.append(Paragraph(" ".join(known.spelled)))
    if known.odds is not None:
        parts.append(_odds(known, known.odds))
    effect = known.effect
    if effect is not None:
        parts.append(_uncertainty(effect))
        if analysis.data is not None:
            parts.append(_map(analysis.data, known, effect))
        values = effect.clusters_from + np.arange(len(effect.counts_before))
        bars = {_WITHOUT: effect.counts_before, _WITH: effect.counts_after}
        counts = counts_picture(
            values,
            bars,
            likeliest=", ".join(f"{values[p.argmax()]} {name}" for name, p in bars.items()),
            caption="The height of a bar is the probability of so many clusters.",
        )
        parts += [_moved(known, effect), counts, _matrices(effect)]
    return Section("What the constraints changed", tuple(parts), is_open=True, gist=known.change)


def _odds(known: RowConstraints, odds: ConstraintOdds) -> FigureTable:
    free, error = known.free, number(odds.error, 2)
    rows = [
        ("log P(constraints)", number(odds.log_prior, 2), "–"),
        ("log P(constraints | data)", number(odds.log_posterior, 2), error),
        ("log Bayes factor", number(odds.log_bayes_factor, 2), error),
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


def _uncertainty(effect: ConstraintEffect) -> FigureTable:
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
        tuple((name, *numbers(pair, digits)) for name, *pair, digits in rows),
        "Uncertainty without and with the constraints",
    )


def _map(shown: AnalysedData, known: RowConstraints, effect: ConstraintEffect) -> Picture:
    data, names = shown.shown[effect.points], axis_names(shown.shown_columns)
    place = np.full(len(known.row_names), -1)
    place[effect.points] = np.arange(len(effect.points))
    # Rows that are not among those that are shown are at -1.
    together, apart = (
        pairs[(pairs >= 0).all(-1)] for pairs in (place[known.must_link], place[known.cannot_link])
    )
    bound = place[known.bound]
    return Picture(
        lambda figure: plot_moved_points(
            data,
            effect.change.clip(0, 1),
            ax=figure.subplots(),
            together=together,
            apart=apart,
            bound=bound[bound >= 0],
            columns=names,
        ),
        size=(9, 3.2 if data.shape[1] == 1 else 4.8),
        alternative=f"The rows over {', '.join(names)}, darker where the constraints changed more: "
        f"{len(known.moved):,} rows moved, by up to {number(float(effect.change.max()), 2)}.",
        caption="Each mark is a row. Its colour says by how much its probabilities of being together with "
        "each other row changed on average; dark rows are elsewhere than without the constraints. Full lines "
        "join rows that are known to be together, dashed ones rows that are known to be apart.",
    )


def _moved(known: RowConstraints, effect: ConstraintEffect) -> FigureTable:
    moved = known.moved[:_MOST_ROWS]
    # Points are in ascending order.
    place = np.searchsorted(effect.points, moved)
    changes = zip(effect.change[place].tolist(), effect.noise[place].tolist(), strict=True)
    cells = tuple(
        (known.row_names[point], *numbers(change, 2), YES_OR_NO[point in known.bound])
        for point, change in zip(moved, changes, strict=True)
    )
    what = "The rows whose probabilities of being together with other rows changed most"
    shown = f"{what}, {len(cells)} of {len(known.moved):,} that moved" if cells else "No row moved"
    return FigureTable(
        f"{shown}: the mean change, beside what two halves of the draws without the constraints differ by.",
        ("row", "change", "by chance", "constrained"),
        cells,
        "Rows that moved most" if cells else None,
    )


def _matrices(effect: ConstraintEffect) -> Picture:
    before, after = effect.together_before, effect.together_after
    gap = number(float(np.abs(after.astype(np.float64) - before).max()), 2)
    return matrices_picture(
        {_WITHOUT: before, _WITH: after},
        (after, before),
        title="difference",
        alternative="Matrices of pairs of rows: co-assignment probabilities without and with the "
        f"constraints, and their difference, at most {gap}.",
        caption="Each pixel is a pair of rows, its darkness the probability that the pair shares a cluster; "
        "all panels have the order of the second. In the last one, with less without, colour is what the "
        "constraints changed.",
    )
