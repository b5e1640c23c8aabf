"""The moves of compiled chains: what a kernel does, as machine code that is called by its address.

Everything a chain needs is a named tuple of arrays: the *family* (:mod:`pyroclust.distributions.compiled`)
and the *moves*, what a kernel does, with its settings. The step of a move is compiled once for all families,
and called by its address: the loop over draws is one for all. A new move registers its step by
:func:`step_of`.
"""

from collections.abc import Callable
from typing import Any

from pyroclust.core.compiling import inner
from pyroclust.distributions import ConjugateComponent
from pyroclust.distributions.protocols import CollapsedModel

__all__ = ["STEPS", "require_conjugate", "step_of"]


STEPS: dict[tuple[type, type | None], Any] = {}
"""Compiled functions, by the kind of move and the kind of family that they are for, or None for all others.

They take pointers to the move, to the family, to the state and to the prior, and a random number generator.
"""


def step_of(kind: type, family: type | None = None) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as the step of a kind of move: its named tuple, which has its settings.

    It must not allocate arrays.

    Args:
        kind: the named tuple.
        family: the kind of family that it is for, where that has a step of its own.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        STEPS[kind, family] = inner(function)
        return function

    return register


def require_conjugate(model: CollapsedModel) -> None:
    """Refuse a model whose component parameters do not integrate out.

    Raises:
        ValueError: if so.
    """
    ConjugateComponent.of(model.component, otherwise="use AuxiliaryGibbs")
