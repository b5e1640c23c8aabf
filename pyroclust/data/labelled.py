"""Folders of labelled tables, to train guides on real data."""

from pathlib import Path

from pyroclust.core.text import listed
from pyroclust.data.choosing import chosen_table
from pyroclust.data.reading import SUFFIXES, read_raw
from pyroclust.data.tables import Table

__all__ = ["read_labelled_folder"]


def read_labelled_folder(folder: str | Path, *, label: str, min_points: int = 5) -> list[Table]:
    """Read every table of a folder, all but the label column as points, in the order of file names."""
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"there is no folder '{folder}'; check the path")
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES and path.is_file())
    if not paths:
        raise ValueError(f"'{folder}' holds no table, expected at least one {', '.join(SUFFIXES)} file")
    tables = [_read(path, label=label, min_points=min_points) for path in paths]
    first = tables[0]
    for table in tables[1:]:
        if table.columns != first.columns:
            raise ValueError(
                f"{table.name} has columns {listed(table.columns)}, expected {listed(first.columns)} "
                f"as {first.name}: give all tables the same columns in the same order"
            )
    return tables


def _read(path: Path, *, label: str, min_points: int) -> Table:
    table = chosen_table(read_raw(path), path.stem, label=label)
    labels = [] if table.labels is None else [one for one in table.labels if one is not None]
    if len(table.data) < min_points:
        raise ValueError(
            f"{table.name} has {len(table.data)} row(s), expected at least {min_points}: "
            "take the file out of the folder, or lower min_points"
        )
    if lost := len(table.data) - len(labels):
        raise ValueError(
            f"{table.name}: column '{label}' has {lost} missing value(s), "
            "expected a class for every row: drop those rows first"
        )
    if len(set(labels)) == len(labels):
        raise ValueError(
            f"{table.name}: column '{label}' gives every row a class of its own, "
            "expected classes of several rows: name another column"
        )
    return table
