"""Partitions: canonical label vectors, and draws of them. Labels bring torch, draws do not."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyroclust.partitions.draws import Draws as Draws
    from pyroclust.partitions.labels import MAX_ENUMERATED_POINTS as MAX_ENUMERATED_POINTS
    from pyroclust.partitions.labels import PartitionConstraint as PartitionConstraint
    from pyroclust.partitions.labels import as_partitions as as_partitions
    from pyroclust.partitions.labels import bell_number as bell_number
    from pyroclust.partitions.labels import canonical as canonical
    from pyroclust.partitions.labels import check_label_vectors as check_label_vectors
    from pyroclust.partitions.labels import check_num_points as check_num_points
    from pyroclust.partitions.labels import enumerate_partitions as enumerate_partitions
    from pyroclust.partitions.labels import is_canonical as is_canonical
    from pyroclust.partitions.labels import label_range as label_range
    from pyroclust.partitions.labels import most_clusters as most_clusters
    from pyroclust.partitions.labels import num_clusters as num_clusters
    from pyroclust.partitions.labels import partition as partition

__all__ = [
    "MAX_ENUMERATED_POINTS",
    "Draws",
    "PartitionConstraint",
    "bell_number",
    "canonical",
    "enumerate_partitions",
    "is_canonical",
    "num_clusters",
    "partition",
]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'pyroclust.partitions' has no attribute '{name}'")
    home = import_module(f"pyroclust.partitions.{'draws' if name == 'Draws' else 'labels'}")
    found = globals()[name] = getattr(home, name)
    return found
