"""Draws of partitions as label arrays: taken out of what holds them, checked, weighted, equal ones merged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from pyroclust.diagnostics.draws.contingency import compact

__all__ = [
    "DistinctDraws",
    "DrawsLike",
    "as_chains",
    "checked_integers",
    "checked_labels",
    "checked_weights",
    "distinct_draws",
    "flat_integers",
    "flatten",
    "held_labels",
    "labels_and_weights",
    "renumbered",
]


class HoldsArray(Protocol):
    """What numpy can read: an array, a tensor, a data frame, an array of xarray."""

    def __array__(self) -> Any:
        """Return the array."""


class HoldsAssignments(Protocol):
    """What a sampler returned: an object with the labels of its draws."""

    @property
    def assignments(self) -> Any:
        """Labels, ``(chains, draws, N)`` or ``(draws, N)``."""


class HoldsSamples(Protocol):
    """A finished run of Pyro's MCMC with the site ``"assignments"``."""

    def get_samples(self, *, group_by_chain: bool) -> Any:
        """Return draws by site."""


class HoldsPosterior(Protocol):
    """A container of ArviZ with ``assignments`` in its group ``posterior``."""

    @property
    def posterior(self) -> Any:
        """The group of draws."""


DrawsLike: TypeAlias = (
    HoldsArray | HoldsAssignments | HoldsSamples | HoldsPosterior | Mapping[str, Any] | Sequence[Any]
)
"""Draws of partitions in any of the forms that :func:`held_labels` takes."""


def held_labels(name: str, draws: DrawsLike) -> np.ndarray:
    """Return the labels that an object holds, as an array of its own type; the numbers stay as they are.

    * An array, a tensor of any device, a data frame, nested lists: as they are.
    * What samplers return, such as :class:`~pyroclust.infer.mcmc.ChainDraws` or draws that were read from a
      file: its ``assignments``.
    * A finished ``pyro.infer.MCMC``: its site ``"assignments"``, rounded, as Pyro stores it as floats.
    * A container of ArviZ: ``assignments`` in its group ``posterior``. A dataset, or samples by site: its
      entry ``assignments``.

    Args:
        name: of the argument, for errors.
        draws: any of these.

    Raises:
        ValueError: if it is none of these, is not run, holds no ``assignments``, or its draws have weights.

    Example:
        >>> held_labels("draws", {"assignments": [[0, 0, 1]], "mu": [0.5]}).tolist()
        [[0, 0, 1]]
    """
    if hasattr(draws, "normalised_log_weights"):
        raise ValueError(
            f"{name} is {_of_type(draws)}, whose draws have weights, expected equally weighted ones: "
            "give its resample(num_draws)"
        )
    return _array(name, _holder(name, draws))


def labels_and_weights(
    name: str, draws: DrawsLike, weights: Any = None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the labels that an object holds, and its own weights where it has some and none are given.

    Those of :class:`~pyroclust.infer.ImportanceSample` are the Pareto-smoothed ones.

    Args:
        name: of the argument, for errors.
        draws: as in :func:`held_labels`, or a weighted sample of one data set.
        weights: one number a draw, not negative; they need not sum to 1.

    Raises:
        ValueError: as in :func:`held_labels`, or if weights are given to draws that have their own, or the
            sample is of several data sets.

    Example:
        >>> labels_and_weights("draws", [[0, 0], [0, 1]], weights=[1, 3])[1].tolist()
        [1.0, 3.0]
    """
    if not hasattr(draws, "normalised_log_weights"):
        given = None if weights is None else np.asarray(_on_host(weights), dtype=np.float64)
        return _array(name, _holder(name, draws)), given
    if weights is not None:
        raise ValueError(
            f"weights are given, but {name} is {_of_type(draws)} and has its own: leave weights out"
        )
    labels = _array(name, _holder(name, draws))
    if labels.ndim != 2:
        raise ValueError(
            f"{name} is {_of_type(draws)} and of shape {labels.shape}, expected draws of one data set, (S, N)"
        )
    return labels, np.exp(np.asarray(_on_host(draws.normalised_log_weights), dtype=np.float64))


def _holder(name: str, draws: Any) -> Any:
    """Return what can be turned into an array, out of what holds it."""
    if hasattr(draws, "get_samples"):
        return _samples(name, draws)
    if hasattr(draws, "assignments"):
        return draws.assignments
    posterior = getattr(draws, "posterior", None)
    if callable(posterior):
        raise ValueError(
            f"{name} is {_of_type(draws)}, which can be drawn from, expected draws: "
            "give posterior(data).sample((num_draws,))"
        )
    if posterior is not None or isinstance(draws, Mapping):
        found = draws if posterior is None else posterior
        if "assignments" not in found:
            raise ValueError(
                f"{name} holds {', '.join(sorted(map(str, found))) or 'nothing'}, expected 'assignments': "
                "give the array of labels itself"
            )
        return found["assignments"]
    return draws


def _samples(name: str, run: Any) -> Any:
    try:
        samples = run.get_samples(group_by_chain=True)
    except (AttributeError, TypeError):
        samples = None
    if not samples:
        raise ValueError(f"{name} is {_of_type(run)} and has no draws yet: call its run(data) first")
    if "assignments" not in samples:
        raise ValueError(
            f"{name} is {_of_type(run)} with the sites {', '.join(sorted(samples))}, expected 'assignments': "
            "run a kernel over partitions"
        )
    return np.asarray(_on_host(samples["assignments"])).round().astype(np.int64)


def _array(name: str, found: Any) -> np.ndarray:
    ordered = [one for one in ("chain", "draw") if one in getattr(found, "dims", ())]
    if ordered:
        found = found.transpose(*ordered, ...)
    try:
        array = np.asarray(_on_host(found))
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {_of_type(found)} with rows of unequal lengths, {_EXPECTED}") from None
    if array.ndim == 0:
        raise ValueError(f"{name} is {_of_type(found)}, {_EXPECTED}")
    return array


_EXPECTED = (
    "expected draws of partitions: labels (chains, draws, N) or (draws, N), or an object that holds them as "
    "'assignments'"
)


def _on_host(values: Any) -> Any:
    """Take a tensor from its device and its graph."""
    return values.detach().cpu() if hasattr(values, "detach") else values


def _of_type(value: object) -> str:
    return f"of type {type(value).__name__}"


def checked_labels(name: str, assignments: DrawsLike) -> np.ndarray:
    """Return ``assignments`` as int64 after checking that they are labels 0 to N - 1.

    Shape:
        assignments: ``(..., N)``; output: the same.

    Raises:
        ValueError: if the array is empty, not of integers, or has labels outside 0 to N - 1.

    Example:
        >>> checked_labels("draws", np.array([[0, 0, 1]])).dtype
        dtype('int64')
    """
    return checked_integers(name, assignments).astype(np.int64, copy=False)


def checked_integers(name: str, assignments: DrawsLike) -> np.ndarray:
    """Check that ``assignments`` are labels 0 to N - 1 and return them in their own integer type.

    Shape:
        assignments: ``(..., N)``; output: the same.

    Raises:
        ValueError: if the array is empty, not of integers, or has labels outside 0 to N - 1.

    Example:
        >>> checked_integers("draws", np.array([[0, 0, 1]], dtype=np.uint8)).dtype
        dtype('uint8')
    """
    labels = held_labels(name, assignments)
    if labels.ndim == 0 or labels.size == 0:
        raise ValueError(
            f"{name} has shape {labels.shape}, expected (..., N) with at least one draw and one point"
        )
    if not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(
            f"{name} has values of type {labels.dtype}, expected integers, the labels of clusters: "
            "pyroclust.diagnose takes labels of any kind"
        )
    low, high = labels.min(), labels.max()
    if low < 0 or high >= labels.shape[-1]:
        raise ValueError(
            f"{name} has labels from {low} to {high}, expected 0 to {labels.shape[-1] - 1}: renumber them "
            "with pyroclust.partitions.canonical(torch.as_tensor(labels))"
        )
    return labels


def flatten(draws: DrawsLike, *, name: str = "draws") -> np.ndarray:
    """Merge chains and draws.

    Args:
        draws: in any form that :func:`held_labels` takes.
        name: of the argument, for errors.

    Shape:
        draws: ``(chains, draws, N)`` or ``(draws, N)``; output: ``(S, N)`` int64.

    Raises:
        ValueError: if ``draws`` has another number of dimensions or is not made of labels.

    Example:
        >>> flatten(np.zeros((4, 10, 3), dtype=int)).shape
        (40, 3)
    """
    return flat_integers(draws, name=name).astype(np.int64, copy=False)


def flat_integers(draws: DrawsLike, *, name: str = "draws") -> np.ndarray:
    """Merge chains and draws, without a copy where the array allows it.

    Args:
        draws: in any form that :func:`held_labels` takes.
        name: of the argument, for errors.

    Shape:
        draws: ``(chains, draws, N)`` or ``(draws, N)``; output: ``(S, N)`` of the same integer type.

    Raises:
        ValueError: if ``draws`` has another number of dimensions or is not made of labels.

    Example:
        >>> flat_integers(np.zeros((4, 10, 3), dtype=np.uint8)).dtype
        dtype('uint8')
    """
    labels = checked_integers(name, draws)
    if labels.ndim not in (2, 3):
        raise ValueError(
            f"{name} has shape {labels.shape}, expected (chains, draws, points) or (draws, points)"
        )
    return labels.reshape(-1, labels.shape[-1])


def as_chains(draws: DrawsLike, *, name: str = "draws") -> np.ndarray:
    """Give draws a chain dimension where they have none.

    Args:
        draws: in any form that :func:`held_labels` takes.
        name: of the argument, for errors.

    Shape:
        draws: ``(chains, draws, N)`` or ``(draws, N)``; output: ``(chains, draws, N)`` int64.

    Raises:
        ValueError: if ``draws`` has another number of dimensions or is not made of labels.

    Example:
        >>> as_chains(np.zeros((10, 3), dtype=int)).shape
        (1, 10, 3)
    """
    array = held_labels(name, draws)
    labels = flatten(array, name=name)
    chains = array.shape[0] if array.ndim == 3 else 1
    return labels.reshape(chains, -1, labels.shape[-1])


def checked_weights(weights: np.ndarray | None, num_draws: int) -> np.ndarray:
    """Return normalised weights of the draws, equal ones for ``None``.

    Shape:
        weights: any shape with ``num_draws`` entries; output: ``(num_draws,)``, sums to 1.

    Raises:
        ValueError: if the number of weights differs, or one is negative or not finite, or all are zero.

    Example:
        >>> checked_weights(np.array([1.0, 3.0]), 2).tolist()
        [0.25, 0.75]
    """
    if weights is None:
        return np.full(num_draws, 1 / num_draws)
    flat = np.asarray(weights, dtype=np.float64).reshape(-1)
    if len(flat) != num_draws:
        raise ValueError(f"weights has {len(flat)} entries, expected {num_draws}, one a draw")
    if not np.isfinite(flat).all() or flat.min() < 0 or flat.sum() <= 0:
        raise ValueError("weights must be finite, not negative and not all zero")
    return flat / flat.sum()


def renumbered(assignments: np.ndarray) -> np.ndarray:
    """Renumber clusters by first appearance: :func:`pyroclust.partitions.canonical` without torch.

    Shape:
        assignments: ``(S, N)`` labels 0 to N - 1; output: the same.

    Example:
        >>> renumbered(np.array([[2, 2, 0, 1]])).tolist()
        [[0, 0, 1, 2]]
    """
    position = np.arange(assignments.shape[-1])
    rows = np.arange(len(assignments))[:, None]
    first = np.full_like(assignments, len(position))
    np.minimum.at(first, (rows, assignments), position)
    first_of_point = first[rows, assignments]
    rank = np.cumsum(first_of_point == position, axis=-1) - 1
    return rank[rows, first_of_point]


@dataclass(frozen=True)
class DistinctDraws:
    """The partitions among draws, each once, the heaviest first.

    Attributes:
        partitions: ``(M, N)`` canonical int64.
        mass: ``(M,)``, sums to 1.
        members: ``(S,)``, the partition of each draw.
        shares: ``(S,)``, the normalised weight of each draw.
    """

    partitions: np.ndarray
    mass: np.ndarray
    members: np.ndarray
    shares: np.ndarray


def distinct_draws(draws: DrawsLike, *, weights: np.ndarray | None = None) -> DistinctDraws:
    """Merge draws of the same partition; the order does not depend on the order of the draws.

    Cost: a sort of the draws, O(S log S) comparisons of at most N labels.

    Shape:
        draws: ``(chains, draws, N)`` or ``(S, N)``; weights: S entries.

    Raises:
        ValueError: if the labels are not integers from 0 to N - 1, or the weights do not fit.

    Example:
        >>> found = distinct_draws(np.array([[0, 0], [0, 1], [1, 0]]))
        >>> found.partitions.tolist(), found.members.tolist()
        ([[0, 1], [0, 0]], [1, 0, 0])
    """
    draws, weights = labels_and_weights("draws", draws, weights)
    flat = flatten(draws)
    shares = checked_weights(weights, len(flat))
    labels, _ = compact(flat)
    rows = labels.view(np.dtype((np.void, labels.itemsize * labels.shape[1]))).reshape(-1)
    _, first, place = np.unique(rows, return_index=True, return_inverse=True)
    mass = np.bincount(place.reshape(-1), weights=shares)
    mass = mass / mass.sum()
    # Equal up to the rounding of sums: then the order is that of the labels.
    order = np.argsort(-mass.round(12), kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return DistinctDraws(labels[first[order]].astype(np.int64), mass[order], rank[place.reshape(-1)], shares)
