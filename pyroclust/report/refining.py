"""How refined draws came about: proposals, weights, sweeps, and how far each stage is from MCMC."""

from pyroclust.report.parts import FigureTable, Part, Section
from pyroclust.report.words import functional_title, number, p_value, seconds
from pyroclust.results.contents import Refining

__all__ = ["refining_section"]

_PARTS = {
    "draw": "drawing",
    "weigh": "weighing",
    "prepare": "preparing the chains",
    "sweep": "sweeps",
    "look": "looking whether they settled",
    "score": "scoring for the evidence",
}


def refining_section(found: Refining) -> Section:
    """Show what refining did to the guide's draws, and what is left of their distance to MCMC.

    Args:
        found: the refined draws with their distances.
    """
    one = found.draws
    parts: list[Part] = [_distances(found)] if found.distances else []
    parts += [_figures(found), _looks(found), _seconds(found)]
    settled = "Settled" if one.settled else "Not settled"
    gist = (
        f"{settled} after {one.sweeps:,} sweeps from {one.num_ancestors:,} of {one.num_proposals:,} proposals"
    )
    return Section("The refined draws", tuple(parts), is_open=True, gist=gist)


def _distances(found: Refining) -> FigureTable:
    rows = tuple(
        (
            name,
            number(one.total_variation),
            number(one.largest_difference),
            number(one.mean_difference),
            f"{found.limits[name]:g}",
        )
        for name, one in found.distances.items()
    )
    noise = next(iter(found.distances.values()))
    halves = (
        "two halves of MCMC",
        number(noise.noise_total_variation),
        number(noise.noise_largest_difference),
        number(noise.noise_mean_difference),
        "",
    )
    stages = "as drawn, with their importance weights, and after resampling and sweeps"
    if not found.draws.has_weights:
        stages = "as drawn, and after sweeps"
    return FigureTable(
        f"How far the draws of the guide are from MCMC {stages}: total variation of the number of clusters, "
        "and differences of co-assignment probabilities, with the limit on the largest.",
        ("", "clusters", "largest pair", "mean pair", "limit"),
        (*rows, halves),
        "Distance from MCMC",
    )


def _figures(found: Refining) -> FigureTable:
    one = found.draws
    weights = [
        ("efficiency of their weights", number(one.efficiency)),
        ("Pareto k of their weights", number(one.pareto_k, 2)),
    ]
    rows = [
        ("proposals", f"{one.num_proposals:,}"),
        *(weights if one.has_weights else ()),
        ("different proposals that were kept", f"{one.num_ancestors:,}"),
        ("draws", f"{one.draws.assignments.shape[1]:,}"),
        ("sweeps of each", f"{one.sweeps:,}"),
        ("settled", "yes" if one.settled else "no"),
        ("largest nested R-hat", number(one.nested_rhat)),
        ("effective draws", number(one.effective_draws, 0)),
    ]
    resampled = "resampled by their weights, then " if one.has_weights else ""
    return FigureTable(
        f"The guide's draws, {resampled}moved by {one.kernel} until nothing moved.",
        ("", "the refined draws"),
        tuple(rows),
        "Refining",
    )


def _seconds(found: Refining) -> FigureTable:
    parts = found.draws.seconds_of
    return FigureTable(
        "Seconds of each part. The cost of the refined draws is that of drawing, weighing and sweeps.",
        ("", "seconds"),
        tuple((_PARTS.get(part, part), seconds(value)) for part, value in parts.items()),
    )


def _looks(found: Refining) -> FigureTable:
    return FigureTable(
        "What was seen of the draws as they went: a small p says that something still moved since the look "
        "before, and a nested R-hat well above 1 that draws of one proposal are still alike.",
        ("sweeps", "p", "moved most", "by", "nested R-hat", "effective draws"),
        tuple(
            (
                f"{one.sweeps:,}",
                p_value(one.p_value),
                functional_title(one.moved) if one.moved else "–",
                number(one.change),
                number(one.nested_rhat),
                number(one.effective_draws, 0),
            )
            for one in found.draws.seen
        ),
    )
