"""How far draws and chains go on tables of many rows, where the usual lengths would take hours."""

__all__ = ["LARGE_TABLE", "about_draws", "draws_of", "sweeps_of"]

LARGE_TABLE = 1000
"""Up to so many rows nothing depends on their number."""

_ALL_SWEEPS = 40_000
_USUAL_DRAWS, _FEWEST_DRAWS, _ALL_LABELS = 1000, 250, 5_000_000


def sweeps_of(num_points: int, *, num_chains: int, most: int) -> int:
    """Return the most sweeps that a chain may take: above 1,000 points 40,000 of all chains together.

    Args:
        num_points: number of points N.
        num_chains: chains that run.
        most: sweeps of a chain in any case.

    Example:
        >>> sweeps_of(300, num_chains=1000, most=640), sweeps_of(3000, num_chains=1000, most=640)
        (640, 40)
    """
    if num_points <= LARGE_TABLE:
        return most
    return min(most, max(1, _ALL_SWEEPS // num_chains))


def draws_of(num_points: int) -> int:
    """Return how many draws there are by default: 1,000, or 5 million labels, but at least 250.

    Args:
        num_points: number of points N.

    Example:
        >>> draws_of(300), draws_of(10_000), draws_of(1_000_000)
        (1000, 500, 250)
    """
    return max(_FEWEST_DRAWS, min(_USUAL_DRAWS, _ALL_LABELS // num_points))


def about_draws(num_points: int) -> tuple[str, ...]:
    """Return what to say of the draws and sweeps of a large table; nothing of a small one.

    Args:
        num_points: number of points N.

    Example:
        >>> about_draws(300)
        ()
        >>> about_draws(3000)[0]
        'With more than 1,000 rows all chains together take at most 40,000 sweeps.'
    """
    if num_points <= LARGE_TABLE:
        return ()
    sweeps = f"With more than {LARGE_TABLE:,} rows all chains together take at most {_ALL_SWEEPS:,} sweeps"
    draws = draws_of(num_points)
    if draws == _USUAL_DRAWS:
        return (f"{sweeps}.",)
    return (
        f"{sweeps}, and of {num_points:,} rows {draws:,} draws of the guide and of each chain are kept where "
        f"nobody says how many, instead of {_USUAL_DRAWS:,}.",
    )
