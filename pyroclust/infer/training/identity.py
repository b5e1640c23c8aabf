"""What a training depends on, as text: what a checkpoint was made with can be told from anything else."""

import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from hashlib import blake2b
from importlib.metadata import version
from types import FunctionType, MethodType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Distribution

__all__ = ["identity"]

_LIBRARIES = ("pyroclust", "pyro-ppl", "torch")
_PLAIN = (bool, int, float, complex, str, bytes, type(None), torch.Size, torch.dtype)
_DEEPEST = 12


def identity(model: Callable[..., Any], guide: nn.Module, choice: Any, data: Any = None) -> dict[str, str]:
    """Return what the weights of a training depend on, beside its settings: each thing with its name.

    Models and choices with every number and table in them, programs by their text, guides without their
    weights; and the versions of the libraries, which decide what the same seeds give.

    Args:
        model: the model.
        guide: the guide.
        choice: which simulations are trained on, or ``None``.
        data: what data sets are drawn from, or ``None`` for the model.

    Example:
        >>> from pyroclust.guides import NeuralClusteringProcess
        >>> from pyroclust.models import gaussian2d
        >>> model = gaussian2d()
        >>> identity(model, NeuralClusteringProcess(model), None)["model.prior.concentration"]
        '0.7'
    """
    found = {library: version(library).partition("+")[0] for library in _LIBRARIES}
    for name, part, with_tensors in (
        # Of a model with weights of its own these are trained.
        ("model", model, not isinstance(model, nn.Module)),
        ("guide", guide, False),
        ("choice", choice, True),
        *((("data", data, True),) if data is not None else ()),
    ):
        _Walk(found, with_tensors=with_tensors).walk(name, part)
    return found


class _Walk:
    """Goes through an object and writes down what it is made of."""

    def __init__(self, found: dict[str, str], *, with_tensors: bool) -> None:
        self.found, self.with_tensors = found, with_tensors
        self._seen: set[int] = set()

    def walk(self, where: str, value: Any) -> None:
        """Write down a value under a name, and what it holds under longer ones."""
        if isinstance(value, _PLAIN):
            self.found[where] = repr(value)
        elif isinstance(value, Tensor | np.ndarray | np.generic):
            self._numbers(where, value)
        elif id(value) not in self._seen and where.count(".") < _DEEPEST:
            self._seen.add(id(value))
            self._parts(where, value)

    def _numbers(self, where: str, value: Any) -> None:
        if self.with_tensors:
            array = value.detach().cpu().numpy() if isinstance(value, Tensor) else np.asarray(value)
            digest = f"{array.dtype} {array.shape} {_digest(array.tobytes())}"
            self.found[where] = digest if array.ndim else repr(array.item())

    def _parts(self, where: str, value: Any) -> None:
        match value:
            case Mapping():
                self._each(where, {str(name): one for name, one in value.items()})
            case list() | tuple() | set() | frozenset():
                some = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
                self._each(where, {str(place): one for place, one in enumerate(some)})
            case MethodType():
                self.walk(where, value.__func__)
                self.walk(f"{where}.self", value.__self__)
            case FunctionType():
                self.found[where] = f"{value.__qualname__} {_digest(_text_of(value).encode())}"
                inside = inspect.getclosurevars(value).nonlocals
                self._each(where, {**inside, "defaults": value.__defaults__})
            case type():
                self.found[where] = value.__qualname__
            case Distribution():
                self.found[where] = type(value).__qualname__
                self._each(where, {name: getattr(value, name) for name in value.arg_constraints})
            case _:
                self.found[where] = type(value).__qualname__
                self._each(where, _attributes(value))

    def _each(self, where: str, parts: Mapping[str, Any]) -> None:
        for name, one in parts.items():
            self.walk(f"{where}.{name}", one)


def _attributes(value: Any) -> dict[str, Any]:
    """Return what an object keeps, without what it only computes once."""
    if isinstance(value, nn.Module):
        known = {
            name: one for name, one in vars(value).items() if not name.startswith("_") and name != "training"
        }
        tensors = [*value.named_parameters(recurse=False), *value.named_buffers(recurse=False)]
        return {**known, **dict(tensors), **dict(value.named_children())}
    if hasattr(value, "arguments") and isinstance(value.arguments, Mapping):
        return dict(value.arguments)
    return {
        name: one
        for name, one in getattr(value, "__dict__", {}).items()
        if not isinstance(getattr(type(value), name, None), cached_property)
    }


def _text_of(function: FunctionType) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return repr(function.__code__.co_code)


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=8).hexdigest()
