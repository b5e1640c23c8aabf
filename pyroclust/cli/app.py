"""The commands of ``pyroclust``; heavy imports wait until a command runs."""

import json
import math
from pathlib import Path
from typing import Annotated

import typer

from pyroclust.cli.checking import check
from pyroclust.cli.clustering import cluster
from pyroclust.cli.console import print_comparison, standard_output
from pyroclust.cli.diagnosing import diagnose
from pyroclust.cli.errors import one_sentence_errors
from pyroclust.cli.knowing import CannotLink, MustLink, PartialLabels
from pyroclust.cli.modelling import Between, Concentration, ExpectedClusters, Family, Prior, Within
from pyroclust.cli.predicting import predict
from pyroclust.cli.reading import (
    TABLE,
    Columns,
    Decimal,
    Delimiter,
    Edges,
    Header,
    ImageSize,
    Kinds,
    Label,
    Once,
    Pca,
    Source,
    folder_named,
    kinds_of_columns,
    names_of_columns,
    told,
)
from pyroclust.cli.recipe_writing import recipe
from pyroclust.cli.strictness import Strict, end_strictly
from pyroclust.cli.training import train
from pyroclust.cli.updating import update
from pyroclust.progress import stages

__all__ = ["app"]

app = typer.Typer(
    help="Amortized Bayesian clustering: guides beside MCMC on the same Pyro model.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Say nothing of the stages.")]

_DRAWS = "The draws"


def _print_version(wanted: bool) -> None:  # noqa: FBT001  (typer's signature)
    if wanted:
        from pyroclust import __version__

        print(f"pyroclust {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[  # noqa: FBT002
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Amortized Bayesian clustering: guides beside MCMC on the same Pyro model."""


@app.command(cls=Once)
@one_sentence_errors
def compare(
    source: Source,
    columns: Columns = None,
    kinds: Kinds = None,
    label: Label = None,
    pca: Pca = None,
    raw: Annotated[  # noqa: FBT002
        bool, typer.Option("--raw", help="Do not standardise the columns.", rich_help_panel=TABLE)
    ] = False,
    image_size: ImageSize = None,
    edges: Edges = False,  # noqa: FBT002
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    header: Header = None,
    must_link: MustLink = None,
    cannot_link: CannotLink = None,
    partial_labels: PartialLabels = None,
    family: Family = None,
    prior: Prior = None,
    concentration: Concentration = None,
    expected_clusters: ExpectedClusters = None,
    within: Within = None,
    between: Between = None,
    guide: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Guide by name or folder, see 'pyroclust guides'; none for MCMC alone; by default one of "
            "the model, or its exact filter.",
            rich_help_panel=_DRAWS,
        ),
    ] = None,
    condition: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="Hyperparameter that the guide is told.", rich_help_panel=_DRAWS
        ),
    ] = None,
    draws: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Draws of the guide; 1,000 by default, fewer above 5,000 rows.",
            min=10,
            rich_help_panel=_DRAWS,
        ),
    ] = None,
    chains: Annotated[
        int, typer.Option(metavar="N", help="Chains of MCMC.", min=1, rich_help_panel=_DRAWS)
    ] = 4,
    mcmc_draws: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Draws each chain keeps; by default as many as of the guide's default.",
            min=10,
            rich_help_panel=_DRAWS,
        ),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Kernel of the chains: auxiliary, gibbs, gibbs+merge-split, merge-split, merge-split+gibbs, "
            "split-merge, split-merge+gibbs or tempered; by default merge-split+gibbs, above 4 columns "
            "gibbs+merge-split, or auxiliary.",
            rich_help_panel=_DRAWS,
        ),
    ] = None,
    warmup: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Sweeps each chain drops first; by default they go on until they have converged.",
            min=0,
            rich_help_panel=_DRAWS,
        ),
    ] = None,
    calibrate: Annotated[  # noqa: FBT002
        bool,
        typer.Option(
            "--calibrate", help="Also calibrate the guide on data like these.", rich_help_panel=_DRAWS
        ),
    ] = False,
    no_refine: Annotated[  # noqa: FBT002
        bool,
        typer.Option(
            "--no-refine", help="The network alone: no resampling, no sweeps.", rich_help_panel=_DRAWS
        ),
    ] = False,
    tolerance: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            help="Largest difference of two co-assignment probabilities that agrees with MCMC; by default "
            "0.1 for refined draws, 0.15 for others.",
            rich_help_panel=_DRAWS,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Same seed, same draws.", min=0, rich_help_panel=_DRAWS)
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", parser=folder_named, help="For the results; compare-SOURCE by default."
        ),
    ] = None,
    overwrite: Annotated[  # noqa: FBT002
        bool, typer.Option("--overwrite", help="Replace the results of another run in that folder.")
    ] = False,
    strict: Strict = False,  # noqa: FBT002
    as_json: Json = False,  # noqa: FBT002
    quiet: Quiet = False,  # noqa: FBT002
) -> None:
    """Cluster a table by a guide, refined, and by MCMC of its model; write the best.

    Any number of columns: where the shelf has no guide of the model, its
    exact filter takes the guide's place, or with --guide none MCMC stands
    alone.
    Writes report.html, draws.nc, summary.json and assignments.csv. Where the
    model can only be simulated there is no MCMC: the guide's draws stand
    alone.
    A folder that holds anything but results of the very same command is
    refused without --overwrite.
    """
    folder = Path(f"compare-{Path(source).stem}") if out is None else out
    conditions = _conditions(condition or [])
    with stages(first="reading the table and the guide", shown=not quiet) as tell:
        from pyroclust.analysis.compare import compare as run
        from pyroclust.analysis.compare import how_to_read
        from pyroclust.data.datasets import read_table

        options = told(delimiter=delimiter, decimal=decimal, header=header)
        names = names_of_columns(columns)
        result = run(
            read_table(
                source,
                columns=names,
                label=label,
                image_size=image_size,
                edges=edges,
                partial_labels=partial_labels,
                **how_to_read(guide, kinds_of_columns(kinds), family=family, pca=pca),
                **options,
            ),
            must_link=must_link,
            cannot_link=cannot_link,
            guide=guide,
            conditions=conditions,
            family=family,
            prior=prior,
            concentration=concentration,
            expected_clusters=expected_clusters,
            within=within,
            between=between,
            pca=pca,
            raw=raw,
            num_draws=draws,
            num_chains=chains,
            mcmc_draws=mcmc_draws,
            kernel=kernel,
            warmup=warmup,
            calibrate=calibrate,
            refine=not no_refine,
            tolerance=tolerance,
            out=folder,
            overwrite=overwrite,
            seed=seed,
            progress=tell,
        )
    print_comparison(result, folder, as_json=as_json)
    end_strictly(result.verdict, strict=strict)


@app.command(cls=Once)
@one_sentence_errors
def guides(as_json: Json = False) -> None:  # noqa: FBT002
    """List the guides that come with the package, with figures measured on fresh data."""
    from pyroclust.cli.guide_list import guide_list
    from pyroclust.saving.cards import list_guides

    cards = list_guides()
    if as_json:
        print(json.dumps({card.name: json.loads(card.to_json()) for card in cards}, indent=2))
        return
    standard_output().print(guide_list(cards))


def _conditions(given: list[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in given:
        name, _, value = text.partition("=")
        number = _number(value)
        if number is None or not name.strip():
            raise ValueError(f"--condition is '{text}', expected NAME=VALUE such as concentration=0.7")
        if name.strip() in found:
            raise ValueError(f"--condition tells '{name.strip()}' twice, expected one value")
        found[name.strip()] = number
    return found


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


app.command(cls=Once)(recipe)
app.command(cls=Once)(train)
app.command(cls=Once)(check)
app.command(cls=Once)(cluster)
app.command(cls=Once)(diagnose)
app.command(cls=Once)(predict)
app.command(cls=Once)(update)
