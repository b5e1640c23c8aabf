"""The page of any analysis: the answer first, then a section for everything that there is something for.

To add a section, write one function from the analysis and a step's result to a
:class:`~pyroclust.report.parts.Section`, and register it under the name of the step.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from pyroclust.attempts import Attempts
from pyroclust.report.agreement import agreement_section
from pyroclust.report.certainty import certainty_section
from pyroclust.report.chains import convergence_section
from pyroclust.report.classical import baseline_section
from pyroclust.report.clusters import (
    apart_section,
    clustering_picture,
    counts_section,
    pairs_section,
    profile_section,
)
from pyroclust.report.constraints import constraints_section
from pyroclust.report.costs import cost_section, weights_section
from pyroclust.report.evidence import evidence_section
from pyroclust.report.missing_cells import missing_section
from pyroclust.report.orders import orders_section
from pyroclust.report.parts import ChecksTable, FigureTable, Page, Paragraph, Part, Picture, Section
from pyroclust.report.refining import beside_mcmc_section, refining_section
from pyroclust.report.rows import rows_section
from pyroclust.report.shapes import shape_sections
from pyroclust.report.simulations import calibration_section, familiarity_section, witnesses_section
from pyroclust.report.words import seconds
from pyroclust.results.analysis import Analysis

__all__ = ["page_of", "register_section"]

_Made = Callable[[Analysis, Any], Section]
_FOOTER = (
    "Uncertainty of a row: the probability that it is apart from its companions in the estimate. Variation "
    "of information is measured in bits; 0 means equal partitions. Effective draws are those of the slowest "
    "functional, of a guide one over the sum of its squared smoothed importance weights."
)
# Sections of results, by the name of their step.
_SECTIONS: dict[str, _Made] = {
    "agreement": beside_mcmc_section,
    "refining": refining_section,
    "weights": lambda found, result: weights_section(result),
    "orders": lambda found, result: orders_section(result),
    "evidence": evidence_section,
    "witnesses": lambda found, result: witnesses_section(result),
    "familiarity": lambda found, result: familiarity_section(result),
    "calibration": lambda found, result: calibration_section(result),
    "constraints": constraints_section,
    "missing": lambda found, result: missing_section(result),
    "baselines": lambda found, result: baseline_section(result, found.reference),
}
_BEFORE = ("constraints", "missing")


def register_section(name: str, make: _Made) -> None:
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
    _SECTIONS[name] = make


def page_of(found: Analysis) -> Page:
    """Return the page of an analysis: the answer, then sections."""
    tries = Attempts()
    sections = [tries.make(f"The section '{title}'", section) for title, section in _sections(found).items()]
    return Page(
        title=f"{found.name}: {found.in_words.num_clusters} clusters",
        kicker=f"pyroclust {found.command}",
        heading=found.name,
        introduction="Interrupted before it was finished: this is what there was."
        if found.interrupted
        else "",
        verdict=found.verdict,
        findings=found.findings,
        answer=found.in_words.lines,
        mark=found.in_words.mark,
        picture=tries.make("The picture of the data", lambda: _picture(found)),
        sections=tuple(section for section in sections if section is not None),
        notes=(*found.notes, *found.failures),
        footer=_FOOTER,
        missing=tries.failures,
    )


def _picture(found: Analysis) -> Picture | None:
    source = found.reference
    if source.data is None or source.summary.estimate is None:
        return None
    if found.data is not None and found.data.shape is not None:
        sections = shape_sections(found.data.shape, found)
        parts = next(iter(sections.values()))().parts if sections else ()
        return next((one for one in parts if isinstance(one, Picture)), None)
    return clustering_picture(source)


def _sections(found: Analysis) -> dict[str, Callable[[], Section]]:
    """Return what makes each section that there is something for, by its name in sentences."""
    shown, results = found.reference, found.results
    every: dict[str, Callable[[], Section]] = {}

    def of_step(name: str) -> None:
        if name in results and name in _SECTIONS:
            every[name] = lambda: _SECTIONS[name](found, results[name])

    every["the number of clusters"] = lambda: counts_section(found)
    if found.data is not None and found.data.shape is not None and shown.summary.estimate is not None:
        every |= shape_sections(found.data.shape, found)
    profiles = shown.summary.profiles
    if profiles is not None:
        every["profiles"] = lambda: profile_section(shown, profiles)
    every["which rows belong together"] = lambda: pairs_section(found)
    if found.data is not None and found.data.described and shown.summary.estimate is not None:
        every["what sets clusters apart"] = lambda: apart_section(found, shown)
    for name in _BEFORE:
        of_step(name)
    every["rows"] = lambda: rows_section(found)
    every["checks"] = lambda: _checks(found)
    every["certainty"] = lambda: certainty_section(found)
    for name in _SECTIONS:
        if name not in _BEFORE:
            of_step(name)
    for name, tests in results.get("two_samples", {}).items():
        every[f"tests of {name}"] = partial(agreement_section, found, name, tests)
    chains = [one for one in found.sources if not one.is_independent]
    for one in chains:
        every[f"convergence of {one.name}"] = partial(convergence_section, one, is_only=len(chains) == 1)
    if all(one.seconds is not None for one in found.sources):
        every["cost"] = lambda: cost_section(found)
    every["how it was computed"] = lambda: _computed(found)
    return every


def _checks(found: Analysis) -> Section:
    parts = (Paragraph(found.verdict.sentence), ChecksTable(found.findings))
    return Section("How far to rely on it", parts, gist=f"{found.verdict.level.value.capitalize()}")


def _computed(found: Analysis) -> Section:
    """Say what was done, how long each step took, and what repeats it."""
    parts: list[Part] = [Paragraph(found.introduction)] if found.introduction else []
    repeat = found.repeat
    if repeat is not None:
        if repeat.command:
            parts.append(Paragraph(f"The command: {repeat.command}"))
        versions = ", ".join(f"{name} {version}" for name, version in repeat.versions.items())
        sums = [
            f"table {repeat.table}" if repeat.table else "",
            f"guide {repeat.guide}" if repeat.guide else "",
        ]
        kept = ", ".join(one for one in sums if one)
        parts.append(Paragraph(f"Seed {repeat.seed}; {versions}{f'; checksums: {kept}' if kept else ''}."))
    if found.not_asked:
        parts.append(
            Paragraph(f"Not asked for: {', '.join(found.not_asked)}. --also NAME asks one, --thorough all.")
        )
    if found.seconds_of:
        rows = tuple((name, seconds(value)) for name, value in found.seconds_of.items())
        parts.append(FigureTable("Wall time of each step.", ("", "time"), rows))
    return Section("How it was computed", tuple(parts))
