"""The command ``pyroclust diagnose``."""

import json
from pathlib import Path
from typing import Annotated

import typer

from pyroclust.cli.console import names_of_columns, standard_output
from pyroclust.cli.errors import one_sentence_errors
from pyroclust.progress import stages

__all__ = ["diagnose"]


@one_sentence_errors
def diagnose(
    draws: Annotated[
        str,
        typer.Argument(metavar="DRAWS", help="Draws: a .csv, .tsv, .npy, .npz or .nc file."),
    ],
    other: Annotated[
        str | None,
        typer.Argument(metavar="OTHER", help="A second source, to compare the first with."),
    ] = None,
    variable: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the labels in the files.")
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Group of the first .nc file, such as guide."),
    ] = None,
    other_group: Annotated[
        str | None, typer.Option(metavar="NAME", help="Group of the second .nc file.")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(metavar="SOURCE", help="Table that was clustered, one row a point, in their order."),
    ] = None,
    columns: Annotated[str | None, typer.Option(metavar="A,B", help="Columns of the table.")] = None,
    label: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of known labels in the table.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="For the results; diagnose-DRAWS by default.")
    ] = None,
    overwrite: Annotated[  # noqa: FBT002
        bool, typer.Option("--overwrite", help="Replace the results of another run in that folder.")
    ] = False,
    seed: Annotated[int, typer.Option(metavar="N", help="Same seed, same figures.", min=0)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,  # noqa: FBT002
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing of the stages.")] = False,  # noqa: FBT002
) -> None:
    """Judge draws of a partition from any software: convergence, clusters, certainty.

    No model is needed. With a second source, say whether the two agree. With
    --data, show the points, and classical clusterings beside the posterior.
    A folder that holds anything but results of the very same command is
    refused without --overwrite.
    """
    if other_group is not None and other is None:
        raise ValueError(
            f"--other-group is '{other_group}', but there is no second file: name the first once more to "
            "compare two groups of it"
        )
    folder = Path(f"diagnose-{Path(draws).stem}") if out is None else out
    with stages(first="reading the draws", shown=not quiet) as tell:
        from pyroclust.io.draws import read_draws

        first = read_draws(draws, variable=variable, group=group)
        second = None if other is None else read_draws(other, variable=variable, group=other_group)
        from pyroclust.analysis.diagnose import diagnose as run

        found = run(
            first,
            second,
            data=data,
            columns=names_of_columns(columns),
            label=label,
            out=folder,
            overwrite=overwrite,
            seed=seed,
            progress=tell,
        )
    if as_json:
        print(json.dumps(found.to_dict(), indent=2, allow_nan=False))
        return
    from pyroclust.report import terminal_view

    console = standard_output()
    console.print(terminal_view(found), highlight=False)
    console.print(f"Written: {folder / 'report.html'}, summary.json, points.csv", highlight=False)
