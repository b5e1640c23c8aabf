"""The commands of ``pyroclust``; heavy imports wait until a command runs."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pyroclust.cli.checking import check
from pyroclust.cli.diagnosing import diagnose
from pyroclust.cli.errors import one_sentence_errors
from pyroclust.cli.training import train
from pyroclust.progress import stages

__all__ = ["app", "main"]

app = typer.Typer(
    help="Amortized Bayesian clustering: guides beside MCMC on the same Pyro model.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line with ``sys.argv`` or the given arguments, and exit."""
    app(args=None if arguments is None else list(arguments), prog_name="pyroclust")


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


@app.command()
@one_sentence_errors
def compare(
    source: Annotated[str, typer.Argument(help="galaxies, iris, or a .csv, .tsv, .parquet or .npy file.")],
    guide: Annotated[
        str | None, typer.Option(help="Guide by name or folder; see 'pyroclust guides'.")
    ] = None,
    condition: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE of a hyperparameter that the guide is told.")
    ] = None,
    columns: Annotated[str | None, typer.Option(help="Columns to cluster, separated by commas.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of reference labels, not clustered.")] = None,
    pca: Annotated[int | None, typer.Option(help="Cluster this many principal components.")] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Do not standardise the columns.")] = False,  # noqa: FBT002
    draws: Annotated[int, typer.Option(help="Draws of the guide.", min=10)] = 1000,
    chains: Annotated[int, typer.Option(help="Gibbs chains.", min=1)] = 4,
    mcmc_draws: Annotated[
        int, typer.Option(help="Draws each chain keeps, one in ten sweeps.", min=10)
    ] = 1000,
    calibrate: Annotated[  # noqa: FBT002
        bool, typer.Option("--calibrate", help="Also calibrate the guide on simulations near the data.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results; compare-SOURCE by default.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same draws.", min=0)] = 0,
    as_json: Json = False,  # noqa: FBT002
) -> None:
    """Compare a guide's posterior of the partition with MCMC on the same model, if that has a likelihood."""
    folder = Path(f"compare-{Path(source).stem}") if out is None else out
    with stages(first="reading the table and the guide") as tell:
        from pyroclust.analysis.compare import compare as run
        from pyroclust.analysis.outputs import summary_content
        from pyroclust.cli.comparison_table import comparison_view

        result = run(
            source,
            guide=guide,
            conditions=_conditions(condition or []),
            columns=None if columns is None else [name.strip() for name in columns.split(",")],
            label=label,
            pca=pca,
            raw=raw,
            num_draws=draws,
            num_chains=chains,
            mcmc_draws=mcmc_draws,
            calibrate=calibrate,
            out=folder,
            seed=seed,
            progress=tell,
        )
    if as_json:
        print(json.dumps(summary_content(result.comparison, result.summary, seed=seed), indent=2))
        return
    console = _console()
    console.print(comparison_view(result.comparison, result.summary))
    console.print(
        f"Written: {folder / 'report.html'}, draws.nc, summary.json, assignments.csv", highlight=False
    )


@app.command()
@one_sentence_errors
def guides(as_json: Json = False) -> None:  # noqa: FBT002
    """List the guides that come with the package, with figures measured on fresh data."""
    from pyroclust.cli.tables import guides_table
    from pyroclust.saving.cards import list_guides

    cards = list_guides()
    if as_json:
        print(json.dumps({card.name: json.loads(card.to_json()) for card in cards}, indent=2))
        return
    _console().print(guides_table(cards))


def _conditions(given: list[str]) -> dict[str, float]:
    found = {}
    for text in given:
        name, _, value = text.partition("=")
        try:
            found[name] = float(value)
        except ValueError:
            raise ValueError(
                f"--condition is '{text}', expected NAME=VALUE such as concentration=0.7"
            ) from None
    return found


def _console() -> Console:
    # Tables cut to 80 columns in a pipe would lose figures.
    return Console() if sys.stdout.isatty() else Console(width=110)


app.command()(train)
app.command()(check)
app.command()(diagnose)
