"""The log evidence: what is stated, and every estimate of it."""

from pyroclust.diagnostics import evidence_headline
from pyroclust.diagnostics.limits import MAX_BRIDGE_ERROR, MAX_EVIDENCE_SPREAD, MAX_PARETO_K
from pyroclust.report.parts import FigureTable, Section
from pyroclust.report.words import number
from pyroclust.results.analysis import Analysis
from pyroclust.results.weights import Evidence

__all__ = ["evidence_section"]


def evidence_section(found: Analysis, evidence: Evidence) -> Section:
    """Show the estimates of log p(data), or log p(data, constraints), which is stated, and why none is."""
    headline = evidence_headline(evidence.estimates)
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
            for one in evidence.estimates
        ),
        "Log evidence, nats",
    )
    return Section("The log evidence", (table,), gist=said)


def _of(found: Analysis) -> str:
    return "data" if found.knowledge is None else "data, constraints"


def _second(found: Analysis) -> str:
    return "MCMC" if "refined" not in found.draws else "the refined draws"
