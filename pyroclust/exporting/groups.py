"""The groups of an ArviZ container, from arrays."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from pyroclust.diagnostics import functionals
from pyroclust.diagnostics.thinning import central_draw

__all__ = [
    "chosen_reference",
    "draws_group",
    "log_likelihood_group",
    "observed_group",
    "point_coordinate",
    "reference_group",
    "sample_stats_group",
]

_DRAWS = ("chain", "draw")


def point_coordinate(names: Sequence[str] | None, num_points: int) -> dict[str, Any]:
    """Name the points, or number them from 0.

    Raises:
        ValueError: if there is not one name a point.

    Example:
        >>> point_coordinate(["a", "b"], 2)
        {'point': ['a', 'b']}
    """
    if names is not None and len(names) != num_points:
        raise ValueError(f"there are {len(names)} names of points, expected {num_points}, one a point")
    return {"point": np.arange(num_points) if names is None else [str(name) for name in names]}


def chosen_reference(reference: np.ndarray | None, draws: np.ndarray) -> np.ndarray:
    """Return the partition to measure distances from, a central draw where none is given.

    Shape:
        reference: ``(N,)``; draws: ``(chains, draws, N)``; output: ``(N,)``.

    Raises:
        ValueError: if the reference has another number of points.
    """
    if reference is None:
        return central_draw(draws)
    labels = np.asarray(reference)
    if labels.shape != draws.shape[-1:]:
        raise ValueError(
            f"reference has shape {labels.shape}, expected {draws.shape[-1:]}, one label a point"
        )
    return labels


def draws_group(
    draws: np.ndarray,
    *,
    reference: np.ndarray,
    points: Mapping[str, Any],
    values: Mapping[str, np.ndarray | None],
    attributes: Mapping[str, Any],
) -> xr.Dataset:
    """Return draws of partitions, and the numbers of each that renaming clusters leaves alone.

    Labels are a coordinate of the draws, not a variable: ``posterior["assignments"]`` and the file have them,
    and summaries and traces pass over them, for the mean of a label says nothing.

    Args:
        draws: canonical labels.
        reference: the partition that ``distance_to_reference`` is measured from.
        points: coordinate of the points.
        values: more numbers of each draw, such as ``log_joint``; ``None`` is left out.
        attributes: of the group.

    Shape:
        draws: ``(chains, draws, N)``; reference: ``(N,)``; values: ``(chains, draws, ...)``, the dimensions
        after the second named after the variable.

    Example:
        >>> group = draws_group(np.array([[[0, 0], [0, 1]]]), reference=np.array([0, 0]),
        ...                     points=point_coordinate(None, 2), values={}, attributes={})
        >>> list(group), group["assignments"].dims
        (['num_clusters', 'entropy', 'largest_share', 'distance_to_reference'], ('chain', 'draw', 'point'))
    """
    labels = np.asarray(draws, dtype=np.int64)
    found = functionals(labels, reference=reference, num_pairs=0)
    # All are float64: ArviZ cannot draw a constant integer.
    variables: dict[str, Any] = {name: (_DRAWS, array) for name, array in found.items()}
    for name, array in values.items():
        if array is not None:
            own = tuple(f"{name}_dim_{place}" for place in range(np.ndim(array) - 2))
            variables[name] = ((*_DRAWS, *own), np.asarray(array, dtype=np.float64))
    coordinates = {
        "chain": np.arange(labels.shape[0]),
        "draw": np.arange(labels.shape[1]),
        "assignments": ((*_DRAWS, "point"), labels),
        **points,
    }
    return xr.Dataset(variables, coords=coordinates, attrs=dict(attributes))


def sample_stats_group(
    *,
    shape: tuple[int, int],
    log_joint: np.ndarray | None = None,
    log_prob: np.ndarray | None = None,
    diverging: np.ndarray | None = None,
    per_chain: Mapping[str, np.ndarray] | None = None,
) -> xr.Dataset | None:
    """Return what samplers say of draws, under ArviZ's names; ``None`` where they say nothing.

    Args:
        shape: numbers of chains and draws.
        log_joint: log p(assignments, data) in nats, called ``lp``.
        log_prob: log q(assignments | data) in nats.
        diverging: whether a draw diverged.
        per_chain: numbers of whole chains, such as acceptance rates.

    Shape:
        log_joint, log_prob, diverging: ``(chains, draws)``; per_chain: ``(chains,)`` each.
    """
    named = {"lp": log_joint, "log_prob": log_prob, "diverging": diverging}
    variables: dict[str, Any] = {
        name: (_DRAWS, np.asarray(array)) for name, array in named.items() if array is not None
    }
    variables |= {name: (("chain",), np.asarray(array)) for name, array in (per_chain or {}).items()}
    coordinates = {"chain": np.arange(shape[0]), "draw": np.arange(shape[1])}
    return xr.Dataset(variables, coords=coordinates) if variables else None


def log_likelihood_group(pointwise: np.ndarray, *, points: Mapping[str, Any]) -> xr.Dataset:
    """Return the log-likelihood of each point in each draw, the variable ``data``.

    Shape:
        pointwise: ``(chains, draws, N)`` nats.
    """
    coordinates = {"chain": np.arange(pointwise.shape[0]), "draw": np.arange(pointwise.shape[1]), **points}
    return xr.Dataset({"data": ((*_DRAWS, "point"), pointwise)}, coords=coordinates)


def reference_group(reference: np.ndarray, *, points: Mapping[str, Any]) -> xr.Dataset:
    """Return the partition that distances are measured from.

    Shape:
        reference: ``(N,)``.
    """
    labels = np.asarray(reference, dtype=np.int64)
    return xr.Dataset({"reference": (("point",), labels)}, coords=dict(points))


def observed_group(
    data: np.ndarray,
    *,
    points: Mapping[str, Any],
    columns: Sequence[str] | None = None,
    per_column: Mapping[str, np.ndarray] | None = None,
    labels: np.ndarray | None = None,
    attributes: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    """Return the points, with what is known of their columns, and reference labels as text.

    Shape:
        data: ``(N, D)``; per_column: ``(D,)`` each; labels: ``(N,)``.
    """
    variables: dict[str, Any] = {"data": (("point", "column"), np.asarray(data))}
    variables |= {name: (("column",), array) for name, array in (per_column or {}).items()}
    if labels is not None:
        variables["label"] = (("point",), np.asarray(labels).astype(str))
    names = np.arange(data.shape[1]) if columns is None else list(columns)
    return xr.Dataset(variables, coords={**points, "column": names}, attrs=dict(attributes or {}))
