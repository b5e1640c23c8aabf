"""Registered objects as JSON: the class by its name, beside the arguments of its constructor."""

import inspect
import reprlib
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from torch import Tensor, nn
from torch.distributions import Distribution

from pyroclust.core.errors import unknown_name
from pyroclust.core.registry import arguments_of, find, missing, name_of, suited
from pyroclust.saving.distributions import build_distribution, describe_distribution
from pyroclust.saving.numbers import build_number, build_tensor, build_whole, describe_numbers

__all__ = ["build", "call", "class_and_arguments", "describe"]

_WORDS: dict[Any, str] = {str: "text", bool: "true or false", Distribution: "a distribution"}


def describe(value: Any, *, where: str, given: Mapping[str, Any] | None = None) -> Any:
    """Return an object as JSON: ``{"class": name, "arguments": {...}}``, numbers exactly.

    Cost O(size of the arguments).

    Args:
        value: a registered object, a number, text, a tensor, a distribution, or lists and mappings of these.
        where: its place in the description, for errors.
        given: what will be given from outside when it is built again, as the model of a guide; arguments of
            these names that an object leaves out must be the same.

    Raises:
        ValueError: if something in it is of a class that is not registered, is not finite, or holds another
            object than the one given.

    Example:
        >>> from pyroclust.nn import DensestFirst
        >>> describe(DensestFirst(1.4), where="order")
        {'class': 'DensestFirst', 'arguments': {'bandwidth': 1.4}}
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Distribution):
        return describe_distribution(value, where=where)
    if isinstance(value, Tensor | Real):
        return describe_numbers(value, where=where)
    if isinstance(value, Mapping):
        return {str(key): describe(one, where=f"{where}.{key}", given=given) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [describe(one, where=f"{where}[{place}]", given=given) for place, one in enumerate(value)]
    name = name_of(value)
    if name is None:
        raise ValueError(_not_registered(value, where))
    if isinstance(value, type) or inspect.isfunction(value):
        return name
    arguments = arguments_of(value)
    _check_given(value, arguments, given or {}, where)
    return {
        "class": name,
        "arguments": {
            key: describe(one, where=f"{where}.{key}", given=given) for key, one in arguments.items()
        },
    }


def build(described: Any, kind: Any, *, where: str, given: Mapping[str, Any] | None = None) -> Any:
    """Build an object from its description; nothing but registered classes and functions is ever called.

    Args:
        described: what :func:`describe` returned, or the same with the arguments beside the class, as recipes
            have them: ``{"class": "DensestFirst", "bandwidth": 1.4}``.
        kind: the contract that it fulfils.
        where: its place in the description, for errors.
        given: arguments from outside, as the model of a guide, for constructors that ask for them.

    Raises:
        ValueError: if the class or an argument is unknown, missing, or of another kind than annotated.

    Example:
        >>> from pyroclust.nn import Order
        >>> build({"class": "DensestFirst", "bandwidth": 1.4}, Order, where="order").bandwidth
        1.4
    """
    name, arguments = class_and_arguments(described, kind, where=where)
    return call(find(kind, name, where=where), arguments, where=where, given=given)


def call(
    function: Callable[..., Any],
    arguments: Mapping[str, Any],
    *,
    where: str,
    given: Mapping[str, Any] | None = None,
) -> Any:
    """Call a constructor, or a function that is one, with arguments from JSON or TOML, by its annotations.

    Raises:
        ValueError: if an argument is unknown, missing, of another kind than annotated, or refused.

    Example:
        >>> from pyroclust.infer import FitSettings
        >>> call(FitSettings, {"steps": 10}, where="training").steps
        10
        >>> call(FitSettings, {"stepz": 10}, where="training")
        Traceback (most recent call last):
        ValueError: unknown argument 'training.stepz', did you mean 'training.steps'? Known: ...
    """
    parameters = inspect.signature(function).parameters
    filled = missing(function, arguments, given or {})
    for key in arguments:
        if key not in parameters:
            known = [f"{where}.{one}" for one in parameters if one not in filled]
            raise ValueError(unknown_name("argument", f"{where}.{key}", known))
    for key, one in parameters.items():
        if one.default is one.empty and key not in arguments and key not in filled:
            names = ", ".join(name for name in parameters if name not in filled)
            raise ValueError(f"{where} lacks '{key}', expected {names}")
    hints = get_type_hints(function.__init__ if isinstance(function, type) else function)  # type: ignore[misc]
    values = {
        key: _value(arguments[key], hints.get(key, Any), where=f"{where}.{key}", given=given)
        for key in parameters
        if key in arguments
    }
    try:
        return function(**filled, **values)
    except (TypeError, ValueError, RuntimeError, ArithmeticError, MemoryError) as error:
        raise ValueError(f"{where}: {' '.join(str(error).split())[:400]}") from None


def class_and_arguments(described: Any, kind: Any, *, where: str) -> tuple[str, dict[str, Any]]:
    """Take apart both forms: the arguments in a table of their own, or beside the class.

    Raises:
        ValueError: if it is no table, or names no class.

    Example:
        >>> class_and_arguments({"class": "Gamma", "rate": 4.0}, Distribution, where="rate")
        ('Gamma', {'rate': 4.0})
    """
    if not isinstance(described, Mapping) or "class" not in described:
        example = min(suited(kind), default="Gamma")
        raise ValueError(
            f"{where} is {reprlib.repr(described)}, expected a class with its arguments, "
            f"such as {{'class': '{example}', ...}}"
        )
    beside = {str(key): one for key, one in described.items() if key != "class"}
    if not isinstance(beside.get("arguments"), Mapping):
        return _class_name(described, where), beside
    for key in beside.keys() - {"arguments"}:
        raise ValueError(f"{where} has '{key}' beside its arguments, expected it among them")
    return _class_name(described, where), {str(key): one for key, one in beside["arguments"].items()}


def _class_name(described: Mapping[str, Any], where: str) -> str:
    if not isinstance(described["class"], str):
        raise ValueError(f"{where}.class is {reprlib.repr(described['class'])}, expected text")
    return described["class"]


def _value(value: Any, annotation: Any, *, where: str, given: Mapping[str, Any] | None) -> Any:
    """Build an argument of a kind that its annotation allows."""
    kinds = get_args(annotation) if get_origin(annotation) in (UnionType, Union) else (annotation,)
    if annotation is Any or (value is None and type(None) in kinds) or _is_built(value):
        return value
    if isinstance(value, Mapping | str):
        found = _named(value, annotation, kinds, where=where, given=given)
        if found is not None:
            return found
    if isinstance(value, list | tuple):
        if Tensor in kinds:
            return build_tensor(value, where=where)
        sequences = [one for one in kinds if _is_sequence(one)]
        if sequences:
            return tuple(
                _value(one, _element(sequences[0]), where=f"{where}[{place}]", given=given)
                for place, one in enumerate(value)
            )
    for plain in (bool, str):
        if plain in kinds and isinstance(value, plain):
            return value
    if float in kinds:
        number = build_number(value, where=where)
        return number if Tensor in kinds or int in kinds else float(number)
    if int in kinds:
        return build_whole(value, where=where)
    raise ValueError(f"{where} is {reprlib.repr(value)}, expected {_words(kinds)}")


def _named(
    value: Mapping[str, Any] | str,
    annotation: Any,
    kinds: Sequence[Any],
    *,
    where: str,
    given: Mapping[str, Any] | None,
) -> Any:
    """Build a table: a distribution, an object of a registered class, or a mapping; None if it is neither."""
    if isinstance(value, Mapping) and Distribution in kinds:
        return build_distribution(*class_and_arguments(value, Distribution, where=where), where=where)
    for kind in kinds:
        origin = get_origin(kind) or kind
        if isinstance(value, Mapping) and inspect.isclass(origin) and issubclass(origin, Mapping):
            element = get_args(kind)[1] if get_args(kind) else Any
            return {
                str(key): _value(one, element, where=f"{where}.{key}", given=given)
                for key, one in value.items()
            }
    if str in kinds or not suited(annotation):
        return None
    if isinstance(value, str):
        return find(annotation, value, where=where)
    return build(value, annotation, where=where, given=given)


def _is_built(value: Any) -> bool:
    return isinstance(value, nn.Module) or (not isinstance(value, type) and name_of(value) is not None)


def _is_sequence(kind: Any) -> bool:
    origin = get_origin(kind) or kind
    return inspect.isclass(origin) and issubclass(origin, Sequence) and origin is not str


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


def _check_given(value: Any, arguments: Mapping[str, Any], given: Mapping[str, Any], where: str) -> None:
    """Refuse an object that was made of another model than the one it will be built of."""
    for name in missing(type(value), arguments, given):
        own = getattr(value, name, given[name])
        if own is not given[name] and describe(own, where=name) != describe(given[name], where=name):
            raise ValueError(
                f"{where} was made of another {name} than that of the guide's model, expected the same: "
                "build the guide again from its model and load the weights"
            )


def _not_registered(value: Any, where: str) -> str:
    kind = type(value)
    return (
        f"{where} is of class '{kind.__name__}' of {kind.__module__}, which is not registered: nothing could "
        "build it again; put @pyroclust.register above the class, or save guide.state_dict() and "
        "keep the code"
    )
