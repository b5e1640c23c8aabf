"""A set transformer: several blocks of induced attention, one after the other."""

from typing import Any

from torch import Tensor, nn

from pyroclust.nn.set_attention import InducedSetAttention

__all__ = ["SetEncoder"]


class SetEncoder(nn.Module):
    """Let the points of a set see one another through inducing points, several times.

    Cost O(N m W + N W^2) a set and block, memory O(N W).

    Args:
        width: W of the points' vectors.
        num_blocks: blocks, each with weights of its own.
        num_inducing: m, inducing points of a block.
        num_heads: heads of the attention, a divisor of the width.

    Shape:
        points: ``(R, N, W)``; mask: ``(R, N)`` bool, all present without one; output: ``(R, N, W)``.

    Example:
        >>> import torch
        >>> SetEncoder(8, num_inducing=3)(torch.randn(2, 5, 8)).shape
        torch.Size([2, 5, 8])

    References:
        Lee et al. (2019), Set Transformer. https://arxiv.org/abs/1810.00825
    """

    def __init__(
        self, width: int, *, num_blocks: int = 1, num_inducing: int = 16, num_heads: int = 4
    ) -> None:
        super().__init__()
        self.arguments: dict[str, Any] = {
            "num_blocks": num_blocks,
            "num_inducing": num_inducing,
            "num_heads": num_heads,
        }
        self.blocks = nn.ModuleList(
            InducedSetAttention(width, num_inducing=num_inducing, num_heads=num_heads)
            for _ in range(num_blocks)
        )

    def forward(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        """Attend in every block to the points where the mask is true."""
        for block in self.blocks:
            points = block(points, mask)
        return points
