"""Files of other software: what they are by first bytes or suffix, and how they become a table."""

from pathlib import Path

__all__ = ["check_file", "foreign_content", "foreign_suffix"]

_SHEET, _UNPACK, _PLAIN = "save the sheet as CSV", "unpack it first", "write it as CSV"
_WORKBOOK, _OLD_WORKBOOK = "an Excel or OpenDocument workbook", "a workbook of an old Excel"
_FIRST_BYTES = (
    (b"\x1f\x8b", "packed by gzip", _UNPACK),
    (b"BZh91AY", "packed by bzip2", _UNPACK),
    (b"\xfd7zXZ\x00", "packed by xz", _UNPACK),
    (b"\x28\xb5\x2f\xfd", "packed by zstd", _UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "an archive", _UNPACK),
    (b"PK\x03\x04", f"a zip archive or {_WORKBOOK}", f"{_UNPACK}, or {_SHEET}"),
    (b"\xd0\xcf\x11\xe0", _OLD_WORKBOOK, _SHEET),
    (b"PAR1\x15", "a Parquet file", "name it .parquet"),
    (b"\x93NUMPY", "an array of NumPy", "name it .npy"),
    (b"\x89HDF", "an HDF5 file", _PLAIN),
    *((b"CDF" + version, "a NetCDF file", _PLAIN) for version in (b"\x01", b"\x02", b"\x05")),
    (b"ARROW1\0", "an Arrow file", _PLAIN),
    (b"SQLite format 3\0", "a data base of SQLite", _PLAIN),
    (b"$FL2@", "an SPSS file", _PLAIN),
    (b"%PDF-", "a PDF document", _PLAIN),
)
_FIRST_WORDS = (
    *((beginning, "a web page", _PLAIN) for beginning in (b"<!doctype", b"<html", b"<table")),
    (b"<?xml", "an XML document", _PLAIN),
    (b"@relation", "an ARFF file of Weka", _PLAIN),
    *((beginning, "JSON", _PLAIN) for beginning in (b'{"', b"{\n", b"{\r", b"[{", b"[[", b"[\n", b"[\r")),
)
_SUFFIXES = (
    (".xlsx .xlsm .xlsb .ods .numbers", "a workbook", _SHEET),
    (".xls", _OLD_WORKBOOK, _SHEET),
    (".gz .bz2 .xz .zst .zip .7z .tar .tgz", "packed", _UNPACK),
    (".json .jsonl .ndjson", "JSON", _PLAIN),
    (".arff", "an ARFF file of Weka", _PLAIN),
    (".sav .por", "an SPSS file", _PLAIN),
    (".dta", "a Stata file", _PLAIN),
    (".sas7bdat", "a SAS file", _PLAIN),
    (".rds .rda .rdata", "a file of R", "write it with write.csv"),
    (".mat", "a file of MATLAB", "write it with writematrix as CSV"),
    (".pkl .pickle .pt .pth .joblib", "a pickle, which could run any code", _PLAIN),
    (".h5 .hdf5 .feather .arrow", "a binary file", _PLAIN),
    (".html .htm", "a web page", _PLAIN),
    (".txt .dat .data .asc .tab .prn", "of no known kind", "if it is text with one row a line, name it .csv"),
)


def foreign_content(content: bytes) -> str | None:
    """Say what a file is by its first bytes, and what to do; ``None`` where it may be delimited text."""
    words = content[:200].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    for begun, kinds in ((content, _FIRST_BYTES), (words, _FIRST_WORDS)):
        for beginning, what, remedy in kinds:
            if begun.startswith(beginning):
                return f"it is {what}: {remedy}"
    return None


def foreign_suffix(path: Path, expected: tuple[str, ...]) -> str:
    """Say that a file is of another kind than those that are read, and what to do."""
    if str(path) == "-":
        return "standard input is not read; write it to a file first"
    said = f"its suffix is '{path.suffix}', expected one of {', '.join(expected)}"
    for suffixes, what, remedy in _SUFFIXES:
        if (path.suffix.lower() or ".txt") in suffixes.split():
            return f"{said}; it is {what}: {remedy}"
    return said


def check_file(path: Path) -> None:
    """Refuse a path under which no file can be read."""
    if path.is_dir():
        raise ValueError(f"there is no file '{path}': it is a folder")
    if path.exists() and not path.is_file():
        raise ValueError(f"'{path}' is a device or a pipe, expected a file: write it to one first")
    if not path.is_file():
        raise ValueError(f"there is no file '{path}'; check the path")
