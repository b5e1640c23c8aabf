"""Delimited text from any software: encoding, delimiter, decimal mark and rows, found or told."""

from pyroclust.delimited.foreign import check_file, foreign_suffix
from pyroclust.delimited.numerals import MISSING, Cells, Marks, find_marks, is_numeral
from pyroclust.delimited.reading import PLAIN, ReadingOptions, Rows, read_delimited
from pyroclust.delimited.units import HOURS, days_between, quantities

__all__ = [
    "HOURS",
    "MISSING",
    "PLAIN",
    "Cells",
    "Marks",
    "ReadingOptions",
    "Rows",
    "check_file",
    "days_between",
    "find_marks",
    "foreign_suffix",
    "is_numeral",
    "quantities",
    "read_delimited",
]
