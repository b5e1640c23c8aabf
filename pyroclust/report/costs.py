"""What draws cost and what they are worth: seconds, importance weights."""

from collections.abc import Sequence

from pyroclust import plots
from pyroclust.report.parts import FigureTable, Picture, Section
from pyroclust.report.words import number, seconds
from pyroclust.results.analysis import Analysis, Source
from pyroclust.results.weights import Weighting

__all__ = ["cost_section", "unit_of_cost", "weights_section"]


def unit_of_cost(sources: Sequence[Source]) -> str:
    """Return what the seconds of sources are divided by: draws, where nothing says what these are worth."""
    return "draw" if all(one.effective_draws == one.made.num_draws for one in sources) else "effective draw"


def cost_section(found: Analysis) -> Section:
    """Set the cost of the sources beside each other."""
    sources, unit = found.sources, unit_of_cost(found.sources)
    rows = [
        ("draws", *(f"{one.made.num_draws:,}" for one in sources)),
        ("effective draws", *(number(one.effective_draws, 0) for one in sources)),
        ("seconds, all draws", *(seconds(one.seconds) for one in sources if one.seconds is not None)),
        (f"seconds per {unit}", *(seconds(one.seconds_each) for one in sources)),
    ]
    if unit == "draw":
        del rows[1]
    table = FigureTable("What the draws cost.", ("", *(one.name for one in sources)), tuple(rows), "Cost")
    each = ", ".join(f"{seconds(one.seconds_each)} by {one.name}" for one in sources)
    return Section("Cost", (table,), gist=f"{'A draw' if unit == 'draw' else 'An effective draw'}: {each}")


def weights_section(weighting: Weighting) -> Section:
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
