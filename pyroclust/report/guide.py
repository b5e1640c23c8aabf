"""A guide's draws: their weights, their visiting orders, the evidence by them, and how they were refined."""

from typing import Any

from pyroclust import plots
from pyroclust.diagnostics import evidence_headline
from pyroclust.diagnostics.limits import MAX_BRIDGE_ERROR, MAX_EVIDENCE_SPREAD, MAX_PARETO_K
from pyroclust.report.parts import FigureTable, Picture, Section
from pyroclust.report.words import YES_OR_NO, functional_title, number, numbers, p_value, seconds
from pyroclust.results.analysis import Analysis
from pyroclust.results.weights import Evidence, Orders, Weighting

__all__ = ["evidence_section", "orders_section", "refining_section", "weights_section"]

_PARTS = {
    "draw": "drawing",
    "weigh": "weighing",
    "prepare": "preparing the chains",
    "sweep": "sweeps",
    "look": "looking whether they settled",
    "score": "scoring for the evidence",
}


def weights_section(found: Analysis, weighting: Weighting) -> Section:
    """Show the guide's importance weights."""
    log_weights = weighting.log_weights
    worth = f"{len(log_weights):,} draws are worth {number(weighting.effective_draws, 0)} exact ones"
    picture = Picture(
        lambda figure: plots.plot_log_weights(log_weights, ax=figure.subplots()),
        size=(9, 2.8),
        alternative=f"Histogram of the log importance weights of the guide's draws; {worth}.",
        caption="A perfect guide has all its weight at the dashed line. Draws to the "
        f"right stand for many that the guide should have made. The {worth}. Weights see only where the "
        "guide went: a mode that it never visits does not show here, but above.",
    )
    return Section("The guide's importance weights", (picture,), gist=worth)


def orders_section(found: Analysis, orders: Orders) -> Section:
    """Show the mean number of clusters and the log evidence by each visiting order alone."""
    counts = orders.num_clusters
    figures = {"mean number of clusters": counts}
    figures |= {} if orders.log_evidence is None else {"log evidence, nats": orders.log_evidence}
    by_order = zip(*(one.by_order.tolist() for one in figures.values()), strict=True)
    rows = [(str(place), *numbers(row, 2)) for place, row in enumerate(by_order, 1)]
    rows += [
        ("standard deviation", *numbers((one.spread for one in figures.values()), 2)),
        ("by chance", *numbers((one.by_chance for one in figures.values()), 2)),
        ("p", *(p_value(one.p_value) for one in figures.values())),
    ]
    table = FigureTable(
        "What the guide's draws say by each visiting order alone, as drawn. The posterior does not depend on "
        "the order: what differs by more than chance is the guide's error. Weights and sweeps remove it.",
        ("order", *figures),
        tuple(rows),
        "By visiting order",
    )
    low, high = numbers((counts.by_order.min(), counts.by_order.max()), 2)
    gist = f"Mean numbers of clusters from {low} to {high} by order, as drawn"
    return Section("Does the visiting order matter", (table,), gist=gist)


def evidence_section(found: Analysis, evidence: Evidence) -> Section:
    """Show the estimates of log p(data), or log p(data, constraints), which is stated, and why none is."""
    headline = evidence_headline(evidence.estimates)
    gist = f"Unknown: {headline.reason}"
    if headline.best is not None:
        gist = f"{number(headline.estimate, 2)} nats, standard error {number(headline.error, 2)}"
    what = "data" if found.knowledge is None else "data, constraints"
    second = "the refined draws" if "refined" in found.draws else "MCMC"
    table = FigureTable(
        f"Log evidence log p({what}) in nats. Importance sampling takes the draws of the guide alone, "
        f"reciprocal importance sampling those of {second} alone, bridge sampling both; annealing "
        "lets the kernel of MCMC follow the posterior as points are added, tempering as powers of the "
        "likelihood rise to one, several times over. Importance "
        f"sampling counts below a Pareto k of {MAX_PARETO_K:g}, bridge sampling up to a standard error of "
        f"{MAX_BRIDGE_ERROR:g}, annealing and tempering where repetitions spread at most "
        f"{MAX_EVIDENCE_SPREAD:g} nats; one that does not count has no standard error. Reciprocal importance "
        "sampling never counts.",
        ("", "nats", "standard error", "Pareto k", "spread", "counts"),
        tuple(
            (
                str(one.method),
                number(one.estimate, 2),
                number(one.error, 2) if one.is_reliable else "–",
                *numbers((one.pareto_k, one.spread), 2),
                YES_OR_NO[one.is_reliable],
            )
            for one in evidence.estimates
        ),
        "Log evidence, nats",
    )
    return Section("The log evidence", (table,), gist=gist)


def refining_section(found: Analysis, refinement: Any) -> Section:
    """Show what refining did to the guide's draws."""
    proposals, kept = f"{refinement.proposals.num_draws:,}", f"{refinement.num_ancestors:,}"
    weights, resampled = [], ""
    if refinement.proposals.log_joint is not None:
        resampled = "resampled by their weights, then "
        weights = [
            ("efficiency of their weights", number(refinement.efficiency)),
            ("Pareto k of their weights", number(refinement.pareto_k, 2)),
        ]
    figures = FigureTable(
        f"The guide's draws, {resampled}moved by {refinement.kernel} until nothing moved.",
        ("", "the refined draws"),
        (
            ("proposals", proposals),
            *weights,
            ("different proposals that were kept", kept),
            ("draws", f"{found.draws['refined'].num_draws:,}"),
            ("sweeps of each", f"{refinement.sweeps:,}"),
            ("settled", YES_OR_NO[refinement.settled]),
            ("largest nested R-hat", number(refinement.nested_rhat)),
            ("effective draws", number(refinement.effective_draws, 0)),
        ),
        "Refining",
    )
    looks = FigureTable(
        "What was seen of the draws as they went: a small p says that something still moved since the look "
        "before, and a nested R-hat well above 1 that draws of one proposal are still alike.",
        ("sweeps", "p", "moved most", "by", "nested R-hat", "effective draws"),
        tuple(
            (
                f"{look.sweeps:,}",
                p_value(look.p_value),
                functional_title(look.moved) if look.moved else "–",
                *numbers((look.change, look.nested_rhat)),
                number(look.effective_draws, 0),
            )
            for look in refinement.rounds
        ),
    )
    times = FigureTable(
        "Seconds of each part. The cost of the refined draws is that of drawing, weighing and sweeps.",
        ("", "seconds"),
        tuple((_PARTS.get(part, part), seconds(value)) for part, value in refinement.seconds.items()),
    )
    settled = "Settled" if refinement.settled else "Not settled"
    gist = f"{settled} after {refinement.sweeps:,} sweeps from {kept} of {proposals} proposals"
    return Section("The refined draws", (figures, looks, times), gist=gist)
