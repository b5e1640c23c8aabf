"""Checkpoints of a training: written atomically, verified by a checksum when read."""

import hashlib
import io
from pathlib import Path
from typing import Any

import torch

from pyroclust.core.files import replace_file

__all__ = ["CHECKPOINT_FILE", "FAILURE", "FORMAT", "failure_of", "read_checkpoint", "write_checkpoint"]

CHECKPOINT_FILE = "checkpoint.pt"
FAILURE = "failure"
"""The entry that says why a training cannot go on with the same settings."""
FORMAT = "format"
_VERSION = 1
_DIGEST = hashlib.sha256().digest_size


def write_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Replace a checkpoint by a new one, with a checksum behind it.

    Args:
        path: the file.
        state: tensors, numbers, text, and lists and dictionaries of them.

    Raises:
        OSError: if it cannot be written; the old checkpoint is then still there.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / CHECKPOINT_FILE
        >>> write_checkpoint(path, {"step": 3})
        >>> read_checkpoint(path)["step"]
        3
    """
    stream = io.BytesIO()
    torch.save({FORMAT: _VERSION, **state}, stream)
    content = stream.getvalue()
    replace_file(path, content + hashlib.sha256(content).digest())


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Read a checkpoint; nothing in it is executed.

    Raises:
        ValueError: if there is none, or it is damaged or of another version.
    """
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
    if not isinstance(state, dict) or state.get(FORMAT) != _VERSION:
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
