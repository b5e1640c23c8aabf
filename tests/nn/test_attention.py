"""Attention over sets and over points still to come: formulas, masks, what is seen and what is not."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from pyroclust.nn import FixedShape, FutureAttention, InducedFuture, LightScorer
from pyroclust.nn.attention import InducedSetAttention, MultiheadAttentionBlock, PooledAttention

WIDTH = 8
FUTURES: dict[str, Callable[[], nn.Module]] = {
    "attention": lambda: FutureAttention(WIDTH, num_heads=2),
    "two blocks of attention": lambda: FutureAttention(WIDTH, num_blocks=2, num_heads=2),
    "induced": lambda: InducedFuture(WIDTH, num_inducing=3, num_heads=2),
}


@pytest.fixture(params=FUTURES)
def future(request: pytest.FixtureRequest) -> nn.Module:
    built = FUTURES[request.param]().double()
    for parameter in built.parameters():
        parameter.data += 0.3 * torch.randn_like(parameter)
    return built


def points(*shape: int) -> Tensor:
    return torch.randn(*shape, WIDTH, dtype=torch.float64)


def test_a_context_knows_every_point_to_come(future: nn.Module) -> None:
    data = points(1, 6).requires_grad_()
    (gradient,) = torch.autograd.grad(future(data)[0, 2].square().sum(), data)
    assert (gradient[0].abs().sum(-1) > 1e-9).tolist() == [False, False, True, True, True, True]


def test_one_point_and_a_suffix_alone_give_the_same(future: nn.Module) -> None:
    data = points(3, 5)
    whole = future(data)
    for start in range(5):
        torch.testing.assert_close(future(data[:, start:])[:, 0], whole[:, start])


def test_attention_is_its_formula() -> None:
    """Weigh the points to come and nothing by hand, one head at a time."""
    future = FutureAttention(WIDTH, num_heads=2).double()
    (block,) = future.blocks
    for parameter in block.parameters():
        parameter.data += 0.2 * torch.randn_like(parameter)
    data = points(5)
    normed = block.norm_queries(data), block.norm_keys(data)
    asked, keys, values = block.to_queries(normed[0]), block.to_keys(normed[1]), block.to_values(normed[1])
    for n in range(5):
        heads = []
        for head, own in enumerate((slice(0, 4), slice(4, 8))):
            kernel = (-(keys[n + 1 :, own] - asked[n, own]).square().sum(-1) / 2).exp()
            total = block.log_nothing[head, 0].exp() + kernel.sum()
            left_over = block.log_nothing[head, 0].exp() / total
            heads.append(torch.cat([(kernel @ values[n + 1 :, own] / total)[:-1], -left_over.log() / 3]))
        hidden = data[n] + block.to_output(torch.cat(heads))
        expected = hidden + block.feed_forward(hidden)
        torch.testing.assert_close(future(data.unsqueeze(0))[0, n], expected)


def test_induced_attention_is_its_formula() -> None:
    future = InducedFuture(WIDTH, num_inducing=3, num_heads=2).double()
    gather, data = future.gather, points(5)
    asked, normed = gather.to_queries(gather.norm_queries(future.inducing)), gather.norm_keys(data)
    keys, values = gather.to_keys(normed), gather.to_values(normed)
    for n in range(5):
        heads = []
        for own in (slice(0, 4), slice(4, 8)):
            weight = (10 * (asked[:, own] @ keys[n + 1 :, own].T / 20).tanh()).exp()
            total = 1 + weight.sum(-1, keepdim=True)
            heads.append(torch.cat([(weight @ values[n + 1 :, own] / total)[:, :-1], total.log() / 3], -1))
        hidden = future.inducing + gather.to_output(torch.cat(heads, -1))
        summary = hidden + gather.feed_forward(hidden)
        expected = future.spread(data[n].view(1, 1, -1), summary.unsqueeze(0))[0, 0]
        torch.testing.assert_close(future(data.unsqueeze(0))[0, n], expected)


def test_untrained_attention_attends_to_the_like_in_several_bandwidths() -> None:
    (block,) = FutureAttention(16, num_heads=4).double().blocks
    data = torch.randn(200, 16, dtype=torch.float64)
    asked, keys = (
        part(data).unflatten(-1, (4, 4)).transpose(0, 1) for part in (block.to_queries, block.to_keys)
    )
    assert torch.cdist(asked, keys).diagonal(dim1=1, dim2=2).max() < 1e-6
    ratio = torch.pdist(asked[0]).mean() / torch.stack([torch.pdist(one).mean() for one in asked])
    torch.testing.assert_close(ratio, torch.tensor([1.0, 2, 4, 8]).double(), rtol=0.5, atol=0)
    own, whole = (torch.pdist(one).square().mean().item() for one in (asked[1], data))
    assert own == pytest.approx(whole, rel=0.5)


def test_large_scores_stay_finite() -> None:
    future, data = InducedFuture(WIDTH, num_heads=2), torch.randn(1, 400, WIDTH)
    future.gather.to_keys.weight.data *= 1e4
    contexts = future(data.requires_grad_())
    contexts.sum().backward()
    assert contexts.isfinite().all()
    assert data.grad is not None
    assert data.grad.isfinite().all()


def test_contexts_of_the_light_scorer_are_their_formula() -> None:
    """Embedding, progress and attention, one data set at a time, through the layer of the contexts."""
    future = FutureAttention(8)
    scorer = LightScorer(FixedShape(3, 2.0), encoder=nn.Linear(5, 3), width=8, bandwidths=(), future=future)
    data = torch.randn(2, 4, 5)
    places = scorer.encoder(data)
    embedded = scorer.embed(torch.cat([places / 20, (places / 2).asinh()], -1))
    step = torch.arange(4)
    progress = torch.stack([step.log1p() / 3, (3 - step).log1p() / 3, step / 4], -1).expand(2, -1, -1)
    expected = scorer.context(torch.cat([embedded, progress, future(embedded)], -1))
    torch.testing.assert_close(scorer.encode(data).context, expected)
    torch.testing.assert_close(scorer.encode(data).positions, places)


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
