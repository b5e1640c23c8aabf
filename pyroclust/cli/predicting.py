"""The commands that go on from an analysis: predict and update."""

import json
import math
from pathlib import Path
from typing import Annotated

import typer

from pyroclust.cli.console import print_analysis, print_plainly, standard_output
from pyroclust.cli.errors import one_sentence_errors
from pyroclust.cli.options import (
    AnalysisFolder,
    Decimal,
    Delimiter,
    Header,
    Json,
    Out,
    Overwrite,
    Quiet,
    Seed,
    Strict,
    Verbose,
    reading_options,
)
from pyroclust.progress import stages

__all__ = ["predict", "update"]

_MOST_SHOWN = 20


@one_sentence_errors
def predict(
    folder: AnalysisFolder,
    new: Annotated[
        str,
        typer.Argument(
            metavar="NEW", help="New rows: a .csv, .tsv, .parquet, .xlsx or .npy of the same columns."
        ),
    ],
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    header: Header = None,
    draws: Annotated[int, typer.Option(metavar="N", help="Most draws that are averaged over.", min=1)] = 400,
    seed: Annotated[int, typer.Option(metavar="N", help="Same seed, same figures.", min=0)] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="For the rows, as CSV; predictions.csv by default.", dir_okay=False
        ),
    ] = None,
    overwrite: Annotated[  # noqa: FBT002
        bool, typer.Option("--overwrite", help="Replace an earlier prediction there, if nobody changed it.")
    ] = False,
    as_json: Json = False,  # noqa: FBT002
    quiet: Quiet = False,  # noqa: FBT002
) -> None:
    """Say to which clusters new rows belong, with probabilities, by the draws of a comparison.

    Rows get the probability of every cluster of the point estimate and of a
    new one, their log density, and the share of old rows that are no more
    likely. Says so where the new rows are unlike the old ones. Clusters are
    numbered as in assignments.csv.
    """
    from rich.table import Table

    from pyroclust.analysis.predicting import predict as run
    from pyroclust.files import check_file, write_file
    from pyroclust.results.files import csv_text

    path = Path("predictions.csv") if out is None else out
    place = {"overwrite": overwrite, "inputs": [Path(new)]}
    check_file(path, **place)
    with stages(first="reading the analysis and the new rows", shown=not quiet):
        options = reading_options(delimiter=delimiter, decimal=decimal, header=header)
        found = run(folder, new, num_draws=draws, seed=seed, **options)
    frame = found.frame()
    try:
        write_file(path, csv_text(frame).encode("utf-8", "backslashreplace"), **place)
    except OSError as error:
        raise ValueError(f"cannot write '{path}' ({error.strerror}); choose another with --out") from None
    if as_json:
        rows = json.loads(frame.to_json(orient="records", double_precision=15))
        p_value = _known(found.likeness.p_value)
        print(json.dumps({"rows": rows, "p_value": p_value, "warning": found.warning}, indent=2))
        return
    console = standard_output()
    shown = Table("row", "cluster", "probability", "new", "log density", "typicality")
    for at in range(min(len(frame), _MOST_SHOWN)):
        probabilities = found.probabilities[at]
        shown.add_row(
            found.row_names[at],
            frame["cluster"][at],
            f"{probabilities.max():.3f}",
            f"{probabilities[-1]:.3f}",
            f"{found.log_density[at]:.2f}",
            f"{found.typicality[at]:.2f}",
        )
    console.print(shown)
    if len(frame) > _MOST_SHOWN:
        print_plainly(console, f"and {len(frame) - _MOST_SHOWN:,} more rows")
    for sentence in (*found.notes, *([] if found.warning is None else [found.warning])):
        print_plainly(console, sentence)
    print_plainly(console, f"Written: {path}")


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


@one_sentence_errors
def update(
    folder: AnalysisFolder,
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
    seed: Seed = 0,
    out: Out = None,
    overwrite: Overwrite = False,  # noqa: FBT002
    strict: Strict = False,  # noqa: FBT002
    as_json: Json = False,  # noqa: FBT002
    quiet: Quiet = False,  # noqa: FBT002
    verbose: Verbose = False,  # noqa: FBT002
) -> None:
    """Add rows to a table that was clustered: its draws go on, by sequential Monte Carlo.

    The new rows are on the scale of the old ones, under the same model.
    Writes the same files as pyroclust compare, of all rows, into
    FOLDER-updated. Where the new rows are many or unlike the old ones,
    compare all rows anew.
    """
    place = folder.with_name(f"{folder.resolve().name}-updated") if out is None else out
    with stages(first="reading the analysis and the new rows", shown=not quiet) as tell:
        from pyroclust.analysis.updating import update as run

        reading = reading_options(delimiter=delimiter, decimal=decimal, header=header)
        found = run(
            folder,
            new,
            num_draws=draws,
            out=place,
            overwrite=overwrite,
            seed=seed,
            progress=tell,
            **reading,
        )
    print_analysis(found, place, as_json=as_json, verbose=verbose, strict=strict)
