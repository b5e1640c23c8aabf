"""What a training writes while it runs: CSV tables, and TensorBoard events where that is installed."""

import csv
import io
import os
from collections.abc import Mapping
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self, TextIO

from pyroclust.core.files import replace_file

LOG_FILE = "log.csv"
VALIDATION_FILE = "validation.csv"
EVENTS_FOLDER = "tensorboard"
_EVENTS_EVERY = 20


class TrainingLog:
    """Rows for every step and every validation, none twice after a resumption.

    Rows of ``step``, at which the training starts or goes on, or later are dropped. A folder ``tensorboard``
    has the same figures where tensorboardX is installed (``pip install 'pyroclust[tensorboard]'``).
    """

    def __init__(self, folder: Path, *, step: int) -> None:
        # Both are read before either is changed.
        self._steps = _Table(folder / LOG_FILE, step)
        self._validations = _Table(folder / VALIDATION_FILE, step + 1)
        self._folder, self._step = folder / EVENTS_FOLDER, step

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            self._tables = [opened.enter_context(table.open()) for table in (self._steps, self._validations)]
            self._events: Any = None
            if find_spec("tensorboardX") is not None:
                from tensorboardX import SummaryWriter

                writer = SummaryWriter(str(self._folder), purge_step=self._step)
                self._events = opened.enter_context(writer)
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *failure: object) -> None:
        self._opened.close()

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
        for table in self._tables:
            table.flush()
            os.fsync(table.fileno())
        if self._events is not None:
            self._events.flush()

    def _to_events(self, group: str, step: int, figures: Mapping[str, float]) -> None:
        if self._events is not None:
            for name, value in figures.items():
                self._events.add_scalar(f"{group}/{name}", value, step)


class _Table:
    """A CSV file whose first column is the step and whose header comes with the first row.

    Rows are only ever appended. Where some have to go, a shorter file replaces the whole one at once.
    """

    def __init__(self, path: Path, step: int) -> None:
        self._path = path
        self._before = path.read_bytes() if path.is_file() else None
        self._kept = b"" if self._before is None else _rows_before(self._before, path, step)
        self._started = bool(self._kept)

    def open(self) -> TextIO:
        if self._kept != self._before:
            replace_file(self._path, self._kept)
        stream = self._path.open("a", newline="", encoding="utf-8")
        self._writer = csv.writer(stream, lineterminator="\n")
        return stream

    def write(self, step: int, figures: Mapping[str, float]) -> None:
        if not self._started:
            self._writer.writerow(["step", *figures])
            self._started = True
        self._writer.writerow([step, *figures.values()])


def check_table(path: Path) -> None:
    """Refuse a file that is no table of a training."""
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
