"""The parts of clusterwise networks: masks, laws of memberships, densities, against sums and integrals."""

import itertools
from collections.abc import Callable

import pyro.distributions as dist
import pytest
import torch
from torch import nn

from pyroclust.distributions.clusterwise_steps import Members, row_blocks
from pyroclust.nn import AutoencoderDensity, FlowDensity, GaussianDensity, SetEncoder
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
    law = DiscreteMemberships(decoder, Members(MASK), values, log_weights)
    log_prob, variance = law.estimate(JOINED, 1)
    torch.testing.assert_close(log_prob.exp().sum(), torch.tensor(1.0).double(), rtol=0, atol=1e-6)
    assert (variance == 0).all()
    wide = DiscreteMemberships(
        decoder,
        Members(MASK[:1].expand(20_000, -1)),
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

    law = GaussianMemberships(decoder, Members(MASK), (mean, log_scale), posterior)
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


def test_a_diagonal_gaussian_is_that_of_pyro() -> None:
    torch.manual_seed(0)
    density = GaussianDensity(3, 5, scale=0.5)
    context, points = torch.randn(4, 5), torch.randn(4, 7, 3)
    mean, scale = density.moments(context)
    expected = dist.Normal(mean.unsqueeze(1), scale.unsqueeze(1)).to_event(1).log_prob(points)
    torch.testing.assert_close(density(context, points), expected)


def test_one_outer_product_is_a_full_covariance() -> None:
    torch.manual_seed(0)
    density = GaussianDensity(3, 5, rank_one=True)
    context, points = torch.randn(4, 5), torch.randn(4, 7, 3)
    mean, scale = density.moments(context)
    along = density.parameters_of(context)[:, 6:]
    covariance = torch.diag_embed(scale.square()) + along.unsqueeze(-1) * along.unsqueeze(-2)
    expected = dist.MultivariateNormal(mean.unsqueeze(1), covariance.unsqueeze(1)).log_prob(points)
    torch.testing.assert_close(density(context, points), expected, rtol=1e-4, atol=1e-3)


def test_a_flow_integrates_to_one_and_differs_by_context() -> None:
    torch.manual_seed(0)
    density = FlowDensity(2, 5, hidden_width=16, num_blocks=3)
    context = 0.3 * torch.randn(2, 5)
    with torch.no_grad():
        for weight in density.blocks.parameters():
            weight.add_(0.1 * torch.randn_like(weight))
        centre = density.gaussian.moments(context)[0]
        step = torch.linspace(-15, 15, 601)
        grid = torch.cartesian_prod(step, step)
        mass = density(context, centre.unsqueeze(1) + grid).exp().sum(-1) * (step[1] - step[0]) ** 2
    torch.testing.assert_close(mass, torch.ones(2), atol=0.01, rtol=0.0)
    assert not torch.allclose(*(density(context, grid[:9].expand(2, 9, 2))))


def test_the_bound_of_an_autoencoder_lies_below_its_density() -> None:
    torch.manual_seed(0)
    density = AutoencoderDensity(3, 4, num_latents=2, hidden_width=8)
    context, point = torch.randn(1, 4), torch.rand(1, 1, 3)
    optimiser = torch.optim.Adam(density.parameters(), lr=0.01)
    for _ in range(300):
        optimiser.zero_grad()
        (-density(context, point.expand(1, 32, 3)).mean()).backward()
        optimiser.step()
    with torch.no_grad():
        bound = density(context, point.expand(1, 4000, 3)).mean()
        # The density itself, by a sum over a grid of the latent.
        step = torch.linspace(-40, 40, 801)
        grid = torch.cartesian_prod(step, step).unsqueeze(0)
        told = context.unsqueeze(1).expand(1, grid.shape[1], 4)
        seen = density.decode(torch.cat([grid, told], -1)).sigmoid()
        pixels = dist.Normal(seen, density.log_noise.exp()).log_prob(point).sum(-1)
        exact = (pixels + density.prior(context, grid)).logsumexp(-1) + 2 * (step[1] - step[0]).log()
    assert bound < exact
    assert bound > exact - 2
