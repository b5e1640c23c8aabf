"""Files and folders that are old or new after a crash, never half of both, and have one writer."""

from pyroclust.files.folders import (
    check_outside_the_package,
    finish_entries,
    finish_folder,
    replace_entries,
    replace_folder,
)
from pyroclust.files.locks import locked_folder
from pyroclust.files.parts import clear_leftovers, new_part
from pyroclust.files.reading import check_regular, parse_json, read_regular, read_text
from pyroclust.files.writing import replace_file, sync_folder

__all__ = [
    "check_outside_the_package",
    "check_regular",
    "clear_leftovers",
    "finish_entries",
    "finish_folder",
    "locked_folder",
    "new_part",
    "parse_json",
    "read_regular",
    "read_text",
    "replace_entries",
    "replace_file",
    "replace_folder",
    "sync_folder",
]
