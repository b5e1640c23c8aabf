"""The section on whether the data are like those that the guide was trained on."""

from pyroclust import plots
from pyroclust.diagnostics import Familiarity
from pyroclust.report.parts import FigureTable, Mark, Paragraph, Part, Section, VerdictRow
from pyroclust.report.picture import picture_of
from pyroclust.report.words import number, p_value

__all__ = ["familiarity_row", "familiarity_section"]

_UNFAMILIAR = 0.01


def familiarity_row(found: Familiarity) -> VerdictRow:
    """Answer whether the data look like simulations of the guide's model.

    Args:
        found: where the data lie among them.
    """
    alike = found.warning is None
    return VerdictRow(
        "Do the data look like those that the guide was trained on?",
        "Yes" if alike else "No",
        Mark.GOOD if alike else Mark.BAD,
        f"p = {number(found.overall)} among {found.num_simulations:,} simulations",
        f"p above {_UNFAMILIAR:g}, and as many points as in training",
    )


def familiarity_section(found: Familiarity) -> Section:
    """Show where each summary of the data lies among simulated ones.

    Args:
        found: where the data lie.
    """
    parts: list[Part] = [] if found.warning is None else [Paragraph(found.warning)]
    with plots.style():
        figure = plots.new_figure(9, 1.6 + 0.28 * len(found.rows))
        plots.plot_familiarity(found, ax=figure.subplots())
        parts.append(
            picture_of(
                figure,
                alternative=f"Each of {len(found.rows)} summaries of the data among those of "
                f"{found.num_simulations} simulations; overall p = {number(found.overall)}.",
                caption="One line a summary of the data, its mark where it lies among simulations of the "
                "guide's model, whose middle 90 % are the band. Crosses outside say what is unusual: the "
                "guide has seen little of that kind. Marks inside do not say that the model is right.",
            )
        )
    rows = tuple(
        (row.name, number(row.value), f"{number(row.low)} to {number(row.high)}", p_value(row.p_value))
        for row in found.rows
    )
    parts.append(
        FigureTable(
            "Summaries of the data as the guide saw them, and 90 % of the simulations.",
            ("", "data", "simulations", "p"),
            rows,
        )
    )
    gist = found.warning or f"Nothing unusual: p = {number(found.overall)}"
    return Section("Are the data of the training's kind", tuple(parts), gist=gist)
