"""Labels as some object holds them, turned into canonical draws."""

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from pyroclust.core.large_tables import label_type
from pyroclust.core.machine import check_memory
from pyroclust.core.messages import listed, visible
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


DrawsLike: TypeAlias = Any
"""Draws of partitions: labels ``(chains, draws, N)`` or ``(draws, N)`` in anything that numpy can read; an
object, or samples by site, that hold them as ``assignments``; a run of Pyro's MCMC; a container of ArviZ."""


def raw_labels(name: str, draws: DrawsLike) -> np.ndarray:
    """Return the labels that an object holds, as an array of its own type; the numbers stay as they are."""
    if type(draws) is np.ndarray and draws.ndim and draws.dtype.kind in "iu":
        return draws
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


_BLOCK = 4_000_000
# Bytes for each label while a file is read: as found, as codes, canonical.
_BYTES_A_LABEL = 24
# Draws in which hardly two points share a label, and more labels than this a point: measurements, not labels.
_ALMOST_ALL_APART, _MOST_LABELS_A_POINT = 0.95, 10


# How numpy and pandas write a missing value as text.
_MISSING = ("nan", "<NA>", "NaT")


def canonical_draws(labels: np.ndarray, *, where: str) -> np.ndarray:
    """Renumber labels of any kind by first appearance in each draw."""
    if labels.ndim not in (2, 3):
        raise ValueError(
            f"{where} has shape {labels.shape}, expected (draws, points) or (chains, draws, points): "
            "one row a draw, one column a point"
        )
    if labels.size == 0:
        raise ValueError(f"{where} is empty: its shape is {labels.shape}, expected at least one draw")
    if labels.shape[-1] < 2:
        raise ValueError(
            f"{where} has draws of {labels.shape[-1]} point, expected at least 2 points, one a column"
        )
    chains = labels.shape[0] if labels.ndim == 3 else 1
    flat = _whole(labels.reshape(-1, labels.shape[-1]), where)
    draws = np.empty(flat.shape, label_type(flat.shape[1]))
    step = max(1, _BLOCK // flat.shape[-1])
    for begin in range(0, len(flat), step):
        draws[begin : begin + step] = renumbered(flat[begin : begin + step])
    _check_shared(flat, draws, where)
    return draws.reshape(chains, -1, flat.shape[-1])


def renumbered(labels: np.ndarray) -> np.ndarray:
    """Renumber clusters by first appearance: :func:`pyroclust.partitions.canonical` without torch."""
    order = np.argsort(labels, axis=-1, kind="stable")
    rising = np.take_along_axis(labels, order, axis=-1)
    position = np.arange(labels.shape[-1])
    begins = np.zeros(labels.shape, dtype=np.int64)
    begins[..., 1:] = np.where(rising[..., 1:] != rising[..., :-1], position[1:], 0)
    # Among equal labels the stable sort puts the first appearance first.
    first = np.take_along_axis(order, np.maximum.accumulate(begins, axis=-1), axis=-1)
    first_of_point = np.empty_like(first)
    np.put_along_axis(first_of_point, order, first, axis=-1)
    rank = np.cumsum(first_of_point == position, axis=-1) - 1
    return np.take_along_axis(rank, first_of_point, axis=-1)


def _check_shared(flat: np.ndarray, draws: np.ndarray, where: str) -> None:
    """Refuse numbers that say nothing of who is with whom, such as measurements."""
    points = draws.shape[1]
    apart = float(draws.max(1).mean()) / (points - 1)
    if apart < _ALMOST_ALL_APART:
        return
    num_labels = len(np.unique(flat))
    if num_labels > points * _MOST_LABELS_A_POINT:
        raise ValueError(
            f"{where} holds {num_labels} different values for {points} points, and hardly any two of a draw "
            "are equal, expected labels of clusters, one row a draw and one column a point; if these are "
            "labels, number those of each draw from 0"
        )


def _whole(flat: np.ndarray, where: str) -> np.ndarray:
    if flat.dtype.kind in "iub":
        return flat
    if flat.dtype.kind == "f":
        _check_whole(flat, where)
        return flat.astype(np.int64)
    if flat.dtype.kind not in "OUST":
        raise ValueError(
            f"{where} holds values of type {flat.dtype}, expected labels: whole numbers or names"
        )
    import pandas as pd

    codes, names = pd.factorize(flat.ravel())
    if codes.min() < 0:
        _refuse_missing((codes < 0).reshape(flat.shape), where)
    codes = codes.reshape(flat.shape)
    _check_names(names, codes, where)
    return codes


def _check_names(names: np.ndarray, codes: np.ndarray, where: str) -> None:
    """Refuse names that cannot be told apart, stand for a missing label, or are measurements."""
    import pandas as pd

    text = pd.Series(names).astype(str)
    twice = text[text.duplicated()]
    if len(twice):
        raise ValueError(
            f"{where} holds the label {visible(twice.iloc[0])} both as a number and as text, expected one "
            "kind: write all labels as text, or all as numbers"
        )
    missing = text.isin(_MISSING).to_numpy()
    if missing.any():
        _refuse_missing(missing[codes], where)
    numbers = pd.to_numeric(text, errors="coerce").to_numpy(dtype=np.float64)
    if not np.isnan(numbers).any():
        _check_fractions(numbers[codes], where)


def _check_whole(flat: np.ndarray, where: str) -> None:
    is_missing = ~np.isfinite(flat)
    if is_missing.any():
        _refuse_missing(is_missing, where)
    _check_fractions(flat, where)
    digits = np.finfo(flat.dtype).nmant + 1
    if float(np.abs(flat).max()) >= 2.0**digits:
        raise ValueError(
            f"{where} holds labels of type {flat.dtype} beyond 2^{digits}, which are not exact: write "
            "integers"
        )


def _check_fractions(flat: np.ndarray, where: str) -> None:
    broken = np.trunc(flat) != flat
    if broken.any():
        draw, point = np.argwhere(broken)[0]
        raise ValueError(
            f"{where} holds {flat[draw, point]:g} in draw {draw + 1}, point {point + 1}, expected whole "
            "numbers: labels of clusters, not measurements or probabilities"
        )


def _refuse_missing(is_missing: np.ndarray, where: str) -> None:
    draw, point = np.argwhere(is_missing)[0]
    raise ValueError(
        f"{where} holds {is_missing.sum()} missing or infinite label(s), the first in draw {draw + 1}, point "
        f"{point + 1}: every point needs a label in every draw"
    )


def check_labels_fit(where: str, num_labels: int) -> None:
    """Refuse to read more labels than there is memory for."""
    needed = num_labels * _BYTES_A_LABEL
    check_memory(needed, f"{where} holds {num_labels:.3g} labels, which", remedy="thin the draws")


def values_of_draws(values: np.ndarray | None, draws: np.ndarray, name: str, where: str) -> np.ndarray | None:
    """Return numbers of each draw as ``(chains, draws)`` float64."""
    if values is None:
        return None
    if values.size != draws[..., 0].size:
        raise ValueError(
            f"{where} has {values.size} values of {name}, expected {draws[..., 0].size}, one a draw"
        )
    if values.ndim > 1 and values.shape != draws.shape[:2] and max(values.shape) < values.size:
        raise ValueError(
            f"{where} has a {name} of shape {values.shape}, expected {draws.shape[:2]}, (chains, draws)"
        )
    if values.dtype.kind not in "fiub":
        raise ValueError(f"{where} has a {name} of type {values.dtype}, expected numbers in nats")
    return values.reshape(draws.shape[:2]).astype(np.float64)
