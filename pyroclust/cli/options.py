"""Every option of the commands that analyse, in one place: its name in Python, its flag, what it says."""

import csv
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, TypedDict

import typer
from typer.core import TyperCommand

from pyroclust.delimited import PLAIN
from pyroclust.text import visible

__all__ = [
    "OPTIONS",
    "AnalysisFolder",
    "Decimal",
    "Delimiter",
    "Header",
    "Json",
    "Once",
    "Out",
    "Overwrite",
    "Quiet",
    "Reading",
    "Seed",
    "Strict",
    "Verbose",
    "folder_named",
    "python_arguments",
    "reading_of",
    "reading_options",
    "with_options",
]

_TABLE, _TEXT, _MODEL = "The table", "Text files", "The model, for standardised columns"
_GRAPHS, _DRAWS, _KNOWN, _FOREST = "The model, for graphs", "The draws", "What is known of rows", "The forest"
_WORDS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "bar": "|", "pipe": "|"}


@dataclass(frozen=True)
class Option:
    """An option of commands.

    Attributes:
        kind: its type.
        info: what typer is told.
        default: where it is not given.
    """

    kind: Any
    info: Any
    default: Any = None


def _option(
    kind: Any, flag: str, says: str, *, panel: str | None = None, default: Any = None, **more: Any
) -> Option:
    info = typer.Option(flag, help=says, rich_help_panel=panel, **more)
    return Option(kind if kind is bool or default is not None else kind | None, info, default)


def _flag(flag: str, says: str, panel: str | None = None) -> Option:
    return _option(bool, flag, says, panel=panel, default=False)


def folder_named(text: str) -> Path:
    """Return the folder of an option; an empty name, as of an unset variable, is none."""
    if not text.strip():
        raise typer.BadParameter("the name of the folder is empty; name one, or . for this folder")
    return Path(text)


OPTIONS: Mapping[str, Option] = {
    "columns": _option(str, "--columns", "Columns to cluster; all by default.", panel=_TABLE, metavar="A,B"),
    "kinds": _option(
        str,
        "--kinds",
        "Kinds of columns: number, count, yes/no or category, as in stage=category,visits=count; found out "
        "by default.",
        panel=_TABLE,
        metavar="A=KIND",
    ),
    "label": _option(
        str, "--label", "Column of known labels, never clustered.", panel=_TABLE, metavar="COLUMN"
    ),
    "pca": _option(int, "--pca", "Cluster N principal components.", panel=_TABLE, metavar="N"),
    "raw": _flag("--raw", "Do not standardise the columns.", _TABLE),
    "image_size": _option(
        int,
        "--image-size",
        "Pixels of a side that images of a folder are scaled to; 28 by default.",
        panel=_TABLE,
        metavar="N",
    ),
    "edges": _flag("--edges", "The file holds edges of a graph, a line each.", _TABLE),
    "delimiter": _option(
        str,
        "--delimiter",
        "What divides cells: ',', ';', '|', tab or space; found by default.",
        panel=_TEXT,
        metavar="CHARACTER",
    ),
    "decimal": _option(
        str, "--decimal", "Decimal mark: '.' or ','; found by default.", panel=_TEXT, metavar="MARK"
    ),
    "header": _option(
        bool | None,
        "--header/--no-header",
        "Whether the first line names the columns; found by default.",
        panel=_TEXT,
        show_default=False,
    ),
    "must_link": _option(
        str,
        "--must-link",
        "A .csv or .tsv of two columns: pairs of rows that belong together, by their names in the column "
        "'row' of assignments.csv, which count from 1 unless the table names its rows.",
        panel=_KNOWN,
        metavar="FILE",
    ),
    "cannot_link": _option(
        str, "--cannot-link", "Likewise: pairs of rows that are apart.", panel=_KNOWN, metavar="FILE"
    ),
    "partial_labels": _option(
        str,
        "--partial-labels",
        "Column of known labels, empty where nothing is known; used and not clustered.",
        panel=_KNOWN,
        metavar="COLUMN",
    ),
    "weight": _option(
        str,
        "--weight",
        "Column of how many equal rows each row stands for, whole numbers; used and not clustered.",
        panel=_KNOWN,
        metavar="COLUMN",
    ),
    "family": _option(
        str,
        "--family",
        "Clusters: niw (normal, full covariance), nig (normal, independent columns) or student-t; by default "
        "niw, for one column nig.",
        panel=_MODEL,
        metavar="NAME",
    ),
    "prior": _option(
        str,
        "--prior",
        "Partition: gamma-crp (Dirichlet process, random concentration), crp, py (Pitman-Yor) or mfm "
        "(mixture of finite mixtures); by default gamma-crp.",
        panel=_MODEL,
        metavar="NAME",
    ),
    "concentration": _option(
        float,
        "--concentration",
        "Concentration of crp (then the default), py or mfm.",
        panel=_MODEL,
        metavar="X",
    ),
    "expected_clusters": _option(
        float,
        "--expected-clusters",
        "Clusters expected before seeing the rows; sets the prior.",
        panel=_MODEL,
        metavar="K",
    ),
    "within": _option(
        tuple[float, float],
        "--within",
        "Beta law of the rate of edges within a block; 6 3 by default.",
        panel=_GRAPHS,
        metavar="A B",
    ),
    "between": _option(
        tuple[float, float],
        "--between",
        "Beta law of the rate of edges between two blocks; 1 5 by default.",
        panel=_GRAPHS,
        metavar="A B",
    ),
    "guide": _option(
        str,
        "--guide",
        "Guide by name or folder, see 'pyroclust guides'; none for MCMC alone. By default compare takes one "
        "of the model, or its exact filter, and cluster none.",
        panel=_DRAWS,
        metavar="NAME",
    ),
    "conditions": _option(
        list[str],
        "--condition",
        "Hyperparameter that the guide is told.",
        panel=_DRAWS,
        metavar="NAME=VALUE",
    ),
    "num_draws": _option(
        int,
        "--draws",
        "Draws of the guide; by default as many as come in three seconds, 200 to 1,000.",
        panel=_DRAWS,
        metavar="N",
        min=10,
    ),
    "num_chains": _option(int, "--chains", "Chains of MCMC.", panel=_DRAWS, default=4, metavar="N", min=1),
    "mcmc_draws": _option(
        int,
        "--mcmc-draws",
        "Draws each chain keeps; 1,000 by default, fewer above 5,000 rows.",
        panel=_DRAWS,
        metavar="N",
        min=10,
    ),
    "kernel": _option(
        str,
        "--kernel",
        "Kernel of the chains: auxiliary, gibbs, gibbs+merge-split, merge-split, merge-split+gibbs, "
        "split-merge, split-merge+gibbs or tempered; by default merge-split+gibbs, above 4 columns "
        "gibbs+merge-split, or auxiliary.",
        panel=_DRAWS,
        metavar="NAME",
    ),
    "warmup": _option(
        int,
        "--warmup",
        "Sweeps each chain drops first; by default they go on until they have converged.",
        panel=_DRAWS,
        metavar="N",
        min=0,
    ),
    "refine": _flag("--refine", "Refine the guide's draws, also where chains have converged.", _DRAWS),
    "tolerance": _option(
        float,
        "--tolerance",
        "Largest difference of two co-assignment probabilities that agrees with MCMC; by default 0.1 for "
        "refined draws, 0.15 for others.",
        panel=_DRAWS,
        metavar="P",
    ),
    "also": _option(
        str,
        "--also",
        "More questions, by name: baselines, calibration, evidence, familiarity, refining, two_samples, "
        "witnesses.",
        metavar="A,B",
    ),
    "thorough": _flag("--thorough", "Every question, and as long as it takes."),
    "num_clusters": _option(int, "--clusters", "Trees of every forest.", panel=_FOREST, metavar="K", min=1),
    "noise_scale": _option(
        float,
        "--noise-scale",
        "Noise of a similarity, in standard deviations of all similarities (negative squared distances); 0 "
        "is single linkage.",
        panel=_FOREST,
        default=0.1,
        metavar="E",
        min=0.0,
    ),
    "seed": _option(
        int,
        "--seed",
        "Same seed, same draws; where time decides how many, fewer of them on a slower machine.",
        default=0,
        metavar="N",
        min=0,
    ),
    "out": _option(
        Path,
        "--out",
        "Folder for the results; COMMAND-SOURCE by default.",
        metavar="FOLDER",
        parser=folder_named,
    ),
    "overwrite": _flag("--overwrite", "Replace the results of another run in that folder."),
    "strict": _flag("--strict", "Exit with 3 where the verdict is bad, or cannot be given."),
    "as_json": _flag("--json", "Print JSON and nothing else."),
    "quiet": _flag("--quiet", "Say nothing of the stages."),
    "verbose": _flag("--verbose", "Print every table, not the answer alone."),
}

Delimiter = Annotated[str | None, OPTIONS["delimiter"].info]
Decimal = Annotated[str | None, OPTIONS["decimal"].info]
Header = Annotated[bool | None, OPTIONS["header"].info]
Out = Annotated[Path | None, OPTIONS["out"].info]
Seed = Annotated[int, OPTIONS["seed"].info]
Json = Annotated[bool, OPTIONS["as_json"].info]
Overwrite = Annotated[bool, OPTIONS["overwrite"].info]
Quiet = Annotated[bool, OPTIONS["quiet"].info]
Strict = Annotated[bool, OPTIONS["strict"].info]
Verbose = Annotated[bool, OPTIONS["verbose"].info]
AnalysisFolder = Annotated[
    Path,
    typer.Argument(metavar="FOLDER", parser=folder_named, help="What pyroclust cluster or compare wrote."),
]


def with_options(
    command: Callable[..., None], source: Any, names: tuple[str, ...], *, says: Mapping[str, str] = {}
) -> Callable[..., None]:
    """Give a command that takes keywords an argument and options."""
    parameters = [Parameter("source", Parameter.POSITIONAL_OR_KEYWORD, annotation=source)]
    for name in names:
        option = OPTIONS[name]
        info = option.info
        if name in says:
            # In annotations typer takes the flag where a default would be.
            info = typer.Option(info.default, *info.param_decls, **_kept(info) | {"help": says[name]})
        annotation = Annotated[option.kind, info]  # type: ignore[name-defined]
        parameters.append(
            Parameter(name, Parameter.KEYWORD_ONLY, default=option.default, annotation=annotation)
        )
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": None}
    return command


def _kept(info: Any) -> dict[str, Any]:
    return {name: getattr(info, name) for name in ("metavar", "min", "parser", "rich_help_panel")}


class Reading(TypedDict, total=False):
    """What the options say of text files; nothing where they are not given."""

    delimiter: str
    decimal: str
    header: bool


def reading_options(*, delimiter: str | None, decimal: str | None, header: bool | None) -> Reading:
    """Return what is said of text files, with words turned into the characters that they name."""
    found = Reading()
    if delimiter is not None:
        found["delimiter"] = _WORDS.get(delimiter.lower(), delimiter)
    if decimal is not None:
        found["decimal"] = decimal
    if header is not None:
        found["header"] = header
    return found


def reading_of(path: str | None, options: Reading) -> Reading:
    """Return the options for a file, none where it is no text."""
    return options if path is not None and Path(path).suffix.lower() in PLAIN else Reading()


def python_arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """Turn what is typed into what Python functions take: names, kinds, conditions, characters."""
    found = dict(options)
    texts = {name: found.pop(name) for name in ("delimiter", "decimal", "header") if name in found}
    for name, convert in _CONVERTED.items():
        if name in found:
            found[name] = convert(found[name])
    return found | (reading_options(**texts) if texts else {})


def names_of_columns(text: str | None) -> list[str] | None:
    """Divide the names of an option at its commas; quotes stand around a name that holds one."""
    if text is None:
        return None
    names = _between_commas(text)
    if not names:
        raise ValueError(
            f"--columns is '{visible(text)}', expected names between commas, as in width,height; quotes "
            "stand around a name with a comma"
        )
    return names


def _kinds_of_columns(text: str | None) -> dict[str, str] | None:
    if text is None:
        return None
    found: dict[str, str] = {}
    for part in _between_commas(text) or [""]:
        name, _, kind = (one.strip() for one in part.rpartition("="))
        if not name or not kind or name in found:
            raise ValueError(
                f"--kinds is '{visible(text)}', expected a kind for each of some columns, as in "
                "stage=category,visits=count"
            )
        found[name] = kind
    return found


def _conditions(texts: list[str] | None) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in texts or []:
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


_CONVERTED: Mapping[str, Callable[[Any], Any]] = {
    "columns": names_of_columns,
    "kinds": _kinds_of_columns,
    "conditions": _conditions,
    "also": lambda text: () if text is None else tuple(one.strip() for one in text.split(",")),
}


def _between_commas(text: str) -> list[str]:
    """Return what stands between commas; nothing where a part is empty or a quote is not closed."""
    try:
        rows = list(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error:
        return []
    names = [name.strip() for name in rows[0]] if len(rows) == 1 else []
    return names if all(names) else []


class Once(TyperCommand):
    """A command whose options may be given once only: of two values one would be lost unseen."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an option that is given twice, unless it collects values."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for option, times in Counter(one for one in order if one.param_type_name == "option").items():
            # A flag that is said twice says the same, unless it has an opposite.
            is_harmless = getattr(option, "is_flag", False) and not option.secondary_opts
            if times > 1 and not option.multiple and not is_harmless:
                ctx.fail(f"{option.opts[0]} is given {times} times, expected once")
        return super().parse_args(ctx, args)
