"""The command ``pyroclust diagnose``."""

import json
from pathlib import Path
from typing import Annotated

import typer

from pyroclust.cli.console import print_plainly, standard_output
from pyroclust.cli.errors import one_sentence_errors
from pyroclust.cli.reading import (
    Decimal,
    Delimiter,
    Header,
    Told,
    folder_named,
    names_of_columns,
    told,
    told_of,
)
from pyroclust.cli.strictness import Strict, end_strictly
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
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", parser=folder_named, help="For the results; diagnose-DRAWS by default."
        ),
    ] = None,
    overwrite: Annotated[  # noqa: FBT002
        bool, typer.Option("--overwrite", help="Replace the results of another run in that folder.")
    ] = False,
    seed: Annotated[int, typer.Option(metavar="N", help="Same seed, same figures.", min=0)] = 0,
    strict: Strict = False,  # noqa: FBT002
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,  # noqa: FBT002
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing of the stages.")] = False,  # noqa: FBT002
) -> None:
    """Judge draws of a partition from any software: convergence, clusters, certainty.

    No model is needed. With a second source, say whether the two agree. With
    --data, show the points, and classical clusterings beside the posterior.
    A folder that holds anything but results of the very same command is
    refused without --overwrite.
    What is told of text files holds for all that the command reads.
    """
    if other_group is not None and other is None:
        raise ValueError(
            f"--other-group is '{other_group}', but there is no second file: name the first once more to "
            "compare two groups of it"
        )
    options = _told_of_some((draws, other, data), told(delimiter=delimiter, decimal=decimal, header=header))
    folder = Path(f"diagnose-{Path(draws).stem}") if out is None else out
    with stages(first="reading the draws", shown=not quiet) as tell:
        from pyroclust.io.draws import read_draws

        first = read_draws(draws, variable=variable, group=group, **told_of(draws, options))
        second = (
            None
            if other is None
            else read_draws(other, variable=variable, group=other_group, **told_of(other, options))
        )
        from pyroclust.analysis.diagnose import check_table_options
        from pyroclust.analysis.diagnose import diagnose as run
        from pyroclust.data.datasets import read_table

        names = names_of_columns(columns)
        if data is None:
            check_table_options(None, names, label)
            table = None
        else:
            table = read_table(data, columns=names, label=label, **told_of(data, options))
        found = run(
            first,
            second,
            data=table,
            out=folder,
            overwrite=overwrite,
            seed=seed,
            progress=tell,
        )
    if as_json:
        print(json.dumps(found.to_dict(), indent=2, allow_nan=False))
    else:
        from pyroclust.report import terminal_view

        console = standard_output()
        console.print(terminal_view(found), highlight=False)
        print_plainly(console, f"Written: {folder / 'report.html'}, summary.json, points.csv")
    end_strictly(found.verdict, strict=strict)


def _told_of_some(paths: tuple[str | None, ...], options: Told) -> Told:
    if options and not any(told_of(path, options) for path in paths):
        raise ValueError(f"--{next(iter(options))} is given, but no file here is .csv or .tsv: leave it out")
    return options
