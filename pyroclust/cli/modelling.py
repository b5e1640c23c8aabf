"""Options that name the model, for the commands that take one."""

from typing import Annotated

import typer

__all__ = ["Between", "Concentration", "ExpectedClusters", "Family", "Prior", "Within"]

_PANEL = "The model, for standardised columns"
_GRAPHS = "The model, for graphs"

Family = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Clusters: niw (normal, full covariance), nig (normal, independent columns) or student-t; by "
        "default niw, for one column nig.",
        rich_help_panel=_PANEL,
    ),
]
Prior = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Partition: gamma-crp (Dirichlet process, random concentration), crp, py (Pitman-Yor) or mfm "
        "(mixture of finite mixtures); by default gamma-crp.",
        rich_help_panel=_PANEL,
    ),
]
Concentration = Annotated[
    float | None,
    typer.Option(
        metavar="X", help="Concentration of crp (then the default), py or mfm.", rich_help_panel=_PANEL
    ),
]
ExpectedClusters = Annotated[
    float | None,
    typer.Option(
        metavar="K",
        help="Clusters expected before seeing the rows; sets the prior.",
        rich_help_panel=_PANEL,
    ),
]
Within = Annotated[
    tuple[float, float] | None,
    typer.Option(
        metavar="A B",
        help="Beta law of the rate of edges within a block; 6 3 by default.",
        rich_help_panel=_GRAPHS,
    ),
]
Between = Annotated[
    tuple[float, float] | None,
    typer.Option(
        metavar="A B",
        help="Beta law of the rate of edges between two blocks; 1 5 by default.",
        rich_help_panel=_GRAPHS,
    ),
]
