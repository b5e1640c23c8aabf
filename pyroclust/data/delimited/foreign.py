"""Paths of tables: what is refused by its suffix, with what to do, or because no file can be read there."""

from pathlib import Path

__all__ = ["check_file", "foreign_suffix"]

_REMEDIES = {
    ".xlsx .xlsm .xlsb .xls .ods .numbers": "save the sheet as CSV",
    ".gz .bz2 .xz .zst .zip .7z .tar .tgz": "unpack it first",
    ".txt .dat .data .asc .tab .prn": "if it is text with one row a line, name it .csv",
}


def foreign_suffix(path: Path, expected: tuple[str, ...]) -> str:
    """Say that a file is of another kind than those that are read, and what to do."""
    if str(path) == "-":
        return "standard input is not read; write it to a file first"
    suffix = path.suffix.lower() or ".txt"
    remedies = [remedy for suffixes, remedy in _REMEDIES.items() if suffix in suffixes.split()]
    way = remedies[0] if remedies else "write it as CSV"
    return f"its suffix is '{path.suffix}', expected one of {', '.join(expected)}: {way}"


def check_file(path: Path) -> None:
    """Refuse a path under which no file can be read."""
    if path.is_dir():
        raise ValueError(f"there is no file '{path}': it is a folder")
    if path.exists() and not path.is_file():
        raise ValueError(f"'{path}' is a device or a pipe, expected a file: write it to one first")
    if not path.is_file():
        raise ValueError(f"there is no file '{path}'; check the path")
