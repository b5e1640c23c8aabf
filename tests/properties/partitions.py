"""Properties of pyroclust.partitions."""

from typing import Any

import torch
from hypothesis import strategies as st
from properties.calls import Call
from properties.hostile import any_labels

from pyroclust.partitions import (
    bell_number,
    canonical,
    enumerate_partitions,
    is_canonical,
    num_clusters,
)

TENSORS = st.tuples(st.sampled_from([(), (1,), (3,), (2, 2), (0,)]), st.integers(1, 6)).flatmap(
    lambda found: any_labels(*found[0], found[1], top=8).map(torch.from_numpy)
)
VECTORS = st.fixed_dictionaries({"assignments": TENSORS})
CANONICAL = st.fixed_dictionaries({"assignments": TENSORS.map(canonical)})


def first_appearances(row: list[int]) -> list[int]:
    """Renumber by a dictionary."""
    names: dict[int, int] = {}
    return [names.setdefault(label, len(names)) for label in row]


def rows(assignments: torch.Tensor) -> list[list[int]]:
    return assignments.reshape(-1, assignments.shape[-1]).tolist()


def renumbered(found: torch.Tensor, *, assignments: torch.Tensor) -> None:
    assert found.dtype == torch.int64
    assert found.shape == assignments.shape
    assert rows(found) == [first_appearances(row) for row in rows(assignments)]


def recognised(found: torch.Tensor, *, assignments: torch.Tensor) -> None:
    direct = [row == first_appearances(row) for row in rows(assignments)]
    assert found.reshape(-1).tolist() == direct


def counted(found: torch.Tensor, *, assignments: torch.Tensor) -> None:
    assert found.reshape(-1).tolist() == [len(set(row)) for row in rows(assignments)]


def every_one(found: torch.Tensor, *, num_points: Any) -> None:
    found_rows = [tuple(row) for row in found.tolist()]
    assert found_rows == sorted(set(found_rows))
    assert len(found_rows) == bell_number(num_points)
    assert all(list(row) == first_appearances(list(row)) for row in found_rows[:500])


def as_many(found: int, *, num_points: Any) -> None:
    assert isinstance(found, int)
    if num_points <= 8:
        assert found == (len(enumerate_partitions(num_points)) if num_points else 1)


CALLS = [
    Call("partitions.canonical", canonical, VECTORS, renumbered),
    Call("partitions.is_canonical", is_canonical, VECTORS, recognised),
    Call("partitions.num_clusters", num_clusters, CANONICAL, counted),
    Call(
        "partitions.enumerate_partitions",
        enumerate_partitions,
        st.fixed_dictionaries({"num_points": st.integers(1, 7)}),
        every_one,
    ),
    Call(
        "partitions.bell_number",
        bell_number,
        st.fixed_dictionaries({"num_points": st.integers(0, 60)}),
        as_many,
    ),
]
