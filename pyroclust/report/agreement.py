"""Sources of draws beside one another: distances with their noise, tests of whole partitions, cost."""

import math
from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from pyroclust import plots
from pyroclust.core.messages import short
from pyroclust.diagnostics import Agreement, SourceComparison
from pyroclust.report.parts import FigureTable, Paragraph, Picture, Section
from pyroclust.report.words import number, numbers, p_value, seconds
from pyroclust.results.analysis import WORDS, Analysis

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
    return Section(f"Tests of {first.name} and {second.name}", (*parts, _table(tests, corrected)), gist=gist)


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


def _table(tests: SourceComparison, corrected: Agreement | None) -> FigureTable:
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
    """Set the cost of the sources beside each other."""
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
