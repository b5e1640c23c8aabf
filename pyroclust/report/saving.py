"""The files of an analysis: page, draws, figures, rows, clusters."""

from os import PathLike
from pathlib import Path

from pyroclust.report.html import FILE_NAME, render_page
from pyroclust.report.page import page_of
from pyroclust.results.analysis import Analysis
from pyroclust.results.files import csv_text, name_of_run, results_folder, write_files, write_json
from pyroclust.results.records import Repeat

__all__ = ["save_analysis", "write_analysis"]


def write_analysis(found: Analysis, folder: Path) -> None:
    """Write all files into a folder that is reserved, in the place of earlier results, all or none."""
    import xarray as xr

    from pyroclust.data.draws.arviz import groups_of

    with write_files(folder, even_interrupted=found.interrupted) as part:
        page = page_of(found)
        (part / FILE_NAME).write_text(render_page(page), "utf-8", errors="backslashreplace")
        found.failures += [one for one in page.failures if one not in found.failures]
        write_json(part / "summary.json", found.to_dict())
        for name, frame in (("assignments.csv", found.frame()), ("clusters.csv", found.clusters())):
            (part / name).write_bytes(csv_text(frame).encode("utf-8", "backslashreplace"))
        groups = xr.DataTree.from_dict(dict(groups_of(found)))
        groups.to_netcdf(str(part / "draws.nc"), engine="h5netcdf")


def save_analysis(found: Analysis, folder: str | PathLike[str], *, overwrite: bool) -> Analysis:
    """Reserve a folder and write all files into it."""
    if found.repeat is None or not found.repeat.run:
        draws = [(name, one.assignments) for name, one in found.draws.items()]
        run = name_of_run(found.command, draws=draws, seed=found.seed)
        found.repeat = Repeat(seed=found.seed, run=run)
    repeat = found.repeat
    with results_folder(folder, run=repeat.run, command=repeat.command, overwrite=overwrite) as place:
        assert place is not None
        found.folder = place
        write_analysis(found, place)
    return found
