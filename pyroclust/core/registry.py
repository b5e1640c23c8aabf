"""Names of classes and functions: what a card or a recipe may name, and nothing else."""

import functools
import inspect
from collections.abc import Callable, Mapping
from types import UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin

from pyroclust.core.messages import unknown_name

Made = TypeVar("Made", bound=Callable[..., Any])

_FACTORIES: dict[Any, dict[str, Callable[..., Any]]] = {}


def register(kind: Any, *, name: str | None = None) -> Callable[[Made], Made]:
    """Let cards and recipes name a class, or a function that makes such an object.

    Written above the class, it makes every object of that class something that ``save_guide`` can write and
    ``load_guide`` can build again: the class by its name, and the arguments of its constructor. These are
    read from attributes of the same names, or from a property ``arguments`` where the class has one. They may
    be numbers, text, tensors, distributions, other registered objects, and lists and mappings of these; their
    annotations say what is accepted.

    A card names no module: what it needs must have been imported before the guide is loaded.

    Args:
        kind: the contract that the object fulfils, as :class:`~pyroclust.distributions.PartitionPrior`,
            :class:`~pyroclust.distributions.Component` or :class:`~pyroclust.nn.Order`; ``None`` for a class
            that only arguments annotated with the class itself take.
        name: how it is called in cards; the class's own name by default.

    Raises:
        ValueError: if another class has that name already.

    Example:
        >>> class Shape: ...
        >>> @register(Shape)
        ... class Square(Shape):
        ...     def __init__(self, side: float) -> None:
        ...         self.side = side
        >>> name_of(Square(2.0)), arguments_of(Square(2.0))
        ('Square', {'side': 2.0})
        >>> find(Shape, "Squares", where="shape")
        Traceback (most recent call last):
        ValueError: shape: unknown class 'Squares', did you mean 'Square'? Known: Square
    """

    def keep(factory: Made) -> Made:
        key = factory.__name__ if name is None else name
        known = _FACTORIES.setdefault(kind, {})
        made = factory if isinstance(factory, type) else _with_origin(factory, key)
        if key in known and _place(known[key]) != _place(factory):
            raise ValueError(
                f"name is '{key}', which is {_place(known[key])} already, expected another: give a name to "
                "register"
            )
        known[key] = made
        return cast("Made", made)

    return keep


def registered(kind: Any) -> dict[str, Callable[..., Any]]:
    """Return what is registered of a kind, by name."""
    return dict(_FACTORIES.get(kind, {}))


def suited(annotation: Any) -> dict[str, Callable[..., Any]]:
    """Return what an argument of that annotation may be, by name: of that kind, or derived from it."""
    if get_origin(annotation) in (UnionType, Union):
        return {name: one for kind in get_args(annotation) for name, one in suited(kind).items()}
    wanted = get_origin(annotation) or annotation
    if wanted is object or wanted is None:
        return {}
    suitable = registered(wanted)
    for known in _FACTORIES.values():
        suitable |= {
            name: one for name, one in known.items() if isinstance(one, type) and wanted in one.__mro__
        }
    return suitable


def find(kind: Any, name: str, *, where: str) -> Callable[..., Any]:
    """Return the class or the function of a name, fit for a kind or an annotation; the nearest is offered."""
    known = suited(kind)
    if name not in known:
        raise ValueError(f"{where}: {unknown_name('class', name, known)}")
    return known[name]


def name_of(part: Any) -> str | None:
    """Return the registered name of an object's class, of the function that made it, or of a class itself."""
    origin = getattr(part, "origin", None)
    if isinstance(origin, tuple):
        return cast("str", origin[0])
    every = (entry for known in _FACTORIES.values() for entry in known.items())
    return next((name for name, one in every if one is part or one is type(part)), None)


def arguments_of(part: Any) -> dict[str, Any]:
    """Return the arguments of the constructor, or of the function that made an object, by name."""
    origin = getattr(part, "origin", None)
    if isinstance(origin, tuple):
        return dict(origin[1])
    stated = getattr(part, "arguments", None)
    if isinstance(stated, Mapping):
        return dict(stated)
    names = inspect.signature(type(part)).parameters
    for name in names:
        if not hasattr(part, name):
            raise ValueError(
                f"a {type(part).__name__} has no attribute '{name}', expected one for every argument of its "
                "constructor, or a property arguments"
            )
    return {name: getattr(part, name) for name in names}


def rebuild(part: Any, context: Mapping[str, Any]) -> Any:
    """Make an object anew from its arguments, and registered objects among these; weights are new.

    What a constructor takes from outside, as a guide its model, comes from the context.
    """
    if isinstance(part, tuple | list):
        return tuple(rebuild(one, context) for one in part)
    if isinstance(part, type) or hasattr(part, "origin") or not (hasattr(part, "arguments") or name_of(part)):
        return part
    arguments = {name: rebuild(one, context) for name, one in arguments_of(part).items()}
    return type(part)(**from_context(type(part), arguments, context), **arguments)


def from_context(
    factory: Callable[..., Any], arguments: Mapping[str, Any], context: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what a constructor asks for without a default, beside its arguments, and the context has."""
    return {
        name: context[name]
        for name, one in inspect.signature(factory).parameters.items()
        if one.default is one.empty and name in context and name not in arguments
    }


def _with_origin(function: Made, name: str) -> Made:
    """Let what a function makes remember it, where its class has a place for that, ``origin``."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def make(*args: Any, **kwargs: Any) -> Any:
        made = function(*args, **kwargs)
        if hasattr(type(made), "origin"):
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            made.origin = (name, dict(bound.arguments))
        return made

    return cast("Made", make)


def _place(factory: Callable[..., Any]) -> str:
    return f"{factory.__module__}.{factory.__qualname__}"
