"""Labels as some object holds them: arrays, draws, runs of Pyro, containers of ArviZ."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from pyroclust.core.messages import listed
from pyroclust.core.numbers import on_host, refuse_masked

WEIGHT_NAMES = ("weight", "weights", "log_weight", "log_weights")
"""What programs call the weights of draws."""

# Smaller whole numbers are exact.
_BFLOAT16_EXACT = 256
_NO_LABELS = (set, frozenset, dict, list)
_EXPECTED = (
    "expected draws of partitions: labels (chains, draws, N) or (draws, N), or an object that holds them as "
    "'assignments'"
)


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
"""Draws of partitions in any of the forms that :func:`raw_labels` takes."""


def raw_labels(name: str, draws: DrawsLike) -> np.ndarray:
    """Return the labels that an object holds, as an array of its own type; the numbers stay as they are."""
    require_equal_weights(name, draws)
    return _array(name, _holder(name, draws))


def require_equal_weights(name: str, draws: object) -> None:
    """Refuse draws with weights, which nobody would use."""
    if hasattr(draws, "assignments") and getattr(draws, "log_weights", None) is not None:
        raise ValueError(
            f"{name} is {_of_type(draws)} with log_weights, expected equally weighted draws: give "
            "pyroclust.diagnostics.resample(draws, num_draws, seed=0)"
        )


def values_beside(name: str, draws: DrawsLike, values: str) -> np.ndarray | None:
    """Return what an object holds beside its labels under a name; ``None`` where it has none."""
    source: Any = draws
    if hasattr(source, "get_samples"):
        source = source.get_samples(group_by_chain=True)
    if getattr(source, "posterior", None) is not None:
        source = source.posterior
    array = source.get(values) if isinstance(source, Mapping) else getattr(source, values, None)
    return None if array is None or callable(array) else _array(name, array)


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
        group = draws if posterior is None else posterior
        if "assignments" not in group:
            raise ValueError(
                f"{name} holds {listed(sorted(map(str, group))) or 'nothing'}, expected 'assignments': "
                "give the array of labels itself"
            )
        refuse_weights(group, _array(name, group["assignments"]).shape[:-1], name)
        return group["assignments"]
    return draws


def refuse_weights(arrays: Any, draws: tuple[int, ...], where: str) -> None:
    """Refuse what holds one weight a draw beside its labels, unless all are equal: nobody would use them."""
    for one in WEIGHT_NAMES:
        if one in arrays:
            weights = np.asarray(_on_host(arrays[one]))
            if weights.size == math.prod(draws) > 1 and (weights != weights.flat[0]).any():
                raise ValueError(
                    f"{where} holds '{one}', one a draw, expected equally weighted draws: resample them with "
                    "these weights first"
                )


def _samples(name: str, run: Any) -> Any:
    try:
        samples = run.get_samples(group_by_chain=True)
    except (AttributeError, TypeError):
        samples = None
    if not samples:
        raise ValueError(f"{name} is {_of_type(run)} and has no draws yet: call its run(data) first")
    if "assignments" not in samples:
        raise ValueError(
            f"{name} is {_of_type(run)} with the sites {listed(sorted(samples))}, expected 'assignments': "
            "run a kernel over partitions"
        )
    values = np.asarray(_on_host(samples["assignments"]))
    if values.dtype.kind == "f" and not (values == values.round()).all():
        raise ValueError(
            f"{name} is {_of_type(run)} whose site 'assignments' has values that are not whole, expected "
            "labels of clusters"
        )
    return values.astype(np.int64)


def _array(name: str, labels: Any) -> np.ndarray:
    # What xarray stacks of chains and draws is called a sample.
    ordered = [one for one in ("chain", "draw", "sample") if one in getattr(labels, "dims", ())]
    if ordered:
        labels = labels.transpose(*ordered, ...)
    refuse_masked(name, labels)
    try:
        array = np.asarray(_on_host(labels))
        if array.dtype.kind in "US" and isinstance(labels, list | tuple):
            # Beside text numpy makes text of numbers, and of missing values.
            array = np.array(labels, dtype=object)
        if array.dtype == object and any(isinstance(one, _NO_LABELS) for one in array.flat):
            raise TypeError
    except (TypeError, ValueError, RuntimeError):
        is_list = isinstance(labels, list | tuple)
        what = " with rows of unequal lengths, or sets" if is_list else " that is no array"
        raise ValueError(f"{name} is {_of_type(labels)}{what}, {_EXPECTED}") from None
    if array.ndim == 0:
        raise ValueError(f"{name} is {_of_type(labels)}, {_EXPECTED}")
    return array


def _on_host(values: Any) -> Any:
    """Take a tensor from its device and its graph; bfloat16, which numpy lacks, becomes float32."""
    host = on_host(values)
    # What labels the type can hold is for its reader to know.
    return _of_short_floats(host) if str(getattr(host, "dtype", "")) == "torch.bfloat16" else host


def _of_short_floats(values: Any) -> Any:
    """Turn bfloat16 into float32, and whole numbers that it cannot tell from the next into nan."""
    wide = values.float()
    wide[wide.abs() >= _BFLOAT16_EXACT] = float("nan")
    return wide


def _of_type(value: object) -> str:
    return f"of type {type(value).__name__}"


def as_class_labels(name: str, labels: Any) -> np.ndarray:
    """Return known labels as an array of numbers or names."""
    import pandas as pd

    refuse_masked(name, labels)
    try:
        values = np.asarray(on_host(labels))
    except (TypeError, RuntimeError):
        raise ValueError(
            f"{name} is of type {type(labels).__name__}, expected a list, an array or a dense tensor"
        ) from None
    if values.dtype.kind in "US" and isinstance(labels, list | tuple):
        # Beside text numpy makes text of missing values.
        values = np.array(labels, dtype=object)
    missing = int(np.sum(pd.isna(values)))
    if missing:
        raise ValueError(
            f"{name} has {missing} missing label(s), expected one a point: leave out the points without"
        )
    return values
