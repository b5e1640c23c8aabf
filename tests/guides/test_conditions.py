"""Guides amortised over hyperparameters: exactness for every condition, errors, saving, learning."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyro
import pytest
import torch
from cases import RANDOM
from pyro import poutine
from pyro.distributions import Beta, Gamma, LogNormal, Normal, Poisson, Uniform
from torch import Tensor

from pyroclust.diagnostics import importance_evidence
from pyroclust.distributions import (
    BernoulliBeta,
    ChineseRestaurantPrior,
    ConjugateComponent,
    FiniteMixturesPrior,
    GammaConcentration,
    MultinomialDirichlet,
    NormalIndependent,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    PartitionPrior,
    PitmanYorPrior,
    PoissonGamma,
    Product,
)
from pyroclust.guides import NeuralClusteringProcess, PredictiveFilter, SequentialGuide
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.infer.quality import log_importance_weights
from pyroclust.models import Mixture, gaussian2d, sensitivity2d
from pyroclust.nn import AdaptiveShape, FixedShape, RandomOrder, SummedScorer
from pyroclust.partitions import enumerate_partitions, is_canonical
from pyroclust.saving.guides import load_guide, save_guide

NIG = NormalInverseGamma(1, 0.08, shape=2.0, rate=0.2)
PRIORS: dict[str, PartitionPrior] = RANDOM | {"gamma_concentration": GammaConcentration(2.0, 4.0)}
# It has no filter.
del PRIORS["dynamic"]
FAMILIES: dict[str, ConjugateComponent] = {
    "known": NormalKnownVariance(2, LogNormal(1.0, 0.5), scale=Gamma(3.0, 3.0), mean=Normal(0.0, 1.0)),
    "gamma": NormalInverseGamma(2, LogNormal(-1.0, 0.5), shape=2.0, rate=Gamma(2.0, 4.0)),
    "wishart": NormalInverseWishart(
        2, 0.5, dof=Uniform(2.0, 6.0), scale=Gamma(3.0, 3.0), mean=Normal(0.0, 1.0)
    ),
    "independent": NormalIndependent(0.0, Gamma(2.0, 1.0), shape=3.0, rate=Gamma(2.0, 1.0), dim=2),
    "bernoulli": BernoulliBeta(3, Gamma(2.0, 2.0), beta=Gamma(2.0, 2.0)),
    "poisson": PoissonGamma(2, 1.5, rate=Gamma(2.0, 2.0)),
    "multinomial": MultinomialDirichlet(3, Gamma(2.0, 2.0), total=4),
    "product": Product(
        [NormalIndependent(0.0, 4.0, shape=3.0, rate=Gamma(2.0, 1.0)), BernoulliBeta(2, Gamma(2.0, 2.0))]
    ),
}


@dataclass
class Simulated:
    """Data sets with the hyperparameters and partitions they were drawn from."""

    data: Tensor
    assignments: Tensor
    values: dict[str, Tensor]


@torch.no_grad()
def simulate(model: Mixture, *shape: int) -> Simulated:
    template = torch.empty(*shape, model.component.dim)
    sites = poutine.trace(poutine.uncondition(model)).get_trace(template).nodes
    values = {name: sites[name]["value"].double() for name in model.hyperpriors}
    return Simulated(sites["data"]["value"], sites["assignments"]["value"], values)


def of_data_set(values: dict[str, Tensor], index: int) -> dict[str, float]:
    return {name: one[index].item() for name, one in values.items()}


def perturbed(guide: SequentialGuide) -> SequentialGuide:
    with torch.no_grad():
        for parameter in guide.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return guide.eval()


def light(model: Mixture) -> SequentialGuide:
    scorer = light_scorer_for(model, width=16, num_bandwidths=2, conditions=tuple(model.hyperpriors))
    return perturbed(NeuralClusteringProcess(model, scorer=scorer))


def light_without_filter(model: Mixture) -> SequentialGuide:
    names = tuple(model.hyperpriors)
    scorer = light_scorer_for(model, width=16, num_bandwidths=2, use_filter=False, conditions=names)
    return perturbed(NeuralClusteringProcess(model, scorer=scorer, order=RandomOrder()))


def published(model: Mixture) -> SequentialGuide:
    names = tuple(model.hyperpriors)
    scorer = SummedScorer(model.component.dim + len(names), width=16, sizes=(24, 32))
    return perturbed(NeuralClusteringProcess(model, scorer=scorer, order=RandomOrder(), conditions=names))


def filtering(model: Mixture) -> SequentialGuide:
    return PredictiveFilter(model, conditions=tuple(model.hyperpriors))


GUIDES: dict[str, Callable[[Mixture], SequentialGuide]] = {
    "light": light,
    "light without filter": light_without_filter,
    "published": published,
    "filter": filtering,
}
MODELS: dict[str, Callable[[], Mixture]] = {
    "sensitivity2d": sensitivity2d,
    "scale": lambda: Mixture(PitmanYorPrior(Beta(1.0, 4.0), Gamma(2.0, 4.0)), FAMILIES["known"]),
    "finite": lambda: Mixture(FiniteMixturesPrior(Gamma(2.0, 4.0), Poisson(3.0)), FAMILIES["gamma"]),
}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> Mixture:
    return MODELS[request.param]()


@pytest.fixture(params=GUIDES)
def guide(request: pytest.FixtureRequest, model: Mixture) -> SequentialGuide:
    return GUIDES[request.param](model)


@torch.no_grad()
def test_probabilities_sum_to_one_for_every_condition(guide: SequentialGuide, model: Mixture) -> None:
    seen = simulate(model, 2, 3, 6)
    every = enumerate_partitions(6)[:, None, None].expand(-1, 2, 3, -1)
    log_prob = guide.condition(**seen.values).posterior(seen.data).log_prob(every)
    torch.testing.assert_close(log_prob.logsumexp(0), torch.zeros(2, 3).double(), rtol=0, atol=1e-5)


@torch.no_grad()
def test_batched_conditions_equal_one_at_a_time(guide: SequentialGuide, model: Mixture) -> None:
    seen, order = simulate(model, 3, 20), torch.rand(3, 20).argsort(-1)
    together = guide.condition(**seen.values).posterior(seen.data, order=order)
    labels, log_q = together.sample_and_log_prob((4,))
    assert is_canonical(labels).all()
    torch.testing.assert_close(together.log_prob(labels), log_q, rtol=0, atol=1e-5)
    alone = [
        guide.condition(**of_data_set(seen.values, i)).posterior(seen.data[i], order=order[i])
        for i in range(3)
    ]
    expected = torch.stack([one.log_prob(labels[:, i]) for i, one in enumerate(alone)], -1)
    torch.testing.assert_close(together.log_prob(labels), expected, rtol=0, atol=1e-4)
    assert (together.log_prob(labels).std(0) > 0).any()


@torch.no_grad()
def test_conditions_matter_and_the_weights_are_shared(guide: SequentialGuide, model: Mixture) -> None:
    seen, order = simulate(model, 12), torch.randperm(12)
    values = {name: one.item() for name, one in seen.values.items()}
    view = guide.condition(**values)
    log_prob = view.posterior(seen.data, order=order).log_prob(seen.assignments)
    for name in values:
        other = guide.condition(**{**values, name: 0.5 * values[name]})
        assert other.posterior(seen.data, order=order).log_prob(seen.assignments) != log_prob
    assert all(a is b for a, b in zip(view.parameters(), guide.parameters(), strict=True))
    assert guide.conditions == tuple(model.hyperpriors)
    assert view.model.hyperpriors == {}
    assert guide.model is model


@torch.no_grad()
@pytest.mark.parametrize("silenced", [0, 1], ids=["states", "contexts"])
def test_conditions_enter_contexts_and_states(silenced: int) -> None:
    guide = light_without_filter(sensitivity2d())
    guide.scorer.condition_shift.out.weight.chunk(2)[silenced].zero_()
    data, order, labels = torch.randn(6, 2), torch.arange(6), torch.tensor([0, 1, 0, 2, 1, 1])
    low, high = (
        guide.condition(concentration=one, prior_scale=3.0).posterior(data, order=order).log_prob(labels)
        for one in (0.1, 5.0)
    )
    assert (low - high).abs() > 1e-3


@torch.no_grad()
def test_order_averaged_conditions_go_with_their_data_sets(guide: SequentialGuide, model: Mixture) -> None:
    seen = simulate(model, 2, 5)
    averaged = guide.condition(**seen.values).order_averaged(seen.data, 3)
    every = enumerate_partitions(5).unsqueeze(1).expand(-1, 2, -1)
    for i in range(2):
        orders = averaged.orders.order.view(3, 2, 5)[:, i]
        view = guide.condition(**of_data_set(seen.values, i))
        single = view.posterior(seen.data[i].expand(3, -1, -1), order=orders).log_prob(
            every[:, i].unsqueeze(1)
        )
        found = averaged.log_prob(every)[:, i].exp()
        torch.testing.assert_close(found, single.exp().mean(-1), rtol=0, atol=1e-5)


def filters_agree(model: Mixture, conditions: tuple[str, ...]) -> None:
    """Compare the filter under batched conditions with that of the model given each."""
    seen, order, every = simulate(model, 3, 6), torch.rand(3, 6).argsort(-1), enumerate_partitions(6)
    values = {name: seen.values[name] for name in conditions}
    view = PredictiveFilter(model, conditions=conditions).condition(**values)
    found = view.posterior(seen.data, order=order).log_prob(every.unsqueeze(1).expand(-1, 3, -1))
    for i in range(3):
        one = of_data_set(values, i)
        known = PredictiveFilter(model.given(one)).posterior(seen.data[i], order=order[i]).log_prob(every)
        torch.testing.assert_close(found[:, i], known, rtol=0, atol=1e-10)
        single = PredictiveFilter(model, conditions=conditions).condition(**one)
        torch.testing.assert_close(
            single.posterior(seen.data[i], order=order[i]).log_prob(every), known, rtol=0, atol=1e-10
        )


@torch.no_grad()
@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_filter_under_conditions_of_every_prior(prior: PartitionPrior) -> None:
    filters_agree(Mixture(prior, NIG), tuple(prior.hyperpriors))


@torch.no_grad()
@pytest.mark.parametrize("component", FAMILIES.values(), ids=FAMILIES)
def test_filter_under_conditions_of_every_family(component: ConjugateComponent) -> None:
    filters_agree(Mixture(ChineseRestaurantPrior(0.7), component), tuple(component.hyperpriors))


@torch.no_grad()
def test_filter_integrates_a_concentration_that_is_no_condition() -> None:
    filters_agree(Mixture(GammaConcentration(2.0, 4.0), FAMILIES["poisson"]), ("rate",))


@torch.no_grad()
@pytest.mark.parametrize(
    "priors",
    [
        lambda one: FiniteMixturesPrior(one, Poisson(3.0)),
        lambda one: GammaConcentration(2.0, one),
        lambda one: PitmanYorPrior(0.3, one),
    ],
    ids=["finite_mixtures", "gamma_concentration", "pitman_yor"],
)
def test_batched_opening_tables_equal_single_ones(priors: Callable[[Tensor | float], PartitionPrior]) -> None:
    values = torch.tensor([0.3, 1.0, 2.5], dtype=torch.float64)
    tables = priors(values).log_opening_table(150, 12)
    possible = torch.arange(12) <= torch.arange(150).unsqueeze(-1)
    for i in range(3):
        expected = priors(values[i].item()).log_opening_table(150, 12)
        assert torch.equal(tables[i].isfinite()[possible], expected.isfinite()[possible])
        torch.testing.assert_close(tables[i][possible], expected[possible], rtol=0, atol=1e-8)


@torch.no_grad()
def test_untrained_light_guide_is_the_filter_under_every_condition() -> None:
    model = MODELS["scale"]()
    seen, order = simulate(model, 4, 6), torch.randperm(6)
    every = enumerate_partitions(6).unsqueeze(1).expand(-1, 4, -1)
    guide = NeuralClusteringProcess(model, conditions=list(model.hyperpriors)).condition(**seen.values)
    exact = filtering(model).condition(**seen.values).posterior(seen.data, order=order).log_prob(every)
    found = guide.posterior(seen.data, order=order).log_prob(every)
    torch.testing.assert_close(found.exp(), exact.exp(), rtol=0, atol=1e-4)


@torch.no_grad()
def test_a_conditioned_scale_is_the_unit_of_length() -> None:
    """Twice the scale, twice the distances: the network sees the same data set."""
    prior = ChineseRestaurantPrior(0.7)
    model = Mixture(prior, NormalKnownVariance(2, 4.0, scale=LogNormal(0.0, 0.5)))
    scorer = light_scorer_for(model, width=16, use_filter=False, conditions=["scale"])
    guide = perturbed(NeuralClusteringProcess(model, scorer=scorer))
    for parameter in scorer.condition_shift.parameters():
        parameter.zero_()
    assert isinstance(scorer.shape, FixedShape)
    data, every = torch.randn(6, 2), enumerate_partitions(6)
    once, twice = (
        guide.condition(scale=factor).posterior(factor * data).log_prob(every) for factor in (1.0, 2.0)
    )
    torch.testing.assert_close(once, twice, rtol=0, atol=1e-4)
    assert (once - guide.condition(scale=2.0).posterior(data).log_prob(every)).abs().max() > 1e-2


def test_units_follow_what_makes_clusters_wide() -> None:
    known = NeuralClusteringProcess(
        MODELS["scale"](), conditions=["concentration", "prior_scale", "scale", "discount", "mean"]
    )
    assert {name: one.scale_power for name, one in known.inputs.inputs.items()} == {
        "concentration": 0.0,
        "prior_scale": 0.0,
        "scale": 1.0,
        "discount": 0.0,
        "mean": 0.0,
    }
    assert [name for name, one in known.inputs.inputs.items() if not one.log] == ["discount", "mean"]
    free = light_scorer_for(MODELS["finite"](), conditions=["rate", "kappa", "weight_concentration"])
    assert free.conditions.inputs["rate"].scale_power == 0.5
    assert isinstance(free.shape, AdaptiveShape)


def test_scores_are_standard_under_the_hyperprior() -> None:
    model = MODELS["scale"]()
    inputs = NeuralClusteringProcess(model, conditions=tuple(model.hyperpriors)).inputs
    with pyro.plate("draws", 4000):
        values = {name: pyro.sample(name, prior) for name, prior in model.hyperpriors.items()}
    scores = inputs.scores(values)
    assert scores.shape == (4000, 5)
    assert scores.median(0).values.abs().max() < 0.1
    levels = scores.quantile(torch.tensor([0.16, 0.84]), 0)
    torch.testing.assert_close(levels[1] - levels[0], torch.full((5,), 2.0), rtol=0, atol=0.15)
    assert inputs.scores({name: torch.tensor(0.0) for name in inputs.names}).isfinite().all()


@torch.no_grad()
def test_a_view_is_a_guide_for_importance_sampling() -> None:
    model = sensitivity2d()
    seen = simulate(model, 4, 6)
    view = light(model).condition(**seen.values)
    log_weights = log_importance_weights(view.model, view, seen.data, num_draws=4000).numpy()
    for i in range(4):
        known = model.given(of_data_set(seen.values, i))
        every = enumerate_partitions(6)
        evidence = known.log_joint(seen.data[i], every).logsumexp(0)
        found = importance_evidence(log_weights[:, i])
        assert abs(found.estimate - evidence.item()) < 5 * found.error + 1e-3


def test_errors_name_the_condition() -> None:
    model, data = sensitivity2d(), torch.zeros(4, 5, 2)
    guide = NeuralClusteringProcess(model, conditions=["concentration", "prior_scale"])
    with pytest.raises(ValueError, match=r"call guide.condition\(concentration=..., prior_scale=...\) first"):
        guide.posterior(data)
    with pytest.raises(ValueError, match="guide has the conditions"):
        guide.order_averaged(data, 2)
    with pytest.raises(ValueError, match="guide has the conditions"):
        guide(data)
    with pytest.raises(ValueError, match="not given prior_scale, expected all conditions"):
        guide.condition(concentration=1.0)
    with pytest.raises(
        ValueError, match="given 'scale', expected the guide's conditions: concentration, prior_s"
    ):
        guide.condition(concentration=1.0, prior_scale=1.0, scale=1.0)
    with pytest.raises(ValueError, match="concentration is -1, expected a number above 0, in the support of"):
        guide.condition(concentration=torch.tensor([1.0, -1.0]), prior_scale=1.0)
    with pytest.raises(ValueError, match="prior_scale is nan, expected a number"):
        guide.condition(concentration=1.0, prior_scale=float("nan"))
    with pytest.raises(ValueError, match=r"has shape \(3,\), expected one number, or one a data set, \(4,\)"):
        guide.condition(concentration=torch.ones(3), prior_scale=1.0).posterior(data)
    view = guide.condition(concentration=1.0, prior_scale=3.0)
    with pytest.raises(ValueError, match="is conditioned on concentration, prior_scale already"):
        view.condition(concentration=2.0, prior_scale=3.0)
    with pytest.raises(ValueError, match="save that one"):
        _ = view.arguments
    with pytest.raises(ValueError, match="guide has no conditions"):
        PredictiveFilter(gaussian2d()).condition(concentration=1.0)
    uniform = Mixture(ChineseRestaurantPrior(Uniform(0.5, 2.0)), NIG)
    with pytest.raises(ValueError, match=r"concentration is 3, expected a number from 0.5 to 2, in the"):
        PredictiveFilter(uniform, conditions=["concentration"]).condition(concentration=3.0)


def test_guides_that_cannot_be_built_say_why() -> None:
    model = sensitivity2d()
    for kind in (PredictiveFilter, NeuralClusteringProcess):
        with pytest.raises(
            ValueError, match="conditions has 'scale', expected random hyperparameters of the mod"
        ):
            kind(model, conditions=["concentration", "prior_scale", "scale"])
        with pytest.raises(ValueError, match="it has none, give one a prior"):
            kind(gaussian2d(), conditions=["concentration"])
    with pytest.raises(ValueError, match="prior_scale is random, expected a number: name it in conditions"):
        NeuralClusteringProcess(model, conditions=["concentration"])
    with pytest.raises(ValueError, match="expected each name once"):
        NeuralClusteringProcess(model, conditions=["concentration", "concentration"])
    names = ["concentration", "prior_scale"]
    with pytest.raises(ValueError, match="scorer has dim 2, expected 4"):
        NeuralClusteringProcess(model, scorer=SummedScorer(2), conditions=names)
    plain = light_scorer_for(gaussian2d())
    with pytest.raises(ValueError, match=r"expected those of the scorer, \[\]"):
        NeuralClusteringProcess(model, scorer=plain, conditions=names)
    with pytest.raises(ValueError, match=r"expected those of the scorer, \['concentration', 'prior_scale'\]"):
        NeuralClusteringProcess(model, scorer=light_scorer_for(model, conditions=names), conditions=names[:1])


def test_no_conditions_leave_cards_and_weights_as_they_were() -> None:
    guide = NeuralClusteringProcess(gaussian2d())
    assert (guide.arguments["conditions"], guide.scorer.conditions) == ((), None)
    assert not [name for name in guide.state_dict() if "condition" in name]


@torch.no_grad()
def test_a_saved_guide_keeps_its_conditions(tmp_path: Path) -> None:
    guide = light(sensitivity2d())
    save_guide(guide, tmp_path)
    again = load_guide(tmp_path)
    assert again.conditions == ("concentration", "prior_scale")
    data, order, labels = torch.randn(7, 2), torch.randperm(7), torch.tensor([0, 1, 0, 2, 1, 1, 0])
    first, second = (
        one.condition(concentration=2.0, prior_scale=3.0).posterior(data, order=order).log_prob(labels)
        for one in (guide, again)
    )
    assert torch.equal(first, second)
    with pytest.raises(ValueError, match="expected the"):
        save_guide(guide.condition(concentration=2.0, prior_scale=3.0), tmp_path)
