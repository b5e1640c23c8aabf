"""The end of an analysis: failures of figures are gathered, and files written where a folder was named."""

from collections.abc import Callable

from pyroclust.results.analysis import Analysis

__all__ = ["finished"]


def finished(found: Analysis, tell: Callable[[str], None]) -> Analysis:
    """Compute the figures that every file holds, and write the files into the folder that is reserved."""
    found.to_dict()
    found.clusters()
    for source in found.sources:
        found.failures += [one for one in source.summary.failures if one not in found.failures]
    if found.folder is not None:
        from pyroclust.report.saving import write_analysis

        tell("writing the report")
        write_analysis(found, found.folder)
    return found
