"""Files that are old or new after a crash, have one writer, and replace only what a run wrote itself."""

from pyroclust.core.files.exchange import exchange_results, settle_results, unfinished
from pyroclust.core.files.reading import check_regular, parse_json, read_regular, read_text
from pyroclust.core.files.records import (
    RESULTS,
    check_file,
    check_outside_the_package,
    check_replaceable,
    checksum,
    json_text,
    read_record,
    sealed,
    write_file,
    written_file,
    written_results,
)
from pyroclust.core.files.writing import clear_leftovers, locked_folder, new_part, replace_file, sync_folder

__all__ = [
    "RESULTS",
    "check_file",
    "check_outside_the_package",
    "check_regular",
    "check_replaceable",
    "checksum",
    "clear_leftovers",
    "exchange_results",
    "json_text",
    "locked_folder",
    "new_part",
    "parse_json",
    "read_record",
    "read_regular",
    "read_text",
    "replace_file",
    "sealed",
    "settle_results",
    "sync_folder",
    "unfinished",
    "write_file",
    "written_file",
    "written_results",
]
