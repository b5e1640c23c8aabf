"""How far draws and chains go on large tables, where the usual lengths would take hours."""

import numpy as np

LARGE_TABLE = 1000
"""Up to so many rows nothing depends on their number."""
# Times that chains together visit a point: 640 sweeps of 1,000 chains through 1,000 points. Beyond 1,000
# points they fall as a power of their number, so that 5,000 take three minutes.
_ALL_VISITS, _FALL = 640_000_000, 0.3
# Numbers that a cluster of four columns with a full covariance keeps, and clusters: more of either cost more.
_USUAL_MOMENTS, _USUAL_CLUSTERS = 20, 20
_LONG_SECONDS = 60.0
# Processor seconds of chains up to so much work, what a point is worth beside its columns, and the power of
# the work that seconds rise as beyond.
_CHAIN_SECONDS, _USUAL_WORK, _POINT, _RISE = 10.0, 6000, 4, 0.45
# Seconds that tempered populations may take where chains have not met.
_MOST_SECONDS = 600.0
_USUAL_DRAWS, _FEWEST_DRAWS, _ALL_LABELS = 1000, 250, 2_500_000
# Of the largest tables fewer draws are kept than the fewest else: so many labels of each chain.
_MOST_LABELS, _LEAST_DRAWS = 125_000_000, 100
ALL_AT_ONCE = 50_000
"""From so many rows on chains draw all rows at once, from starts of a subsample."""
SUBSAMPLE, GROWTH = 2_000, 8
"""Rows of such a subsample, and times that it grows by until it is all rows."""


def most_sweeps(num_points: int, *, num_chains: int, most: int) -> int:
    r"""Return the most sweeps that a chain may take: ``most`` up to 1,000 points, fewer beyond.

    All chains together visit points :math:`v (1000 / N)^{0.3}` times, v being 640 million, or as often as
    they may with 1,000 points where that is more.
    """
    visits = max(_ALL_VISITS, num_chains * most * LARGE_TABLE) * _share(num_points)
    return min(most, max(1, int(visits / (num_chains * num_points))))


def sweep_cost(num_moments: int, *, num_clusters: float) -> float:
    r"""Return how many times as much a sweep over a point is taken to cost as usual.

    .. math:: \max(1, F / 20)^{1/2} \max(1, K / 20)

    F are the numbers that a cluster keeps, K the clusters of the draws; ``benchmarks/sweep_costs.py`` has
    times.
    """
    clusters = max(1.0, num_clusters / _USUAL_CLUSTERS)
    return float(max(1.0, num_moments / _USUAL_MOMENTS) ** 0.5 * clusters)


def populations_may_take(seconds: float) -> bool:
    """Return whether tempered populations may take so many seconds."""
    return seconds <= _MOST_SECONDS


def takes_long(seconds: float) -> bool:
    """Return whether a run of so many seconds says beforehand how long it may take."""
    return seconds > _LONG_SECONDS


def chain_seconds(num_points: int, num_columns: int) -> float:
    """Return the processor seconds beyond which chains begin no further round by default.

    Ten up to 6,000 units of work, a point being worth four and one more for each of its columns; more as the
    power 0.45 of the work beyond. The first round is taken whatever it costs, as of families whose densities
    are sums or integrals.
    """
    work = num_points * (_POINT + num_columns) / _USUAL_WORK
    return float(_CHAIN_SECONDS * max(1.0, work) ** _RISE)


def default_num_draws(num_points: int) -> int:
    """Return how many draws there are by default: 1,000, or 2.5 million labels, but at least 250.

    From 500,000 rows on it is 125 million labels, but at least 100 draws.
    """
    fewest = max(_LEAST_DRAWS, min(_FEWEST_DRAWS, _MOST_LABELS // num_points))
    return max(fewest, min(_USUAL_DRAWS, _ALL_LABELS // num_points))


def label_type(num_points: int) -> np.dtype:
    """Return the type of the labels of chains: of large tables they are kept in four bytes."""
    return np.dtype(np.int64 if num_points <= LARGE_TABLE else np.int32)


def large_table_notes(num_points: int) -> tuple[str, ...]:
    """Return what to say of the draws and sweeps of a large table; nothing of a small one."""
    if num_points <= LARGE_TABLE:
        return ()
    visits = f"{_ALL_VISITS * _share(num_points) / 1e6:,.0f} million times"
    sweeps = f"With more than {LARGE_TABLE:,} rows all chains together visit rows at most {visits}"
    draws = default_num_draws(num_points)
    if draws == _USUAL_DRAWS:
        return (f"{sweeps}.",)
    return (
        f"{sweeps}, and of {num_points:,} rows {draws:,} draws of the guide and of each chain are kept where "
        f"nobody says how many, instead of {_USUAL_DRAWS:,}.",
    )


def _share(num_points: int) -> float:
    return float((LARGE_TABLE / max(num_points, LARGE_TABLE)) ** _FALL)
