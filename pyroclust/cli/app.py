"""The commands of ``pyroclust``; heavy imports wait until a command runs."""

import json
from typing import Annotated

import typer

from pyroclust.cli.analysing import cluster, compare, diagnose, forest, predict, recipe, update
from pyroclust.cli.console import standard_output
from pyroclust.cli.guides import check, train
from pyroclust.cli.options import Command, options, takes

app = typer.Typer(
    help="Bayesian clustering: how many clusters, which rows, how sure; guides beside MCMC of the same "
    "Pyro model.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


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
    """Bayesian clustering: how many clusters, which rows, how sure; guides beside MCMC of the same model."""


@takes(options("as_json"))
def guides(*, as_json: bool) -> None:
    """List the guides that come with the package, with figures measured on fresh data."""
    from pyroclust.cli.cards import guide_list
    from pyroclust.saving.cards import list_guides

    cards = list_guides()
    if as_json:
        print(json.dumps({card.name: json.loads(card.to_json()) for card in cards}, indent=2))
        return
    standard_output().print(guide_list(cards))


for _command in (cluster, compare, diagnose, predict, update, forest, guides, check, recipe, train):
    app.command(_command.__name__, cls=Command)(_command)
