"""The registry: names, duplicates, arguments, and objects made anew."""

from typing import Protocol

import pytest
import torch

from pyroclust.core.registry import (
    arguments_of,
    find,
    from_context,
    name_of,
    rebuild,
    register,
    registered,
    suited,
)
from pyroclust.guides import NeuralClusteringProcess
from pyroclust.guides.base import parts_of
from pyroclust.models import gaussian2d
from pyroclust.nn import DensestFirst, Order
from pyroclust.saving.codec import build, describe


class Colour(Protocol):
    """A contract of this test."""


@register(Colour)
class Red:
    """A class whose arguments are attributes."""

    def __init__(self, depth: int, *, of: Colour | None = None) -> None:
        self.depth, self.of = depth, of


@register(Colour, name="crimson")
def crimson() -> Red:
    """A function that makes one."""
    return Red(9)


def test_objects_within_objects_come_back():
    described = describe(Red(1, of=Red(2)), where="colour")
    assert described == {
        "class": "Red",
        "arguments": {"depth": 1, "of": {"class": "Red", "arguments": {"depth": 2, "of": None}}},
    }
    built = build(described, Colour, where="colour")
    assert (built.depth, built.of.depth, built.of.of) == (1, 2, None)
    assert build({"class": "crimson"}, Colour, where="colour").depth == 9
    flat = {"class": "Red", "depth": 1, "of": {"class": "Red", "depth": 2}}
    assert describe(build(flat, Colour, where="colour"), where="colour") == described


def test_a_name_belongs_to_one_class():
    with pytest.raises(ValueError, match=r"name is 'Red', which is .*Red already, expected another"):
        register(Colour, name="Red")(DensestFirst)
    registered(Colour).clear()
    assert registered(Colour)["Red"] is Red
    # Defined again, as a cell of a notebook is.
    again = type("Red", (Red,), {"__module__": Red.__module__, "__qualname__": Red.__qualname__})
    register(Colour)(again)
    assert find(Colour, "Red", where="colour") is again
    register(Colour)(Red)


@pytest.mark.parametrize(
    ("described", "message"),
    [
        (
            {"class": "Rod", "depth": 1},
            "colour: unknown class 'Rod', did you mean 'Red'",
        ),
        ({"class": "Red"}, "colour lacks 'depth', expected depth, of"),
        ({"class": "Red", "depht": 1}, "unknown argument 'colour.depht', did you mean 'colour.depth'"),
        ({"class": "Red", "depth": 1.5}, "colour.depth is 1.5, expected a whole number"),
        (
            {"class": "Red", "depth": 1, "of": 3},
            "colour.of is 3, expected a class with its arg",
        ),
        ({"class": "Red", "arguments": {}, "depth": 1}, "colour has 'depth' beside its arguments"),
        ({"depth": 1}, "colour is .* expected a class with its arguments, such as .'class': 'Red'"),
        (3, "colour is 3, expected a class"),
    ],
)
def test_what_does_not_fit_is_one_sentence(described, message):
    with pytest.raises(ValueError, match=message) as caught:
        build(described, Colour, where="colour")
    assert "\n" not in str(caught.value)


def test_what_is_not_registered_is_neither_written_nor_found():
    class Blue:
        pass

    with pytest.raises(ValueError, match=r"colour is of class 'Blue' .* is not registered"):
        describe(Blue(), where="colour")
    with pytest.raises(ValueError, match="order: unknown class 'Red'"):
        find(Order, "Red", where="order")
    assert suited(object) == {}
    assert name_of(Blue()) is None


def test_a_class_derived_from_a_registered_one_has_no_name():
    class Scarlet(Red):
        pass

    assert name_of(Red(1)) == name_of(Red) == "Red"
    assert name_of(Scarlet(1)) is None
    with pytest.raises(ValueError, match=r"colour is of class 'Scarlet' .* is not registered"):
        describe(Scarlet(1), where="colour")


def test_an_argument_of_a_class_may_be_of_that_class():
    assert suited(Red) == {"Red": Red}
    assert suited(Red | None) == {"Red": Red}


def test_only_what_has_no_default_is_taken_from_outside():
    context = {"depth": 3, "of": Red(1)}
    assert from_context(Red, {}, context) == {"depth": 3}
    assert from_context(Red, {"depth": 1}, context) == {}


def test_arguments_must_be_attributes():
    @register(Colour)
    class Grey:
        def __init__(self, depth: int) -> None:
            self.shade = depth

    with pytest.raises(ValueError, match="a Grey has no attribute 'depth', expected one for every argument"):
        arguments_of(Grey(1))


def test_a_rebuilt_guide_has_parts_of_its_own():
    guide = NeuralClusteringProcess(gaussian2d())
    new = rebuild(guide, parts_of(guide.model))
    assert new.scorer is not guide.scorer
    assert new.scorer.filter.prior is guide.model.prior
    assert not any(one is two for one, two in zip(guide.parameters(), new.parameters(), strict=True))
    assert new.state_dict().keys() == guide.state_dict().keys()
    assert all(one.shape == guide.state_dict()[name].shape for name, one in new.state_dict().items())
    assert isinstance(new.posterior(torch.zeros(3, 2)).sample(), torch.Tensor)
