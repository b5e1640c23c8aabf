"""Strategies that all property tests share: good labels, draws, weights and numbers, and what breaks them.

``forms`` says the same as a good value in another form, and has to be taken like it. ``broken`` is what a
careless or hostile user gives instead: a call has to refuse it, or to take it for what it is.
"""

import math
from collections.abc import Callable
from typing import Any

import hypothesis.extra.numpy as arrays
import numpy as np
import pandas as pd
import torch
import xarray as xr
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

__all__ = ["any_labels", "broken", "chains", "finite", "forms", "plain", "points", "seeds", "weights"]

NUMBERS = (0.0, 1.0, -1.0, 0.5, 1e-300, 1e8, 1e154, 1e300, 1e308, -1e308, 5e-324, 1 / 3)
seeds = st.sampled_from([0, 1, 2**32, 2**63 - 1])


def any_labels(*shape: int, top: int | None = None) -> SearchStrategy[np.ndarray]:
    """Labels from 0 to ``top``, N - 1 by default, gaps and all; ``(..., N)``."""
    top = shape[-1] - 1 if top is None else top
    return arrays.arrays(np.int64, shape, elements=st.integers(0, top), fill=st.nothing())


def chains(*, points: int | None = None, most_points: int = 6, least: int = 1) -> SearchStrategy[np.ndarray]:
    """Draws of partitions, ``(chains, draws, N)`` or ``(draws, N)``, from one draw of one point on."""
    size = st.integers(1, most_points) if points is None else st.just(points)
    return st.tuples(
        st.sampled_from([(), (1,), (2,), (3,)]), st.sampled_from([1, 2, 3, 5, 9]).filter(least.__le__), size
    ).flatmap(lambda found: any_labels(*found[0], *found[1:]))


def finite(*shape: int, extreme: bool = True) -> SearchStrategy[np.ndarray]:
    """Finite numbers, most of them ordinary, some as large or as small as numbers are."""
    usual = st.floats(-5, 5, allow_subnormal=False)
    elements = st.one_of(usual, usual, st.sampled_from(NUMBERS)) if extreme else usual
    return arrays.arrays(np.float64, shape, elements=elements, fill=st.nothing())


def points(num_points: int, *, most_columns: int = 3) -> SearchStrategy[np.ndarray]:
    """Data, ``(N, D)``, of ordinary size."""
    return st.integers(1, most_columns).flatmap(lambda width: finite(num_points, width, extreme=False))


def weights(num_draws: int) -> SearchStrategy[np.ndarray | None]:
    """Weights of draws: none, equal, a single one that is not zero, as small or as large as numbers are."""
    some = st.sampled_from([0.0, 0.0, 1.0, 2.5, 1e-300, 5e-324, 1e308])
    return st.none() | arrays.arrays(np.float64, (num_draws,), elements=some, fill=st.nothing()).map(_not_all)


def _not_all(values: np.ndarray) -> np.ndarray:
    if not values.any():
        values[0] = 1.0
    return values


def plain(value: Any) -> Any:
    """Return what an argument says, as an array of its own where it holds numbers."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, pd.DataFrame | pd.Series | xr.DataArray):
        return value.to_numpy(copy=True)
    if isinstance(value, np.ma.MaskedArray):
        return value.copy()
    if isinstance(value, np.ndarray):
        return np.array(value.tolist()).reshape(value.shape) if value.dtype == object else value.copy()
    if isinstance(value, list | tuple) and any(isinstance(one, list | tuple | np.ndarray) for one in value):
        return np.array([plain(one) for one in value])
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return value


def forms(value: Any) -> SearchStrategy[Any]:
    """The same value in another form that every call has to take."""
    if isinstance(value, bool) or not isinstance(value, int | np.ndarray | torch.Tensor):
        return st.just(value)
    if isinstance(value, int):
        return st.sampled_from([np.int64(value), np.uint64(value), torch.tensor(value)])
    kinds = _TENSOR_FORMS if isinstance(value, torch.Tensor) else _ARRAY_FORMS
    return st.sampled_from(kinds).map(lambda form: form(value))


def broken(value: Any) -> SearchStrategy[Any]:
    """What somebody gives instead of a value: damaged, of another shape or type, or something else."""
    if isinstance(value, bool):
        return st.sampled_from(["yes", None, 2])
    if isinstance(value, int):
        return st.sampled_from(
            [-1, 0, 10**30, 2.5, True, None, "3", math.nan, math.inf, [3], np.float64(2), 1j, b"2"]
        )
    if isinstance(value, float):
        return st.sampled_from(
            [math.nan, math.inf, -math.inf, -1.0, 0.0, 1.0, 2.0, 1e308, None, "0.5", [0.5], 10**400, 1j, True]
        )
    if isinstance(value, torch.Tensor):
        as_array = value.detach().numpy()
        return st.one_of(_broken_array(as_array).map(_as_tensor), _broken_array(as_array), _ELSE)
    if isinstance(value, np.ndarray):
        return st.one_of(_broken_array(value), _broken_array(value), _ELSE)
    if isinstance(value, dict):
        parts = [st.just({}), st.just(None), st.just([1, 2]), st.just({3: 1})]
        if value:
            parts.append(
                st.sampled_from(sorted(value)).flatmap(
                    lambda name: broken(value[name]).map(lambda one: {**value, name: one})
                )
            )
        return st.one_of(parts)
    if isinstance(value, tuple):
        return st.sampled_from([(), (None,), "ab", None, 5, (1, 2), (*value, *value)])
    if isinstance(value, str):
        return st.sampled_from([None, 5, "", "a$\\frac", "\x1b[31m\r\n", "\0", "x" * 5000, b"a"])
    return _ELSE


_ELSE = st.sampled_from(
    [
        None,
        "text",
        "",
        b"\0",
        3,
        -1.5,
        {},
        {"a": 1},
        set(),
        object(),
        range(3),
        len,
        [[1], [1, 2]],
        [],
        [None],
    ]
)


def _broken_array(value: np.ndarray) -> SearchStrategy[Any]:
    ways = st.sampled_from(_WAYS).map(lambda way: _quietly(way, value))
    if not value.size:
        return ways
    place = st.integers(0, value.size - 1)
    damage = st.sampled_from([math.nan, math.inf, -math.inf, -1, -7, 0.5, 2**31, 2**53, 1e308, -1e308, 1e200])
    return st.one_of(ways, st.builds(lambda at, what: _damaged(value, at, what), place, damage))


def _quietly(way: Callable[[np.ndarray], Any], value: np.ndarray) -> Any:
    with np.errstate(all="ignore"):
        return way(value)


def _damaged(value: np.ndarray, place: int, what: float) -> np.ndarray:
    whole = value.dtype.kind in "iu" and float(what).is_integer() and abs(what) < 2**63
    found = value.copy() if whole else value.astype(np.float64)
    found.flat[place] = what
    return found


def _as_tensor(value: Any) -> Any:
    try:
        return torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError):
        return value


def _table(value: np.ndarray) -> np.ndarray:
    wide = np.atleast_2d(value)
    # A length of -1 cannot be inferred where there are no rows.
    return wide.reshape(len(wide), math.prod(wide.shape[1:]))


def _strided(value: np.ndarray) -> np.ndarray:
    wide = np.zeros((*value.shape[:-1], 2 * value.shape[-1]) if value.ndim else (), value.dtype)
    wide[..., ::2] = value
    return wide[..., ::2]


def _read_only(value: np.ndarray) -> np.ndarray:
    found = value.copy()
    found.flags.writeable = False
    return found


def _of_pandas(value: np.ndarray) -> Any:
    if value.ndim == 2:
        # Tables keep the names of columns; these are what a plain array gets.
        names = [f"x{place}" for place in range(1, value.shape[1] + 1)]
        return pd.DataFrame(value.copy(), columns=names)
    return pd.Series(value.copy()) if value.ndim == 1 else value.copy()


def _smaller(value: np.ndarray) -> np.ndarray:
    """Return the smallest unsigned type that holds the numbers, where they are whole and not negative."""
    whole = value.dtype.kind in "iu" and value.size and value.min() >= 0
    return value.astype(np.min_scalar_type(value.max())) if whole else value


def _swapped(value: np.ndarray) -> np.ndarray:
    return value.astype(value.dtype.newbyteorder())


def _unsigned(value: np.ndarray) -> np.ndarray:
    return value.astype(np.uint64) if value.dtype.kind == "i" and (value >= 0).all() else value


_ARRAY_FORMS: list[Callable[[np.ndarray], Any]] = [
    lambda value: value.tolist(),
    lambda value: tuple(value.tolist()),
    lambda value: torch.from_numpy(value.copy()),
    np.asfortranarray,
    _strided,
    _read_only,
    _of_pandas,
    _smaller,
    _swapped,
    _unsigned,
    lambda value: value[::-1].copy()[::-1],
    lambda value: np.ma.masked_array(value, mask=False),
]
_TENSOR_FORMS: list[Callable[[torch.Tensor], Any]] = [
    lambda value: value.clone().requires_grad_() if value.is_floating_point() else value.int(),
    lambda value: torch.stack([value, value], -1)[..., 0],
    lambda value: value.t().contiguous().t() if value.dim() == 2 else value,
]
_WAYS: list[Callable[[np.ndarray], Any]] = [
    lambda value: value[None],
    lambda value: value[..., None],
    lambda value: value.reshape(-1),
    lambda value: value[:0],
    lambda value: value[..., :0],
    lambda value: value[1:],
    lambda value: value[..., 1:],
    lambda value: np.concatenate([value, value], -1) if value.ndim else value,
    lambda value: value.T,
    lambda value: np.array(7),
    lambda value: value.astype(float),
    lambda value: value.astype(np.float16) if np.abs(value).max(initial=0) < 6e4 else value,
    lambda value: value.astype(bool),
    lambda value: value.astype(object),
    lambda value: value.astype(str),
    lambda value: value.astype(complex),
    lambda value: value + 1j,
    lambda value: value.astype(np.uint64) + np.uint64(2**63) if value.dtype.kind in "iu" else -value,
    lambda value: np.full(value.shape, "2026-01-01", "M8[D]"),
    lambda value: np.full(value.shape, None),
    lambda value: np.ma.masked_array(value, mask=True),
    lambda value: np.ma.masked_array(value, mask=np.arange(value.size).reshape(value.shape) == 0),
    lambda value: torch.from_numpy(value.copy()).to_sparse(),
    lambda value: pd.DataFrame(_table(value)).astype(str),
    lambda value: (one for one in value),
    lambda value: np.full(value.shape, np.nan),
    lambda value: np.zeros_like(value),
    lambda value: value * 3 + 2,
]
