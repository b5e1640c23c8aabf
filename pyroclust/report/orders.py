"""What a guide's draws say by each of its visiting orders."""

from pyroclust.report.parts import FigureTable, Section
from pyroclust.report.words import number, p_value
from pyroclust.results.weights import Orders

__all__ = ["orders_section"]


def orders_section(found: Orders) -> Section:
    """Show the mean number of clusters and the log evidence by each visiting order alone."""
    counts, evidence = found.num_clusters, found.log_evidence
    figures = {"mean number of clusters": counts}
    figures |= {} if evidence is None else {"log evidence, nats": evidence}
    rows = [(str(place + 1), *map(_two, row)) for place, row in enumerate(zip(*_columns(found), strict=True))]
    rows += [
        ("standard deviation", *(_two(one.spread) for one in figures.values())),
        ("by chance", *(_two(one.by_chance) for one in figures.values())),
        ("p", *(p_value(one.p_value) for one in figures.values())),
    ]
    table = FigureTable(
        "What the guide's draws say by each visiting order alone, as drawn. The posterior does not depend on "
        "the order: what differs by more than chance is the guide's error. Weights and sweeps remove it.",
        ("order", *figures),
        tuple(rows),
        "By visiting order",
    )
    low, high = counts.by_order.min(), counts.by_order.max()
    gist = f"Mean numbers of clusters from {_two(low)} to {_two(high)} by order, as drawn"
    return Section("Does the visiting order matter", (table,), gist=gist)


def _columns(found: Orders) -> list[list[float]]:
    every = (found.num_clusters, found.log_evidence)
    return [one.by_order.tolist() for one in every if one is not None]


def _two(value: float) -> str:
    return number(value, 2)
