"""The files of an analysis: page, draws, figures, rows, clusters."""

from os import PathLike
from pathlib import Path

from pyroclust.report.html import FILE_NAME, render_page
from pyroclust.report.page import page_of
from pyroclust.results.analysis import Analysis
from pyroclust.results.files import csv_text, name_of_run, results_folder, write_files, write_json
from pyroclust.results.records import Repeat


def write_analysis(analysis: Analysis, folder: Path) -> None:
    """Write all files into a folder that is reserved, in the place of earlier results, all or none."""
    import xarray as xr

    from pyroclust.data.draws.arviz import groups_of

    with write_files(folder, even_interrupted=analysis.interrupted) as part:
        page = page_of(analysis)
        (part / FILE_NAME).write_text(render_page(page), "utf-8", errors="backslashreplace")
        analysis.failures += [one for one in page.failures if one not in analysis.failures]
        write_json(part / "summary.json", analysis.to_dict())
        for name, frame in (("assignments.csv", analysis.frame()), ("clusters.csv", analysis.clusters())):
            (part / name).write_bytes(csv_text(frame).encode("utf-8", "backslashreplace"))
        groups = xr.DataTree.from_dict(dict(groups_of(analysis)))
        groups.to_netcdf(str(part / "draws.nc"), engine="h5netcdf")


def save_analysis(analysis: Analysis, folder: str | PathLike[str], *, overwrite: bool) -> Analysis:
    """Reserve a folder and write all files into it."""
    if analysis.repeat is None or not analysis.repeat.run:
        draws = [(name, one.assignments) for name, one in analysis.draws.items()]
        run = name_of_run(analysis.command, draws=draws, seed=analysis.seed)
        analysis.repeat = Repeat(seed=analysis.seed, run=run)
    repeat = analysis.repeat
    with results_folder(folder, run=repeat.run, command=repeat.command, overwrite=overwrite) as place:
        assert place is not None
        analysis.folder = place
        write_analysis(analysis, place)
    return analysis
