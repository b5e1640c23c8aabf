"""Figures fit for JSON."""

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from pyroclust.diagnostics import SourceComparison

__all__ = ["plain", "source_figures"]


def plain(value: Any) -> Any:
    """Turn arrays into lists, and numbers that JSON does not have into ``None``.

    Example:
        >>> plain({"values": np.arange(2), "p": float("nan")})
        {'values': [0, 1], 'p': None}
    """
    match value:
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case np.ndarray() | np.generic():
            return plain(value.tolist())
        case float() if not math.isfinite(value):
            return None
    return value


def source_figures(found: SourceComparison) -> dict[str, Any]:
    """Return two sources' figures without the null distributions of the tests.

    Args:
        found: from :func:`pyroclust.diagnostics.compare_sources`.
    """
    figures = asdict(found)
    figures["verdict"] = {"level": found.verdict.level.value, "sentence": found.verdict.sentence}
    for test in ("mmd", "classifier", "counts"):
        figures[test].pop("null")
    return figures
