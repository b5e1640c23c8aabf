"""Properties of pyroclust.partitions."""

import torch
from hypothesis import strategies as st
from properties.calls import Call
from properties.hostile import any_labels

from pyroclust import partitions

TENSORS = st.tuples(st.sampled_from([(), (1,), (3,), (2, 2), (0,)]), st.integers(1, 6)).flatmap(
    lambda found: any_labels(*found[0], found[1], top=8).map(torch.from_numpy)
)
VECTORS = st.fixed_dictionaries({"assignments": TENSORS})
CANONICAL = st.fixed_dictionaries({"assignments": TENSORS.map(partitions.canonical)})


def rows(assignments: torch.Tensor) -> list[list[int]]:
    return assignments.reshape(-1, assignments.shape[-1]).tolist()


def renumbered(found: torch.Tensor, *, assignments: torch.Tensor) -> None:
    """Compare with a dictionary."""
    for new, old in zip(rows(found), rows(assignments), strict=True):
        names: dict[int, int] = {}
        assert new == [names.setdefault(label, len(names)) for label in old]


def recognised(found: torch.Tensor, *, assignments: torch.Tensor) -> None:
    same = (partitions.canonical(assignments.long()) == assignments).all(-1)
    assert torch.equal(found.reshape(-1), same.reshape(-1))


CALLS = [
    Call("partitions.canonical", partitions.canonical, VECTORS, renumbered),
    Call("partitions.is_canonical", partitions.is_canonical, VECTORS, recognised),
    Call("partitions.num_clusters", partitions.num_clusters, CANONICAL),
    Call(
        "partitions.enumerate_partitions",
        partitions.enumerate_partitions,
        st.fixed_dictionaries({"num_points": st.integers(1, 7)}),
    ),
    Call(
        "partitions.bell_number",
        partitions.bell_number,
        st.fixed_dictionaries({"num_points": st.integers(0, 60)}),
    ),
]
