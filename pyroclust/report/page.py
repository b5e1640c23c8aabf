"""The page of any result: a section for everything that the result has to show, in one order.

To add a section, write one function from the :class:`~pyroclust.results.contents.Contents` to a
:class:`~pyroclust.report.parts.Section` and name it in :func:`page_of`; what it needs is a field of the
contents. To add a kind of result, give it the method ``contents``, and add a page to
``tests/report_pages.py``: those are tried in a browser.
"""

from pyroclust.report.agreement import agreement_section
from pyroclust.report.certainty import certainty_section
from pyroclust.report.chains import convergence_section
from pyroclust.report.classical import baseline_section
from pyroclust.report.clusters import clustering_section, counts_section, pairs_section, profile_section
from pyroclust.report.costs import cost_section, weights_section
from pyroclust.report.parts import Page, Section, Tile
from pyroclust.report.rows import rows_section
from pyroclust.report.simulations import calibration_section, familiarity_section
from pyroclust.report.words import number, seconds, times
from pyroclust.results.contents import Contents, Result

__all__ = ["page_of"]


def page_of(result: Result) -> Page:
    """Return the page of a result: verdict, findings, tiles, sections.

    Args:
        result: what an analysis returned.
    """
    found = result.contents()
    return Page(
        title=found.title,
        kicker=found.command,
        heading=found.heading,
        introduction=found.introduction,
        verdict=found.verdict,
        findings=found.findings,
        tiles=(_likeliest(found), *_tiles(found)),
        sections=tuple(_sections(found)),
        notes=found.notes,
        footer=found.footer,
    )


def _sections(found: Contents) -> list[Section]:
    own, has_data = found.reference, found.reference.data is not None
    chains = [one for one in found.sources if not one.is_independent]
    sections = [clustering_section(found)] if has_data else []
    sections += [counts_section(found), pairs_section(found)]
    if found.between is not None:
        sections.append(agreement_section(found))
    sections.append(certainty_section(found))
    if all(one.seconds is not None for one in found.sources):
        sections.append(cost_section(found))
    if found.weighting is not None:
        sections.append(weights_section(found, found.weighting))
    if found.familiarity is not None:
        sections.append(familiarity_section(found.familiarity))
    if found.calibration is not None:
        sections.append(calibration_section(found.calibration))
    sections += [
        convergence_section(one, is_only=len(chains) == 1, is_open=len(found.sources) == 1) for one in chains
    ]
    if has_data:
        sections.append(profile_section(own))
    if found.baselines:
        sections.append(baseline_section(found.baselines, own))
    return [*sections, rows_section(found)]


def _likeliest(found: Contents) -> Tile:
    summary = found.reference.summary
    value = summary.values[summary.probabilities.argmax()]
    shares = [f"{number(one.summary.marginals.counts[value], 2)} by {one.name}" for one in found.sources]
    return Tile("Likeliest number of clusters", str(value), f"probability {', '.join(shares)}")


def _tiles(found: Contents) -> list[Tile]:
    """Return the numbers that people ask for first."""
    if found.weighting is not None:
        return _weighted_tiles(found)
    own, estimate = found.reference, found.reference.summary.estimate
    last = Tile("Speed", seconds(own.seconds_each), "per effective draw")
    if own.seconds is None:
        radius, level = own.summary.ball.radius, own.summary.ball.level
        last = Tile(
            "Credible ball",
            number(radius, 2),
            f"bits around the estimate hold {100 * level:g} % of the draws",
        )
    return [
        Tile("Clusters", str(estimate.num_clusters), "of the point estimate"),
        Tile("Uncertainty", number(estimate.uncertainty.mean(), 2), "mean over rows"),
        last,
    ]


def _weighted_tiles(found: Contents) -> list[Tile]:
    guide, other = found.sources
    best = found.evidences[0]
    return [
        Tile(
            "Effective draws",
            number(guide.effective_draws, 0),
            f"of {guide.num_draws:,} of {guide.name}, by their importance weights",
        ),
        Tile(
            "Speed",
            times(other.seconds_each / guide.seconds_each),
            f"{guide.name} against {other.name}, seconds per effective draw",
        ),
        Tile("Log evidence", number(best.estimate, 1), f"nats, standard error {number(best.error, 2)}"),
    ]
