"""The files of a comparison or a diagnosis: report, draws, summary and assignments."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from pyroclust.data.tables import Table
from pyroclust.results.comparison import Comparison
from pyroclust.results.comparison_summary import ComparisonSummary
from pyroclust.results.diagnosis import Diagnosis
from pyroclust.results.guide_alone import AloneSummary, GuideAlone

__all__ = [
    "assignments_frame",
    "points_frame",
    "prepare_folder",
    "summary_content",
    "write_diagnosis",
    "write_outputs",
]


def prepare_folder(out: str | PathLike[str]) -> Path:
    """Create a folder and check that files can be written there, before anything is computed.

    Raises:
        ValueError: if it cannot be created or written to.

    Example:
        >>> import tempfile
        >>> prepare_folder(Path(tempfile.mkdtemp()) / "results").is_dir()
        True
    """
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        raise ValueError(
            f"cannot write into the folder '{folder}' ({reason}); choose another with --out"
        ) from None
    return folder


def summary_content(
    comparison: Comparison | GuideAlone, summary: ComparisonSummary | AloneSummary, *, seed: int
) -> dict[str, Any]:
    """Return what ``summary.json`` holds: what was compared, and every figure."""
    return {
        "pyroclust": version("pyroclust"),
        "source": comparison.source,
        "columns": list(comparison.columns),
        "num_points": len(comparison.data),
        "model": comparison.model_name,
        "guide": comparison.guide_name,
        "seed": seed,
        "guide_draws": int(comparison.guide.assignments.shape[1]),
        "guide_seconds": comparison.guide.seconds,
        **_beside(comparison),
        "notes": list(comparison.notes),
        **summary.to_dict(),
    }


def _beside(comparison: Comparison | GuideAlone) -> dict[str, Any]:
    """Say what stood beside the guide, or why nothing did."""
    if isinstance(comparison, GuideAlone):
        return {"missing": comparison.missing}
    chains, draws, _ = comparison.mcmc.assignments.shape
    return {"mcmc_chains": chains, "mcmc_draws": draws, "mcmc_seconds": comparison.mcmc.seconds}


def assignments_frame(table: Table, summary: ComparisonSummary | AloneSummary) -> pd.DataFrame:
    """Return one row a point: its name, columns and label as given, and its cluster by every source.

    Clusters are those of the point estimates, numbered from 0 in order of first appearance; ``uncertainty``
    is the probability of being apart from the companions in that cluster.
    """
    frame = pd.DataFrame(table.data, columns=list(table.columns))
    frame.insert(0, "row", list(table.row_names), allow_duplicates=True)
    if table.labels is not None:
        frame = pd.concat([frame, pd.Series(table.labels, name="label")], axis=1)
    estimates = (
        {"guide": summary.estimate}
        if isinstance(summary, AloneSummary)
        else {"guide": summary.estimate_guide, "mcmc": summary.estimate_mcmc}
    )
    found = {
        f"{source}_{column}": values
        for source, estimate in estimates.items()
        for column, values in (("cluster", estimate.assignments), ("uncertainty", estimate.uncertainty))
    }
    return pd.concat([frame, pd.DataFrame(found)], axis=1)


def write_outputs(
    folder: Path,
    table: Table,
    comparison: Comparison | GuideAlone,
    summary: ComparisonSummary | AloneSummary,
    *,
    seed: int,
) -> None:
    """Write ``report.html``, ``draws.nc``, ``summary.json`` and ``assignments.csv``, all or none."""
    from pyroclust.io.arviz import to_arviz
    from pyroclust.report import write_report

    with _finished_together(folder) as part:
        write_report(comparison, summary, part)
        to_arviz(comparison).to_netcdf(str(part / "draws.nc"), engine="h5netcdf")
        _write_json(part / "summary.json", summary_content(comparison, summary, seed=seed))
        assignments_frame(table, summary).to_csv(part / "assignments.csv", index=False)


def points_frame(diagnosis: Diagnosis) -> pd.DataFrame:
    """Return one row a point: name, columns and label as given, cluster and uncertainty by every source."""
    frame = pd.DataFrame({"point": diagnosis.point_names})
    table = diagnosis.table
    if table is not None:
        frame = pd.concat([frame, pd.DataFrame(table.data, columns=list(table.columns))], axis=1)
        if table.labels is not None:
            frame = pd.concat([frame, pd.Series(table.labels, name="label")], axis=1)
    found = {
        f"{one.name}_{column}": values
        for one in diagnosis.summaries
        for column, values in (
            ("cluster", one.estimate.assignments),
            ("uncertainty", one.estimate.uncertainty),
        )
    }
    return pd.concat([frame, pd.DataFrame(found)], axis=1)


def write_diagnosis(folder: Path, diagnosis: Diagnosis) -> None:
    """Write ``report.html``, ``summary.json`` and ``points.csv``, all or none.

    Args:
        folder: an existing folder.
        diagnosis: what to write.
    """
    from pyroclust.report import write_diagnosis_report

    with _finished_together(folder) as part:
        write_diagnosis_report(diagnosis, part)
        _write_json(part / "summary.json", diagnosis.to_dict())
        points_frame(diagnosis).to_csv(part / "points.csv", index=False)


@contextmanager
def _finished_together(folder: Path) -> Iterator[Path]:
    """Finish files in a folder beside their place first: a failure leaves those of an earlier run whole."""
    with TemporaryDirectory(dir=folder, prefix=".part-") as unfinished:
        part = Path(unfinished)
        yield part
        for path in sorted(part.iterdir()):
            os.replace(path, folder / path.name)


def _write_json(path: Path, content: dict[str, Any]) -> None:
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")
