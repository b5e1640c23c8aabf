"""The files of a comparison or a diagnosis: report, draws, summary and assignments."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyroclust.results.comparison import Comparison
from pyroclust.results.contents import WrittenResult
from pyroclust.results.guide_alone import GuideAlone

__all__ = ["prepare_folder", "write_result"]


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


def write_result(
    folder: Path, result: WrittenResult, *, draws: Comparison | GuideAlone | None = None
) -> None:
    """Write ``report.html``, ``summary.json`` and the file of the rows, all or none.

    Args:
        folder: an existing folder.
        result: what an analysis found.
        draws: written as ``draws.nc``; ``None`` where the caller has them in a file already.

    Raises:
        OSError: if the folder cannot be written.
    """
    from pyroclust.io.arviz import to_arviz
    from pyroclust.report import write_report

    with _finished_together(folder) as part:
        write_report(result, part)
        _write_json(part / "summary.json", result.to_dict())
        result.frame().to_csv(part / result.rows_file, index=False)
        if draws is not None:
            to_arviz(draws).to_netcdf(str(part / "draws.nc"), engine="h5netcdf")


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
