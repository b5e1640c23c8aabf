"""Columns on one scale, for mixtures that no scale changes."""

import numpy as np

__all__ = ["unit_columns"]


def unit_columns(data: np.ndarray) -> np.ndarray:
    """Shift and scale columns to mean 0 and variance 1; constant ones are left out.

    Shape:
        data: ``(N, D)``; output: ``(N, E)``, E of the columns varying.

    Example:
        >>> unit_columns(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
        [[-1.0], [1.0]]
    """
    varying = data[:, np.ptp(data, axis=0) > 0]
    return (varying - varying.mean(0)) / varying.std(0)
