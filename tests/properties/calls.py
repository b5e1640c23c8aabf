"""What a property of a public function is, and how one example of it is judged."""

import importlib
import pkgutil
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import properties
import torch
from hypothesis import strategies as st
from hypothesis.strategies import DataObject, SearchStrategy
from properties.hostile import broken, forms, plain

from pyroclust.core.numbers import on_host

MAX_SENTENCE = 700
ROOT = Path(__file__).parents[2]
FOLDERS = tuple(str(ROOT / folder) for folder in ("pyroclust", "models", "guides"))


@dataclass(frozen=True)
class Call:
    """A public function, what it is given, and what is right.

    Attributes:
        name: where it is public, without "pyroclust.", such as "diagnostics.co_assignment".
        function: takes the arguments by name.
        arguments: good arguments by name.
        right: takes what was returned, and the arguments by name as plain arrays; raises AssertionError where
            that is wrong. Left out where tests of the package say what is right.
        never_broken: arguments that are always good, such as the Axes of a picture.
        one_form: whether other forms of the arguments (lists, tensors, data frames) may be refused.
    """

    name: str
    function: Callable[..., Any]
    arguments: SearchStrategy[dict[str, Any]]
    right: Callable[..., None] | None = None
    never_broken: frozenset[str] = frozenset()
    one_form: bool = False

    def __str__(self) -> str:
        return self.name


def all_calls() -> list[Call]:
    """Collect the list ``CALLS`` of every file of this folder that has one."""
    names = [
        one.name for one in pkgutil.iter_modules(properties.__path__) if not one.name.startswith("test_")
    ]
    modules = [importlib.import_module(f"properties.{name}") for name in names]
    return [call for module in modules for call in getattr(module, "CALLS", [])]


def judge_example(call: Call, data: DataObject) -> None:
    """Call once: with good arguments, with one of them in another form, or with a broken one.

    Whatever comes, no argument is changed, no warning is given (they are errors), and a refusal is one
    sentence of the library itself. Good arguments are taken. What is taken gives what the same numbers as
    plain arrays give, and that is right.
    """
    good = data.draw(call.arguments, label="arguments")
    given, way = dict(good), data.draw(st.sampled_from(["good", "form", "broken", "broken"]), label="way")
    may_change = sorted(set(good) - call.never_broken)
    if way != "good" and may_change:
        name = data.draw(st.sampled_from(may_change), label="argument")
        change = broken if way == "broken" else forms
        given[name] = data.draw(change(good[name]), label=name)
    before = {name: _frozen(value) for name, value in given.items()}
    found, refusal = None, None
    try:
        found = call.function(**given)
    except ValueError as error:
        refusal = error
    for name, value in given.items():
        assert _frozen(value) == before[name], f"{name} was changed"
    if refusal is not None:
        _check_sentence(refusal)
        assert way == "broken" or (way == "form" and call.one_form), f"refused: {refusal}"
        return
    told = {name: plain(value) for name, value in given.items()}
    # Without a seed two calls differ.
    if way != "good" and told.get("seed", 0) is not None:
        same(found, call.function(**told))
    if call.right is not None:
        call.right(found, **told)


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _frozen(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_frozen(one) for one in value]
    if isinstance(value, torch.Tensor):
        unusual = value.layout != torch.strided or value.is_complex()
        return repr(value) if unusual else value.detach().double().numpy().tobytes()
    if isinstance(value, np.ndarray) and value.dtype != object:
        return (value.dtype.str, value.shape, np.ma.getdata(value).tobytes())
    return repr(value) if isinstance(value, np.ndarray | int | float | str) else id(value)


def _check_sentence(error: ValueError) -> None:
    said, frames = str(error), traceback.extract_tb(error.__traceback__)
    home = frames[-1].filename
    assert home.startswith(FOLDERS), f"{home} refuses, not the library: {said}"
    assert said.isprintable(), f"control characters, or more than one line: {said!r}"
    assert 0 < len(said) <= MAX_SENTENCE, f"{len(said)} characters are no sentence: {said[:200]} ..."


def same(found: Any, wanted: Any) -> None:
    """Compare what two calls returned: numbers up to rounding, nan like nan."""
    if is_dataclass(wanted) and not isinstance(wanted, type):
        assert type(found) is type(wanted)
        for field in fields(wanted):
            same(getattr(found, field.name), getattr(wanted, field.name))
    elif isinstance(wanted, Mapping):
        assert list(found) == list(wanted)
        for name in wanted:
            same(found[name], wanted[name])
    elif isinstance(wanted, list | tuple):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            same(one, other)
    elif isinstance(wanted, np.ndarray | torch.Tensor | float | int | np.generic):
        one, other = (np.asarray(on_host(value), float) for value in (found, wanted))
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9, equal_nan=True)
    elif isinstance(wanted, str | None):
        assert found == wanted
