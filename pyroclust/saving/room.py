"""What networks and models take when they are built: refused before it is taken."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from pyroclust.core.memory import check_memory, free_memory

__all__ = ["CheckedAllocations"]

_SMALL = 1 << 26
_MAKERS: dict[Any, int] = {
    torch.empty: 0,
    torch.zeros: 0,
    torch.ones: 0,
    torch.rand: 0,
    torch.randn: 0,
    torch.full: 0,
    torch.eye: 2,
    torch.triu_indices: 2,
    torch.tril_indices: 2,
}


class CheckedAllocations(TorchFunctionMode):
    """Refuse, while the block runs, tensors that together do not fit into memory, before they are made.

    A description of a few letters can ask for a network of any width; operating systems promise memory that
    they do not have, and end the process when it is used.

    Args:
        what: what is built, the beginning of the sentence.

    Raises:
        ValueError: from the function that asks for too much.

    Example:
        >>> with CheckedAllocations("the network"):
        ...     torch.nn.Linear(10**9, 10**9)
        Traceback (most recent call last):
        ValueError: the network: tensors take 3.73e+09 GiB of memory, ... free GiB; make it smaller
    """

    def __init__(self, what: str) -> None:
        super().__init__()
        self._what, self._taken, self._free = what, 0, free_memory()

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Any,
        arguments: tuple[Any, ...] = (),
        named: Mapping[str, Any] | None = None,
    ) -> Any:
        """Count what a function that makes tensors is about to take."""
        named = dict(named or {})
        if function in _MAKERS:
            self._taken += 4 * _numbers(arguments, named, square=_MAKERS[function])
            if self._taken > _SMALL and self._free is not None and self._taken > self._free:
                check_memory(self._taken, f"{self._what}: tensors", remedy="make it smaller")
        return function(*arguments, **named)


def _numbers(arguments: tuple[Any, ...], named: Mapping[str, Any], *, square: int) -> int:
    """Return how many numbers a tensor of a shape has; of a square one where a single size is given."""
    sizes: Any = arguments or (named.get("size", ()),)
    if sizes and isinstance(sizes[0], tuple | list):
        sizes = sizes[0]
    whole = [one for one in sizes if isinstance(one, int) and not isinstance(one, bool)]
    if square and len(whole) == 1:
        whole *= square
    return math.prod(whole) if all(one > 0 for one in whole) else 0
