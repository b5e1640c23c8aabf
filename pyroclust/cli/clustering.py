"""The command ``pyroclust cluster``."""

import json
from pathlib import Path
from typing import Annotated

import typer

from pyroclust.analysis.settings import NOISE_SCALE
from pyroclust.cli.console import print_plainly, standard_output
from pyroclust.cli.errors import one_sentence_errors
from pyroclust.cli.knowing import CannotLink, MustLink, PartialLabels
from pyroclust.cli.reading import (
    TABLE,
    Columns,
    Decimal,
    Delimiter,
    Header,
    Label,
    Pca,
    folder_named,
    names_of_columns,
    told,
)
from pyroclust.progress import stages

__all__ = ["cluster"]

_FOREST = "The forest"


@one_sentence_errors
def cluster(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help="galaxies, iris, or a .csv, .tsv, .parquet, .xlsx or .npy of rows."
        ),
    ],
    columns: Columns = None,
    label: Label = None,
    pca: Pca = None,
    raw: Annotated[  # noqa: FBT002
        bool, typer.Option("--raw", help="Do not standardise the columns.", rich_help_panel=TABLE)
    ] = False,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    header: Header = None,
    must_link: MustLink = None,
    cannot_link: CannotLink = None,
    partial_labels: PartialLabels = None,
    clusters: Annotated[
        int | None,
        typer.Option(metavar="K", help="Trees of every forest.", min=1, rich_help_panel=_FOREST),
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Or draw their number from that of the clusters of a prior: gamma-crp, crp, py or mfm.",
            rich_help_panel=_FOREST,
        ),
    ] = None,
    concentration: Annotated[
        float | None,
        typer.Option(metavar="X", help="Concentration of crp, py or mfm.", rich_help_panel=_FOREST),
    ] = None,
    expected_clusters: Annotated[
        float | None,
        typer.Option(metavar="K", help="Mean of that number; sets the prior.", rich_help_panel=_FOREST),
    ] = None,
    noise_scale: Annotated[
        float,
        typer.Option(
            metavar="E",
            help="Noise of a similarity, in standard deviations of all similarities (negative squared "
            "distances); 0 is single linkage.",
            min=0.0,
            rich_help_panel=_FOREST,
        ),
    ] = NOISE_SCALE,
    draws: Annotated[int, typer.Option(metavar="N", help="Forests.", min=10, rich_help_panel=_FOREST)] = 1000,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Same seed, same draws.", min=0, rich_help_panel=_FOREST)
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", parser=folder_named, help="For the results; cluster-SOURCE by default."
        ),
    ] = None,
    overwrite: Annotated[  # noqa: FBT002
        bool, typer.Option("--overwrite", help="Replace the results of another run in that folder.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,  # noqa: FBT002
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing of the stages.")] = False,  # noqa: FBT002
) -> None:
    """Cluster a table by spanning forests of its rows, without a model.

    The trees of the heaviest forest are the clusters; noise on the
    similarities says how sure they are. With --noise-scale 0 it is single
    linkage. Say how many trees by --clusters, or by a prior.
    Writes report.html, draws.nc, summary.json and assignments.csv.
    A folder that holds anything but results of the very same command is
    refused without --overwrite.
    """
    folder = Path(f"cluster-{Path(source).stem}") if out is None else out
    with stages(first="reading the table", shown=not quiet) as tell:
        from pyroclust.analysis.cluster import cluster as run
        from pyroclust.data.datasets import read_table

        options = told(delimiter=delimiter, decimal=decimal, header=header)
        names = names_of_columns(columns)
        found = run(
            read_table(source, columns=names, label=label, partial_labels=partial_labels, **options),
            num_clusters=clusters,
            prior=prior,
            concentration=concentration,
            expected_clusters=expected_clusters,
            noise_scale=noise_scale,
            pca=pca,
            raw=raw,
            must_link=must_link,
            cannot_link=cannot_link,
            num_draws=draws,
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
    print_plainly(console, f"Written: {folder / 'report.html'}, draws.nc, summary.json, assignments.csv")
