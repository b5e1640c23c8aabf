"""The page of any result: a section for everything that the result has to show, in one order.

To add a section, write one function from the :class:`~pyroclust.results.contents.Contents` to a
:class:`~pyroclust.report.parts.Section` and name it in :func:`page_of`; what it needs is a field of the
contents. To add a kind of result, give it the method ``contents``, and add a page to
``tests/report_pages.py``: those are tried in a browser.
"""

from collections.abc import Callable
from functools import partial

from pyroclust.attempts import Attempts
from pyroclust.report.agreement import agreement_section, refined_agreement_section
from pyroclust.report.certainty import certainty_section
from pyroclust.report.chains import convergence_section
from pyroclust.report.classical import baseline_section
from pyroclust.report.clusters import (
    apart_section,
    clustering_section,
    counts_section,
    pairs_section,
    profile_section,
)
from pyroclust.report.constraints import constraints_section
from pyroclust.report.costs import cost_section, unit_of_cost, weights_section
from pyroclust.report.evidence import evidence_section, evidence_tile
from pyroclust.report.missing_cells import missing_section
from pyroclust.report.orders import orders_section
from pyroclust.report.parts import Page, Section, Tile
from pyroclust.report.refining import refining_section
from pyroclust.report.rows import rows_section
from pyroclust.report.shapes import shape_sections
from pyroclust.report.simulations import calibration_section, familiarity_section, witnesses_section
from pyroclust.report.words import number, seconds, times
from pyroclust.results.contents import Contents, Result

__all__ = ["page_of"]


def page_of(result: Result) -> Page:
    """Return the page of a result: verdict, findings, tiles, sections.

    Args:
        result: what an analysis returned.
    """
    found, tries = result.contents(), Attempts()
    sections = [tries.make(f"The section '{title}'", section) for title, section in _sections(found).items()]
    return Page(
        title=found.title,
        kicker=found.command,
        heading=found.heading,
        introduction=found.introduction,
        verdict=found.verdict,
        findings=found.findings,
        tiles=tuple(
            tries.make("The row of large numbers", lambda: [_likeliest(found), *_tiles(found)]) or ()
        ),
        sections=tuple(section for section in sections if section is not None),
        notes=found.notes,
        footer=found.footer,
        missing=tries.failures,
    )


def _sections(found: Contents) -> dict[str, Callable[[], Section]]:
    """Return what makes each section that there is something for, by its name in sentences."""
    own, has_data = found.reference, found.reference.data is not None
    every: dict[str, Callable[[], Section]] = {}
    if has_data and own.summary.estimate is not None:
        every |= shape_sections(found.shape, found)
        every.setdefault("the data", lambda: clustering_section(found))
    every["the number of clusters"] = lambda: counts_section(found)
    every["which rows belong together"] = lambda: pairs_section(found)
    if found.constraints is not None:
        every["constraints"] = partial(constraints_section, found, found.constraints)
    if found.refined is not None:
        every["refining"] = partial(refining_section, found.refined)
    if found.refined is not None and found.refined.between is not None:
        every["agreement of the refined draws"] = partial(refined_agreement_section, found)
    if found.between is not None:
        every["agreement of the sources"] = lambda: agreement_section(found)
    every["certainty"] = lambda: certainty_section(found)
    if all(one.seconds is not None for one in found.sources):
        every["cost"] = lambda: cost_section(found)
    if found.weighting is not None:
        every["importance weights"] = partial(weights_section, found.weighting)
    if found.orders is not None:
        every["visiting orders"] = partial(orders_section, found.orders)
    if found.evidences:
        every["evidence"] = lambda: evidence_section(found)
    if found.witnesses is not None:
        every["witnesses"] = partial(witnesses_section, found.witnesses)
    if found.familiarity is not None:
        every["familiarity"] = partial(familiarity_section, found.familiarity)
    if found.calibration is not None:
        every["calibration"] = partial(calibration_section, found.calibration)
    chains = [one for one in found.sources if not one.is_independent]
    for one in chains:
        every[f"convergence of {one.name}"] = partial(
            convergence_section, one, is_only=len(chains) == 1, is_open=len(found.sources) == 1
        )
    if own.summary.profiles is not None:
        every["profiles"] = partial(profile_section, own, own.summary.profiles)
    if found.rows.columns and own.summary.estimate is not None:
        every["what sets clusters apart"] = lambda: apart_section(found, own)
    if found.missing is not None:
        every["missing cells"] = partial(missing_section, found.missing)
    if found.baselines:
        every["classical methods"] = lambda: baseline_section(found.baselines, own)
    every["rows"] = lambda: rows_section(found)
    return every


def _likeliest(found: Contents) -> Tile:
    summary = found.reference.summary
    value = summary.values[summary.probabilities.argmax()]
    shares = [f"{number(one.summary.marginals.counts[value], 2)} by {one.name}" for one in found.sources]
    return Tile("Likeliest number of clusters", str(value), f"probability {', '.join(shares)}")


def _tiles(found: Contents) -> list[Tile]:
    """Return the numbers that people ask for first."""
    if found.weighting is not None:
        return _weighted_tiles(found)
    own, summary = found.reference, found.reference.summary
    tiles = []
    if summary.estimate is not None:
        tiles += [
            Tile("Clusters", str(summary.estimate.num_clusters), "of the point estimate"),
            Tile("Uncertainty", number(summary.estimate.uncertainty.mean(), 2), "mean over rows"),
        ]
    if own.seconds is not None:
        tiles.append(Tile("Speed", seconds(own.seconds_each), f"per {unit_of_cost(found.sources)}"))
    elif summary.ball is not None:
        radius, level = summary.ball.radius, summary.ball.level
        about = f"bits around the estimate hold {100 * level:g} % of the draws"
        tiles.append(Tile("Credible ball", number(radius, 2), about))
    return tiles + _evidence(found)


def _evidence(found: Contents) -> list[Tile]:
    return [evidence_tile(found)] if found.evidences else []


def _weighted_tiles(found: Contents) -> list[Tile]:
    guide, other = found.sources[0], found.sources[-1]
    tiles = [
        Tile(
            "Effective draws",
            number(guide.effective_draws, 0),
            f"of {guide.num_made:,} of {guide.name}, by their importance weights",
        ),
        Tile(
            "Speed",
            times(other.seconds_each / guide.seconds_each),
            f"{guide.name} against {other.name}, seconds per effective draw",
        ),
    ]
    return tiles + _evidence(found)
