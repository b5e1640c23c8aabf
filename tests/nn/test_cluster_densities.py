"""Densities of clusters: Pyro's own, and integrals of one."""

import pyro.distributions as dist
import torch

from pyroclust.nn import AutoencoderDensity, FlowDensity, GaussianDensity


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
