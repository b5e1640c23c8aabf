"""The command ``pyroclust predict``."""

import json
import math
from pathlib import Path
from typing import Annotated

import typer

from pyroclust.cli.console import print_plainly, standard_output
from pyroclust.cli.errors import one_sentence_errors
from pyroclust.cli.reading import ComparedFolder, Decimal, Delimiter, Header, told
from pyroclust.progress import stages

__all__ = ["predict"]

_MOST_SHOWN = 20


@one_sentence_errors
def predict(
    folder: ComparedFolder,
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
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,  # noqa: FBT002
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing of the stages.")] = False,  # noqa: FBT002
) -> None:
    """Say to which clusters new rows belong, with probabilities, by the draws of a comparison.

    Rows get the probability of every cluster of the point estimate and of a
    new one, their log density, and the share of old rows that are no more
    likely. Says so where the new rows are unlike the old ones. Clusters are
    numbered as in assignments.csv.
    """
    from rich.table import Table

    from pyroclust.analysis.predicting import predict as run
    from pyroclust.files import replace_file
    from pyroclust.results.frames import csv_text

    path = Path("predictions.csv") if out is None else out
    with stages(first="reading the comparison and the new rows", shown=not quiet):
        options = told(delimiter=delimiter, decimal=decimal, header=header)
        found = run(folder, new, num_draws=draws, seed=seed, **options)
    frame = found.frame()
    try:
        replace_file(path, csv_text(frame).encode("utf-8", "backslashreplace"))
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
