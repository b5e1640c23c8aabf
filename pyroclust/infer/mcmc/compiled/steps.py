"""The moves of compiled chains: what a kernel does, as machine code that is called by its address.

Everything a chain needs is a named tuple of arrays: the *family* (:mod:`pyroclust.distributions.compiled`)
and the *moves*, what a kernel does, with its settings. The step of a move is compiled once for all families,
and called by its address: the loop over draws is one for all. A new move registers its step by
:func:`step_of`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from pyroclust.compiling import lean
from pyroclust.distributions import ConjugateComponent
from pyroclust.protocols import CollapsedModel

__all__ = ["STEPS", "Step", "require_conjugate", "step_of"]


class Step(NamedTuple):
    """What a kind of move does to a chain.

    Attributes:
        function: takes pointers to the move, to the family, to the state and to the prior, and a random
            number generator.
        needs_family: whether it looks at the family; where it does not, it is compiled once for all.
    """

    function: Any
    needs_family: bool


STEPS: dict[tuple[type, type | None], Step] = {}


def step_of(
    kind: type, family: type | None = None, *, needs_family: bool = True
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as the :class:`Step` of a kind of move: its named tuple, which has its settings.

    It must not allocate arrays.

    Args:
        kind: the named tuple.
        family: the kind of family that it is for, where that has a step of its own.
        needs_family: whether the function looks at the family.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        STEPS[kind, family] = Step(lean(function), needs_family)
        return function

    return register


def require_conjugate(model: CollapsedModel) -> None:
    """Refuse a model whose component parameters do not integrate out.

    Raises:
        ValueError: if so.
    """
    ConjugateComponent.of(model.component, otherwise="use AuxiliaryGibbs")
