"""The log evidence: what is stated, and every estimate of it."""

from pyroclust.diagnostics import evidence_headline
from pyroclust.diagnostics.limits import MAX_BRIDGE_ERROR, MAX_EVIDENCE_SPREAD, MAX_PARETO_K
from pyroclust.report.parts import FigureTable, Section, Tile
from pyroclust.report.words import number
from pyroclust.results.contents import Contents

__all__ = ["evidence_section", "evidence_tile"]


def evidence_section(found: Contents) -> Section:
    """Show the estimates of log p(data), or log p(data, constraints), which is stated, and why none is.

    Args:
        found: a result with estimates of the evidence.
    """
    headline = evidence_headline(found.evidences)
    said = f"Unknown: {headline.reason}"
    if headline.best is not None:
        said = f"{number(headline.estimate, 2)} nats, standard error {number(headline.error, 2)}"
    table = FigureTable(
        f"Log evidence log p({_of(found)}) in nats. Importance sampling takes the draws of the guide alone, "
        f"reciprocal importance sampling those of {_second(found)} alone, bridge sampling both; annealing "
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
                number(one.pareto_k, 2),
                number(one.spread, 2),
                "yes" if one.is_reliable else "no",
            )
            for one in found.evidences
        ),
        "Log evidence, nats",
    )
    return Section("The log evidence", (table,), gist=said)


def evidence_tile(found: Contents) -> Tile:
    """Return the log evidence as a large number, "unknown" where no estimate of it can be relied on.

    Args:
        found: a result with estimates of the evidence.
    """
    headline = evidence_headline(found.evidences)
    if headline.best is None:
        return Tile("Log evidence", "unknown", headline.reason)
    also = "" if found.constraints is None else "of data and constraints, "
    about = f"{also}nats, standard error {number(headline.error, 2)}, by {headline.best.method}"
    return Tile("Log evidence", number(headline.estimate, 1), about)


def _of(found: Contents) -> str:
    return "data" if found.constraints is None else "data, constraints"


def _second(found: Contents) -> str:
    return "MCMC" if found.refined is None else "the refined draws"
