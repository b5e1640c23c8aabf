"""What a training leaves on disk: checkpoints, and what they belong to; tables and TensorBoard events."""

import csv
import hashlib
import inspect
import io
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import cached_property
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any, Self, TextIO

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Distribution

from pyroclust.core.files import replace_file
from pyroclust.core.messages import listed

CHECKPOINT_FILE = "checkpoint.pt"
LOG_FILE = "log.csv"
VALIDATION_FILE = "validation.csv"
EVENTS_FOLDER = "tensorboard"
_EVENTS_EVERY = 20
FAILURE = "failure"
"""The entry that says why a training cannot go on with the same settings."""
_FORMAT, _VERSION = "format", 1
_DIGEST = hashlib.sha256().digest_size
_LIBRARIES = ("pyroclust", "pyro-ppl", "torch")
_PLAIN = (bool, int, float, complex, str, bytes, type(None), torch.Size, torch.dtype)
_DEEPEST = 12


def write_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Replace a checkpoint by a new one, with a checksum behind it; the old one stays where that fails."""
    stream = io.BytesIO()
    torch.save({_FORMAT: _VERSION, **state}, stream)
    content = stream.getvalue()
    replace_file(path, content + hashlib.sha256(content).digest())


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Read a checkpoint; nothing in it is executed."""
    if not path.is_file():
        raise ValueError(f"there is no checkpoint '{path}'; train without resume to start anew")
    content = path.read_bytes()
    body, digest = content[:-_DIGEST], content[-_DIGEST:]
    if hashlib.sha256(body).digest() != digest:
        raise ValueError(f"checkpoint '{path}' was cut off or changed; delete it and train anew")
    try:
        state = torch.load(io.BytesIO(body), weights_only=True, map_location="cpu")
    except Exception as error:
        # What a reader of torch's files raises depends on the byte that is wrong.
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"checkpoint '{path}' cannot be read ({reason}); delete it and train anew") from None
    if not isinstance(state, dict) or state.get(_FORMAT) != _VERSION:
        raise ValueError(
            f"checkpoint '{path}' has another format; go on with the pyroclust version that wrote it"
        )
    return state


def failure_of(path: Path) -> str:
    """Return why the training of a checkpoint failed; empty where it did not, or the file cannot be read."""
    try:
        return str(read_checkpoint(path).get(FAILURE, ""))
    except (ValueError, OSError):
        return ""


def check_same_training(
    state: Mapping[str, Any], present: Mapping[str, Any], defaults: dict[str, Any]
) -> None:
    """Refuse the state of a training of other settings, another guide, or made of other things."""
    # A setting that a version did not have was at its default there.
    before, now = {**defaults, **state["settings"]}, present["settings"]
    changed = [name for name, value in before.items() if name not in now or now[name] != value]
    if changed:
        raise ValueError(
            f"the checkpoint was made with other settings ({', '.join(changed)}), expected the same: "
            "restore them, or train anew into another folder"
        )
    if state["guide"] != present["guide"] or (state["choice"] is None) != (present["choice"] is None):
        raise ValueError(
            "the checkpoint belongs to another guide or choice of simulations, expected the same: "
            "train anew into another folder"
        )
    # Checkpoints of earlier versions do not say what they were made of.
    before, now = state.get("made_of", present["made_of"]), present["made_of"]
    other = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    if other:
        shown = (f"{name} was {before.get(name, 'absent')}, is {now.get(name, 'absent')}" for name in other)
        raise ValueError(
            f"the checkpoint was made of other things ({listed(shown, 3)}), expected the same: restore "
            "them, or train anew into another folder"
        )


def identity(model: Callable[..., Any], guide: nn.Module, choice: Any, data: Any = None) -> dict[str, str]:
    """Return what the weights of a training depend on, beside its settings: each thing with its name.

    Models, laws of data and choices with every number and table in them, programs by their text, guides
    without their weights; and the versions of the libraries, which decide what the same seeds give.
    """
    parts = {library: version(library).partition("+")[0] for library in _LIBRARIES}
    # Of a model with weights of its own these are trained.
    _Walk(parts, with_tensors=not isinstance(model, nn.Module)).walk("model", model)
    _Walk(parts, with_tensors=False).walk("guide", guide)
    _Walk(parts, with_tensors=True).walk("choice", choice)
    if data is not None:
        _Walk(parts, with_tensors=True).walk("data", data)
    return parts


class _Walk:
    """Goes through an object and writes down what it is made of."""

    def __init__(self, parts: dict[str, str], *, with_tensors: bool) -> None:
        self.parts, self.with_tensors = parts, with_tensors
        self._seen: set[int] = set()

    def walk(self, where: str, value: Any) -> None:
        """Write down a value under a name, and what it holds under longer ones."""
        if isinstance(value, _PLAIN):
            self.parts[where] = repr(value)
        elif isinstance(value, Tensor | np.ndarray | np.generic):
            if self.with_tensors:
                array = value.detach().cpu().numpy() if isinstance(value, Tensor) else np.asarray(value)
                digest = f"{array.dtype} {array.shape} {_digest(array.tobytes())}"
                self.parts[where] = digest if array.ndim else repr(array.item())
        elif id(value) not in self._seen and where.count(".") < _DEEPEST:
            self._seen.add(id(value))
            for name, part in self._inside(where, value).items():
                self.walk(f"{where}.{name}", part)

    def _inside(self, where: str, value: Any) -> dict[str, Any]:
        """Return what an object holds, and write down its name where it has one."""
        match value:
            case Mapping():
                return {str(name): part for name, part in value.items()}
            case list() | tuple() | set() | frozenset():
                parts = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
                return {str(place): part for place, part in enumerate(parts)}
            case MethodType():
                self.walk(where, value.__func__)
                return {"self": value.__self__}
            case FunctionType():
                self.parts[where] = f"{value.__qualname__} {_digest(_text_of(value).encode())}"
                return {**inspect.getclosurevars(value).nonlocals, "defaults": value.__defaults__}
            case type():
                self.parts[where] = value.__qualname__
                return {}
        self.parts[where] = type(value).__qualname__
        if isinstance(value, Distribution):
            return {name: getattr(value, name) for name in value.arg_constraints}
        return _attributes(value)


def _attributes(value: Any) -> dict[str, Any]:
    """Return what an object keeps, without what it only computes once."""
    if isinstance(value, nn.Module):
        kept = {n: part for n, part in vars(value).items() if not n.startswith("_") and n != "training"}
        tensors = [*value.named_parameters(recurse=False), *value.named_buffers(recurse=False)]
        return {**kept, **dict(tensors), **dict(value.named_children())}
    if hasattr(value, "arguments") and isinstance(value.arguments, Mapping):
        return dict(value.arguments)
    return {
        name: part
        for name, part in getattr(value, "__dict__", {}).items()
        if not isinstance(getattr(type(value), name, None), cached_property)
    }


def _text_of(function: FunctionType) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return repr(function.__code__.co_code)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()


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
        self._steps.write(step, figures)
        if step % _EVENTS_EVERY == 0:
            self._to_events("train", step, figures)

    def validation(self, step: int, figures: Mapping[str, float]) -> None:
        """Write the figures of a validation after so many steps."""
        self._validations.write(step, figures)
        self._to_events("validation", step, figures)

    def flush(self) -> None:
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
