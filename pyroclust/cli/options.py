"""Every option of the commands, in one table: its name in Python, what it takes, what it says."""

import csv
import math
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from pyroclust.cli.console import one_sentence_errors
from pyroclust.core.messages import visible
from pyroclust.results.records import flag_of

# Of a number of clusters.
_DIGITS = 10
_WORDS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "bar": "|", "pipe": "|"}


def folder_named(text: str) -> Path:
    """Return the folder of an option; an empty name, as of an unset variable, is none."""
    if not text.strip():
        raise typer.BadParameter("the name of the folder is empty; name one, or . for this folder")
    return Path(text)


@dataclass(frozen=True)
class Option:
    """An option of commands, or an argument."""

    metavar: str  # what it takes; empty for a flag
    says: str  # its help
    kind: Any = str
    default: Any = None  # where it is not given; ... where it has to be
    least: float | None = None
    panel: str | None = None  # under which the help lists it
    is_argument: bool = False  # whether it has a place and no flag

    def parameter(self, name: str) -> Parameter:
        """Return it as a parameter of a command, with what typer is told."""
        told: dict[str, Any] = {"help": self.says, "metavar": self.metavar or None, "min": self.least}
        if self.kind is Path:
            told["parser"] = folder_named
        if self.is_argument:
            info: Any = typer.Argument(**told)
        else:
            flag = flag_of(name)
            if self.kind is bool and self.default is None:
                flag += "/" + flag.replace("--", "--no-", 1)
            shown = self.default is not None and self.kind is not bool
            info = typer.Option(flag, rich_help_panel=self.panel, show_default=shown, **told)
        kind = self.kind | None if self.default is None else self.kind
        default = Parameter.empty if self.default is ... else self.default
        return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info])


def argument(metavar: str, says: str, *, kind: Any = str, default: Any = ...) -> Option:
    return Option(metavar, says, kind, default=default, is_argument=True)


def _flag(says: str) -> Option:
    return Option("", says, bool, default=False)


_PANELS: Mapping[str | None, Mapping[str, Option]] = {
    "The table": {
        "columns": Option("A,B", "Columns to cluster; all by default."),
        "leave_out": Option("A,B", "Columns that are not clustered, of all others."),
        "kinds": Option(
            "A=KIND",
            "Kinds of columns: number, count, yes/no or category, found out by default; ordered, "
            "ordered(low<high), overdispersed, circular(24), censored(0..100), binomial(TRIALS), heaped or "
            "log, as in stage=category,hour=circular(24) or q1..q15=ordered.",
        ),
        "missing": Option(
            "VALUE", "What stands for a missing cell, as in 99, income=-1 or q1..q15=0.", list[str]
        ),
        "aggregate": Option(
            "COLUMN",
            "What each row is of, such as a patient: its rows become one; none takes rows as they are.",
        ),
        "transpose": _flag("Cluster the columns, by what the rows say of them."),
        "label": Option("COLUMN", "Column of known labels, never clustered."),
        "pca": Option("N", "Cluster N principal components.", int),
        "raw": _flag("Do not standardise the columns."),
        "image_size": Option(
            "N", "Pixels of a side that images of a folder are scaled to; 28 by default.", int
        ),
        "edges": _flag("The file holds edges of a graph, a line each."),
    },
    "Text files": {
        "delimiter": Option(
            "CHARACTER", "What divides cells: ',', ';', '|', tab or space; found by default."
        ),
        "decimal": Option("MARK", "Decimal mark: '.' or ','; found by default."),
        "header": Option("", "Whether the first line names the columns; found by default.", bool),
    },
    "What is known of rows": {
        "must_link": Option(
            "FILE",
            "A .csv or .tsv of two columns: pairs of rows that belong together, by their names in the column "
            "'row' of assignments.csv, which count from 1 unless the table names its rows.",
        ),
        "cannot_link": Option("FILE", "Likewise: pairs of rows that are apart."),
        "partial_labels": Option(
            "COLUMN", "Column of known labels, empty where nothing is known; used and not clustered."
        ),
        "clusters": Option(
            "K",
            "How many clusters there are, where that is known: a number, as 3, or the fewest and the most, "
            "as 2-6.",
        ),
        "weight": Option(
            "COLUMN",
            "Column of how many equal rows each row stands for, whole numbers; used and not clustered.",
        ),
    },
    "The model, for standardised columns": {
        "family": Option(
            "NAME",
            "Clusters: normal (full covariance, random scale), diagonal (independent columns, random scale), "
            "niw (normal of a fixed scale), nig (diagonal of a fixed scale) or student-t; by default normal, "
            "which is diagonal beside columns of other kinds and where cells are missing.",
        ),
        "prior": Option(
            "NAME",
            "Partition: mfm (mixture of finite mixtures), gamma-crp (Dirichlet process, random "
            "concentration), crp or py (Pitman-Yor); by default mfm, of graphs crp.",
        ),
        "concentration": Option("X", "Concentration of crp (then the default), py or mfm.", float),
        "expected_clusters": Option("K", "Clusters expected before seeing the rows; sets the prior.", float),
    },
    "The model, for graphs": {
        "within": Option(
            "A B", "Beta law of the rate of edges within a block; 6 3 by default.", tuple[float, float]
        ),
        "between": Option(
            "A B", "Beta law of the rate of edges between two blocks; 1 5 by default.", tuple[float, float]
        ),
    },
    "The draws": {
        "guide": Option(
            "NAME",
            "Guide by name or folder, see 'pyroclust guides'; none for MCMC alone. By default compare takes "
            "one of the model, or its exact filter, and cluster none.",
        ),
        "conditions": Option("NAME=VALUE", "Hyperparameter that the guide is told.", list[str]),
        "num_draws": Option(
            "N",
            "Draws of the guide; by default as many as come in three processor seconds, 200 to 1,000.",
            int,
            least=10,
        ),
        "num_chains": Option("N", "Chains of MCMC.", int, default=4, least=1),
        "mcmc_draws": Option(
            "N", "Draws each chain keeps; 1,000 by default, fewer above 2,500 rows.", int, least=10
        ),
        "kernel": Option(
            "NAME",
            "Kernel of the chains: auxiliary, blocked, gibbs, gibbs+merge-split, merge-split, "
            "merge-split+gibbs, split-merge, split-merge+gibbs or tempered; by default merge-split+gibbs, "
            "above 4 columns gibbs+merge-split, from 50,000 rows on blocked, or auxiliary.",
        ),
        "warmup": Option(
            "N",
            "Sweeps each chain drops first; by default they go on until they have converged.",
            int,
            least=0,
        ),
        "refine": _flag("Refine the guide's draws, also where chains have converged."),
        "tolerance": Option(
            "P",
            "Largest difference of two co-assignment probabilities that agrees with MCMC; by default 0.1 for "
            "refined draws, 0.15 for others.",
            float,
        ),
    },
    "Many data sets": {
        "by": Option("COLUMN", "Each value of a column is a data set: a row of figures and draws for each."),
        "budget": Option(
            "SECONDS",
            "Processor seconds that chains may take where the guide cannot do; no limit by default.",
            float,
        ),
        "scheduler": Option(
            "ADDRESS", "Scheduler of a Dask cluster, tcp://...; by default the cores of this machine."
        ),
    },
    None: {
        "num_clusters": Option("K", "Trees of every forest.", int, least=1),
        "noise_scale": Option(
            "E",
            "Noise of a similarity, in standard deviations of all similarities (negative squared distances); "
            "0 is single linkage.",
            float,
            default=0.1,
            least=0.0,
        ),
        "also": Option(
            "A,B",
            "More questions, by name: baselines, calibration, evidence, familiarity, refining, two_samples, "
            "witnesses.",
        ),
        "thorough": _flag("Every question, and as long as it takes."),
        "refuse_unseen": _flag("Refuse a category that no row had, instead of taking its cell as missing."),
        "chains": Option("FILE", "One more file of draws, the next chain.", list[str]),
        "burn_in": Option("N", "Draws of each chain that are left out, the first.", int, default=0, least=0),
        "variable": Option("NAME", "Name of the labels in the files."),
        "group": Option("NAME", "Group of the first .nc file, such as guide."),
        "other_group": Option("NAME", "Group of the second .nc file."),
        "data": Option("SOURCE", "Table that was clustered, one row a point, in their order."),
        "seed": Option(
            "N",
            "Same seed, same draws; where time decides how many, fewer of them on a slower machine.",
            int,
            default=0,
            least=0,
        ),
        "out": Option("FOLDER", "Folder for the results; COMMAND-SOURCE by default.", Path),
        "overwrite": _flag("Replace earlier results there, also of another run; no other file, ever."),
        "strict": _flag("Exit with 3 where the verdict is bad, or cannot be given."),
        "as_json": _flag("Print JSON and nothing else."),
        "quick": _flag("A rough look of some seconds."),
        "quiet": _flag("Say nothing of the stages."),
        "verbose": _flag("Print every table, not the answer alone."),
    },
}
OPTIONS: Mapping[str, Option] = {
    name: replace(one, panel=panel) for panel, group in _PANELS.items() for name, one in group.items()
}


def options(names: str, **says: str | Option) -> dict[str, Option]:
    """Return the options of a command by their names, some with a help of their own, or others."""
    options = {name: OPTIONS[name] for name in names.split()}
    for name, one in says.items():
        options[name] = replace(options[name], says=one) if isinstance(one, str) else one
    return options


def takes(taken: Mapping[str, Option]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command that takes keywords its arguments and options."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        parameters = [one.parameter(name) for name, one in taken.items()]
        command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": None}
        return command

    return decorate


def python_arguments(typed: Mapping[str, Any]) -> dict[str, Any]:
    """Turn what is typed into what Python functions take: names, kinds, conditions, characters."""
    given = {name: one for name, one in typed.items() if one is not None}
    return {name: _CONVERTED[name](one) if name in _CONVERTED else one for name, one in given.items()}


def _names_of_columns(text: str) -> list[str]:
    """Divide the names of an option at its commas; quotes stand around a name that holds one."""
    names = _between_commas(text)
    if not names:
        raise ValueError(
            f"names of columns are '{visible(text)}', expected names between commas, as in width,height; "
            "quotes stand around a name with a comma"
        )
    return names


def _kinds_of_columns(text: str) -> dict[str, str]:
    read: dict[str, str] = {}
    for part in _between_commas(text) or [""]:
        name, _, kind = (one.strip() for one in part.rpartition("="))
        if not name or not kind or name in read:
            raise ValueError(
                f"--kinds is '{visible(text)}', expected a kind for each of some columns, as in "
                "stage=category,visits=count"
            )
        read[name] = kind
    return read


def _conditions(texts: list[str]) -> dict[str, float]:
    read: dict[str, float] = {}
    for text in texts:
        name, _, value = (one.strip() for one in text.partition("="))
        number = math.nan
        with suppress(ValueError):
            number = float(value)
        if not name or not math.isfinite(number):
            raise ValueError(f"--condition is '{text}', expected NAME=VALUE such as concentration=0.7")
        if name in read:
            raise ValueError(f"--condition tells '{name}' twice, expected one value")
        read[name] = number
    return read


def _clusters(text: str) -> int | tuple[int, int]:
    fewest, dash, most = (one.strip() for one in text.partition("-"))
    numbers = [fewest, most] if dash else [fewest]
    if not all(one.isascii() and one.isdigit() and len(one) < _DIGITS for one in numbers):
        raise ValueError(
            f"--clusters is '{visible(text)}', expected a number of at least 1, as 3, or the fewest and the "
            "most, as 2-6"
        )
    return (int(fewest), int(most)) if dash else int(fewest)


_CONVERTED: Mapping[str, Callable[[Any], Any]] = {
    "columns": _names_of_columns,
    "leave_out": _names_of_columns,
    "kinds": _kinds_of_columns,
    "clusters": _clusters,
    "conditions": _conditions,
    "also": lambda text: tuple(one.strip() for one in text.split(",")),
    "delimiter": lambda text: _WORDS.get(text.lower(), text),
}


def _between_commas(text: str) -> list[str]:
    """Return what stands between commas; nothing where a part is empty or a quote is not closed."""
    try:
        rows = list(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error:
        return []
    names = [name.strip() for name in rows[0]] if len(rows) == 1 else []
    return names if all(names) else []


class Command(TyperCommand):
    """A command whose errors are one sentence, and whose options may be given once only."""

    # Of two values of an option one would be lost unseen.

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an option that is given twice, unless it collects values."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for option, times in Counter(one for one in order if one.param_type_name == "option").items():
            # A flag that is said twice says the same, unless it has an opposite.
            is_harmless = getattr(option, "is_flag", False) and not option.secondary_opts
            if times > 1 and not option.multiple and not is_harmless:
                ctx.fail(f"{option.opts[0]} is given {times} times, expected once")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        options = (one for one in self.params if one.param_type_name == "option")
        with one_sentence_errors({str(one.name): one.opts[0] for one in options}):
            return super().invoke(ctx)
