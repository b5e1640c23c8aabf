"""How refined draws came about: proposals, weights, sweeps, and how far each stage is from MCMC."""

from collections.abc import Mapping
from typing import Any

from pyroclust.diagnostics import Agreement
from pyroclust.report.parts import FigureTable, Part, Section
from pyroclust.report.words import functional_title, number, p_value, seconds
from pyroclust.results.analysis import WORDS, Analysis

__all__ = ["beside_mcmc_section", "refining_section"]

_PARTS = {
    "draw": "drawing",
    "weigh": "weighing",
    "prepare": "preparing the chains",
    "sweep": "sweeps",
    "look": "looking whether they settled",
    "score": "scoring for the evidence",
}


def beside_mcmc_section(found: Analysis, distances: Mapping[str, Agreement]) -> Section:
    """Show how far the guide's draws are from MCMC: as drawn, weighted, refined."""
    noise = next(iter(distances.values()))
    rows = [
        (
            WORDS[name] if name != "guide" else "the guide, as drawn",
            number(one.total_variation),
            number(one.largest_difference),
            number(one.mean_difference),
            f"{found.tolerance_for(name):g}",
        )
        for name, one in distances.items()
    ]
    rows.append(
        (
            "two halves of MCMC",
            number(noise.noise_total_variation),
            number(noise.noise_largest_difference),
            number(noise.noise_mean_difference),
            "",
        )
    )
    table = FigureTable(
        "How far the guide's draws are from MCMC: total variation of the number of clusters, and "
        "differences of "
        "co-assignment probabilities, with the limit on the largest.",
        ("", "clusters", "largest pair", "mean pair", "limit"),
        tuple(rows),
        "Distance from MCMC",
    )
    gist = ", ".join(f"{number(one.largest_difference, 2)} {name}" for name, one in distances.items())
    return Section("The guide against MCMC", (table,), gist=f"Largest difference of a pair: {gist}")


def refining_section(found: Analysis, one: Any) -> Section:
    """Show what refining did to the guide's draws."""
    parts: tuple[Part, ...] = (_figures(found, one), _looks(one), _seconds(one))
    settled = "Settled" if one.settled else "Not settled"
    gist = (
        f"{settled} after {one.sweeps:,} sweeps from {one.num_ancestors:,} of "
        f"{one.proposals.num_draws:,} proposals"
    )
    return Section("The refined draws", parts, gist=gist)


def _figures(found: Analysis, one: Any) -> FigureTable:
    has_weights = one.proposals.log_joint is not None
    weights = [
        ("efficiency of their weights", number(one.efficiency)),
        ("Pareto k of their weights", number(one.pareto_k, 2)),
    ]
    rows = [
        ("proposals", f"{one.proposals.num_draws:,}"),
        *(weights if has_weights else ()),
        ("different proposals that were kept", f"{one.num_ancestors:,}"),
        ("draws", f"{found.draws['refined'].num_draws:,}"),
        ("sweeps of each", f"{one.sweeps:,}"),
        ("settled", "yes" if one.settled else "no"),
        ("largest nested R-hat", number(one.nested_rhat)),
        ("effective draws", number(one.effective_draws, 0)),
    ]
    resampled = "resampled by their weights, then " if has_weights else ""
    return FigureTable(
        f"The guide's draws, {resampled}moved by {one.kernel} until nothing moved.",
        ("", "the refined draws"),
        tuple(rows),
        "Refining",
    )


def _seconds(one: Any) -> FigureTable:
    parts = one.seconds
    return FigureTable(
        "Seconds of each part. The cost of the refined draws is that of drawing, weighing and sweeps.",
        ("", "seconds"),
        tuple((_PARTS.get(part, part), seconds(value)) for part, value in parts.items()),
    )


def _looks(record: Any) -> FigureTable:
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
            for one in record.rounds
        ),
    )
