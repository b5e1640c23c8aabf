"""Which way round a table of labels lies: draws in rows, or points in rows as R often writes them."""

import numpy as np
from numpy.typing import NDArray

_FEWEST, _ENOUGH = 4, 10
# Rows and columns that are looked at, and pairs of points.
_LOOKED_AT, _PAIRS = 400, 400
# Entropy along what would be a draw, beside that along what would be a point.
_LOW, _LOWER = 0.8, 0.6
# Consensus of what would be draws: where there is hardly any, nothing can be told.
_SOME, _MUCH = 0.1, 0.3


def draws_in_rows(
    labels: NDArray[np.generic], *, where: str, transpose: bool | None = None
) -> tuple[NDArray[np.generic], tuple[str, ...]]:
    """Return labels with one draw a row, and a note where the table lay the other way."""
    _refuse_pairs(labels, where)
    if transpose is not None:
        return (labels.T, ()) if transpose else (labels, ())
    if min(labels.shape) < _FEWEST:
        return labels, ()
    some = labels[:: -(-len(labels) // _LOOKED_AT), :: -(-labels.shape[1] // _LOOKED_AT)]
    _, codes = np.unique(some.astype(str) if some.dtype == object else some, return_inverse=True)
    codes = codes.reshape(some.shape)
    # Labels that are canonical in one direction lie in it. Else draws are what agrees on which pairs are
    # together, and the labels of one point vary less than those of one draw.
    by_rows, by_columns = _are_canonical(codes), _are_canonical(codes.T)
    along_rows, along_columns = _entropy(codes), _entropy(codes.T)
    of_columns, of_rows = _consensus(codes.T), _consensus(codes)
    is_turned = along_rows < _LOWER * along_columns and of_columns > max(_MUCH, 2 * of_rows)
    may_be_turned = along_rows < _LOW * along_columns and of_columns > max(_SOME, of_rows)
    rows, columns = labels.shape
    if by_columns if by_rows != by_columns else is_turned:
        return labels.T, (
            f"Read as {columns:,} draws of {rows:,} points, one draw a column, as labels hardly vary along a "
            "row. To read it the other way, give --no-transpose.",
        )
    if min(labels.shape) >= _ENOUGH and not by_rows and may_be_turned:
        raise ValueError(
            f"{where} can be read as {rows:,} draws of {columns:,} points, or as {columns:,} draws of "
            f"{rows:,} points: say which with --no-transpose or --transpose (transpose=False or True)"
        )
    return labels, ()


def _refuse_pairs(labels: NDArray[np.generic], where: str) -> None:
    """Refuse a table of how often two points were together."""
    rows, columns = labels.shape
    if rows != columns or rows < _FEWEST or not np.issubdtype(labels.dtype, np.number):
        return
    diagonal = np.diagonal(labels)
    if (labels == labels.T).all() and (labels <= diagonal[:, None]).all() and len(np.unique(diagonal)) == 1:
        raise ValueError(
            f"{where} is symmetric, as a table of how often two of {rows:,} points were together, expected "
            "draws of labels: one row a draw and one column a point"
        )


def _are_canonical(codes: NDArray[np.int64]) -> bool:
    """Say whether the labels of every row count up from the first."""
    most = np.maximum.accumulate(codes, axis=1)
    before = np.pad(most[:, :-1], ((0, 0), (1, 0)), constant_values=-1)
    return bool((codes <= before + 1).all())


def _consensus(codes: NDArray[np.int64]) -> float:
    """Return how far rows agree on which pairs are together: their correlation, less what chance gives."""
    one, other = np.random.default_rng(0).integers(0, codes.shape[1], (2, _PAIRS))
    apart = one != other
    shares = (codes[:, one[apart]] == codes[:, other[apart]]).mean(0)
    mean = shares.mean()
    if mean in (0.0, 1.0):
        return 0.0
    return float(((shares - mean) ** 2).mean() / (mean * (1 - mean)) - 1 / len(codes))


def _entropy(codes: NDArray[np.int64]) -> float:
    """Return the mean entropy of the labels along the rows, in nats."""
    rows, columns = codes.shape
    ordered = np.sort(codes, axis=1)
    # Each run of equal labels adds its share times its logarithm.
    starts = np.concatenate([np.ones((rows, 1), bool), ordered[:, 1:] != ordered[:, :-1]], axis=1).ravel()
    shares = np.diff(np.append(np.flatnonzero(starts), starts.size)) / columns
    return -float((shares * np.log(shares)).sum()) / rows
