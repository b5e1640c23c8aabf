"""Where points of several kinds of columns lie, of which cells may be missing."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.distributions import constraints

# Larger whole numbers are not all exact in double precision, and their log factorials may overflow.
COUNTS = constraints.independent(constraints.integer_interval(0, 2**53), 1)


class GroupedSupport(constraints.Constraint):
    """Consecutive groups of columns, each with its constraint and its number of columns."""

    event_dim = 1

    def __init__(self, groups: Sequence[tuple[Any, int]]) -> None:
        self.groups = tuple(groups)
        super().__init__()

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return any(support.is_discrete for support, _ in self.groups)

    def check(self, value: Tensor) -> Tensor:
        columns = value.split([width for _, width in self.groups], -1)
        pairs = zip(self.groups, columns, strict=True)
        return torch.stack([support.check(own) for (support, _), own in pairs]).all(0)

    def __repr__(self) -> str:
        return f"grouped({', '.join(f'{support} over {width} columns' for support, width in self.groups)})"


class OrMissing(constraints.Constraint):
    """Values of a constraint, or nan."""

    event_dim = 1

    def __init__(self, base: Any) -> None:
        self.base = base
        super().__init__()

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return bool(self.base.is_discrete)

    def check(self, value: Tensor) -> Tensor:
        return self.base.check(filled(value))

    def __repr__(self) -> str:
        return f"{self.base!r} or missing"


def of_levels(levels: Sequence[int]) -> OrMissing:
    """Return the support of categories 0, 1, ... below the number of each column, or missing."""
    columns = [constraints.independent(constraints.integer_interval(0, one - 1), 1) for one in levels]
    return OrMissing(GroupedSupport([(one, 1) for one in columns]))


def filled(data: Tensor) -> Tensor:
    """Put zeros, which every family takes, where cells are missing."""
    return data.nan_to_num(0.0, posinf=torch.inf, neginf=-torch.inf) if data.is_floating_point() else data
