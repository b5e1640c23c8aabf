"""Options that say which table is read, and how text files are written."""

import csv
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, TypedDict

import typer
from typer.core import TyperCommand

from pyroclust.delimited import PLAIN
from pyroclust.text import visible

__all__ = [
    "TABLE",
    "Columns",
    "ComparedFolder",
    "Decimal",
    "Delimiter",
    "Edges",
    "Header",
    "ImageSize",
    "Kinds",
    "Label",
    "Once",
    "Pca",
    "Source",
    "Told",
    "folder_named",
    "kinds_of_columns",
    "names_of_columns",
    "told",
    "told_of",
]

TABLE = "The table"
_PANEL = "Text files"
_WORDS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "bar": "|", "pipe": "|"}

Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="galaxies, iris, karate, les-miserables, a .csv, .tsv, .parquet, .xlsx or .npy, a folder of "
        "images, or a graph: .graphml, .npz, or a .csv with --edges.",
    ),
]
ImageSize = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Pixels of a side that images of a folder are scaled to; 28 by default.",
        rich_help_panel=TABLE,
    ),
]
Edges = Annotated[
    bool,
    typer.Option("--edges", help="The file holds edges of a graph, a line each.", rich_help_panel=TABLE),
]
Columns = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="Columns to cluster; all by default.", rich_help_panel=TABLE),
]
Label = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column of known labels, never clustered.", rich_help_panel=TABLE),
]
Kinds = Annotated[
    str | None,
    typer.Option(
        metavar="A=KIND",
        help="Kinds of columns: number, count, yes/no or category, as in stage=category,visits=count; found "
        "out by default.",
        rich_help_panel=TABLE,
    ),
]
Pca = Annotated[
    int | None, typer.Option(metavar="N", help="Cluster N principal components.", rich_help_panel=TABLE)
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        help="What divides cells: ',', ';', '|', tab or space; found by default.",
        rich_help_panel=_PANEL,
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(metavar="MARK", help="Decimal mark: '.' or ','; found by default.", rich_help_panel=_PANEL),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line names the columns; found by default.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]


class Told(TypedDict, total=False):
    """What the options say of text files; nothing where they are not given."""

    delimiter: str
    decimal: str
    header: bool


def told(*, delimiter: str | None, decimal: str | None, header: bool | None) -> Told:
    r"""Return what was told, with words turned into the characters that they name.

    Example:
        >>> told(delimiter="tab", decimal=None, header=None)
        {'delimiter': '\t'}
    """
    found = Told()
    if delimiter is not None:
        found["delimiter"] = _WORDS.get(delimiter.lower(), delimiter)
    if decimal is not None:
        found["decimal"] = decimal
    if header is not None:
        found["header"] = header
    return found


def told_of(path: str | None, options: Told) -> Told:
    """Return the options for a file, none where it is no text.

    Example:
        >>> told_of("draws.npy", {"decimal": ","}), told_of("points.csv", {"decimal": ","})
        ({}, {'decimal': ','})
    """
    return options if path is not None and Path(path).suffix.lower() in PLAIN else Told()


def folder_named(text: str) -> Path:
    """Return the folder of an option; an empty name, as of an unset variable, is none.

    Example:
        >>> folder_named("results").name
        'results'
    """
    if not text.strip():
        raise typer.BadParameter("the name of the folder is empty; name one, or . for this folder")
    return Path(text)


ComparedFolder = Annotated[
    Path,
    typer.Argument(metavar="FOLDER", parser=folder_named, help="What pyroclust compare wrote."),
]


def names_of_columns(text: str | None) -> list[str] | None:
    """Divide the names of an option at its commas; quotes stand around a name that holds one.

    Raises:
        ValueError: if a name is empty or a quote is not closed.

    Example:
        >>> names_of_columns('width, "height, cm"')
        ['width', 'height, cm']
    """
    if text is None:
        return None
    names = _between_commas(text)
    if not names:
        raise ValueError(
            f"--columns is '{visible(text)}', expected names between commas, as in width,height; quotes "
            "stand around a name with a comma"
        )
    return names


def kinds_of_columns(text: str | None) -> dict[str, str] | None:
    """Divide the kinds of an option at its commas; quotes stand around a name that holds one.

    Raises:
        ValueError: if a part has no name or no kind, or a name is there twice.

    Example:
        >>> kinds_of_columns("stage=category,visits=count")
        {'stage': 'category', 'visits': 'count'}
    """
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
