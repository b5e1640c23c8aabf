"""What a benchmark has measured, kept in runs/ so that it goes on where it was stopped."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyroclust.core.files import replace_file

__all__ = ["add_to_report", "kept", "weights_of", "write_report"]


def kept(path: Path, measure: Callable[[], Any]) -> Any:
    """Read what an earlier run found, or find it and write it down."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, json.dumps(measure()).encode())
    return json.loads(path.read_text())


def weights_of(guide: Any) -> str:
    """Name the weights of a guide: other weights, other results."""
    content = b"".join(one.numpy().tobytes() for one in guide.state_dict().values())
    return hashlib.sha256(content).hexdigest()[:12]


def write_report(path: Path, report: Any) -> None:
    """Replace the last report of a benchmark."""
    replace_file(path, (json.dumps(report, indent=1) + "\n").encode())


def add_to_report(path: Path, rows: dict[str, Any]) -> None:
    """Replace rows of the last report of a benchmark, and keep its others."""
    last = json.loads(path.read_text()) if path.exists() else {}
    write_report(path, last | rows)
