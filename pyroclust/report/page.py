"""The page of any analysis: the answer first, then a section for everything that there is something for.

To add a section, write one function from the analysis and a step's result to a
:class:`~pyroclust.report.parts.Section`, and register it under the name of the step.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from pyroclust.core.messages import Attempts, visible
from pyroclust.report import certainty, clusters, comparisons, guide, points
from pyroclust.report.parts import ChecksTable, FigureTable, Page, Paragraph, Part, Picture, Section, seconds
from pyroclust.results.analysis import Analysis


def checks_section(analysis: Analysis) -> Section:
    """Show the verdict, and every question behind it."""
    parts = (Paragraph(analysis.verdict.sentence), ChecksTable(analysis.findings))
    return Section("How far to rely on it", parts, gist=f"{analysis.verdict.level.value.capitalize()}")


def computed_section(analysis: Analysis) -> Section:
    """Say what was done, how long each step took, and what repeats it."""
    parts: list[Part] = [Paragraph(analysis.introduction)] if analysis.introduction else []
    repeat = analysis.repeat
    if repeat is not None:
        if repeat.command:
            parts.append(Paragraph(f"The command: {visible(repeat.command)}"))
        versions = ", ".join(f"{name} {version}" for name, version in repeat.versions.items())
        named = {"table": repeat.table, "guide": repeat.guide}
        sums = ", ".join(f"{name} {value}" for name, value in named.items() if value)
        parts.append(Paragraph(f"Seed {repeat.seed}; {versions}{f'; checksums: {sums}' if sums else ''}."))
    if analysis.not_asked:
        names = ", ".join(analysis.not_asked)
        parts.append(Paragraph(f"Not asked for: {names}. --also NAME asks one, --thorough all."))
    if analysis.seconds_of:
        times = tuple((name, seconds(value)) for name, value in analysis.seconds_of.items())
        parts.append(FigureTable("Wall time of each step.", ("", "time"), times))
    return Section("How it was computed", tuple(parts))


def _of(step: str, make: Callable[[Analysis, Any], Section]) -> Callable[[Analysis], Section | None]:
    """Return what makes the section of a step's result, where it is there."""
    return lambda analysis: make(analysis, analysis.results[step]) if step in analysis.results else None


# By their names in sentences, in the order of the page. Steps that are registered come after these.
_SECTIONS: dict[str, Callable[[Analysis], Section | None]] = {
    "the number of clusters": clusters.counts_section,
    "the images by cluster": points.images_section,
    "the least sure images": points.unsure_images_section,
    "the waveforms by cluster": points.waveforms_section,
    "the data": points.graph_section,
    "profiles": clusters.profile_section,
    "which rows belong together": clusters.pairs_section,
    "what sets clusters apart": clusters.apart_section,
    "split_clusters": _of("split_clusters", clusters.split_section),
    "constraints": _of("constraints", comparisons.constraints_section),
    "missing": _of("missing", points.missing_section),
    "rows": points.rows_section,
    "checks": checks_section,
    "certainty": certainty.certainty_section,
    "agreement": _of("agreement", comparisons.beside_mcmc_section),
    "refining": _of("refining", guide.refining_section),
    "weights": _of("weights", guide.weights_section),
    "orders": _of("orders", guide.orders_section),
    "evidence": _of("evidence", guide.evidence_section),
    "witnesses": _of("witnesses", guide.witnesses_section),
    "familiarity": _of("familiarity", guide.familiarity_section),
    "calibration": _of("calibration", guide.calibration_section),
    "baselines": _of("baselines", comparisons.baseline_section),
}
_OF_SHAPES = ("the images by cluster", "the waveforms by cluster", "the data")


def register_section(name: str, make: Callable[[Analysis, Any], Section]) -> None:
    """Show the result of a step of your own on every page where it is there.

    Args:
        name: of the step.
        make: from the analysis and the result to a section.

    Raises:
        ValueError: if that result has a section already.

    Example:
        >>> register_section("doctest", lambda analysis, result: Section("Mine", (Paragraph(str(result)),)))
        >>> del _SECTIONS["doctest"]
    """
    if name in _SECTIONS:
        raise ValueError(f"the result '{name}' has a section already: choose another name for the step")
    _SECTIONS[name] = _of(name, make)


def page_of(analysis: Analysis) -> Page:
    """Return the page of an analysis: the answer, then sections."""
    tries = Attempts()
    makes: dict[str, Callable[[], Section | None]] = {
        name: partial(make, analysis) for name, make in _SECTIONS.items()
    }
    for source, tests in analysis.results.get("two_samples", {}).items():
        makes[f"tests of {source}"] = partial(comparisons.agreement_section, analysis, source, tests)
    for one in analysis.sources:
        if not one.is_independent:
            makes[f"convergence of {one.name}"] = partial(certainty.convergence_section, analysis, one)
    makes |= {
        "cost": partial(comparisons.cost_section, analysis),
        "how it was computed": partial(computed_section, analysis),
    }
    made = {name: tries.value_or_none(f"The section '{name}'", make) for name, make in makes.items()}
    sections = {name: one for name, one in made.items() if one is not None}
    words = analysis.in_words
    return Page(
        title=f"{analysis.name}: {words.num_clusters} clusters{f', given {words.given}' * bool(words.given)}",
        kicker=f"pyroclust {analysis.command}",
        heading=analysis.name,
        introduction="Interrupted before it was finished: this is what there was."
        if analysis.interrupted
        else "",
        answer=words.lines,
        mark=words.mark,
        picture=tries.value_or_none("The picture of the data", lambda: _picture(analysis, sections)),
        sections=tuple(sections.values()),
        notes=(*analysis.notes, *analysis.failures),
        missing=tries.failures,
    )


def _picture(analysis: Analysis, sections: dict[str, Section]) -> Picture | None:
    if analysis.data is None or analysis.data.shape is None:
        return points.clustering_picture(analysis)
    return next((sections[name].pictures[0] for name in _OF_SHAPES if name in sections), None)
