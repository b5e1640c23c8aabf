"""What of a table may make clusters that are no groups of rows, said with the column and the figures."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pyroclust.text import listed, short

__all__ = ["doubts_of"]

_FEWEST_ROWS, _FEWEST_VALUES, _HEAP, _TIMES_OTHERS = 30, 20, 0.1, 5
_MOST_VALUES, _ROWS_A_VALUE = 15, 5
_FAR, _SHARE_OF_FAR = 100.0, 0.01
_SAME = 1e-9
_MOST_SHOWN = 4


def doubts_of(columns: Mapping[str, NDArray[np.float64]], row_names: Sequence[str]) -> tuple[str, ...]:
    """Return a sentence for each way in which columns of numbers may make clusters of their own.

    A heap is one value that a tenth of the rows share, where others are rare: a ceiling, a floor, or a number
    that stands for none. Few values that many rows share, such as rescaled answers, are taken for narrow
    clusters. A cell far from all others sets the scale of its column. Two columns of the same numbers in
    other units count twice.
    """
    heaps, few, far = [], [], []
    for name, values in columns.items():
        said, there = f"'{short(name, 40)}'", values[~np.isnan(values)]
        heaps += _heap(said, there)
        few += _few_values(said, there)
        far += _far(said, values, row_names)
    twins = _twins(columns)
    found = []
    if heaps:
        found.append(f"{listed(heaps, _MOST_SHOWN)}: clusters may be patterns of who is there.")
    if few:
        found.append(
            f"{listed(few, _MOST_SHOWN)}: clusters may be single values; give answers and counts as they "
            "were before they were rescaled, or take such columns as categories with --kinds NAME=category."
        )
    if far:
        found.append(
            f"{listed(far, _MOST_SHOWN)}: one such cell sets the scale of its column, and hides the groups "
            "of all other rows; correct it, or leave the row out."
        )
    if twins:
        found.append(
            f"{listed(twins, _MOST_SHOWN)} hold the same numbers, perhaps in other units: together they "
            "count twice; leave one out with --except."
        )
    return tuple(found)


def _heap(said: str, values: NDArray[np.float64]) -> list[str]:
    distinct, times = np.unique(values, return_counts=True)
    if len(values) < _FEWEST_ROWS or len(distinct) < _FEWEST_VALUES:
        return []
    most = int(times.argmax())
    share, others = times[most] / len(values), np.delete(times, most)
    if share < _HEAP or times[most] < _TIMES_OTHERS * np.quantile(others, 0.9):
        return []
    end = {0: ", its smallest value", len(distinct) - 1: ", its largest value"}.get(most, "")
    return [f"{100 * share:.0f} % of the rows have {distinct[most]:g} in {said}{end}"]


def _few_values(said: str, values: NDArray[np.float64]) -> list[str]:
    number = len(np.unique(values))
    is_few = 2 <= number <= _MOST_VALUES and len(values) >= _ROWS_A_VALUE * number
    # Whole numbers are seen as what they are where kinds are found out.
    if not is_few or (values == np.round(values)).all():
        return []
    return [f"{said} has {number} different values in {len(values):,} rows"]


def _far(said: str, values: NDArray[np.float64], row_names: Sequence[str]) -> list[str]:
    there = values[~np.isnan(values)]
    if len(there) < _FEWEST_ROWS:
        return []
    low, middle, high = np.quantile(there, (0.05, 0.5, 0.95))
    distance = np.abs(values - middle)
    number = (distance > _FAR * (high - low)).sum()
    if high == low or not 0 < number <= max(1, _SHARE_OF_FAR * len(there)):
        return []
    row = int(np.nanargmax(distance))
    cell = f"row {short(row_names[row], 30)} has {values[row]:g} in {said}"
    return [f"{cell}, where others are {low:g} to {high:g}"]


def _twins(columns: Mapping[str, NDArray[np.float64]]) -> list[str]:
    names, scaled = [], []
    for name, values in columns.items():
        if not np.isnan(values).any() and len(np.unique(values)) > 2:
            names.append(f"'{short(name, 40)}'")
            scaled.append((values - values.mean()) / (values.std() * np.sqrt(len(values))))
    if not names:
        return []
    # One product for all pairs.
    alike = np.abs(np.array(scaled) @ np.array(scaled).T) > 1 - _SAME
    return [f"{names[one]} and {names[other]}" for one, other in np.argwhere(np.triu(alike, 1))]
