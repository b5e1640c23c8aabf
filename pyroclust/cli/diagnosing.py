"""The command ``pyroclust diagnose``."""

from pathlib import Path
from typing import Annotated

import typer

from pyroclust.cli.console import print_analysis
from pyroclust.cli.errors import one_sentence_errors
from pyroclust.cli.options import (
    Decimal,
    Delimiter,
    Header,
    Json,
    Out,
    Overwrite,
    Quiet,
    Reading,
    Seed,
    Strict,
    Verbose,
    python_arguments,
    reading_of,
    reading_options,
)
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
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    header: Header = None,
    out: Out = None,
    overwrite: Overwrite = False,  # noqa: FBT002
    seed: Seed = 0,
    strict: Strict = False,  # noqa: FBT002
    as_json: Json = False,  # noqa: FBT002
    quiet: Quiet = False,  # noqa: FBT002
    verbose: Verbose = False,  # noqa: FBT002
) -> None:
    """Judge draws of a partition from any software: convergence, clusters, certainty.

    No model is needed. With a second source, say whether the two agree. With
    --data, show the points, and classical clusterings beside the posterior.
    A folder that holds anything but results of the very same command is
    refused without --overwrite.
    What is said of text files holds for all that the command reads.
    """
    if other_group is not None and other is None:
        raise ValueError(
            f"--other-group is '{other_group}', but there is no second file: name the first once more to "
            "compare two groups of it"
        )
    options = _said_of_some(
        (draws, other, data), reading_options(delimiter=delimiter, decimal=decimal, header=header)
    )
    folder = Path(f"diagnose-{Path(draws).stem}") if out is None else out
    with stages(first="reading the draws", shown=not quiet) as tell:
        from pyroclust.analysis.diagnose import check_table_options, diagnose_draws
        from pyroclust.data.datasets import read_table
        from pyroclust.io.draws import read_draws

        sources = [read_draws(draws, variable=variable, group=group, **reading_of(draws, options))]
        if other is not None:
            sources.append(
                read_draws(other, variable=variable, group=other_group, **reading_of(other, options))
            )
        names = python_arguments({"columns": columns})["columns"]
        if data is None:
            check_table_options(None, names, label)
            table = None
        else:
            table = read_table(data, columns=names, label=label, **reading_of(data, options))
        asked = {"variable": variable, "group": group, "other_group": other_group, "data": data}
        found = diagnose_draws(
            sources,
            table=table,
            typed=(
                (draws,) if other is None else (draws, other),
                {**asked, "columns": names, "label": label, **options},
            ),
            out=folder,
            overwrite=overwrite,
            seed=seed,
            tell=tell,
        )
    print_analysis(found, folder, as_json=as_json, verbose=verbose, strict=strict)


def _said_of_some(paths: tuple[str | None, ...], options: Reading) -> Reading:
    if options and not any(reading_of(path, options) for path in paths):
        raise ValueError(f"--{next(iter(options))} is given, but no file here is .csv or .tsv: leave it out")
    return options
