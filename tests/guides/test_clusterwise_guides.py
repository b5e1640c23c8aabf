"""One contract suite for every clusterwise guide: estimates that are unbiased, draws that follow them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyro
import pyro.poutine as poutine
import pytest
import torch
from cases import some_of
from pyro.infer import SVI
from pyro.optim import Adam

from pyroclust.guides import AttentiveClusteringProcess, ClusterwiseClusteringProcess
from pyroclust.guides.clusterwise_clustering_process import attentive_network_for
from pyroclust.infer import InclusiveKL, exact_posterior
from pyroclust.infer.mcmc import CollapsedGibbs, Compose, GuideProposal
from pyroclust.infer.simulation import simulate
from pyroclust.models import gaussian2d, overlap2d
from pyroclust.nn import DensestFirst, RandomOrder
from pyroclust.nn.attention import SetEncoder
from pyroclust.nn.networks.clusterwise_network import AttentivePool, ClusterwiseNetwork, SummedPool
from pyroclust.nn.networks.latents import DiscreteLatents, GaussianLatents
from pyroclust.partitions import enumerate_partitions, is_canonical

Guide = ClusterwiseClusteringProcess
SMALL: dict[str, Any] = {"width": 12, "decoder_width": 8}


def network(latents: Any, **options: Any) -> ClusterwiseNetwork:
    return ClusterwiseNetwork(2, 1.0, latents=latents, **(SMALL | options))


def attentive(model: Any, *, anchored: bool) -> Guide:
    small = attentive_network_for(model, anchored=anchored, num_inducing=3, **SMALL)
    return AttentiveClusteringProcess(model, network=small, order=RandomOrder())


GUIDES: dict[str, Callable[[Any], Guide]] = {
    "gaussian latent, random order": lambda m: Guide(
        m, network=network(GaussianLatents(3)), order=RandomOrder()
    ),
    "gaussian latent, uniform anchors": lambda m: Guide(m, network=network(GaussianLatents(3)), num_orders=4),
    "discrete latent, densest first": lambda m: Guide(
        m, network=network(DiscreteLatents(3, 4)), order=DensestFirst(1.4)
    ),
    "discrete latent, uniform anchors": lambda m: Guide(m, network=network(DiscreteLatents(3, 4))),
    "published": lambda m: Guide(
        m, network=network(GaussianLatents(3), pool=SummedPool, bandwidths=(), differences=False)
    ),
    "acp, discrete latent": lambda m: AttentiveClusteringProcess(
        m,
        network=network(DiscreteLatents(3, 4), pool=AttentivePool, each_step=SetEncoder(12, num_inducing=3)),
        order=RandomOrder(),
    ),
    "acp": lambda m: attentive(m, anchored=True),
    "acp-s": lambda m: attentive(m, anchored=False),
}


@pytest.fixture(params=GUIDES)
def guide(request: pytest.FixtureRequest) -> Guide:
    built = GUIDES[request.param](overlap2d()).eval()
    with torch.no_grad():
        for parameter in built.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return built


def data_of(guide: Guide, *batch: int) -> torch.Tensor:
    return simulate(guide.model, torch.empty(*batch, 2))[0]


@torch.no_grad()
def test_estimated_probabilities_sum_to_one_on_average(guide: Guide) -> None:
    posterior = guide.posterior(data_of(guide, 5)).estimated_with(num_particles=8, num_orders=4)
    every = enumerate_partitions(5)
    repeats = 1 if posterior.is_exact else 200
    total = posterior.log_prob(every.expand(repeats, -1, -1)).exp().sum(-1)
    if posterior.is_exact:
        torch.testing.assert_close(total, torch.ones_like(total), rtol=0, atol=1e-5)
    else:
        error = total.std() / repeats**0.5
        assert error < 0.05
        assert abs(total.mean() - 1) <= 4.5 * error + 1e-6


@torch.no_grad()
def test_reciprocals_of_the_estimates_of_draws_are_unbiased(guide: Guide) -> None:
    """The sum over all partitions of q(c) E[1 / estimate | c] is their number if each term is one."""
    posterior = guide.posterior(data_of(guide, 4)).estimated_with(num_particles=4, num_orders=3)
    every = enumerate_partitions(4)
    draws, log_prob = posterior.sample_and_log_prob((20_000,))
    code = 4 ** torch.arange(4)
    which = ((draws * code).sum(-1).unsqueeze(-1) == (every * code).sum(-1)).double()
    term = which * (-log_prob).exp().unsqueeze(-1)
    error = term.std(0) / len(term) ** 0.5
    seen = which.sum(0) > 200
    assert seen.sum() >= 5
    assert ((term.mean(0) - 1).abs() <= 4.5 * error)[seen].all()


@torch.no_grad()
@pytest.mark.parametrize(
    ("name", "counts"),
    [("discrete latent, uniform anchors", "num_orders"), ("gaussian latent, random order", "num_particles")],
)
def test_estimates_of_draws_narrow_with_what_they_average_over(name: str, counts: str) -> None:
    guide = GUIDES[name](overlap2d()).eval()
    posterior, errors = guide.posterior(data_of(guide, 8)), []
    for number in (1, 32):
        draws, log_prob = posterior.estimated_with(**{counts: number}).sample_and_log_prob((100,))
        exact = posterior.estimated_with(**{counts: 500}).log_prob(draws)
        errors.append((log_prob - exact).square().mean())
    assert errors[1] < 0.2 * errors[0]


@torch.no_grad()
def test_draws_follow_the_probabilities(guide: Guide) -> None:
    posterior, every = guide.posterior(data_of(guide, 4)), enumerate_partitions(4)
    code, num_draws = 5 ** torch.arange(4), 20_000
    drawn = (posterior.sample((num_draws,)) * code).sum(-1)
    frequency = (drawn.unsqueeze(-1) == (every * code).sum(-1)).double().mean(0)
    many = posterior.estimated_with(num_particles=64, num_orders=64)
    estimate = many.log_prob(every.expand(15, -1, -1)).exp()
    noise = (frequency * (1 - frequency) / num_draws + estimate.var(0) / len(estimate)).sqrt()
    assert ((frequency - estimate.mean(0)).abs() <= 4.5 * noise + 1e-6).all()


@torch.no_grad()
def test_standard_errors_are_those_of_repeated_estimates(guide: Guide) -> None:
    posterior = guide.posterior(data_of(guide, 8)).estimated_with(num_particles=32, num_orders=32)
    labels = posterior.sample((12,))
    log_prob, error = posterior.log_prob_and_error(labels.expand(60, -1, -1))
    if posterior.is_exact:
        assert (error == 0).all()
        torch.testing.assert_close(log_prob.std(0), torch.zeros(12).double(), rtol=0, atol=1e-5)
    else:
        ratio = error.mean(0) / log_prob.std(0)
        assert 0.75 < ratio.median() < 1.25


@torch.no_grad()
@pytest.mark.parametrize("num_points", [1, 2, 30])
def test_draws_are_partitions(guide: Guide, num_points: int) -> None:
    posterior = guide.posterior(data_of(guide, 2, num_points))
    draws, log_prob = posterior.sample_and_log_prob((9,))
    assert draws.shape == (9, 2, num_points)
    assert log_prob.shape == (9, 2)
    assert is_canonical(draws).all()
    assert (posterior.log_prob(draws) == 0).all() if num_points == 1 else (log_prob < 0).all()
    if posterior.is_exact:
        torch.testing.assert_close(posterior.log_prob(draws), log_prob, rtol=0, atol=1e-5)
    map_partition = posterior.map_partition()
    assert is_canonical(map_partition).all()
    assert torch.equal(map_partition, posterior.map_partition()) or guide.order is None


@torch.no_grad()
def test_no_underflow_at_a_thousand_points(guide: Guide) -> None:
    few = guide.estimated_with(num_particles=2, num_orders=2)
    data, truth = simulate(guide.model, torch.empty(1000, 2))
    log_prob, error = few.posterior(data).log_prob_and_error(truth)
    assert log_prob.isfinite()
    assert log_prob < -100
    assert error.isfinite()


@torch.no_grad()
def test_batches_and_orders_do_not_change_a_data_set() -> None:
    guide = GUIDES["discrete latent, densest first"](overlap2d()).eval()
    data = data_of(guide, 2, 3, 7)
    order = torch.rand(2, 3, 7).argsort(-1)
    together = guide.posterior(data, order=order)
    labels = together.sample()
    alone = guide.posterior(data[1, 2], order=order[1, 2])
    assert together.batch_shape == (2, 3)
    torch.testing.assert_close(
        together.log_prob(labels)[1, 2], alone.log_prob(labels[1, 2]), rtol=0, atol=1e-5
    )
    wide = alone.expand((4,))
    assert wide.sample((5,)).shape == (5, 4, 7)


PSEUDO_MARGINAL = [
    (name, kernel) for name in ("gaussian latent, uniform anchors", "acp") for kernel in ("alone", "beside")
]


# Beside Gibbs sweeps the proposals are the same; how kernels take turns has its own tests.
@torch.no_grad()
@pytest.mark.parametrize(("name", "kernel"), some_of(PSEUDO_MARGINAL, PSEUDO_MARGINAL[:1]))
def test_pseudo_marginal_chains_have_the_exact_posterior(name: str, kernel: str) -> None:
    model = overlap2d()
    guide = GUIDES[name](model).eval().estimated_with(num_particles=2, num_orders=2)
    data = data_of(guide, 4)
    proposal = GuideProposal(model, guide, num_proposals=2, blocks=())
    chosen = proposal if kernel == "alone" else Compose([proposal, CollapsedGibbs(model)])
    chains = chosen.run(data, num_draws=150, warmup=10, num_chains=128, seed=0)
    partitions, log_probs = exact_posterior(model, data.double())
    same = (chains.flat[:, None] == partitions.numpy()).all(-1).mean(0)
    assert 0.5 * np.abs(same - log_probs.exp().numpy()).sum() < 0.03


def test_blocks_are_refused_for_clusterwise_proposals() -> None:
    model = overlap2d()
    kernel = GuideProposal(model, GUIDES["acp-s"](model).eval())
    with pytest.raises(ValueError, match=r"do not re-draw blocks of points.*pass blocks=\(\)"):
        kernel.run(data_of(kernel.guide, 5), num_draws=2, num_chains=2, seed=0)


def test_training_gradients_are_unbiased() -> None:
    """Doubly reparameterised gradients of the posterior network against the plain ones, in expectation."""
    torch.manual_seed(4)
    guide = GUIDES["gaussian latent, random order"](overlap2d())
    data, labels = simulate(guide.model, torch.empty(1, 6, 2))
    order = torch.arange(6)
    weight = guide.network.latents.change.weight
    with torch.no_grad():
        weight += 0.3 * torch.randn_like(weight)

    def gradients(draws: int) -> torch.Tensor:
        posterior = guide.posterior(data[0], order=order).estimated_with(num_particles=3)
        rows = [torch.autograd.grad(posterior.log_prob(labels[0]), weight)[0] for _ in range(draws)]
        return torch.stack(rows).flatten(1)

    doubly = gradients(400)
    plain = _without_hooks(gradients)(400)
    noise = (doubly.var(0) / len(doubly) + plain.var(0) / len(plain)).sqrt()
    assert ((doubly.mean(0) - plain.mean(0)).abs() <= 5 * noise + 1e-7).all()
    assert doubly.var(0).sum() < plain.var(0).sum()


def _without_hooks(gradients: Callable[[int], torch.Tensor]) -> Callable[[int], torch.Tensor]:
    """Differentiate the estimate as it stands: no hook on z, and the density of r not detached."""

    def plain(draws: int) -> torch.Tensor:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch.Tensor, "register_hook", lambda self, hook: None)
            patch.setattr(torch.Tensor, "detach", lambda self: self)
            return gradients(draws)

    return plain


def test_both_sites_and_two_guides_learn() -> None:
    pyro.clear_param_store()
    model = gaussian2d()
    for name in ("gaussian latent, random order", "acp", "discrete latent, uniform anchors"):
        guide = GUIDES[name](model)
        trace = poutine.trace(guide).get_trace(data_of(guide, 3, 6))
        latents = trace.nodes["latents"]
        assert latents["infer"]["is_auxiliary"]
        assert latents["value"].shape[0] == 3
        svi = SVI(model, guide, Adam({"lr": 1e-2}), InclusiveKL())
        before = {name: parameter.detach().clone() for name, parameter in guide.named_parameters()}
        losses = [svi.step(torch.empty(16, 8, 2)) for _ in range(40)]
        assert sum(losses[-10:]) < sum(losses[:10])
        after = dict(guide.named_parameters())
        still = [name for name, old in before.items() if torch.equal(old, after[name])]
        assert still == []


def test_training_averages_over_particles_of_its_own() -> None:
    guide = ClusterwiseClusteringProcess(overlap2d(), num_particles=9, training_particles=2)
    data = torch.zeros(4, 2)
    assert guide.train().posterior(data).num_particles == 2
    assert guide.eval().posterior(data).num_particles == 9
    with torch.no_grad():
        assert guide.train().posterior(data).num_particles == 9
    assert (
        ClusterwiseClusteringProcess(overlap2d(), num_particles=9).train().posterior(data).num_particles == 9
    )
    with pytest.raises(ValueError, match="training_particles is 0, expected at least 1"):
        ClusterwiseClusteringProcess(overlap2d(), training_particles=0)


def test_bad_input_is_named() -> None:
    guide = GUIDES["acp"](overlap2d())
    with pytest.raises(ValueError, match=r"data has shape .* expected \(\.\.\., N, "):
        guide.posterior(torch.zeros(5, 3))
    with pytest.raises(ValueError, match="at least one point"):
        guide.posterior(torch.zeros(0, 2))
    with pytest.raises(ValueError, match="nan or infinite"):
        guide.posterior(torch.full((5, 2), torch.nan))
    with pytest.raises(ValueError, match="expected permutations of 5 points"):
        guide.posterior(torch.zeros(5, 2), order=torch.zeros(5, dtype=torch.int64))
    with pytest.raises(ValueError, match="not canonical"):
        guide.posterior(torch.zeros(3, 2)).log_prob_and_error(torch.tensor([1, 0, 0]))
    with pytest.raises(ValueError, match="num_particles is 0, expected at least 1"):
        guide.estimated_with(num_particles=0).posterior(torch.zeros(3, 2))
