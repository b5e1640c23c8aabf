"""Registered objects, numbers and distributions as JSON, and built from it again by the annotations."""

import inspect
import math
import reprlib
from collections.abc import Callable, Collection, Mapping, Sequence
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
import torch
from pyro import distributions
from torch import Tensor, nn
from torch.distributions import Distribution

from pyroclust.core.messages import unknown_name
from pyroclust.core.registry import arguments_of, find, from_context, name_of, suited

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

# Whole numbers up to here are exact in float64.
_LARGEST = 2**53
_EITHER = ("probs", "logits")
_DTYPES = {"float32": torch.float32, "float64": torch.float64}
_WORDS: dict[Any, str] = {str: "text", bool: "true or false", Distribution: "a distribution"}


def describe(value: Any, *, where: str, context: Mapping[str, Any] | None = None) -> Any:
    """Return an object as JSON, ``{"class": name, "arguments": {...}}``, its numbers exactly.

    Args:
        value: a registered object, a number, text, a tensor, a distribution, or lists and mappings of these.
        where: its place in the description, for errors.
        context: what constructors will take from outside, as the model of a guide; an object must not have
            been made of another one.

    Raises:
        ValueError: if something in it is not registered, not finite, or made of another model.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Distribution):
        return describe_distribution(value, where=where)
    if isinstance(value, Tensor):
        _check_finite(value, where)
        return value.detach().cpu().tolist()
    if isinstance(value, Real):
        return _number(int(value) if isinstance(value, Integral) else float(value), where=where)
    if isinstance(value, Mapping):
        return {
            str(key): describe(one, where=f"{where}.{key}", context=context) for key, one in value.items()
        }
    if isinstance(value, tuple | list):
        return [describe(one, where=f"{where}[{i}]", context=context) for i, one in enumerate(value)]
    name = name_of(value)
    if name is None:
        raise ValueError(
            f"{where} is of class '{type(value).__name__}' of {type(value).__module__}, which is not "
            "registered: nothing could build it again; put @pyroclust.register above the class, or save "
            "guide.state_dict() and keep the code"
        )
    if isinstance(value, type) or inspect.isfunction(value):
        return name
    arguments = arguments_of(value)
    _check_context(value, arguments, context or {}, where)
    return {"class": name, "arguments": describe(arguments, where=where, context=context)}


def _check_context(value: Any, arguments: Mapping[str, Any], context: Mapping[str, Any], where: str) -> None:
    """Refuse an object that was made of another model than the one it will be built of."""
    for name in from_context(type(value), arguments, context):
        present, wanted = getattr(value, name, context[name]), context[name]
        if present is not wanted and describe(present, where=name) != describe(wanted, where=name):
            raise ValueError(
                f"{where} was made of another {name} than that of the guide's model, expected the same: "
                "build the guide again from its model and load the weights"
            )


def build(described: Any, kind: Any, *, where: str, context: Mapping[str, Any] | None = None) -> Any:
    """Build an object from its description; nothing but registered classes and functions is ever called.

    Args:
        described: what :func:`describe` returned, or the same with the arguments beside the class, as recipes
            have them: ``{"class": "DensestFirst", "bandwidth": 1.4}``.
        kind: the contract that it fulfils.
        where: its place in the description, for errors.
        context: what constructors take from outside, as the model of a guide.

    Raises:
        ValueError: if the class or an argument is unknown, missing, or of another kind than annotated.

    Example:
        >>> from pyroclust.nn import Order
        >>> build({"class": "DensestFirst", "bandwidth": 1.4}, Order, where="order").bandwidth
        1.4
    """
    name, arguments = _class_and_arguments(described, kind, where=where)
    return call(find(kind, name, where=where), arguments, where=where, context=context)


def call(
    function: Callable[..., Any],
    arguments: Mapping[str, Any],
    *,
    where: str,
    context: Mapping[str, Any] | None = None,
) -> Any:
    """Call a constructor, or a function that is one, with arguments from JSON or TOML, by its annotations.

    Raises:
        ValueError: if an argument is unknown, missing, of another kind than annotated, or refused.

    Example:
        >>> from pyroclust.infer import FitSettings
        >>> call(FitSettings, {"stepz": 10}, where="training")
        Traceback (most recent call last):
        ValueError: unknown argument 'training.stepz', did you mean 'training.steps'? Known: ...
    """
    parameters = inspect.signature(function).parameters
    filled = from_context(function, arguments, context or {})
    names = [name for name in parameters if name not in filled]
    required = [name for name in names if parameters[name].default is inspect.Parameter.empty]
    check_arguments(arguments, names, required, where=where)
    hints = get_type_hints(function.__init__ if isinstance(function, type) else function)  # type: ignore[misc]
    values = {
        key: _value(arguments[key], hints.get(key, Any), where=f"{where}.{key}", context=context)
        for key in names
        if key in arguments
    }
    try:
        return function(**filled, **values)
    except (TypeError, ValueError, RuntimeError, ArithmeticError, MemoryError) as error:
        raise ValueError(f"{where}: {' '.join(str(error).split())[:400]}") from None


def check_arguments(
    arguments: Mapping[str, Any], names: Collection[str], required: Collection[str], *, where: str
) -> None:
    """Refuse unknown arguments, and that one is missing."""
    for key in sorted(arguments.keys() - set(names)):
        raise ValueError(unknown_name("argument", f"{where}.{key}", [f"{where}.{one}" for one in names]))
    for key in required:
        if key not in arguments:
            raise ValueError(f"{where} lacks '{key}', expected {', '.join(names)}")


def _class_and_arguments(described: Any, kind: Any, *, where: str) -> tuple[str, dict[str, Any]]:
    """Take apart both forms: the arguments in a table of their own, or beside the class."""
    if not isinstance(described, Mapping) or "class" not in described:
        example = min(suited(kind), default="Gamma")
        raise ValueError(
            f"{where} is {reprlib.repr(described)}, expected a class with its arguments, "
            f"such as {{'class': '{example}', ...}}"
        )
    name = described["class"]
    if not isinstance(name, str):
        raise ValueError(f"{where}.class is {reprlib.repr(name)}, expected text")
    beside = {str(key): one for key, one in described.items() if key != "class"}
    if not isinstance(beside.get("arguments"), Mapping):
        return name, beside
    for key in beside.keys() - {"arguments"}:
        raise ValueError(f"{where} has '{key}' beside its arguments, expected it among them")
    return name, {str(key): one for key, one in beside["arguments"].items()}


def _value(value: Any, annotation: Any, *, where: str, context: Mapping[str, Any] | None) -> Any:
    """Build an argument of a kind that its annotation allows."""
    kinds = get_args(annotation) if get_origin(annotation) in (UnionType, Union) else (annotation,)
    if annotation is Any or (value is None and NoneType in kinds) or _is_built(value):
        return value
    if isinstance(value, Mapping):
        if Distribution in kinds:
            return build_distribution(*_class_and_arguments(value, Distribution, where=where), where=where)
        for kind in kinds:
            if _is_a(kind, Mapping):
                element = (get_args(kind) or (Any, Any))[1]
                return {
                    str(key): _value(one, element, where=f"{where}.{key}", context=context)
                    for key, one in value.items()
                }
    if str not in kinds and suited(annotation):
        if isinstance(value, Mapping):
            return build(value, annotation, where=where, context=context)
        if isinstance(value, str):
            return find(annotation, value, where=where)
    if isinstance(value, list | tuple):
        if Tensor in kinds:
            return build_tensor(value, where=where)
        for kind in kinds:
            if _is_sequence(kind):
                return tuple(
                    _value(one, _element(kind), where=f"{where}[{i}]", context=context)
                    for i, one in enumerate(value)
                )
    for plain in (bool, str):
        if plain in kinds and isinstance(value, plain):
            return value
    if float in kinds:
        number = _number(value, where=where)
        return number if Tensor in kinds or int in kinds else float(number)
    if int in kinds:
        return _whole(value, where=where)
    raise ValueError(f"{where} is {reprlib.repr(value)}, expected {_words(kinds)}")


def _is_built(value: Any) -> bool:
    return isinstance(value, nn.Module) or (not isinstance(value, type) and name_of(value) is not None)


def _is_a(kind: Any, wanted: type) -> bool:
    origin = get_origin(kind) or kind
    return inspect.isclass(origin) and issubclass(origin, wanted)


def _is_sequence(kind: Any) -> bool:
    return kind is not str and _is_a(kind, Sequence)


def _element(kind: Any) -> Any:
    return next(iter(get_args(kind)), Any)


def _words(kinds: Sequence[Any]) -> str:
    for kind in kinds:
        if kind in _WORDS:
            return _WORDS[kind]
        if _is_sequence(kind):
            names = sorted(suited(_element(kind)))
            return f"a list of {', '.join(names)}" if names else "a list"
        if suited(kind):
            return f"a class with its arguments, one of {', '.join(sorted(suited(kind)))}"
    return "a table"


def describe_distribution(law: Distribution, *, where: str) -> dict[str, Any]:
    """Return the class and the parameters of a distribution of Pyro or torch.

    Parameters have the digits that their dtype tells apart; ``"dtype"`` stands among them unless it is
    float32.
    """
    name = type(law).__name__
    if name not in DISTRIBUTIONS:
        raise ValueError(f"{where}: {unknown_name('distribution', name, DISTRIBUTIONS)}")
    if not issubclass(DISTRIBUTIONS[name], type(law)):
        raise ValueError(f"{where} is a {name} of {type(law).__module__}, expected Pyro's or torch's")
    names = [key for key in _parameter_names(name) if key not in _EITHER]
    # Of the two, the one that the law was made of is older: the other is computed from it when needed.
    names += [key for key in vars(law) if key in _EITHER][:1]
    values = {key: getattr(law, key) for key in names}
    values = {key: one if one.is_floating_point() else one.float() for key, one in values.items()}
    dtypes = {str(one.dtype).removeprefix("torch.") for one in values.values()}
    if not (len(dtypes) == 1 and dtypes <= set(_DTYPES)):
        raise ValueError(
            f"{where} has parameters of {' and '.join(sorted(dtypes))}, expected float32 or float64"
        )
    described = {key: _shortest(one, where=f"{where}.{key}") for key, one in values.items()}
    dtype = {} if dtypes == {"float32"} else {"dtype": dtypes.pop()}
    return {"class": name, "arguments": described | dtype}


def build_distribution(name: str, arguments: Mapping[str, Any], *, where: str) -> Distribution:
    """Build a distribution, in float32 unless ``"dtype"`` is ``"float64"``."""
    if name not in DISTRIBUTIONS:
        raise ValueError(f"{where}: {unknown_name('distribution', name, DISTRIBUTIONS)}")
    dtype = arguments.get("dtype", "float32")
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise ValueError(f"{where}.dtype is {reprlib.repr(dtype)}, expected 'float32' or 'float64'")
    names = _parameter_names(name)
    required = [one for one in names if one not in _EITHER]
    check_arguments(arguments, [*names, "dtype"], required, where=where)
    values = {
        key: _parameter(one, _DTYPES[dtype], f"{where}.{key}")
        for key, one in arguments.items()
        if key != "dtype"
    }
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
    settings = ("is_sparse", "validate_args")
    return [key for key in inspect.signature(DISTRIBUTIONS[name]).parameters if key not in settings]


def _parameter(value: Any, dtype: torch.dtype, where: str) -> Tensor:
    if isinstance(value, list | tuple):
        return build_tensor(value, where=where).to(dtype)
    return torch.tensor(_number(value, where=where), dtype=dtype)


def _shortest(value: Tensor, *, where: str) -> Any:
    """Return a tensor's numbers with the fewest digits that its dtype, float32 or float64, tells apart."""
    _check_finite(value, where)
    array = value.detach().cpu().numpy()
    digits = np.array([float(str(one)) for one in array.ravel()])
    return digits.reshape(array.shape).tolist()


def _check_finite(value: Tensor, where: str) -> None:
    real = not (value.is_complex() or value.dtype == torch.bool)
    if not (value.numel() and real and bool(value.isfinite().all())):
        raise ValueError(
            f"{where} is a tensor of shape {tuple(value.shape)} and {value.dtype}, expected finite real "
            "numbers"
        )


def build_numbers(value: Any, *, where: str) -> float | Tensor:
    """Return a finite number, or a tensor of the numbers in a list."""
    return (
        build_tensor(value, where=where) if isinstance(value, list | tuple) else _number(value, where=where)
    )


def build_tensor(value: Any, *, where: str) -> Tensor:
    """Turn nested lists of numbers into a tensor, int64 where all are whole numbers and float64 otherwise."""
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError):
        array = np.empty(0)
    if array.dtype.kind not in "if" or not array.size or not np.isfinite(array).all():
        raise ValueError(
            f"{where} is {reprlib.repr(value)}, expected a list of finite numbers, or of lists of one length"
        )
    return torch.tensor(array)


def _number(value: Any, *, where: str) -> int | float:
    if isinstance(value, float) and math.isfinite(value):
        return value
    return _whole(value, where=where, wanted="a finite number")


def _whole(value: Any, *, where: str, wanted: str = "a whole number") -> int:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST:
        return value
    raise ValueError(f"{where} is {reprlib.repr(value)}, expected {wanted}")
