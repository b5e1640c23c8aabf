"""Built-in data sets, tables from files, and their scale."""

from pyroclust.data.datasets import Source, read_labelled_folder, read_table
from pyroclust.data.tables import Standardised, Table, principal_components, standardise, unscaled

__all__ = [
    "Source",
    "Standardised",
    "Table",
    "principal_components",
    "read_labelled_folder",
    "read_table",
    "standardise",
    "unscaled",
]
