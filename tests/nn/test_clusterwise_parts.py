"""The parts of clusterwise networks: masks, kernels, and laws of memberships against sums and integrals."""

import itertools
from collections.abc import Callable

import pytest
import torch
from torch import nn

from pyroclust.distributions.clusterwise_steps import FreeMembers, row_blocks
from pyroclust.nn import SetEncoder
from pyroclust.nn.networks.clusterwise_network import AttentivePool, GatedPool, SummedPool
from pyroclust.nn.networks.latents import DiscreteMemberships, GaussianMemberships

POOLS: dict[str, Callable[[int], nn.Module]] = {
    "attention": AttentivePool,
    "gates": GatedPool,
    "sum": SummedPool,
    "encoder and sum": lambda width: Encoded(width),
}


class Encoded(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.encoder, self.pool = (
            SetEncoder(width, num_blocks=2, num_inducing=3, num_heads=2),
            SummedPool(width),
        )

    def forward(self, points: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        pooled: torch.Tensor = self.pool(self.encoder(points, mask), mask)
        return pooled


@pytest.mark.parametrize("name", POOLS)
def test_pools_see_the_points_under_the_mask_only_and_in_any_order(name: str) -> None:
    pool = POOLS[name](8)
    points, mask = torch.randn(3, 6, 8), torch.tensor([[True] * 4 + [False] * 2, [True] * 6, [False] * 6])
    other = torch.where(mask.unsqueeze(-1), points, torch.randn(3, 6, 8))
    shuffle = torch.randperm(6)
    torch.testing.assert_close(pool(points, mask), pool(other, mask))
    torch.testing.assert_close(
        pool(points, mask), pool(points[:, shuffle], mask[:, shuffle]), rtol=0, atol=1e-5
    )
    torch.testing.assert_close(
        pool(points[:1], mask[:1]), pool(points[:1, :4], mask[:1, :4]), rtol=0, atol=1e-5
    )
    assert not torch.allclose(pool(points[1:2], mask[1:2]), pool(points[1:2, :4], mask[1:2, :4]))


def decoder(latents: torch.Tensor) -> torch.Tensor:
    return latents * torch.tensor([1.0, -2.0, 0.5, 3.0]) + torch.tensor([0.1, 0.2, -0.3, 0.0])


EVERY = torch.tensor(list(itertools.product([False, True], repeat=3)))
JOINED = torch.cat([EVERY, torch.zeros(8, 1, dtype=torch.bool)], -1)
MASK = torch.tensor([True, True, True, False]).expand(8, -1)


def test_discrete_memberships_sum_to_one_and_draw_what_they_say() -> None:
    values = torch.randn(3, 1, 1).expand(3, 8, 1)
    log_weights = torch.randn(3, 1).double().log_softmax(0).expand(3, 8)
    law = DiscreteMemberships(decoder, FreeMembers(MASK), values, log_weights)
    log_prob, variance = law.estimate(JOINED, 1)
    torch.testing.assert_close(log_prob.exp().sum(), torch.tensor(1.0).double(), rtol=0, atol=1e-6)
    assert (variance == 0).all()
    wide = DiscreteMemberships(
        decoder,
        FreeMembers(MASK[:1].expand(20_000, -1)),
        values[:, :1].expand(-1, 20_000, 1),
        log_weights[:, :1].expand(3, 20_000),
    )
    drawn, _ = wide.draw()
    assert not drawn[:, 3].any()
    frequency = (drawn.unsqueeze(1) == JOINED).all(-1).double().mean(0)
    assert ((frequency - log_prob.exp()).abs() <= 4.5 * (log_prob.exp() / 20_000).sqrt()).all()


def test_gaussian_memberships_estimate_the_integral() -> None:
    mean, log_scale = torch.full((8, 1), 0.3), torch.full((8, 1), -0.2)

    def posterior(joined: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return mean + 0.2 * joined.sum(-1, keepdim=True), log_scale + 0.1

    law = GaussianMemberships(decoder, FreeMembers(MASK), (mean, log_scale), posterior)
    grid = torch.linspace(-8, 8, 4001).double()
    density = torch.distributions.Normal(0.3, torch.tensor(-0.2).exp().double()).log_prob(grid).exp()
    logits = decoder(grid.view(-1, 1, 1).float())
    signed = torch.where(JOINED, logits, -logits)[..., :3].double()
    exact = (torch.nn.functional.logsigmoid(signed).sum(-1).exp() * density.unsqueeze(-1)).sum(0) * 16 / 4000
    log_prob, variance = law.estimate(JOINED, 40_000)
    assert ((log_prob - exact.log()).abs() <= 4.5 * variance.sqrt() + 1e-6).all()
    assert (variance.sqrt() < 0.02).all()
    joined, latent = law.draw()
    assert joined.shape == (8, 4)
    assert latent.shape == (8, 1)
    assert not joined[:, 3].any()


def test_blocks_hold_every_row_once_and_are_bounded() -> None:
    counts = torch.randint(0, 50, (200,))
    blocks = list(row_blocks(counts, 300))
    assert torch.cat(blocks).sort().values.tolist() == list(range(200))
    assert all(len(block) == 1 or len(block) * int(counts[block].max()) <= 300 for block in blocks)
