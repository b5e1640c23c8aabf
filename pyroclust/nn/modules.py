"""What all modules share: bounds of their sizes, evaluation mode for a while, states read from files."""

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from pyroclust.core.messages import listed
from pyroclust.core.numbers import check_number

MAX_BLOCKS = 100
"""Most blocks of attention, or kernels, of a network."""

_SMALLEST, _LARGEST = 1e-100, 1e100


def check_scale(name: str, value: float) -> float:
    """Return a positive number whose square is one too."""
    try:
        return check_number(name, value, at_least=_SMALLEST, at_most=_LARGEST)
    except ValueError:
        raise ValueError(
            f"{name} is {reprlib.repr(value)}, expected a positive number from {_SMALLEST:g} to {_LARGEST:g}"
        ) from None


def check_bandwidths(values: Sequence[Any]) -> tuple[float, ...]:
    """Return the bandwidths of kernels as numbers."""
    if len(values) > MAX_BLOCKS:
        raise ValueError(f"bandwidths has {len(values)} numbers, expected at most {MAX_BLOCKS}")
    return tuple(check_scale(f"bandwidths[{place}]", one) for place, one in enumerate(values))


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Put a module into evaluation mode for a while, and back into the mode that it was in."""
    mode = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(mode)


def tensors_difference(found: Any, expected: Mapping[str, Tensor]) -> str:
    """Return in words how named tensors differ in kind from what is expected; empty where they do not."""
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
    """Return in words how a tensor differs in kind from what is expected; empty where it does not."""
    if not isinstance(found, Tensor) or found.layout != torch.strided or found.is_meta:
        return f"is a {type(found).__name__}, expected a dense tensor"
    if found.shape != expected.shape:
        return f"has shape {tuple(found.shape)}, expected {tuple(expected.shape)}"
    if found.dtype != expected.dtype:
        return f"is {found.dtype}, expected {expected.dtype}"
    if not bool(found.isfinite().all()):
        return "holds nan or infinite numbers, expected finite ones"
    return ""
