"""The end of an analysis: failures of figures are gathered, and files written where a folder was named."""

from collections.abc import Callable

from pyroclust.results.analysis import Analysis

__all__ = ["finished"]


def finished(found: Analysis, tell: Callable[[str], None]) -> Analysis:
    """Compute the figures that every file holds, and write the files into the folder that is reserved.

    After a first Ctrl-C here the files are written all the same: everything was drawn by then.
    """
    try:
        _finish(found, tell)
    except KeyboardInterrupt:
        if found.interrupted or found.folder is None:
            raise
        found.interrupted = True
        found.notes.append("Interrupted while the files were written.")
        _finish(found, tell)
    return found


def _finish(found: Analysis, tell: Callable[[str], None]) -> None:
    found.to_dict()
    found.clusters()
    for source in found.sources:
        found.failures += [one for one in source.summary.failures if one not in found.failures]
    if found.folder is not None:
        from pyroclust.report.saving import write_analysis

        tell("writing the report")
        write_analysis(found, found.folder)
