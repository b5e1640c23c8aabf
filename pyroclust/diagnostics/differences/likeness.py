"""Whether new points are like those that were clustered, by their log densities."""

from dataclasses import dataclass

import numpy as np
import scipy

from pyroclust.core.arrays import as_finite
from pyroclust.diagnostics.limits import MIN_ALIKE

__all__ = ["Likeness", "likeness"]

# Fewer points have no ranks to speak of.
_FEWEST = 5


@dataclass(frozen=True)
class Likeness:
    """Where new points lie among old ones.

    Attributes:
        typicality: share of old points that are no more likely than each new one, ``(M,)``.
        p_value: of a rank test that new points are less likely than old ones; nan of fewer than five.
    """

    typicality: np.ndarray
    p_value: float

    @property
    def is_unlike(self) -> bool:
        """Whether the new points are unlike the old ones."""
        return self.p_value < MIN_ALIKE


def likeness(new: np.ndarray, usual: np.ndarray) -> Likeness:
    """Compare log densities of new points with those of old ones, each left out of its cluster.

    The Mann-Whitney test, one-sided: it needs no law of the densities. Cost O((M + N) log(M + N)).

    Shape:
        new: ``(M,)``; usual: ``(N,)``.

    Args:
        new: log predictive densities of new points.
        usual: the same of old ones.

    Raises:
        ValueError: if these are no finite numbers, or there are none.

    References:
        Mann & Whitney (1947), On a test of whether one of two random variables is stochastically larger than
        the other. https://doi.org/10.1214/aoms/1177730491

    Example:
        >>> found = likeness(np.full(9, -8.0), np.linspace(-3, -1, 50))
        >>> found.is_unlike, found.typicality[0]
        (True, np.float64(0.0))
    """
    new, usual = as_finite("new", new), as_finite("usual", usual)
    if new.ndim != 1 or usual.ndim != 1 or not len(usual):
        raise ValueError(f"new and usual have shapes {new.shape} and {usual.shape}, expected (M,) and (N,)")
    enough = len(new) >= _FEWEST
    p_value = (
        float(scipy.stats.mannwhitneyu(new, usual, alternative="less").pvalue) if enough else float("nan")
    )
    return Likeness(np.searchsorted(np.sort(usual), new, side="right") / len(usual), p_value)
