"""The numbers of a data set among the same numbers of simulations, one by one and in words."""

from dataclasses import dataclass

import numpy as np

from pyroclust.diagnostics.point_summaries import (
    column_summaries,
    distance_summaries,
    embedding_distances,
    mahalanobis,
)

__all__ = ["FamiliarityRow", "familiarity_rows", "most_unusual"]

_LOW, _HIGH = 0.05, 0.95
_HARDLY = 0.02
_NAMED = 3
_DISTANCES, _EMBEDDING = "the distances between points", "the embedding of the points"
_MORE_UNUSUAL = {_DISTANCES: "are more unusual", _EMBEDDING: "is farther from the average"}


@dataclass(frozen=True)
class FamiliarityRow:
    """One number of the data among the same number of the simulations.

    Attributes:
        name: what is measured, as words.
        value: of the data.
        low, median, high: 5, 50 and 95 % of the simulations.
        num_below: simulations whose value is smaller.
        num_above: simulations whose value is larger.
        p_value: share of data sets, this one included, that are as far out; both sides where both count.
        unusualness: distance to the median, over that of the 5 or 95 % quantile.
    """

    name: str
    value: float
    low: float
    median: float
    high: float
    num_below: int
    num_above: int
    p_value: float
    unusualness: float


def familiarity_rows(
    sets: np.ndarray, evidence: np.ndarray | None, *, seed: int
) -> tuple[tuple[FamiliarityRow, ...], np.ndarray]:
    """Return the rows of the first set among the others, and the unusualness of all sets in each.

    Shape:
        sets: ``(S + 1, N, D)``; evidence: ``(S + 1,)``; output: rows, and ``(rows, S + 1)``.

    Args:
        sets: points, the data first.
        evidence: log evidence of each set; ``None`` leaves the row out.
        seed: of the embedding.

    Example:
        >>> sets = np.random.default_rng(0).standard_normal((30, 9, 1))
        >>> rows, unusual = familiarity_rows(sets, None, seed=0)
        >>> [row.name for row in rows][2:], unusual.shape
        (['the mean of column 1', 'the spread of column 1'], (4, 30))
    """
    summaries = distance_summaries(sets)
    upper = {
        _DISTANCES: mahalanobis(summaries, summaries.mean(0)),
        _EMBEDDING: embedding_distances(sets, seed=seed),
    }
    both = column_summaries(sets)
    if evidence is not None:
        both["the log evidence"] = evidence
    rows, every = [], []
    for name, values in (upper | both).items():
        unusual = _unusualness(values, upper_only=name in upper)
        rows.append(_row(name, values, unusual, upper_only=name in upper))
        every.append(unusual)
    return tuple(rows), np.stack(every)


def _unusualness(values: np.ndarray, *, upper_only: bool) -> np.ndarray:
    """Measure distances to the median in units of the 5 or the 95 % quantile's, all data sets alike."""
    low, middle, high = np.quantile(values, (_LOW, 0.5, _HIGH))
    # Columns without spread have quantiles that are equal.
    least = 1e-9 * (1 + abs(middle))
    above = (values - middle) / max(high - middle, least)
    return np.maximum(above, 0 if upper_only else (middle - values) / max(middle - low, least))


def _row(name: str, values: np.ndarray, unusual: np.ndarray, *, upper_only: bool) -> FamiliarityRow:
    own, others = values[0], values[1:]
    low, middle, high = (float(one) for one in np.quantile(others, (_LOW, 0.5, _HIGH)))
    more, less = float((values >= own).mean()), float((values <= own).mean())
    return FamiliarityRow(
        name=name,
        value=float(own),
        low=low,
        median=middle,
        high=high,
        num_below=int((others < own).sum()),
        num_above=int((others > own).sum()),
        p_value=more if upper_only else min(1.0, 2 * min(more, less)),
        unusualness=float(unusual[0]),
    )


def most_unusual(rows: tuple[FamiliarityRow, ...], *, num_simulations: int) -> list[str]:
    """Put the most unusual rows into words: always the first, others where hardly a simulation is beyond.

    At most three are named, means, spreads and evidence before distances and embedding, which say less.

    Example:
        >>> row = FamiliarityRow("the log evidence", -9.0, -3.0, -2.0, -1.0, 0, 99, 0.02, 7.0)
        >>> most_unusual((row,), num_simulations=99)
        ['the log evidence is smaller than in 99 of 99 simulations']
    """
    ranked = sorted(rows, key=lambda row: -row.unusualness)
    named = [row for place, row in enumerate(ranked) if not place or row.p_value <= _HARDLY]
    telling = sorted(named, key=lambda row: row.name in _MORE_UNUSUAL)
    return [_words(row, num_simulations) for row in telling[:_NAMED]]


def _words(row: FamiliarityRow, total: int) -> str:
    if row.name in _MORE_UNUSUAL:
        return f"{row.name} {_MORE_UNUSUAL[row.name]} than in {row.num_below} of {total} simulations"
    if row.value >= row.median:
        return f"{row.name} is larger than in {row.num_below} of {total} simulations"
    return f"{row.name} is smaller than in {row.num_above} of {total} simulations"
