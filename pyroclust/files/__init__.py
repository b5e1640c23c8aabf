"""Files and folders that are the old ones or the new ones after a crash, never a part, and never two writers."""

from pyroclust.files.folders import check_outside_the_package, replace_entries, replace_folder
from pyroclust.files.locks import locked_folder
from pyroclust.files.parts import clear_leftovers, new_part
from pyroclust.files.writing import replace_file, sync_folder

__all__ = [
    "check_outside_the_package",
    "clear_leftovers",
    "locked_folder",
    "new_part",
    "replace_entries",
    "replace_file",
    "replace_folder",
    "sync_folder",
]
