"""The page of any analysis: the answer first, then a section for everything that there is something for.

To add a section, write one function from the analysis and a step's result to a
:class:`~pyroclust.report.parts.Section`, and register it under the name of the step.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from pyroclust.attempts import Attempts
from pyroclust.data.shapes import Graph, Images, Waveforms
from pyroclust.report.agreement import agreement_section, beside_mcmc_section, cost_section
from pyroclust.report.certainty import certainty_section
from pyroclust.report.chains import convergence_section
from pyroclust.report.classical import baseline_section
from pyroclust.report.clusters import apart_section, counts_section, pairs_section, profile_section
from pyroclust.report.constraints import constraints_section
from pyroclust.report.guide import evidence_section, orders_section, refining_section, weights_section
from pyroclust.report.parts import ChecksTable, FigureTable, Page, Paragraph, Part, Picture, Section
from pyroclust.report.points import (
    clustering_picture,
    graph_section,
    images_section,
    unsure_images_section,
    waveforms_section,
)
from pyroclust.report.rows import missing_section, rows_section
from pyroclust.report.simulations import calibration_section, familiarity_section, witnesses_section
from pyroclust.report.words import seconds
from pyroclust.results.analysis import Analysis
from pyroclust.text import visible

__all__ = ["page_of", "register_section"]

_FOOTER = (
    "Uncertainty of a row: the probability that it is apart from its companions in the estimate. Variation "
    "of information is measured in bits; 0 means equal partitions. Effective draws are those of the slowest "
    "functional, of a guide one over the sum of its squared smoothed importance weights."
)
_Subjects = Callable[[Analysis], Iterable[tuple[Any, ...]]]


class _Entry(NamedTuple):
    """What makes a section of an analysis and a subject, and the subjects that there are: a section each."""

    make: Callable[..., Section]
    of: _Subjects = lambda found: [()]


def _where(holds: Callable[[Analysis], bool]) -> _Subjects:
    return lambda found: [()] if holds(found) else []


def _result(step: str) -> _Subjects:
    return lambda found: [(found.results[step],)] if step in found.results else []


def _shape(kind: type) -> _Subjects:
    def of(found: Analysis) -> list[tuple[Any]]:
        shape = None if found.data is None else found.data.shape
        return [(shape,)] if isinstance(shape, kind) and found.reference.summary.estimate is not None else []

    return of


def checks_section(found: Analysis) -> Section:
    """Show the verdict, and every question behind it."""
    parts = (Paragraph(found.verdict.sentence), ChecksTable(found.findings))
    return Section("How far to rely on it", parts, gist=f"{found.verdict.level.value.capitalize()}")


def computed_section(found: Analysis) -> Section:
    """Say what was done, how long each step took, and what repeats it."""
    parts: list[Part] = [Paragraph(found.introduction)] if found.introduction else []
    repeat = found.repeat
    if repeat is not None:
        if repeat.command:
            parts.append(Paragraph(f"The command: {visible(repeat.command)}"))
        versions = ", ".join(f"{name} {version}" for name, version in repeat.versions.items())
        named = {"table": repeat.table, "guide": repeat.guide}
        sums = ", ".join(f"{name} {value}" for name, value in named.items() if value)
        parts.append(Paragraph(f"Seed {repeat.seed}; {versions}{f'; checksums: {sums}' if sums else ''}."))
    if found.not_asked:
        names = ", ".join(found.not_asked)
        parts.append(Paragraph(f"Not asked for: {names}. --also NAME asks one, --thorough all."))
    if found.seconds_of:
        rows = tuple((name, seconds(value)) for name, value in found.seconds_of.items())
        parts.append(FigureTable("Wall time of each step.", ("", "time"), rows))
    return Section("How it was computed", tuple(parts))


# By their names in sentences, in the order of the page. Steps that are registered come after these.
_SECTIONS: dict[str, _Entry] = {
    "the number of clusters": _Entry(counts_section),
    "the images by cluster": _Entry(images_section, _shape(Images)),
    "the least sure images": _Entry(unsure_images_section, _shape(Images)),
    "the waveforms by cluster": _Entry(waveforms_section, _shape(Waveforms)),
    "the data": _Entry(graph_section, _shape(Graph)),
    "profiles": _Entry(profile_section, _where(lambda found: found.reference.summary.profiles is not None)),
    "which rows belong together": _Entry(pairs_section),
    "what sets clusters apart": _Entry(
        apart_section,
        _where(
            lambda found: (
                found.data is not None
                and bool(found.data.described)
                and found.reference.summary.estimate is not None
            )
        ),
    ),
    "constraints": _Entry(constraints_section, _result("constraints")),
    "missing": _Entry(missing_section, _result("missing")),
    "rows": _Entry(rows_section),
    "checks": _Entry(checks_section),
    "certainty": _Entry(certainty_section),
    "agreement": _Entry(beside_mcmc_section, _result("agreement")),
    "refining": _Entry(refining_section, _result("refining")),
    "weights": _Entry(weights_section, _result("weights")),
    "orders": _Entry(orders_section, _result("orders")),
    "evidence": _Entry(evidence_section, _result("evidence")),
    "witnesses": _Entry(witnesses_section, _result("witnesses")),
    "familiarity": _Entry(familiarity_section, _result("familiarity")),
    "calibration": _Entry(calibration_section, _result("calibration")),
    "baselines": _Entry(baseline_section, _result("baselines")),
}
_LAST: dict[str, _Entry] = {
    "tests of {0}": _Entry(agreement_section, lambda found: found.results.get("two_samples", {}).items()),
    "convergence of {0.name}": _Entry(
        convergence_section,
        lambda found: [(source,) for source in found.sources if not source.is_independent],
    ),
    "cost": _Entry(
        cost_section, _where(lambda found: all(source.seconds is not None for source in found.sources))
    ),
    "how it was computed": _Entry(computed_section),
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
        >>> register_section("doctest", lambda found, result: Section("Mine", (Paragraph(str(result)),)))
        >>> del _SECTIONS["doctest"]
    """
    if name in _SECTIONS:
        raise ValueError(f"the result '{name}' has a section already: choose another name for the step")
    _SECTIONS[name] = _Entry(make, _result(name))


def page_of(found: Analysis) -> Page:
    """Return the page of an analysis: the answer, then sections."""
    tries = Attempts()
    sections: dict[str, Section] = {}
    for template, entry in (_SECTIONS | _LAST).items():
        for subject in entry.of(found):
            name = template.format(*subject)
            made = tries.make(f"The section '{name}'", partial(entry.make, found, *subject))
            sections |= {} if made is None else {name: made}
    return Page(
        title=f"{found.name}: {found.in_words.num_clusters} clusters",
        kicker=f"pyroclust {found.command}",
        heading=found.name,
        introduction="Interrupted before it was finished: this is what there was."
        if found.interrupted
        else "",
        answer=found.in_words.lines,
        mark=found.in_words.mark,
        picture=tries.make("The picture of the data", lambda: _picture(found, sections)),
        sections=tuple(sections.values()),
        notes=(*found.notes, *found.failures),
        footer=_FOOTER,
        missing=tries.failures,
    )


def _picture(found: Analysis, sections: dict[str, Section]) -> Picture | None:
    source = found.reference
    if source.data is None or source.summary.estimate is None:
        return None
    if found.data is None or found.data.shape is None:
        return clustering_picture(source)
    return next((sections[name].pictures[0] for name in _OF_SHAPES if name in sections), None)
