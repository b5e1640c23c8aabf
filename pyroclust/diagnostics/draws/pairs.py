"""Which points are looked at two by two: all of a small table, a fixed random sample of a large one."""

import numpy as np

__all__ = ["MAX_PAIRED_POINTS", "about_pairs", "paired_points"]

MAX_PAIRED_POINTS = 2000
"""Above, matrices of pairs of points are those of so many points, and no tree of all points is made."""

_SEED = 0


def paired_points(num_points: int) -> np.ndarray:
    """Return the points whose pairs stand for all pairs: every point, or 2,000 at random.

    They depend on the number of points alone, so that all sources of draws have the same.

    Args:
        num_points: number of points N.

    Shape:
        output: ``(min(N, 2000),)`` int64, ascending.

    Example:
        >>> paired_points(3).tolist(), len(paired_points(50_000))
        ([0, 1, 2], 2000)
    """
    if num_points <= MAX_PAIRED_POINTS:
        return np.arange(num_points)
    chosen = np.random.default_rng(_SEED).choice(num_points, MAX_PAIRED_POINTS, replace=False)
    return np.sort(chosen)


def about_pairs(num_points: int) -> tuple[str, ...]:
    """Return what to say of the pairs of a large table; nothing of a small one.

    Args:
        num_points: number of points N.

    Example:
        >>> about_pairs(300)
        ()
        >>> about_pairs(5000)[0][:63]
        'Co-assignment probabilities, and the differences between them, '
    """
    if num_points <= MAX_PAIRED_POINTS:
        return ()
    return (
        "Co-assignment probabilities, and the differences between them, are those of all pairs over "
        f"{MAX_PAIRED_POINTS:,} of the {num_points:,} rows, chosen at random and the same for every source.",
    )
