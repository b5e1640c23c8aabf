"""What draws cost and what they are worth: seconds, importance weights, log evidence."""

from pyroclust import plots
from pyroclust.diagnostics.limits import MAX_PARETO_K
from pyroclust.report.parts import FigureTable, Picture, Section
from pyroclust.report.words import number, seconds
from pyroclust.results.contents import Contents

__all__ = ["cost_section", "weights_section"]


def cost_section(found: Contents) -> Section:
    """Set the cost of the sources beside each other.

    Args:
        found: a result whose sources have seconds.
    """
    sources = found.sources
    rows = (
        ("draws", *(f"{one.num_made:,}" for one in sources)),
        ("effective draws", *(number(one.effective_draws, 0) for one in sources)),
        ("seconds, all draws", *(seconds(one.seconds) for one in sources if one.seconds is not None)),
        ("seconds per effective draw", *(seconds(one.seconds_each) for one in sources)),
    )
    table = FigureTable("What the draws cost.", ("", *(one.name for one in sources)), rows, "Cost")
    each = ", ".join(f"{seconds(one.seconds_each)} by {one.name}" for one in sources)
    return Section("Cost", (table,), gist=f"An effective draw: {each}")


def weights_section(found: Contents) -> Section:
    """Show the guide's importance weights, and the log evidence that follows from them.

    Args:
        found: a result with weights, or with estimates of the evidence.
    """
    table = (_evidence_table(found),) if found.evidences else ()
    if found.weighting is None:
        return Section("The guide's importance weights", table, gist="The log evidence alone")
    log_weights = found.weighting.log_weights
    worth = f"{len(log_weights):,} draws are worth {number(found.weighting.effective_draws, 0)} exact ones"
    picture = Picture(
        lambda figure: plots.plot_log_weights(log_weights, ax=figure.subplots()),
        size=(9, 2.8),
        alternative=f"Histogram of the log importance weights of the guide's draws; {worth}.",
        caption="A perfect guide has all its weight at the dashed line. Draws to the "
        f"right stand for many that the guide should have made. The {worth}. Weights see only where the "
        "guide went: a mode that it never visits does not show here, but above.",
    )
    return Section("The guide's importance weights", (picture, *table), gist=worth)


def _second(found: Contents) -> str:
    return "MCMC" if found.refined is None else "the refined draws"


def _evidence_table(found: Contents) -> FigureTable:
    return FigureTable(
        "Log evidence log p(data) in nats, by draws of the guide (importance sampling), of "
        f"{_second(found)} (reciprocal importance sampling) and of both (bridge sampling). A guide that "
        "leaves out part of the posterior has the first below the others. From Pareto k "
        f"{MAX_PARETO_K:g} on an estimate and its error cannot be relied on.",
        ("", "nats", "standard error", "Pareto k"),
        tuple(
            (one.method, number(one.estimate, 2), number(one.error, 2), number(one.pareto_k, 2))
            for one in found.evidences
        ),
        "Log evidence, nats",
    )
