"""Distributions of a known class as JSON."""

import inspect
import reprlib
from collections.abc import Callable, Mapping
from typing import Any

import torch
from pyro import distributions
from torch import Tensor
from torch.distributions import Distribution

from pyroclust.core.errors import unknown_name
from pyroclust.saving.numbers import build_number, build_tensor, shortest

__all__ = ["DISTRIBUTIONS", "build_distribution", "describe_distribution"]

DISTRIBUTIONS: dict[str, type[Distribution]] = {
    one.__name__: one
    for one in (
        distributions.Beta,
        distributions.Binomial,
        distributions.Categorical,
        distributions.Exponential,
        distributions.Gamma,
        distributions.Geometric,
        distributions.HalfCauchy,
        distributions.HalfNormal,
        distributions.InverseGamma,
        distributions.LogNormal,
        distributions.NegativeBinomial,
        distributions.Normal,
        distributions.Poisson,
        distributions.Uniform,
    )
}
"""Distributions that a description may name."""

_EITHER = ("probs", "logits")
_NO_PARAMETERS = frozenset({"is_sparse", "validate_args"})
_DTYPES = {"float32": torch.float32, "float64": torch.float64}


def describe_distribution(law: Distribution, *, where: str) -> dict[str, Any]:
    """Return the class and the parameters of a distribution; cost O(size of the parameters).

    Parameters are written with the digits that their dtype tells apart; ``"dtype"`` stands among them unless
    it is float32.

    Args:
        law: one of :data:`DISTRIBUTIONS`, Pyro's or torch's.
        where: its place in the description, for errors.

    Raises:
        ValueError: if its class is another one, or its parameters are of another dtype.

    Example:
        >>> describe_distribution(distributions.Gamma(0.1, 4.0), where="concentration")
        {'class': 'Gamma', 'arguments': {'concentration': 0.1, 'rate': 4.0}}
    """
    name = type(law).__name__
    if name not in DISTRIBUTIONS:
        raise ValueError(f"{where}: {unknown_name('distribution', name, DISTRIBUTIONS)}")
    if not issubclass(DISTRIBUTIONS[name], type(law)):
        raise ValueError(f"{where} is a {name} of {type(law).__module__}, expected Pyro's or torch's")
    names = [key for key in _parameter_names(name) if key not in _EITHER]
    # Of the two, the one that was given is older: the other is computed from it when asked for.
    names += [key for key in vars(law) if key in _EITHER][:1]
    values = {key: getattr(law, key) for key in names}
    values = {key: one if one.is_floating_point() else one.float() for key, one in values.items()}
    dtypes = {str(one.dtype).removeprefix("torch.") for one in values.values()}
    if not (len(dtypes) == 1 and dtypes <= set(_DTYPES)):
        raise ValueError(
            f"{where} has parameters of {' and '.join(sorted(dtypes))}, expected float32 or float64"
        )
    described = {key: shortest(one, where=f"{where}.{key}") for key, one in values.items()}
    dtype = {} if dtypes == {"float32"} else {"dtype": dtypes.pop()}
    return {"class": name, "arguments": described | dtype}


def build_distribution(name: str, arguments: Mapping[str, Any], *, where: str) -> Distribution:
    """Build a distribution from its class and its parameters.

    Args:
        name: of its class.
        arguments: numbers or lists by name, in float32 unless ``"dtype"`` is ``"float64"``.
        where: its place in the description, for errors.

    Raises:
        ValueError: if the class is not in :data:`DISTRIBUTIONS`, or the parameters do not fit it.

    Example:
        >>> build_distribution("Gamma", {"concentration": 2.0, "rate": 4.0}, where="rate")
        Gamma(concentration: 2.0, rate: 4.0)
    """
    if name not in DISTRIBUTIONS:
        raise ValueError(f"{where}: {unknown_name('distribution', name, DISTRIBUTIONS)}")
    given = dict(arguments)
    dtype = given.pop("dtype", "float32")
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise ValueError(f"{where}.dtype is {reprlib.repr(dtype)}, expected 'float32' or 'float64'")
    _check_names(name, given, where)
    values = {key: _parameter(value, _DTYPES[dtype], f"{where}.{key}") for key, value in given.items()}
    constructor: Callable[..., Distribution] = DISTRIBUTIONS[name]
    try:
        law = constructor(**values, validate_args=True)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{where}: {' '.join(str(error).split())}") from None
    if isinstance(law, distributions.Categorical):
        _restore_last_digits(law, values)
    return law


def _restore_last_digits(law: distributions.Categorical, values: Mapping[str, Tensor]) -> None:
    """Undo a second normalisation, which would move the last digits of what a first one has stored."""
    for key, value in values.items():
        nearly = 8 * torch.finfo(value.dtype).eps
        if torch.allclose(getattr(law, key), value, rtol=nearly, atol=nearly):
            setattr(law, key, value)


def _parameter_names(name: str) -> list[str]:
    return [key for key in inspect.signature(DISTRIBUTIONS[name]).parameters if key not in _NO_PARAMETERS]


def _parameter(value: Any, dtype: torch.dtype, where: str) -> Tensor:
    if isinstance(value, list | tuple):
        return build_tensor(value, where=where).to(dtype)
    return torch.tensor(build_number(value, where=where), dtype=dtype)


def _check_names(name: str, given: Mapping[str, Any], where: str) -> None:
    known = _parameter_names(name)
    for key in sorted(set(given) - set(known)):
        raise ValueError(f"{where}: {unknown_name(f'parameter of {name}', key, known)}")
    for key in known:
        if key not in _EITHER and key not in given:
            raise ValueError(f"{where} lacks '{key}', expected {name} with {', '.join(known)}")
    if not set(known).isdisjoint(_EITHER) and len(set(given) & set(_EITHER)) != 1:
        raise ValueError(f"{where} has {len(set(given) & set(_EITHER))} of probs and logits, expected one")
