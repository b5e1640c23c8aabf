"""Whether tensors that were read from a file are those of a module."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from pyroclust.core.text import listed

__all__ = ["tensor_difference", "tensors_difference"]


def tensors_difference(found: Any, expected: Mapping[str, Tensor]) -> str:
    """Return in words how named tensors differ in kind from what is expected; empty where they do not.

    Names, shapes and types of numbers have to be the same, and no number nan or infinite.

    Args:
        found: what was read: a table of tensors, if all is well.
        expected: such a state of the module itself; its numbers do not matter.

    Example:
        >>> tensors_difference({"bias": torch.zeros(3)}, {"bias": torch.zeros(2)})
        "'bias' has shape (3,), expected (2,)"
    """
    if not isinstance(found, Mapping):
        return f"is a {type(found).__name__}, expected a table of tensors"
    missing = sorted(set(expected) - set(found))
    extra = sorted(str(name) for name in set(found) - set(expected))
    if missing or extra:
        return f"missing: {listed(missing, 3) or 'none'}; not expected: {listed(extra, 3) or 'none'}"
    for name, value in expected.items():
        different = tensor_difference(found[name], value)
        if different:
            return f"'{name}' {different}"
    return ""


def tensor_difference(found: Any, expected: Tensor) -> str:
    """Return in words how a tensor differs in kind from what is expected; empty where it does not.

    Example:
        >>> tensor_difference(torch.tensor([torch.nan]), torch.zeros(1))
        'holds nan or infinite numbers, expected finite ones'
    """
    if not isinstance(found, Tensor) or found.layout != torch.strided or found.is_meta:
        return f"is a {type(found).__name__}, expected a dense tensor"
    if found.shape != expected.shape:
        return f"has shape {tuple(found.shape)}, expected {tuple(expected.shape)}"
    if found.dtype != expected.dtype:
        return f"is {found.dtype}, expected {expected.dtype}"
    if not bool(found.isfinite().all()):
        return "holds nan or infinite numbers, expected finite ones"
    return ""
