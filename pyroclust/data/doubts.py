"""What of a table may make clusters that are no groups of rows, said with the column and the figures."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pyroclust.text import listed, short

__all__ = ["doubts_of"]

_FEWEST_ROWS, _FEWEST_VALUES, _HEAP, _TIMES_OTHERS = 30, 20, 0.1, 5
_MOST_STEPS, _ROWS_A_STEP = 15, 5
_FAR, _SHARE_OF_FAR = 100.0, 0.01
_SAME = 1e-9
_MOST_SHOWN = 4


def doubts_of(names: Sequence[str], data: NDArray[np.float64], row_names: Sequence[str]) -> tuple[str, ...]:
    """Return a sentence for each way in which columns of numbers may make clusters of their own.

    A heap is one value that a tenth of the rows share, where others are rare: a ceiling, a floor, or a number
    that stands for none. Steps are few values at equal distances, such as answers that were rescaled. A cell
    far from all others sets the scale of its column. Two columns of the same numbers in other units count
    twice.
    """
    columns = [(short(name, 40), values) for name, values in zip(names, data.T, strict=True)]
    heaps = [said for name, values in columns if (said := _heap(name, values))]
    steps = [said for name, values in columns if (said := _steps(name, values))]
    far = [said for name, values in columns if (said := _far(name, values, row_names))]
    found = []
    if heaps:
        found.append(f"{listed(heaps, _MOST_SHOWN)}: clusters may be patterns of who is there.")
    if steps:
        found.append(
            f"{listed(steps, _MOST_SHOWN)}, as answers or counts that were rescaled have: clusters may be "
            "single values; give such columns as they were before."
        )
    if far:
        found.append(
            f"{listed(far, _MOST_SHOWN)}: one such cell sets the scale of its column, and hides the groups "
            "of all other rows; correct it, or leave the row out."
        )
    if twins := _twins(columns):
        found.append(
            f"{listed(twins, _MOST_SHOWN)} hold the same numbers, perhaps in other units: together they "
            "count twice; leave one out with --except."
        )
    return tuple(found)


def _there(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values[~np.isnan(values)]


def _heap(name: str, values: NDArray[np.float64]) -> str | None:
    values = _there(values)
    distinct, times = np.unique(values, return_counts=True)
    if len(values) < _FEWEST_ROWS or len(distinct) < _FEWEST_VALUES:
        return None
    most = int(times.argmax())
    share, others = times[most] / len(values), np.delete(times, most)
    if share < _HEAP or times[most] < _TIMES_OTHERS * np.quantile(others, 0.9):
        return None
    end = {0: ", its smallest value", len(distinct) - 1: ", its largest value"}.get(most, "")
    return f"{share:.0%} of the rows have {distinct[most]:g} in '{name}'{end}".replace("%", " %")


def _steps(name: str, values: NDArray[np.float64]) -> str | None:
    values = _there(values)
    distinct = np.unique(values)
    if not 3 <= len(distinct) <= _MOST_STEPS or len(values) < _ROWS_A_STEP * len(distinct):
        return None
    # Whole numbers are seen as what they are where kinds are found out.
    if (values == np.round(values)).all():
        return None
    gaps = np.diff(distinct)
    steps = gaps / gaps.min()
    if np.abs(steps - np.round(steps)).max() > 1e-6 * steps.max() or steps.sum() > 2 * _MOST_STEPS:
        return None
    return f"'{name}' has {len(distinct)} values at equal distances"


def _far(name: str, values: NDArray[np.float64], row_names: Sequence[str]) -> str | None:
    there = _there(values)
    if len(there) < _FEWEST_ROWS:
        return None
    low, middle, high = np.quantile(there, (0.05, 0.5, 0.95))
    distance = np.abs(values - middle)
    is_far = distance > _FAR * (high - low)
    if high == low or not is_far.any() or is_far.sum() > max(1, _SHARE_OF_FAR * len(there)):
        return None
    row = int(np.nanargmax(distance))
    others = f"{low:g} to {high:g}"
    return f"row {short(row_names[row], 30)} has {values[row]:g} in '{name}', where others are {others}"


def _twins(columns: Sequence[tuple[str, NDArray[np.float64]]]) -> list[str]:
    names, scaled = [], []
    for name, values in columns:
        if not np.isnan(values).any() and len(np.unique(values)) > 2:
            names.append(name)
            scaled.append((values - values.mean()) / (values.std() * np.sqrt(len(values))))
    if not names:
        return []
    # One product for all pairs.
    alike = np.abs(np.array(scaled) @ np.array(scaled).T) > 1 - _SAME
    return [f"'{names[one]}' and '{names[other]}'" for one, other in np.argwhere(np.triu(alike, 1))]
