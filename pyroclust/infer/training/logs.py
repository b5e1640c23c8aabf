"""What a training writes while it runs: CSV tables, and TensorBoard events where that is installed."""

import csv
import io
import os
from collections.abc import Mapping
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from pyroclust.core.files import replace_file

__all__ = ["EVENTS_FOLDER", "LOG_FILE", "VALIDATION_FILE", "TrainingLog", "check_table"]


LOG_FILE = "log.csv"
VALIDATION_FILE = "validation.csv"
EVENTS_FOLDER = "tensorboard"
_EVENTS_EVERY = 20


class TrainingLog:
    """Rows for every step and every validation, none twice after a resumption.

    Args:
        folder: an existing one; holds ``log.csv``, ``validation.csv`` and, where tensorboardX is installed
            (``pip install 'pyroclust[tensorboard]'``), the folder ``tensorboard``.
        step: the step at which the training starts or goes on; rows of this step or later are dropped.

    Raises:
        OSError: if the disk is full or the folder cannot be written.
        ValueError: if a file there is no such table.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> with TrainingLog(folder) as log:
        ...     log.step(0, {"points": 12, "nats_per_point": 0.4})
        >>> (folder / LOG_FILE).read_text().split()
        ['step,points,nats_per_point', '0,12,0.4']
    """

    def __init__(self, folder: Path, *, step: int = 0) -> None:
        # Both are read before either is changed.
        self._steps = _Table(folder / LOG_FILE, step)
        self._validations = _Table(folder / VALIDATION_FILE, step + 1)
        with ExitStack() as opened:
            for one in (self._steps, self._validations):
                one.open()
                opened.callback(one.close)
            opened.pop_all()
        self._events = _event_writer(folder / EVENTS_FOLDER, step)

    def step(self, step: int, figures: Mapping[str, float]) -> None:
        """Write the figures of a step."""
        self._steps.write(step, figures)
        if step % _EVENTS_EVERY == 0:
            self._to_events("train", step, figures)

    def validation(self, step: int, figures: Mapping[str, float]) -> None:
        """Write the figures of a validation after so many steps."""
        self._validations.write(step, figures)
        self._to_events("validation", step, figures)

    def flush(self) -> None:
        """Hand everything to the disk."""
        self._steps.flush()
        self._validations.flush()
        if self._events is not None:
            self._events.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._steps.close()
        self._validations.close()
        if self._events is not None:
            self._events.close()

    def _to_events(self, group: str, step: int, figures: Mapping[str, float]) -> None:
        if self._events is None:
            return
        for name, value in figures.items():
            self._events.add_scalar(f"{group}/{name}", value, step)


def _event_writer(folder: Path, step: int) -> Any:
    """Return a writer of events, or None without the extra: the tables hold the same figures."""
    if find_spec("tensorboardX") is None:
        return None
    from tensorboardX import SummaryWriter

    return SummaryWriter(str(folder), purge_step=step)


class _Table:
    """A CSV file whose first column is the step and whose header comes with the first row.

    Rows are only ever appended. Where some have to go, a shorter file replaces the whole one at once.
    """

    def __init__(self, path: Path, step: int) -> None:
        self._path = path
        self._before = path.read_bytes() if path.is_file() else None
        self._kept = b"" if self._before is None else _rows_before(self._before, path, step)
        self._started = bool(self._kept)

    def open(self) -> None:
        if self._kept != self._before:
            replace_file(self._path, self._kept)
        self._stream: TextIO = self._path.open("a", newline="", encoding="utf-8")
        self._writer = csv.writer(self._stream, lineterminator="\n")

    def write(self, step: int, figures: Mapping[str, float]) -> None:
        if not self._started:
            self._writer.writerow(["step", *figures])
            self._started = True
        self._writer.writerow([step, *figures.values()])

    def flush(self) -> None:
        self._stream.flush()
        os.fsync(self._stream.fileno())

    def close(self) -> None:
        self._stream.close()


def check_table(path: Path) -> None:
    """Refuse a file that is no table of a training.

    Raises:
        ValueError: if there is one; nothing at all is right.
    """
    if path.is_file():
        _rows_before(path.read_bytes(), path, 0)


def _rows_before(content: bytes, path: Path, step: int) -> bytes:
    """Return the header and the whole rows of earlier steps; a killed process may have left half a row."""
    if not content:
        return b""
    try:
        rows = list(csv.reader(io.StringIO(content.decode("utf-8"), newline="")))
    except (UnicodeDecodeError, csv.Error):
        rows = [[]]
    if rows[0][:1] != ["step"]:
        raise ValueError(
            f"'{path}' is no table of a training, expected one whose first column is step; move it away"
        )
    whole = [row for row in rows[1:] if len(row) == len(rows[0]) and row[0].isdigit() and int(row[0]) < step]
    if not whole:
        return b""
    lines = io.StringIO(newline="")
    csv.writer(lines, lineterminator="\n").writerows([rows[0], *whole])
    return lines.getvalue().encode()
