"""The loss: under stock SVI, as a module, two guides at once, and against its definition."""

import pyro
import pytest
import torch
from pyro import poutine
from pyro.distributions import Delta
from pyro.infer import SVI, Importance, Predictive, Trace_ELBO

from pyroclust.guides import NeuralClusteringProcess, PredictiveFilter
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.infer import InclusiveKL, exact_posterior, simulate
from pyroclust.models import (
    Mixture,
    gaussian2d,
    nig_mixture,
    overlap2d,
    sensitivity2d,
    set_transformer_clusters,
)
from pyroclust.nn import DensestFirst, RandomOrder


def small_guide(model: Mixture) -> NeuralClusteringProcess:
    scorer = light_scorer_for(model, width=16, num_bandwidths=2, use_filter=False)
    return NeuralClusteringProcess(model, scorer=scorer, order=RandomOrder())


@pytest.fixture(autouse=True)
def _clean() -> None:
    pyro.clear_param_store()
    pyro.set_rng_seed(0)


def test_loss_is_the_mean_negative_log_prob_of_simulated_partitions() -> None:
    model = overlap2d()
    guide = PredictiveFilter(model)
    template = torch.empty(4000, 5, 2)
    loss = InclusiveKL().per_dataset(model, guide, template)
    data, assignments = simulate(model, template)
    direct = -guide.posterior(data).log_prob(assignments)
    assert loss.shape == (4000,)
    noise = (loss.var() / 4000 + direct.var() / 4000).sqrt()
    assert abs(loss.mean() - direct.mean()) < 4 * noise


def test_deterministic_sites_of_a_model_are_not_its_data() -> None:
    model = set_transformer_clusters(3)
    guide = small_guide(model)
    assert "weights" in poutine.trace(model).get_trace(torch.empty(2, 6, 2)).nodes
    assert InclusiveKL().per_dataset(model, guide, torch.empty(4, 6, 2)).shape == (4,)


def test_module_form_has_gradients() -> None:
    model = gaussian2d()
    guide = small_guide(model)
    InclusiveKL()(model, guide)(torch.empty(8, 10, 2)).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in guide.parameters())


def test_two_guides_learn_under_stock_svi() -> None:
    model = gaussian2d()
    for _ in range(2):
        guide = small_guide(model)
        before = [p.detach().clone() for p in guide.parameters()]
        svi = SVI(model, guide, pyro.optim.Adam({"lr": 5e-3}), InclusiveKL())
        losses = [svi.step(torch.empty(32, 12, 2)) for _ in range(60)]
        assert sum(losses[-10:]) < 0.8 * sum(losses[:10])
        changed = [not torch.equal(p, old) for p, old in zip(guide.parameters(), before, strict=True)]
        assert all(changed)
        assert svi.evaluate_loss(torch.empty(4, 12, 2)) > 0


def test_unusable_models_and_guides_are_named() -> None:
    model = gaussian2d()

    def no_data(template: torch.Tensor) -> None:
        pyro.sample("assignments", pyro.distributions.Delta(torch.zeros(3)))

    def other_site(data: torch.Tensor) -> None:
        pyro.sample("something", pyro.distributions.Normal(0.0, 1.0))

    with pytest.raises(ValueError, match="no observed site"):
        InclusiveKL().loss(no_data, small_guide(model), torch.empty(2, 3, 2))
    with pytest.raises(ValueError, match=r"guide samples \['something'\]"):
        InclusiveKL().loss(model, other_site, torch.empty(2, 3, 2))


def test_stock_pyro_inference_takes_the_guide() -> None:
    model, data = overlap2d(), simulate(overlap2d(), torch.empty(9, 2))[0]
    guide = small_guide(model)
    importance = Importance(model, guide, num_samples=5).run(data)
    assert importance.get_log_normalizer().isfinite()
    assert Predictive(model, guide=guide, num_samples=3)(data)["data"].shape[-2:] == (9, 2)
    assert SVI(model, guide, pyro.optim.Adam({"lr": 1e-3}), Trace_ELBO()).evaluate_loss(data) > 0


def conditioned_guide(model: Mixture) -> NeuralClusteringProcess:
    names = tuple(model.hyperpriors)
    scorer = light_scorer_for(model, width=16, num_bandwidths=2, use_filter=False, conditions=names)
    return NeuralClusteringProcess(model, scorer=scorer)


class EverySecond:
    """Keep every second data set, the last first."""

    oversampling = 2

    def __call__(self, data: torch.Tensor, num_kept: int) -> torch.Tensor:
        return torch.arange(len(data) - 1, 0, -2)

    def learn(self, loss: torch.Tensor) -> None:
        self.losses = loss


@pytest.mark.parametrize("choice", [None, EverySecond()], ids=["all", "chosen"])
@torch.no_grad()
def test_conditions_are_the_simulated_hyperparameters_of_each_data_set(choice: EverySecond | None) -> None:
    model = sensitivity2d()
    guide = PredictiveFilter(model, conditions=["prior_scale", "concentration"], order=DensestFirst(1.4))
    torch.manual_seed(5)
    loss = InclusiveKL(choice).per_dataset(model, guide, torch.empty(6, 9, 2))
    torch.manual_seed(5)
    template = torch.empty(6 if choice is None else 12, 9, 2)
    sites = poutine.trace(poutine.uncondition(model)).get_trace(template).nodes
    kept = torch.arange(6) if choice is None else choice(template, 6)
    values = {name: sites[name]["value"][kept] for name in guide.conditions}
    posterior = guide.condition(**values).posterior(sites["data"]["value"][kept])
    expected = -posterior.log_prob(sites["assignments"]["value"][kept])
    torch.testing.assert_close(loss, expected, rtol=0, atol=1e-9)


def trained(guide: NeuralClusteringProcess) -> NeuralClusteringProcess:
    loss = InclusiveKL()(guide.model, guide)
    optimizer = torch.optim.Adam(guide.parameters(), lr=5e-3)
    for _ in range(200):
        optimizer.zero_grad()
        loss(torch.empty(32, 6, 2)).backward()
        optimizer.step()
    return guide.eval()


@torch.no_grad()
def mean_divergence(guide: NeuralClusteringProcess, known: Mixture) -> float:
    data, _ = simulate(known, torch.empty(60, 6, 2))
    partitions, log_probs = exact_posterior(known, data)
    log_q = guide.posterior(data).log_prob(partitions.unsqueeze(1).expand(-1, 60, -1)).T
    return (log_probs.exp() * (log_probs - log_q)).sum(-1).mean().item()


def test_conditions_are_learned_at_both_ends_of_their_range() -> None:
    model = sensitivity2d()
    conditioned, unconditioned = trained(conditioned_guide(model)), trained(small_guide(model))
    for concentration in (0.1, 6.0):
        view = conditioned.condition(concentration=concentration, prior_scale=5.0)
        torch.manual_seed(1)
        with_condition = mean_divergence(view, view.model)
        torch.manual_seed(1)
        without = mean_divergence(unconditioned, view.model)
        assert with_condition < 0.7 * without, (concentration, with_condition, without)


def test_a_condition_that_the_model_does_not_sample_is_named() -> None:
    guide = conditioned_guide(sensitivity2d())
    with pytest.raises(ValueError, match="guide has the condition concentration, expected names of latent"):
        InclusiveKL().loss(gaussian2d(), guide, torch.empty(2, 5, 2))


def test_data_sets_beyond_the_reach_of_the_family_are_left_out() -> None:
    model = nig_mixture(1)
    far = torch.tensor([False, True, False])

    def law(data: torch.Tensor) -> None:
        with pyro.plate("datasets", len(data)):
            pyro.sample("assignments", Delta(torch.zeros(len(data), 4).long(), event_dim=1))
            points = torch.where(far.view(-1, 1, 1), 1e12, torch.randn(3, 4, 1))
            pyro.sample("data", Delta(points, event_dim=2), obs=data)

    loss = InclusiveKL(data=law)
    assert loss.per_dataset(model, PredictiveFilter(model), torch.empty(3, 4, 1)).shape == (2,)
    far[:] = True
    with pytest.raises(ValueError, match="sums of squares lose their digits"):
        loss.per_dataset(model, PredictiveFilter(model), torch.empty(3, 4, 1))
