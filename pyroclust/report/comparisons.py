"""What is set beside the answer: other sources, classical methods, the posterior without constraints."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from pyroclust import plots
from pyroclust.baselines.scores import PartitionScores, scores_where_known
from pyroclust.core.messages import short
from pyroclust.diagnostics import Agreement, SourceComparison
from pyroclust.diagnostics.constraint_effect import ConstraintEffect, ConstraintOdds
from pyroclust.plots.clusterings import plot_moved_points
from pyroclust.report.clusters import counts_picture, matrices_picture
from pyroclust.report.parts import (
    YES_OR_NO,
    FigureTable,
    Paragraph,
    Part,
    Picture,
    Section,
    axis_names,
    number,
    numbers,
    p_value,
    seconds,
)
from pyroclust.results.analysis import WORDS, Analysis
from pyroclust.results.data import AnalysedData
from pyroclust.results.step_results import BaselineRow, RowConstraints
from pyroclust.results.summaries import DrawsSummary

_DISTANCES = {
    "number of clusters, total variation": "total_variation",
    "co-assignment, largest difference": "largest_difference",
    "co-assignment, mean difference": "mean_difference",
}


def _distances(of: object, prefix: str = "") -> tuple[float, ...]:
    return tuple(getattr(of, prefix + name) for name in _DISTANCES.values())


def beside_mcmc_section(analysis: Analysis, distances: Mapping[str, Agreement]) -> Section:
    """Show how far the guide's draws are from MCMC: as drawn, weighted, refined."""
    words = WORDS | {"guide": "the guide, as drawn"}
    rows = [
        (words[name], *numbers(_distances(one)), f"{analysis.tolerance_for(name):g}")
        for name, one in distances.items()
    ]
    noise = next(iter(distances.values()))
    rows.append(("two halves of MCMC", *numbers(_distances(noise, "noise_")), ""))
    table = FigureTable(
        "How far the guide's draws are from MCMC: total variation of the number of clusters, and "
        "differences of co-assignment probabilities, with the limit on the largest.",
        ("", "clusters", "largest pair", "mean pair", "limit"),
        tuple(rows),
        "Distance from MCMC",
    )
    gist = ", ".join(f"{number(one.largest_difference, 2)} {name}" for name, one in distances.items())
    return Section("The guide against MCMC", (table,), gist=f"Largest difference of a pair: {gist}")


def agreement_section(analysis: Analysis, name: str, tests: SourceComparison) -> Section:
    """Show how far a source and the last one are apart, beside what chance makes of their own draws."""
    first, second = analysis.summary(name), analysis.sources[-1]
    one, of_tests = tests.agreement, tests.names
    marginals = Picture(
        lambda figure: plots.plot_agreement(one, ax=figure.subplots(), tolerance=tests.tolerance),
        size=(9, 2.8),
        alternative="Distances between the sources with their noise floors: total variation of the "
        f"number of clusters {number(one.total_variation)} (noise {number(one.noise_total_variation)}), "
        f"largest co-assignment difference {number(one.largest_difference)} "
        f"(noise {number(one.noise_largest_difference)}).",
        caption=f"Full marks are distances between {of_tests[0]} and {of_tests[1]}, hollow ones those "
        f"between two halves of {of_tests[1]}: what chance alone makes. The strokes are the limits of the "
        "verdict.",
    )
    pair = first.draws.assignments, second.draws.assignments
    how: dict[str, Any] = {"seed": analysis.seed, "names": (short(first.name, 18), short(second.name, 18))}
    between, *within = numbers((tests.vi_between, tests.vi_within_a, tests.vi_within_b), 2)
    distances = Picture(
        lambda figure: plots.plot_two_samples(*pair, ax=figure.subplots(), **how),
        size=(9, 3.2),
        alternative="Distances between draws within and between the sources: on average "
        f"{between} bits between, {' and '.join(within)} within.",
        caption="Distances of pairs of draws. Where the sources sample the same, the three curves lie "
        "over each other; a third one right of the others means that they do not.",
    )
    places = Picture(
        lambda figure: plots.plot_partition_map(*pair, ax=figure.subplots(), **how),
        size=(6.5, 4.6),
        alternative=f"A map of draws of {of_tests[0]} and {of_tests[1]}, similar ones near.",
        caption="Every mark is a draw, and near marks are similar partitions, as far as a plane can show "
        "it. The sources should be mixed; groups are modes.",
    )
    effective = (number(one, 0) for one in (tests.effective_a, tests.effective_b))
    worth = " and ".join(f"{one} ({of})" for one, of in zip(effective, of_tests, strict=True))
    checks = FigureTable(
        f"What the verdict on the two sources rests on. Worth {worth} effective draws in these tests.",
        ("", "answer", "measured", "limit"),
        tuple((one.question, one.answer, one.sentence, one.wanted) for one in tests.verdict.findings),
    )
    corrected = analysis.results.get("agreement", {}).get("weighted") if name == "guide" else None
    parts = Paragraph(tests.verdict.sentence), marginals, distances, places, _nulls(tests), checks
    gist = f"Draws are {between} bits apart between the sources, {' and '.join(within)} within them"
    return Section(
        f"Tests of {first.name} and {second.name}", (*parts, _distance_table(tests, corrected)), gist=gist
    )


def _nulls(tests: SourceComparison) -> Picture:
    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        plots.plot_permutation_null(tests.mmd, ax=left, statistic="squared MMD")
        plots.plot_permutation_null(tests.classifier, ax=right, statistic="accuracy of a classifier")

    return Picture(
        draw,
        size=(9, 2.8),
        alternative=f"Null distributions of two tests; p {p_value(tests.mmd.p_value)} by the kernel "
        f"test, {p_value(tests.classifier.p_value)} by the classifier.",
        caption="The bars are what the statistic would be if the draws had been dealt to "
        "the two sources at random, the line is what it is. A line right of the bars means that the "
        "sources differ; whether by much, the distances above say.",
    )


def _distance_table(tests: SourceComparison, corrected: Agreement | None) -> FigureTable:
    columns = {"between": (*_distances(tests.agreement), tests.vi_between)}
    if corrected is not None:
        columns["between, weighted"] = (*_distances(corrected), math.nan)
    columns |= {
        f"halves of {tests.names[0]}": (*_distances(tests.noise_a), tests.vi_within_a),
        f"halves of {tests.names[1]}": (*_distances(tests.agreement, "noise_"), tests.vi_within_b),
    }
    titles = (*_DISTANCES, "variation of information of two draws, bits")
    return FigureTable(
        "Distances between the sources, beside what two halves of one differ by (for the variation of "
        "information, two draws of one); 0 is agreement.",
        ("", *columns),
        tuple((title, *numbers(row)) for title, *row in zip(titles, *columns.values(), strict=True)),
        f"Distance of {tests.names[0]} from {tests.names[1]}",
    )


def cost_section(analysis: Analysis) -> Section | None:
    sources = analysis.sources
    made = [analysis.made(one.key) for one in sources]
    if any(math.isnan(one.seconds) for one in made):
        return None
    # Divided by draws, where nothing says what these are worth.
    effective = [analysis.effective_draws(one.key) for one in sources]
    is_worth = effective != [one.num_draws for one in made]
    unit = "effective draw" if is_worth else "draw"
    each = [seconds(analysis.seconds_each(one.key)) for one in sources]
    rows = (
        ("draws", *(f"{one.num_draws:,}" for one in made)),
        *([("effective draws", *numbers(effective, 0))] if is_worth else []),
        ("seconds, all draws", *(seconds(one.seconds) for one in made)),
        (f"seconds per {unit}", *each),
    )
    table = FigureTable("What the draws cost.", ("", *(one.name for one in sources)), rows, "Cost")
    said = ", ".join(f"{one} by {source.name}" for one, source in zip(each, sources, strict=True))
    return Section("Cost", (table,), gist=f"{'An effective' if is_worth else 'A'} draw: {said}")


_OWN = "point estimate"


def baseline_section(analysis: Analysis, rows: Sequence[BaselineRow]) -> Section:
    """Show what classical methods make of the data, and where each lies in the posterior."""
    known = [row.inside for row in rows if row.inside is not None]
    failed = [Paragraph(f"{row.name} failed: {row.failed}.") for row in rows if row.result is None]
    gist = f"{sum(known)} of {len(known)} lie inside the credible ball" if known else ""
    assert analysis.data is not None
    parts = (
        _baseline_picture(rows, analysis.reference, analysis.data),
        _baseline_table(rows, analysis.reference),
        *failed,
    )
    return Section("What classical methods find", parts, gist=gist)


def _baseline_picture(rows: Sequence[BaselineRow], view: DrawsSummary, data: AnalysedData) -> Picture:
    estimate = view.estimate
    results = [row.result for row in rows if row.result is not None]
    partitions = {} if estimate is None else {_OWN: estimate.assignments}
    partitions |= {one.name: one.assignments for one in results}
    counts = ", ".join(f"{one.num_clusters} by {one.name}" for one in results)
    own = "" if estimate is None else f"the point estimate, with {estimate.num_clusters} clusters, and by "

    def draw(figure: Figure) -> None:
        across = -(-len(partitions) // 2)
        axes = [figure.add_subplot(2, across, place + 1) for place in range(len(partitions))]
        plots.plot_baselines(data.shown, partitions, axes=axes, columns=axis_names(data.shown_columns))

    return Picture(
        draw,
        size=(9, 3.4 if data.shown.shape[1] == 1 else 5.4),
        alternative=f"The rows coloured by {own}classical methods: {counts}.",
        caption="One panel a method, clusters in the colour of the one of the point "
        "estimate that they overlap. None of the others says how sure it is.",
    )


def _baseline_table(rows: Sequence[BaselineRow], view: DrawsSummary) -> FigureTable:
    estimate, ball = view.estimate, view.ball
    own = None
    if estimate is not None:
        own = scores_where_known(view.true_labels, estimate.assignments, row_weights=view.row_weights)
    is_labelled = own is not None or any(row.to_labels is not None for row in rows)
    header = ["", "clusters", "ARI to the estimate", "expected VI, bits", "in the ball"]
    header += ["ARI to the labels", "AMI", "accuracy"] if is_labelled else []
    lines: list[tuple[str, ...]] = []
    if estimate is not None:
        expected = math.nan if ball is None else float(ball.distances.mean())
        first = str(estimate.num_clusters), number(1.0, 2), number(expected), "–" if ball is None else "yes"
        lines.append((f"{_OWN} ({view.name})", *first, *_scores(own)))
    for row in rows:
        if row.result is None:
            lines.append((row.name, "failed", *["–"] * 6))
            continue
        rand = math.nan if row.to_estimate is None else row.to_estimate.adjusted_rand
        figures = number(rand, 2), number(row.expected_vi), YES_OR_NO[row.inside]
        lines.append((row.name, str(row.result.num_clusters), *figures, *_scores(row.to_labels)))
    return FigureTable(
        "Each method from the posterior's point of view: its posterior expected variation of information "
        "(the estimate has the least that was found) and whether it lies in the 95 % credible ball. ARI: "
        "adjusted Rand index; AMI: adjusted mutual information, over the arithmetic mean of the entropies.",
        tuple(header),
        tuple(line[: len(header)] for line in lines),
        "Classical methods",
    )


def _scores(scores: PartitionScores | None) -> tuple[str, ...]:
    if scores is None:
        return ("–",) * 3
    return numbers((scores.adjusted_rand, scores.adjusted_mutual_information, scores.accuracy), 2)


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
