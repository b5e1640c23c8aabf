"""The commands that cluster a table: cluster, compare, forest; and the recipe of a guide for it."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

import pyroclust
from pyroclust.cli.console import print_analysis
from pyroclust.cli.errors import one_sentence_errors
from pyroclust.cli.options import python_arguments, with_options
from pyroclust.progress import stages

__all__ = ["cluster", "compare", "forest", "recipe"]

_SOURCE = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="galaxies, iris, karate, les-miserables, a .csv, .tsv, .parquet, .xlsx or .npy, a folder of "
        "images, or a graph: .graphml, .npz, or a .csv with --edges.",
    ),
]
_READING = ("delimiter", "decimal", "header")
_ENDS = ("seed", "out", "overwrite", "strict", "as_json", "quiet", "verbose")
_ROWS = ("columns", "kinds", "label", "pca", "raw", "image_size", "edges", *_READING)
_KNOWN = ("must_link", "cannot_link", "partial_labels")
_MODEL = ("family", "prior", "concentration", "expected_clusters")


def _analysis(name: str) -> Callable[..., None]:
    """Return a command that calls a function of Python with what is typed, and prints the analysis."""

    @one_sentence_errors
    def command(
        source: str,
        *,
        out: Path | None,
        strict: bool,
        as_json: bool,
        quiet: bool,
        verbose: bool,
        **options: Any,
    ) -> None:
        folder = Path(f"{name}-{Path(source).stem}") if out is None else out
        with stages(first="reading the table", shown=not quiet) as tell:
            run = getattr(pyroclust, name)
            given = {key: value for key, value in python_arguments(options).items() if value is not None}
            found = run(source, **given, out=folder, progress=tell)
        print_analysis(found, folder, as_json=as_json, verbose=verbose, strict=strict)

    return command


cluster = with_options(
    _analysis("cluster"),
    _SOURCE,
    (
        *_ROWS,
        *_KNOWN,
        "weight",
        *_MODEL,
        "num_clusters",
        "guide",
        "num_draws",
        "num_chains",
        "mcmc_draws",
        "warmup",
        "also",
        "thorough",
        *_ENDS,
    ),
    says={"num_clusters": "Refused: a mixture finds the number. See pyroclust forest --clusters."},
)
cluster.__doc__ = """Say how many clusters a table has, which rows are in which, and how sure that is.

    Chains of MCMC draw partitions from the posterior of a mixture model until
    they have converged; a guide draws beside them where one is named.
    Writes report.html, draws.nc, summary.json, assignments.csv, clusters.csv.
    A folder that holds anything but results of the very same command is
    refused without --overwrite.
    """
compare = with_options(
    _analysis("compare"),
    _SOURCE,
    (
        *_ROWS,
        *_KNOWN,
        "weight",
        *_MODEL,
        "within",
        "between",
        "guide",
        "conditions",
        "num_draws",
        "num_chains",
        "mcmc_draws",
        "kernel",
        "warmup",
        "refine",
        "tolerance",
        "also",
        "thorough",
        *_ENDS,
    ),
)
compare.__doc__ = """Cluster a table by MCMC, and set a guide of the same model beside it.

    Any number of columns: where the shelf has no guide of the model, its
    exact filter takes the guide's place, or with --guide none MCMC stands
    alone. Where the model can only be simulated there is no MCMC: the guide's
    draws stand alone.
    Writes report.html, draws.nc, summary.json, assignments.csv, clusters.csv.
    A folder that holds anything but results of the very same command is
    refused without --overwrite.
    """
forest = with_options(
    _analysis("forest"),
    Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help="galaxies, iris, or a .csv, .tsv, .parquet, .xlsx or .npy of rows."
        ),
    ],
    (
        "columns",
        "label",
        "pca",
        "raw",
        *_READING,
        *_KNOWN,
        "num_clusters",
        "prior",
        "concentration",
        "expected_clusters",
        "noise_scale",
        "num_draws",
        *_ENDS,
    ),
    says={
        "prior": "Or draw their number from that of the clusters of a prior: gamma-crp, crp, py or mfm.",
        "expected_clusters": "Mean of that number; sets the prior.",
        "num_draws": "Forests; 1,000 by default.",
    },
)
forest.__doc__ = """Cluster a table by spanning forests of its rows, without a model.

    The trees of the heaviest forest are the clusters; noise on the
    similarities says how sure they are. With --noise-scale 0 it is single
    linkage. Say how many trees by --clusters, or by a prior.
    Writes report.html, draws.nc, summary.json, assignments.csv, clusters.csv.
    A folder that holds anything but results of the very same command is
    refused without --overwrite.
    """


@one_sentence_errors
def _recipe(source: str, **options: Any) -> None:
    from pyroclust.data.datasets import read_table
    from pyroclust.recipes import recipe_for

    asked = python_arguments(options)
    model = {name: asked.pop(name) for name in ("pca", *_MODEL)}
    table = read_table(source, **asked | {"kinds": asked["kinds"] or {}})
    print(recipe_for(table, **model), end="")


recipe = with_options(_recipe, _SOURCE, ("columns", "label", "pca", *_READING, "kinds", *_MODEL))
recipe.__doc__ = """Print the recipe of a guide for the model that compare takes for a table.

    pyroclust recipe data.csv > mine.toml, then pyroclust train mine.toml
    --out mine, then pyroclust compare data.csv --guide mine.
    """
