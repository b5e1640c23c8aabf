"""Known labels of points: numbers or names, none masked and none missing."""

from typing import Any

import numpy as np
import pandas as pd

from pyroclust.core.arrays import on_host, refuse_masked

__all__ = ["as_class_labels"]


def as_class_labels(name: str, labels: Any) -> np.ndarray:
    """Return known labels as an array of numbers or names.

    Args:
        name: of the argument, for errors.
        labels: numbers or names: a list, an array, a tensor of any device.

    Raises:
        ValueError: if a label is masked or missing, or they are in a tensor that is not dense.

    Example:
        >>> as_class_labels("labels", ["a", "b"]).tolist()
        ['a', 'b']
        >>> as_class_labels("labels", ["a", None])
        Traceback (most recent call last):
        ValueError: labels has 1 missing label(s), expected one a point: leave out the points without
    """
    refuse_masked(name, labels)
    try:
        values = np.asarray(on_host(labels))
    except (TypeError, RuntimeError):
        raise ValueError(
            f"{name} is of type {type(labels).__name__}, expected a list, an array or a dense tensor"
        ) from None
    if values.dtype.kind in "US" and isinstance(labels, list | tuple):
        # Beside text numpy makes text of missing values.
        values = np.array(labels, dtype=object)
    missing = int(np.sum(pd.isna(values)))
    if missing:
        raise ValueError(
            f"{name} has {missing} missing label(s), expected one a point: leave out the points without"
        )
    return values
