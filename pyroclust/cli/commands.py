"""The commands of ``pyroclust``, those that analyse and go on from an analysis here; heavy imports wait."""

import json
import math
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import typer

import pyroclust
from pyroclust.cli.console import print_analysis, print_data_sets, print_plainly, standard_output
from pyroclust.cli.guides import check, guides, train
from pyroclust.cli.options import Command, Option, argument, options, python_arguments, takes
from pyroclust.core.long_runs import stages

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


_READING = "delimiter decimal header "
_KNOWN = "must_link cannot_link partial_labels "
_MODEL = "family prior concentration expected_clusters "
_COLUMNS = "columns leave_out kinds missing aggregate transpose "
_TABLE = f"{_COLUMNS}label pca raw image_size edges {_READING}{_KNOWN}clusters weight {_MODEL}"
_ENDS = " seed out overwrite strict as_json quiet verbose"
_WRITES = """
    Writes report.html, draws.nc, summary.json, assignments.csv, clusters.csv.
    A folder that holds anything but results of the very same command is
    refused without --overwrite.
    """
_MOST_SHOWN = 20

_SOURCE = argument(
    "SOURCE",
    "galaxies, iris, karate, les-miserables, a .csv, .tsv, .parquet, .xlsx or .npy, a folder of images, or a "
    "graph: .graphml, .npz, or a .csv with --edges.",
)
_FOLDER = argument("FOLDER", "What pyroclust cluster or compare wrote.", kind=Path)
_ROWS = "rows: a .csv, .tsv, .parquet, .xlsx or .npy of the same columns."


def _analysis(
    name: str,
    says: str,
    taken: dict[str, Option],
    *,
    place: Callable[[Path], Path] | None = None,
    first: str = "reading the table",
) -> Callable[..., None]:
    """Return a command that prints the analysis of what is typed, by the function of its name in Python."""
    source = next(iter(taken))

    def command(
        *, out: Path | None, strict: bool, as_json: bool, quiet: bool, verbose: bool, **typed: Any
    ) -> None:
        named, analyse = typed.pop(source), getattr(pyroclust, name)
        usual = Path(f"{name}-{Path(named).stem}") if place is None else place(named)
        folder = usual if out is None else out
        with stages(first=first, shown=not quiet) as tell:
            analysis = analyse(named, **python_arguments(typed), out=folder, progress=tell)
        print_analysis(analysis, folder, as_json=as_json, verbose=verbose, strict=strict)

    command.__name__, command.__doc__ = name, says + _WRITES
    return takes(taken)(command)


_CLUSTER = {"source": _SOURCE} | options(
    f"{_TABLE}guide num_draws num_chains mcmc_draws warmup also thorough{_ENDS}"
)
_cluster_one = _analysis("cluster", "", _CLUSTER)
_IN_PATTERNS = frozenset("*?[")


@takes(_CLUSTER | options("by budget scheduler"))
def cluster(
    *, source: str, by: str | None, budget: float | None, scheduler: str | None, **typed: Any
) -> None:
    """Say how many clusters a table has, which rows are in which, and how sure that is.

    Chains of MCMC draw partitions from the posterior of a mixture model until
    they have converged; a guide draws beside them where one is named.

    Many data sets are a pattern of files in quotes, 'folder/*.parquet', or a
    table with --by: there the model's guide draws first, and chains where it
    cannot do. This writes report.html, summaries.parquet, assignments.parquet
    and the store draws.zarr, and goes on where it was stopped.

    Writes report.html, draws.nc, summary.json, assignments.csv, clusters.csv.
    A folder that holds anything but results of the very same command is
    refused without --overwrite.
    """
    if by is None and (not _IN_PATTERNS & set(source) or Path(source).exists()):
        for name, value in (("budget", budget), ("scheduler", scheduler)):
            if value is not None:
                raise ValueError(
                    f"{name} is {value}, but '{source}' is one data set: leave it out, or divide the table "
                    "by a column (--by)"
                )
        _cluster_one(source=source, **typed)
        return
    from pyroclust.core.workers import client_of

    shown = {name: typed.pop(name) for name in ("out", "strict", "as_json", "quiet", "verbose")}
    taken = {*signature(pyroclust.cluster_many).parameters, *_READING.split()}
    for name, value in typed.items():
        if name not in taken and value not in (None, False, _CLUSTER[name].default):
            raise ValueError(f"{name} is {value}, which many data sets do not take: leave it out")
    usual = Path(f"cluster-{Path(source).stem if by is not None else Path(source).parent.name or 'files'}")
    folder = usual if shown["out"] is None else shown["out"]
    asked = {name: one for name, one in python_arguments(typed).items() if name in taken}
    with (
        stages(first="reading the first table", shown=not shown["quiet"]) as tell,
        client_of(scheduler) as client,
    ):
        found = pyroclust.cluster_many(
            source, by=by, budget=budget, client=client, out=folder, progress=tell, **asked
        )
    print_data_sets(found, folder, as_json=shown["as_json"], strict=shown["strict"])


compare = _analysis(
    "compare",
    """Cluster a table by MCMC, and set a guide of the same model beside it.

    Any number of columns: where the shelf has no guide of the model, its
    exact filter takes the guide's place, or with --guide none MCMC stands
    alone. Where the model can only be simulated there is no MCMC: the guide's
    draws stand alone.""",
    {"source": _SOURCE}
    | options(
        f"{_TABLE}within between guide conditions num_draws num_chains mcmc_draws kernel warmup refine "
        f"tolerance also thorough{_ENDS}"
    ),
)
forest = _analysis(
    "forest",
    """Cluster a table by spanning forests of its rows, without a model.

    The trees of the heaviest forest are the clusters; noise on the
    similarities says how sure they are. With --noise-scale 0 it is single
    linkage. Say how many trees by --clusters, or by a prior.""",
    {"source": argument("SOURCE", "galaxies, iris, or a .csv, .tsv, .parquet, .xlsx or .npy of rows.")}
    | options(
        f"columns label pca raw {_READING}{_KNOWN}num_clusters prior concentration expected_clusters "
        f"noise_scale num_draws{_ENDS}",
        prior="Or draw their number from that of the clusters of a prior: gamma-crp, crp, py or mfm.",
        expected_clusters="Mean of that number; sets the prior.",
        num_draws="Forests; 1,000 by default.",
    ),
)


diagnose = _analysis(
    "diagnose",
    """Judge draws of a partition from any software: convergence, clusters, certainty.

    No model is needed. With a second source, say whether the two agree. With
    --data, show the points, and classical clusterings beside the posterior.
    What is said of text files holds for all that the command reads.""",
    {
        "draws": argument("DRAWS", "Draws: a .csv, .tsv, .npy, .npz or .nc file."),
        "other": argument("OTHER", "A second source, to compare the first with.", default=None),
    }
    | options(
        f"chains burn_in transpose variable group other_group data columns label {_READING}{_ENDS}",
        transpose=Option("", "Points are in rows, and draws in columns; found by default.", bool),
        columns="Columns of the table.",
        label="Column of known labels in the table.",
    ),
    first="reading the draws",
)
update = _analysis(
    "update",
    """Add rows to a table that was clustered: its draws go on, by sequential Monte Carlo.

    The new rows are on the scale of the old ones, under the same model. Where
    they are many or unlike the old ones, compare all rows anew.""",
    {"folder": _FOLDER, "new": argument("NEW", f"More {_ROWS}")}
    | options(
        f"{_READING}aggregate refuse_unseen num_draws{_ENDS}",
        num_draws="Draws; 1,000 by default, fewer above 2,500 rows.",
        out="Folder for the results; FOLDER-updated by default.",
    ),
    place=lambda folder: (folder if folder.name else folder.resolve()).with_name(
        f"{folder.resolve().name}-updated"
    ),
    first="reading the analysis and the new rows",
)


@takes(
    {"folder": _FOLDER, "new": argument("NEW", f"New {_ROWS}")}
    | options(
        f"{_READING}aggregate refuse_unseen num_draws seed out overwrite as_json quiet",
        num_draws=Option("N", "Most draws that are averaged over.", int, default=400, least=1),
        seed="Same seed, same figures.",
        out=Option("FILE", "For the rows, as CSV.", default="predictions.csv"),
        overwrite="Replace an earlier prediction there that nobody changed; no other file, ever.",
    )
)
def predict(
    *,
    folder: Path,
    new: str,
    out: str,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    **typed: Any,
) -> None:
    """Say to which clusters new rows belong, with probabilities, by the draws of a comparison.

    Rows get the probability of every cluster of the point estimate and of a
    new one, their log density, and the share of old rows that are no more
    likely. Says so where the new rows are unlike the old ones. Clusters are
    numbered as in assignments.csv.
    """
    from rich.table import Table

    from pyroclust.core.files import check_file, write_file
    from pyroclust.results.files import csv_parts

    path = Path(out)
    check_file(path, overwrite=overwrite, inputs=[Path(new)])
    with stages(first="reading the analysis and the new rows", shown=not quiet):
        prediction = pyroclust.predict(folder, new, **python_arguments(typed))
    frame = prediction.frame()
    content = "".join(csv_parts(frame)).encode("utf-8", "backslashreplace")
    try:
        write_file(path, content, overwrite=overwrite, inputs=[Path(new)])
    except OSError as error:
        raise ValueError(f"cannot write '{path}' ({error.strerror}); choose another with --out") from None
    if as_json:
        rows = json.loads(frame.to_json(orient="records", double_precision=15))
        p_value = None if math.isnan(prediction.likeness.p_value) else prediction.likeness.p_value
        print(json.dumps({"rows": rows, "p_value": p_value, "warning": prediction.warning}, indent=2))
        return
    console = standard_output()
    shown = Table("row", "cluster", "probability", "new", "log density", "typicality")
    for at, row in frame.head(_MOST_SHOWN).iterrows():
        of_clusters = prediction.probabilities[at]
        figures = (of_clusters.max(), of_clusters[-1], row["log_density"], row["typicality"])
        written = (f"{one:.{digits}f}" for one, digits in zip(figures, (3, 3, 2, 2), strict=True))
        shown.add_row(row["row"], row["cluster"], *written)
    console.print(shown)
    if len(frame) > _MOST_SHOWN:
        print_plainly(console, f"and {len(frame) - _MOST_SHOWN:,} more rows")
    for sentence in (*prediction.notes, *([] if prediction.warning is None else [prediction.warning])):
        print_plainly(console, sentence)
    print_plainly(console, f"Written: {path}")


@takes({"source": _SOURCE} | options(f"columns label pca {_READING}kinds {_MODEL}"))
def recipe(*, source: str, **typed: Any) -> None:
    """Print the recipe of a guide for the model that compare takes for a table.

    pyroclust recipe data.csv > mine.toml, then pyroclust train mine.toml
    --out mine, then pyroclust compare data.csv --guide mine.
    """
    from pyroclust.data.datasets import read_table
    from pyroclust.recipes import recipe_for

    asked = python_arguments(typed)
    model = {name: asked.pop(name) for name in ("pca", *_MODEL.split()) if name in asked}
    print(recipe_for(read_table(source, **asked), **model), end="")


for _command in (cluster, compare, diagnose, predict, update, forest, guides, check, recipe, train):
    app.command(_command.__name__, cls=Command)(_command)
