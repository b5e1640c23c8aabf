"""Independent distributions over groups of columns."""

from collections.abc import Sequence
from typing import Any

import torch
from pyro.distributions import TorchDistribution
from torch import Size, Tensor
from torch.distributions import constraints

__all__ = ["GroupedSupport", "SideBySide"]


class GroupedSupport(constraints.Constraint):
    """Consecutive groups of columns that satisfy their own constraints.

    Args:
        groups: constraints of event dimension 1, each with its number of columns.
    """

    event_dim = 1

    def __init__(self, groups: Sequence[tuple[Any, int]]) -> None:
        self.groups = tuple(groups)
        super().__init__()

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """Whether one of the groups is discrete."""
        return any(support.is_discrete for support, _ in self.groups)

    def check(self, value: Tensor) -> Tensor:
        """Say of every vector whether all groups satisfy their constraints."""
        columns = value.split([width for _, width in self.groups], -1)
        pairs = zip(self.groups, columns, strict=True)
        return torch.stack([support.check(own) for (support, _), own in pairs]).all(0)

    def __repr__(self) -> str:
        return f"grouped({', '.join(f'{support} over {width} columns' for support, width in self.groups)})"


class SideBySide(TorchDistribution):
    r"""Vectors made of independent parts.

    .. math:: \log p(x) = \sum_j \log p_j(x^{(j)})

    Args:
        parts: distributions over vectors.

    Shape:
        batch_shape: the broadcast of the parts'; event_shape: ``(sum of the parts' widths,)``.
    """

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, parts: Sequence[TorchDistribution]) -> None:
        self.parts = tuple(parts)
        self._widths = [part.event_shape[-1] for part in self.parts]
        batch = torch.broadcast_shapes(*(part.batch_shape for part in self.parts))
        super().__init__(batch, Size((sum(self._widths),)), validate_args=False)

    @property
    def support(self) -> constraints.Constraint:
        """Every part's columns lie in its support."""
        return GroupedSupport([(part.support, part.event_shape[-1]) for part in self.parts])

    def expand(self, batch_shape: Any, _instance: Any = None) -> "SideBySide":
        """Return the same distribution with a larger batch shape."""
        return SideBySide([part.expand(Size(batch_shape)) for part in self.parts])

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Draw every part, ``(*sample_shape, *batch_shape, width)``."""
        shape = self._extended_shape(Size(sample_shape))[:-1]
        draws = [part.expand(self.batch_shape).sample(Size(sample_shape)) for part in self.parts]
        return torch.cat([one.expand(*shape, -1) for one in draws], -1)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the sum of the parts' log-densities in nats."""
        pairs = zip(self.parts, value.split(self._widths, -1), strict=True)
        first, *others = (part.log_prob(own) for part, own in pairs)
        return sum(others, start=first)
