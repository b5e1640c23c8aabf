"""Set attention: formulas, masks, empty sets, the absence of order."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from pyroclust.nn.attention import InducedSetAttention, MultiheadAttentionBlock, PooledAttention

WIDTH = 8
POOLS: dict[str, Callable[[], nn.Module]] = {
    "block": lambda: MultiheadAttentionBlock(WIDTH, num_heads=2),
    "induced": lambda: InducedSetAttention(WIDTH, num_inducing=3, num_heads=2),
    "pooled": lambda: PooledAttention(WIDTH, num_seeds=2, num_heads=2),
}


@pytest.fixture(params=POOLS)
def module(request: pytest.FixtureRequest) -> nn.Module:
    return POOLS[request.param]().double()


def apply(module: nn.Module, queries: Tensor, keys: Tensor, mask: Tensor | None = None) -> Tensor:
    """Show a set to a module; queries count only where it takes some."""
    return module(queries, keys, mask) if isinstance(module, MultiheadAttentionBlock) else module(keys, mask)


def points(*shape: int) -> Tensor:
    return torch.randn(*shape, WIDTH, dtype=torch.float64)


def by_hand(block: MultiheadAttentionBlock, queries: Tensor, keys: Tensor, present: Tensor) -> Tensor:
    """Evaluate the published formula for one row, one query and one head at a time."""
    size = WIDTH // block.num_heads
    seen = []
    for query in block.norm_queries(queries):
        asked = block.to_queries(query).split(size)
        kept = block.norm_keys(keys[present])
        heads = []
        for head, one in enumerate(asked):
            own = slice(head * size, (head + 1) * size)
            weight = (block.to_keys(kept)[:, own] @ one / size**0.5).softmax(0)
            heads.append(weight @ block.to_values(kept)[:, own])
        seen.append(block.to_output(torch.cat(heads)))
    hidden = queries + torch.stack(seen)
    return hidden + block.feed_forward(hidden)


def test_block_is_its_formula() -> None:
    block = MultiheadAttentionBlock(WIDTH, num_heads=2).double()
    queries, keys = points(3, 4), points(3, 6)
    mask = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 0, 0, 1, 0, 1], [0, 0, 0, 0, 1, 0]]).bool()
    expected = [by_hand(block, *one) for one in zip(queries, keys, mask, strict=True)]
    torch.testing.assert_close(block(queries, keys, mask), torch.stack(expected))


def test_a_full_mask_is_no_mask(module: nn.Module) -> None:
    queries, keys = points(2, 3), points(2, 5)
    full = torch.ones(2, 5, dtype=torch.bool)
    torch.testing.assert_close(apply(module, queries, keys, full), apply(module, queries, keys))


def test_masked_points_are_not_seen(module: nn.Module) -> None:
    queries, keys = points(2, 3), points(2, 6)
    mask = torch.arange(6).expand(2, 6) < torch.tensor([[4], [2]])
    whole = apply(module, queries, keys, mask)
    changed = apply(module, queries, torch.where(mask.unsqueeze(-1), keys, 1e3), mask)
    for row, count in enumerate((4, 2)):
        alone = apply(module, queries[row : row + 1], keys[row : row + 1, :count])[0]
        torch.testing.assert_close(whole[row, : len(alone)], alone)
        torch.testing.assert_close(changed[row, : len(alone)], alone)


def test_an_empty_set_is_finite_and_so_are_its_gradients(module: nn.Module) -> None:
    queries, keys = points(2, 3).requires_grad_(), points(2, 5).requires_grad_()
    mask = torch.zeros(2, 5, dtype=torch.bool)
    mask[1, :3] = True
    output = apply(module, queries, keys, mask)
    output.square().sum().backward()
    assert output.isfinite().all()
    assert keys.grad is not None
    assert keys.grad.isfinite().all()
    assert all(one.grad is None or one.grad.isfinite().all() for one in module.parameters())


def test_a_query_of_an_empty_set_sees_nothing() -> None:
    block = MultiheadAttentionBlock(WIDTH, num_heads=2).double()
    queries = points(1, 3)
    output = block(queries, points(1, 4), torch.zeros(1, 4, dtype=torch.bool))
    torch.testing.assert_close(output, queries + block.feed_forward(queries))


def test_pooling_knows_no_order_and_induced_attention_follows_it() -> None:
    keys, shuffle = points(2, 6), torch.randperm(6)
    pool, induced = POOLS["pooled"]().double(), POOLS["induced"]().double()
    torch.testing.assert_close(pool(keys), pool(keys[:, shuffle]))
    torch.testing.assert_close(induced(keys)[:, shuffle], induced(keys[:, shuffle]))


def test_every_weight_counts(module: nn.Module) -> None:
    apply(module, points(2, 3), points(2, 5)).pow(3).sum().backward()
    unused = {name for name, one in module.named_parameters() if one.grad is None or not one.grad.any()}
    # A bias of the keys moves all scores of a query alike.
    assert {name for name in unused if not name.endswith("to_keys.bias")} == set()


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(ValueError, match="num_heads is 3, expected a divisor of the width, 8"):
        PooledAttention(8, num_heads=3)
