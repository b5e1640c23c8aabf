"""Whether new points are like those that were clustered, by their log densities."""

from dataclasses import dataclass

import numpy as np
import scipy

from pyroclust.core.numbers import as_finite
from pyroclust.diagnostics.limits import MIN_ALIKE

# Fewer points have no ranks to speak of.
_FEWEST = 5


@dataclass(frozen=True)
class Likeness:
    """Where new points lie among old ones."""

    typicality: np.ndarray
    p_value: float

    @property
    def is_unlike(self) -> bool:
        """Whether the new points are unlike the old ones."""
        return self.p_value < MIN_ALIKE


def likeness(new: np.ndarray, usual: np.ndarray) -> Likeness:
    """Compare log densities of new points with those of old ones, each left out of its cluster."""
    new, usual = as_finite("new", new), as_finite("usual", usual)
    if new.ndim != 1 or usual.ndim != 1 or not len(usual):
        raise ValueError(f"new and usual have shapes {new.shape} and {usual.shape}, expected (M,) and (N,)")
    enough = len(new) >= _FEWEST
    p_value = (
        float(scipy.stats.mannwhitneyu(new, usual, alternative="less").pvalue) if enough else float("nan")
    )
    return Likeness(np.searchsorted(np.sort(usual), new, side="right") / len(usual), p_value)
