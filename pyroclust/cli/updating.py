"""The command ``pyroclust update``."""

from pathlib import Path
from typing import Annotated

import typer

from pyroclust.cli.console import print_comparison
from pyroclust.cli.errors import one_sentence_errors
from pyroclust.cli.reading import ComparedFolder, Decimal, Delimiter, Header, folder_named, told
from pyroclust.cli.strictness import Strict, end_strictly
from pyroclust.progress import stages

__all__ = ["update"]


@one_sentence_errors
def update(
    folder: ComparedFolder,
    new: Annotated[
        str,
        typer.Argument(
            metavar="NEW", help="More rows: a .csv, .tsv, .parquet, .xlsx or .npy of the same columns."
        ),
    ],
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    header: Header = None,
    draws: Annotated[
        int | None, typer.Option(metavar="N", help="Draws; 1,000 by default, fewer above 5,000 rows.", min=10)
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Same seed, same draws.", min=0)] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", parser=folder_named, help="For the results; FOLDER-updated by default."
        ),
    ] = None,
    overwrite: Annotated[  # noqa: FBT002
        bool, typer.Option("--overwrite", help="Replace the results of another run in that folder.")
    ] = False,
    strict: Strict = False,  # noqa: FBT002
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,  # noqa: FBT002
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing of the stages.")] = False,  # noqa: FBT002
) -> None:
    """Add rows to a table that was clustered: its draws go on, by sequential Monte Carlo.

    The new rows are on the scale of the old ones, under the same model.
    Writes the same files as pyroclust compare, of all rows. Where the new rows
    are many or unlike the old ones, compare all rows anew.
    """
    place = folder.with_name(f"{folder.resolve().name}-updated") if out is None else out
    with stages(first="reading the comparison and the new rows", shown=not quiet) as tell:
        from pyroclust.analysis.updating import update as run

        options = told(delimiter=delimiter, decimal=decimal, header=header)
        result = run(
            folder,
            new,
            num_draws=draws,
            out=place,
            overwrite=overwrite,
            seed=seed,
            progress=tell,
            **options,
        )
    print_comparison(result, place, as_json=as_json)
    end_strictly(result.verdict, strict=strict)
