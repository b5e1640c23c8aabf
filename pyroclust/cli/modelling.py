"""Options that name the model, for the commands that take one."""

from typing import Annotated

import typer

__all__ = ["Concentration", "ExpectedClusters", "Family", "Prior"]

_PANEL = "The model, for standardised columns"

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
