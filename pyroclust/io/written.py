"""Labels as they are written in a file, where some are names: one way of writing, and no other columns."""

from collections import Counter

import numpy as np
import pandas as pd

from pyroclust.text import visible

__all__ = ["are_numbers", "as_written"]


def are_numbers(frame: pd.DataFrame) -> bool:
    """Say whether all columns are numbers, or all are true and false."""
    return all(kind.kind in "iuf" for kind in frame.dtypes) or all(kind.kind == "b" for kind in frame.dtypes)


def as_written(frame: pd.DataFrame, written: pd.DataFrame, where: str) -> np.ndarray:
    """Return labels as they stand in a file, where some are names, or numbers begin with zeros."""
    text = written[list(frame.columns)].to_numpy(dtype=object)
    lost = frame.isna().to_numpy()
    if lost.any():
        draw, point = np.argwhere(lost)[0]
        word = visible(text[draw, point])
        said = f", '{word}' for one; rename a cluster of that name" if word else ""
        raise ValueError(
            f"{where} holds {lost.sum()} missing or infinite label(s), the first in draw {draw + 1}, point "
            f"{point + 1}{said}: every point needs a label in every draw"
        )
    _refuse_two_ways(text, where)
    if are_numbers(frame):
        return frame.to_numpy()
    _refuse_fractions(frame, where)
    _refuse_text_beside(frame, text, where)
    return text


def _refuse_two_ways(text: np.ndarray, where: str) -> None:
    """Refuse labels such as 01 and 1, which are one number and two names."""
    seen: dict[int, str] = {}
    for label in pd.unique(text.ravel()):
        if label.isdecimal() and (other := seen.setdefault(int(label), label)) != label:
            raise ValueError(
                f"{where} holds the labels '{other}' and '{label}', one cluster or two, expected each label "
                "written in one way"
            )


def _refuse_text_beside(frame: pd.DataFrame, text: np.ndarray, where: str) -> None:
    """Refuse columns of text that share no value with any other column, as identifiers and dates do."""
    if frame.shape[1] < 3:
        return
    values = [set(text[:, place]) for place in range(text.shape[1])]
    columns = Counter(value for one in values for value in one)
    kinds = [kind.kind in "iuf" for kind in frame.dtypes]
    for place, one in enumerate(values):
        is_apart = all(columns[value] == 1 for value in one)
        if not kinds[place] and is_apart and (any(kinds) or len(one) == len(text) > 2):
            name = visible(str(frame.columns[place]))
            raise ValueError(
                f"{where} holds '{visible(text[0, place])}' and the like in column '{name}' and nowhere "
                "else, as names of draws have it, expected labels of clusters: remove the column"
            )


def _refuse_fractions(frame: pd.DataFrame, where: str) -> None:
    """Refuse numbers that are not whole in columns beside those of names."""
    for place, (name, kind) in enumerate(frame.dtypes.items()):
        column = frame.iloc[:, place]
        if kind.kind == "f" and (broken := column[np.trunc(column) != column].dropna()).size:
            raise ValueError(
                f"{where} holds {broken.iloc[0]:g} in column '{visible(str(name))}' beside columns of names, "
                "expected labels of clusters in every column: one row a draw and one column a point"
            )
