"""Draws of partitions taken out of what holds them: arrays, samplers, runs of Pyro, containers of ArviZ."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

__all__ = ["DrawsLike", "held_labels", "labels_and_weights"]


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
