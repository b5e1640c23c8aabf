"""Options that say what is known of rows, for the commands that keep to it."""

from typing import Annotated

import typer

__all__ = ["CannotLink", "MustLink", "PartialLabels"]

_PANEL = "What is known of rows"

MustLink = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="A .csv or .tsv of two columns: pairs of rows that belong together, by their names in the "
        "column 'row' of assignments.csv, which count from 1 unless the table names its rows.",
        rich_help_panel=_PANEL,
    ),
]
CannotLink = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Likewise: pairs of rows that are apart.", rich_help_panel=_PANEL),
]
PartialLabels = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of known labels, empty where nothing is known; used and not clustered.",
        rich_help_panel=_PANEL,
    ),
]
