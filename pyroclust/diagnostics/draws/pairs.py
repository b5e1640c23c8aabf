"""Which points and draws are looked at two by two: all of a small table, a random sample of a large one."""

import math

import numpy as np

MAX_PAIRED_DRAWS = 1000
"""Up to 1,000 points; above, as many as have losses that cost the same."""

MAX_PAIRED_POINTS = 2000
"""Above, matrices of pairs of points are those of so many points, and no tree of all points is made."""

_SEED = 0
_MAX_PAIRED_LABELS = MAX_PAIRED_DRAWS**2 * 1000


def paired_points(num_points: int) -> np.ndarray:
    """Return the points whose pairs stand for all pairs: every point, or 2,000 at random."""
    if num_points <= MAX_PAIRED_POINTS:
        return np.arange(num_points)
    chosen = np.random.default_rng(_SEED).choice(num_points, MAX_PAIRED_POINTS, replace=False)
    return np.sort(chosen)


def paired_draws(num_points: int) -> int:
    """Return of how many draws the losses of every two are computed: M of 1,000 or M^2 N of a billion."""
    return max(2, min(MAX_PAIRED_DRAWS, math.isqrt(_MAX_PAIRED_LABELS // num_points)))


def about_pairs(num_points: int) -> tuple[str, ...]:
    """Return what to say of the pairs of a large table; nothing of a small one."""
    if num_points <= MAX_PAIRED_POINTS:
        return ()
    return (
        "Co-assignment probabilities, and the differences between them, are those of all pairs over "
        f"{MAX_PAIRED_POINTS:,} of the {num_points:,} rows, chosen at random and the same for every source.",
    )
