"""Whether two sources of draws agree: distances with their noise, and tests of whole partitions."""

import math

from matplotlib.figure import Figure

from pyroclust import plots
from pyroclust.diagnostics import Agreement, SourceComparison
from pyroclust.report.parts import FigureTable, Paragraph, Picture, Section
from pyroclust.report.words import number, p_value
from pyroclust.results.analysis import Analysis, Source
from pyroclust.text import short

__all__ = ["agreement_section"]

_DISTANCES = {
    "number of clusters, total variation": "total_variation",
    "co-assignment, largest difference": "largest_difference",
    "co-assignment, mean difference": "mean_difference",
}


def agreement_section(found: Analysis, name: str, tests: SourceComparison) -> Section:
    """Show how far a source and the last one are apart, beside what chance makes of their own draws."""
    first, second = found.source(name), found.sources[-1]
    seed = found.seed
    corrected = found.results.get("agreement", {}).get("weighted") if name == "guide" else None
    parts = (
        Paragraph(tests.verdict.sentence),
        _marginals(tests),
        _distances(tests, first, second, seed),
        _map(tests, first, second, seed),
        _nulls(tests),
        _findings(tests),
        _distance_table(tests, corrected),
    )
    gist = (
        f"Draws are {number(tests.vi_between, 2)} bits apart between the sources, "
        f"{number(tests.vi_within_a, 2)} and {number(tests.vi_within_b, 2)} within them"
    )
    return Section(f"Tests of {first.name} and {second.name}", parts, gist=gist)


def _marginals(found: SourceComparison) -> Picture:
    one = found.agreement
    return Picture(
        lambda figure: plots.plot_agreement(one, ax=figure.subplots(), tolerance=found.tolerance),
        size=(9, 2.8),
        alternative="Distances between the sources with their noise floors: total variation of the "
        f"number of clusters {number(one.total_variation)} (noise {number(one.noise_total_variation)}), "
        f"largest co-assignment difference {number(one.largest_difference)} "
        f"(noise {number(one.noise_largest_difference)}).",
        caption=f"Full marks are distances between {found.names[0]} and "
        f"{found.names[1]}, hollow ones those between two halves of {found.names[1]}: what chance alone "
        "makes. The strokes are the limits of the verdict.",
    )


def _distances(found: SourceComparison, first: Source, second: Source, seed: int) -> Picture:
    return Picture(
        lambda figure: plots.plot_two_samples(
            first.draws.assignments,
            second.draws.assignments,
            ax=figure.subplots(),
            seed=seed,
            names=(_label(first), _label(second)),
        ),
        size=(9, 3.2),
        alternative="Distances between draws within and between the sources: on average "
        f"{number(found.vi_between, 2)} bits between, {number(found.vi_within_a, 2)} and "
        f"{number(found.vi_within_b, 2)} within.",
        caption="Distances of pairs of draws. Where the sources sample the same, the three curves lie "
        "over each other; a third one right of the others means that they do not.",
    )


def _map(found: SourceComparison, first: Source, second: Source, seed: int) -> Picture:
    return Picture(
        lambda figure: plots.plot_partition_map(
            first.draws.assignments,
            second.draws.assignments,
            ax=figure.subplots(),
            seed=seed,
            names=(_label(first), _label(second)),
        ),
        size=(6.5, 4.6),
        alternative=f"A map of draws of {found.names[0]} and {found.names[1]}, similar ones near.",
        caption="Every mark is a draw, and near marks are similar partitions, as far as a plane can show "
        "it. The sources should be mixed; groups are modes.",
    )


def _nulls(found: SourceComparison) -> Picture:
    tests = {"squared MMD": found.mmd, "accuracy of a classifier": found.classifier}

    def draw(figure: Figure) -> None:
        for ax, (name, test) in zip(figure.subplots(1, 2), tests.items(), strict=True):
            plots.plot_permutation_null(test, ax=ax, statistic=name)

    return Picture(
        draw,
        size=(9, 2.8),
        alternative=f"Null distributions of two tests; p {p_value(found.mmd.p_value)} by the kernel "
        f"test, {p_value(found.classifier.p_value)} by the classifier.",
        caption="The bars are what the statistic would be if the draws had been dealt to "
        "the two sources at random, the line is what it is. A line right of the bars means that the "
        "sources differ; whether by much, the distances above say.",
    )


def _label(view: Source) -> str:
    """Return the name, short enough for a legend."""
    return short(view.name, 18)


def _findings(found: SourceComparison) -> FigureTable:
    return FigureTable(
        "What the verdict on the two sources rests on. Worth "
        f"{number(found.effective_a, 0)} ({found.names[0]}) and {number(found.effective_b, 0)} "
        f"({found.names[1]}) effective draws in these tests.",
        ("", "answer", "measured", "limit"),
        tuple((one.question, one.answer, one.sentence, one.wanted) for one in found.verdict.findings),
    )


def _distance_table(found: SourceComparison, corrected: Agreement | None) -> FigureTable:
    rows = []
    for title, field in _DISTANCES.items():
        row = [title, getattr(found.agreement, field)]
        row += [] if corrected is None else [getattr(corrected, field)]
        row += [getattr(found.noise_a, field), getattr(found.agreement, f"noise_{field}")]
        rows.append((title, *(number(value) for value in row[1:])))
    halves = [f"halves of {name}" for name in found.names]
    bits = [
        found.vi_between,
        *([] if corrected is None else [math.nan]),
        found.vi_within_a,
        found.vi_within_b,
    ]
    rows.append(("variation of information of two draws, bits", *(number(one) for one in bits)))
    return FigureTable(
        "Distances between the sources, beside what two halves of one differ by (for the variation of "
        "information, two draws of one); 0 is agreement.",
        ("", "between", *([] if corrected is None else ["between, weighted"]), *halves),
        tuple(rows),
        f"Distance of {found.names[0]} from {found.names[1]}",
    )
