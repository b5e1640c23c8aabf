"""Mixtures as JSON: every prior with every family and back, and one sentence about what does not fit."""

import inspect
import itertools
import json
import tomllib
from typing import Any

import pyro
import pytest
import torch
from cases import CONJUGATE, FAMILIES, OTHER_LAWS, PRIORS, RANDOM, some_of
from pyro import distributions as dist
from torch import Tensor
from torch import distributions as torch_dist

from pyroclust.core.registry import registered
from pyroclust.distributions import (
    BernoulliBeta,
    ChineseRestaurantPrior,
    Component,
    DirichletMultinomialPrior,
    FiniteMixturesPrior,
    GammaConcentration,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    PartitionPrior,
    PitmanYorPrior,
    PoissonGamma,
    Product,
    PyroComponent,
    student_t,
)
from pyroclust.models import (
    Companion,
    Mixture,
    gaussian2d,
    nig_mixture,
    niw_mixture,
    overlap2d,
    warped_clusters,
)
from pyroclust.saving.cards import Described, GuideCard
from pyroclust.saving.codec import DISTRIBUTIONS, build_distribution, describe_distribution
from pyroclust.saving.models import build_model, describe_model

MODELS = registered(Mixture)

KNOWN_PRIOR, KNOWN_FAMILY = ChineseRestaurantPrior(0.7), NormalKnownVariance(2)
RANDOM_FAMILIES = {
    "known": NormalKnownVariance(2, dist.LogNormal(1.0, 0.3), scale=dist.HalfNormal(2.0)),
    "gamma": NormalInverseGamma(2, dist.Exponential(3.0), shape=2.0, rate=dist.Gamma(0.1, 10.0)),
    "wishart": NormalInverseWishart(
        2, 0.1, dof=4.0, scale=dist.InverseGamma(3.0, 0.7), mean=dist.Normal(0, 1)
    ),
    "product": Product(
        [BernoulliBeta(1, dist.Uniform(0.3, 2.0)), PoissonGamma(1, dist.HalfCauchy(1.0), rate=0.2)]
    ),
}
BATCHES = {
    "prior": Mixture(ChineseRestaurantPrior(torch.tensor([0.1, 0.7])), KNOWN_FAMILY),
    "two": Mixture(
        PitmanYorPrior(torch.tensor([[0.1], [0.7]]).double(), torch.tensor([0.3, 0.4])), KNOWN_FAMILY
    ),
    "whole": Mixture(DirichletMultinomialPrior(torch.tensor([2, 4]), 0.3), KNOWN_FAMILY),
    "family": Mixture(KNOWN_PRIOR, NormalInverseGamma(2, torch.tensor([0.1, 0.3]), shape=2.0, rate=1.0)),
    "gamma": Mixture(GammaConcentration(torch.tensor([1.0, 2.0]), 2.0), KNOWN_FAMILY),
    "extra": Mixture(FiniteMixturesPrior(1.0, dist.Poisson(torch.tensor([1.7, 3.1]))), KNOWN_FAMILY),
}
every_prior = pytest.mark.parametrize("prior", (PRIORS | OTHER_LAWS).values(), ids=PRIORS | OTHER_LAWS)


def through_json(described: Any) -> Any:
    return json.loads(json.dumps(described, allow_nan=False))


def again(model: Mixture) -> Mixture:
    """Describe a model, build it again, and check that the description stays as it is."""
    described = through_json(describe_model(model))
    built = build_model(described)
    assert through_json(describe_model(built)) == described
    flat = {"name": described["name"], **described["arguments"]}
    assert describe_model(build_model(flat)) == described
    assert built.name == model.name
    return built


def numbers_for(model: Mixture) -> dict[str, Tensor]:
    return {name: law.sample() for name, law in model.hyperpriors.items()}


def assert_same_joint(found: Mixture, expected: Mixture) -> None:
    """Compare the log joint on data of the expected model, random hyperparameters set to the same numbers."""
    integrated = isinstance(expected.prior, GammaConcentration)
    values = {} if integrated else numbers_for(expected)
    found, expected = found.given(values), expected.given(values)
    assignments = torch.tensor([0, 0, 1, 0, 2])
    batch = expected.prior.batch_shape or expected.component.batch_shape
    data = expected.component.sample(assignments.expand(*batch, -1))
    joint = expected.log_joint(data, assignments)
    assert joint.isfinite().any() or expected.prior.log_prob(assignments).isinf().all()
    torch.testing.assert_close(found.log_joint(data, assignments), joint, rtol=0, atol=0)


LAWS_OF_PARTITIONS = PRIORS | OTHER_LAWS
EVERY_PAIR = list(itertools.product(LAWS_OF_PARTITIONS, FAMILIES))
FIRST_PAIRS = [(prior, "known_3") for prior in LAWS_OF_PARTITIONS] + [
    (next(iter(PRIORS)), family) for family in FAMILIES
]


@pytest.mark.parametrize(("prior", "family"), some_of(EVERY_PAIR, FIRST_PAIRS))
def test_every_prior_with_every_family_comes_back(prior, family):
    prior, family = LAWS_OF_PARTITIONS[prior], FAMILIES[family]
    model = Mixture(prior, family, name="any")
    built = again(model)
    assert type(built.prior) is type(prior)
    assert type(built.component) is type(family)


@every_prior
def test_log_joint_comes_back_with_every_prior(prior):
    model = Mixture(prior, KNOWN_FAMILY)
    assert_same_joint(again(model), model)


@pytest.mark.parametrize("family", CONJUGATE.values(), ids=CONJUGATE)
def test_log_joint_comes_back_with_every_conjugate_family(family):
    model = Mixture(KNOWN_PRIOR, family)
    assert_same_joint(again(model), model)


@pytest.mark.parametrize("family", [v for k, v in FAMILIES.items() if k not in CONJUGATE])
def test_other_families_draw_the_same_points(family):
    built = again(Mixture(KNOWN_PRIOR, family)).component
    assignments = torch.tensor([0, 0, 1])
    torch.manual_seed(1)
    expected = family.sample(assignments)
    torch.manual_seed(1)
    torch.testing.assert_close(built.sample(assignments), expected, rtol=0, atol=0)
    assert (built.typical_scale, built.expected) == (family.typical_scale, family.expected)


@pytest.mark.parametrize("family", RANDOM_FAMILIES.values(), ids=RANDOM_FAMILIES)
@pytest.mark.parametrize("prior", RANDOM.values(), ids=RANDOM)
def test_random_hyperparameters_come_back(prior, family):
    model = Mixture(prior, family)
    built = again(model)
    assert list(built.hyperpriors) == list(model.hyperpriors)
    for name, law in model.hyperpriors.items():
        draws = law.sample((9,))
        torch.testing.assert_close(
            built.hyperpriors[name].log_prob(draws), law.log_prob(draws), rtol=0, atol=0
        )
    assert_same_joint(built, model)


@pytest.mark.parametrize("model", BATCHES.values(), ids=BATCHES)
def test_batches_come_back(model):
    assert_same_joint(again(model), model)


def shipped(kind: type) -> set[str]:
    """Return the names of what the package registers: other tests register more."""
    return {name for name, one in registered(kind).items() if one.__module__.startswith("pyroclust.")}


def test_every_prior_and_family_of_the_package_is_known_and_tested():
    assert {type(one).__name__ for one in (PRIORS | OTHER_LAWS).values()} == shipped(PartitionPrior)
    described = [describe_model(Mixture(KNOWN_PRIOR, one)) for one in FAMILIES.values()]
    known = {one["arguments"]["component"]["class"] for one in described}
    assert known | {"warped_arcs"} == shipped(Component)


LAWS = [
    dist.Beta(0.1, 9.0),
    dist.Binomial(3, torch.tensor(0.3)),
    dist.Binomial(3, logits=torch.tensor(0.3)),
    dist.Categorical(torch.tensor([0.1, 0.0, 0.7, 0.13, 0.9])),
    dist.Categorical(torch.rand(3, 37, generator=torch.Generator().manual_seed(3))),
    dist.Categorical(torch.ones(7, dtype=torch.float64)),
    dist.Categorical(logits=torch.tensor([0.1, 5.0, 0.7])),
    dist.Exponential(0.3),
    dist.Gamma(torch.tensor(0.1, dtype=torch.float64), torch.tensor(0.3, dtype=torch.float64)),
    dist.Gamma(torch.tensor([0.1, 1e-30]), torch.tensor([3e30, 1 / 3])),
    dist.Geometric(0.1),
    dist.Geometric(logits=torch.tensor(0.1)),
    dist.HalfCauchy(0.1),
    dist.HalfNormal(0.1),
    dist.InverseGamma(0.1, 0.2),
    dist.LogNormal(-0.1, 0.2),
    dist.NegativeBinomial(2.3, torch.tensor(0.1)),
    dist.NegativeBinomial(torch.tensor([2.0, 3.0]), torch.tensor(0.1)),
    dist.NegativeBinomial(2.3, logits=torch.tensor(0.1)),
    dist.Normal(-0.1, 0.2),
    dist.Poisson(torch.tensor(3.0)),
    dist.Uniform(0.1, 0.2),
    torch_dist.Gamma(0.1, 0.2),
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_distributions_come_back_to_the_last_digit(law):
    described = through_json(describe_distribution(law, where="rate"))
    built = build_distribution(described["class"], described["arguments"], where="rate")
    assert through_json(describe_distribution(built, where="rate")) == described
    assert (built.batch_shape, built.event_shape) == (law.batch_shape, law.event_shape)
    draws = law.sample((5,))
    torch.testing.assert_close(built.log_prob(draws), law.log_prob(draws), rtol=0, atol=0)
    for law_at_use in (law, built):
        law_at_use.log_prob(draws), [getattr(law_at_use, key, None) for key in ("probs", "logits")]
        assert through_json(describe_distribution(law_at_use, where="rate")) == described


def test_whole_numbers_are_parameters_too():
    law = dist.Poisson(torch.tensor(3))
    assert describe_distribution(law, where="rate") == {"class": "Poisson", "arguments": {"rate": 3.0}}


def test_weights_need_not_sum_to_one():
    law = build_distribution("Categorical", {"probs": [1, 1, 2]}, where="extra_components")
    assert law.probs.tolist() == [0.25, 0.25, 0.5]


def test_parameters_are_checked_even_where_validation_is_off():
    with pyro.validation_enabled(False), pytest.raises(ValueError, match="Expected parameter rate"):
        build_model(random_concentration(rate=-1.0))


def test_every_distribution_is_tested():
    assert {type(law).__name__ for law in LAWS} == set(DISTRIBUTIONS)


@pytest.mark.parametrize("name", sorted(set(MODELS) - {"warped_clusters"}))
@pytest.mark.parametrize("dim", [1, 3])
def test_registered_models_are_described_by_name(name, dim):
    assert describe_model(MODELS[name](dim)) == {"name": name, "arguments": {"dim": dim}}
    assert_same_joint(again(MODELS[name](dim)), MODELS[name](dim))


def test_warped_clusters_are_described_by_name_and_by_parts():
    plain = warped_clusters()
    assert describe_model(plain) == {"name": "warped_clusters", "arguments": {"dim": 2}}
    built = again(plain)
    assert built.component.origin == plain.component.origin
    assert built.prior.log_prob(torch.tensor([0, 1, 2])) == plain.prior.log_prob(torch.tensor([0, 1, 2]))
    wide = again(warped_clusters(KNOWN_PRIOR, centre_scale=7.0))
    assert wide.component.origin == ("warped_arcs", {"dim": 2, "centre_scale": 7.0})
    with pytest.raises(ValueError, match="dim is 3"):
        build_model({"name": "warped_clusters", "dim": 3})


OVERRIDES = {
    "concentration": (overlap2d().given({"concentration": 1.5}), {"dim": 2, "concentration": 1.5}),
    "family": (gaussian2d(3).given({"mean": -1, "scale": 2.0}), {"dim": 3, "mean": -1, "scale": 2.0}),
    "tensor": (gaussian2d().given({"scale": torch.tensor(0.5)}), {"dim": 2, "scale": 0.5}),
    "integrated": (nig_mixture().given({"concentration": 0.5}), {"dim": 1, "concentration": 0.5}),
    "shared name": (
        nig_mixture().given({"concentration": 0.5}).given({"rate": 3.0}),
        {"dim": 1, "concentration": 0.5, "rate": 3.0},
    ),
    "wishart": (niw_mixture(2).given({"dof": 7.0}), {"dim": 2, "dof": 7.0}),
    "made anew": (
        Mixture(ChineseRestaurantPrior(0.7), NormalKnownVariance(2, 5.0), name="gaussian2d"),
        {"dim": 2, "prior_scale": 5.0},
    ),
}


@pytest.mark.parametrize("case", OVERRIDES)
def test_other_numbers_of_a_registered_model_stand_beside_its_dimension(case):
    model, arguments = OVERRIDES[case]
    assert describe_model(model) == {"name": model.name, "arguments": arguments}
    assert_same_joint(again(model), model)


def test_the_order_of_arguments_does_not_matter():
    described = {"rate": 3.0, "concentration": 0.5, "dim": 1, "name": "nig_mixture"}
    assert describe_model(build_model(described)) == describe_model(OVERRIDES["shared name"][0])


FULL = {
    "random": gaussian2d().given({"concentration": dist.Gamma(2.0, 4.0)}),
    "batch": gaussian2d().given({"concentration": torch.tensor([0.5, 0.7])}),
    "other prior": Mixture(PitmanYorPrior(0.1, 0.7), NormalKnownVariance(2, 10.0), name="gaussian2d"),
    "other family": Mixture(KNOWN_PRIOR, BernoulliBeta(2), name="gaussian2d"),
    "shared name": Mixture(
        GammaConcentration(2.0, 4.0), nig_mixture().component.given({"rate": 3}), name="nig_mixture"
    ),
}


@pytest.mark.parametrize("case", FULL)
def test_other_differences_give_prior_and_component(case):
    assert set(describe_model(FULL[case])["arguments"]) == {"prior", "component"}
    assert_same_joint(again(FULL[case]), FULL[case])


def test_overrides_may_be_lists():
    model = build_model({"name": "gaussian2d", "concentration": [0.5, 0.7]})
    assert model.prior.batch_shape == (2,)


def test_a_recipe_says_the_same():
    table = tomllib.loads("""
        name = "mixture"
        [prior]
        class = "PitmanYorPrior"
        discount = 0.25
        concentration = { class = "Gamma", concentration = 2.0, rate = 4.0 }
        [component]
        class = "Product"
        [[component.parts]]
        class = "NormalInverseWishart"
        dim = 2
        kappa = 0.08
        dof = 4
        scale = 0.2
        [[component.parts]]
        class = "BernoulliBeta"
        dim = 3
        """)
    family = Product([NormalInverseWishart(2, 0.08, dof=4.0, scale=0.2), BernoulliBeta(3)])
    expected = Mixture(PitmanYorPrior(0.25, dist.Gamma(2.0, 4.0)), family)
    assert describe_model(build_model(table)) == describe_model(expected)


def card_of_model(name: str, arguments: dict[str, Any]) -> GuideCard:
    model = Described(name, arguments)
    return GuideCard(guide_class="PredictiveFilter", arguments={}, described_model=model, weights=None)


@pytest.mark.parametrize(
    "model", [gaussian2d(3), Mixture(KNOWN_PRIOR, FAMILIES["product"]), *BATCHES.values()]
)
def test_cards_know_the_dimension(model):
    described = describe_model(model)
    assert card_of_model(described["name"], described["arguments"]).dim == model.component.dim


@pytest.mark.parametrize("arguments", [{}, {"component": 3}, {"component": {"parts": [3]}}])
def test_cards_that_say_no_dimension(arguments):
    assert card_of_model("any", arguments).dim is None


class Gamma(dist.Gamma):
    """Of a known name, and not what is known by it."""


class PriorOfMine(ChineseRestaurantPrior):
    pass


class BernoulliOfMine(BernoulliBeta):
    """Of a known name too, see below."""


BernoulliOfMine.__name__ = "BernoulliBeta"


class MixtureOfMine(Mixture):
    pass


OWN_CODE = PyroComponent(
    lambda: {"loc": dist.Normal(0.0, 5.0).sample((2, 3))},
    lambda parameters: dist.Normal(parameters["loc"].unsqueeze(-1), 1.0).to_event(1),
)
NOT_DESCRIBED = {
    "another program": (Companion(gaussian2d(), 3), "model is a Companion, expected a Mixture"),
    "a subclass": (MixtureOfMine(KNOWN_PRIOR, KNOWN_FAMILY), "model is a MixtureOfMine, expected a Mixture"),
    "a name": (Mixture(KNOWN_PRIOR, KNOWN_FAMILY, name=3), "model.name is 3, expected text"),
    "a prior": (Mixture(PriorOfMine(0.7), KNOWN_FAMILY), "prior is of class 'PriorOfMine' .* not registered"),
    "a family": (
        Mixture(KNOWN_PRIOR, BernoulliOfMine(2)),
        "component is of class 'BernoulliBeta' of .* not registered",
    ),
    "own code": (Mixture(KNOWN_PRIOR, OWN_CODE), "component is of class 'PyroComponent' .*keep the code"),
    "a distribution": (
        Mixture(ChineseRestaurantPrior(dist.Weibull(1.0, 2.0)), KNOWN_FAMILY),
        "prior.concentration: unknown distribution 'Weibull'",
    ),
    "a subclass of a distribution": (
        Mixture(ChineseRestaurantPrior(Gamma(1.0, 2.0)), KNOWN_FAMILY),
        "prior.concentration is a Gamma of .*, expected Pyro's or torch's",
    ),
    "half precision": (
        Mixture(
            ChineseRestaurantPrior(dist.Gamma(torch.ones(()).half(), torch.ones(()).half())), KNOWN_FAMILY
        ),
        "prior.concentration has parameters of float16",
    ),
}


@pytest.mark.parametrize("case", NOT_DESCRIBED)
def test_what_cannot_be_built_again_is_not_described(case):
    model, expected = NOT_DESCRIBED[case]
    with pytest.raises(ValueError, match=expected) as caught:
        describe_model(model)
    assert "\n" not in str(caught.value)


CRP = {"class": "ChineseRestaurantPrior", "concentration": 0.7}
KNOWN = {"class": "NormalKnownVariance", "dim": 2}


def mixture(**changes: Any) -> dict[str, Any]:
    return {"name": "mine", "arguments": {"prior": CRP, "component": KNOWN} | changes}


def with_concentration(value: Any) -> dict[str, Any]:
    return mixture(prior={"class": "ChineseRestaurantPrior", "concentration": value})


def random_concentration(**parameters: Any) -> dict[str, Any]:
    return with_concentration({"class": "Gamma", "concentration": 1.0, "rate": 2.0} | parameters)


def nested_products(depth: int) -> dict[str, Any]:
    family: dict[str, Any] = KNOWN
    for _ in range(depth):
        family = {"class": "Product", "parts": [family]}
    return mixture(component=family)


def nested_lists(depth: int) -> Any:
    value: Any = 0.5
    for _ in range(depth):
        value = [value]
    return value


REFUSED = {
    "no table": ([], r"model is \[\], expected a table"),
    "name": ({"name": "overlap", "dim": 2}, "unknown model 'overlap', did you mean 'overlap2d'"),
    "arguments of another kind": (
        {"name": "overlap2d", "arguments": 3},
        "model.arguments is 3, expected a table",
    ),
    "arguments and others": (
        {"name": "overlap2d", "arguments": {}, "dim": 2},
        "unknown argument 'model.dim'",
    ),
    "argument": (
        {"name": "gaussian2d", "dims": 2},
        "unknown argument 'gaussian2d.dims', did you mean 'gaussian2d.dim'",
    ),
    "shared hyperparameter": (
        {"name": "nig_mixture", "rate": 2.0},
        "nig_mixture.rate: .* both prior and component",
    ),
    "hyperparameter out of range": ({"name": "gaussian2d", "scale": -2.0}, "gaussian2d.scale: scale is -2.0"),
    "dim of another kind": (
        {"name": "gaussian2d", "dim": "2"},
        "gaussian2d.dim is '2', expected a whole number",
    ),
    "dim, bool": ({"name": "gaussian2d", "dim": True}, "gaussian2d.dim is True, expected a whole number"),
    "no prior": ({"component": KNOWN}, "model lacks 'prior', expected prior, component"),
    "class": (
        mixture(prior={"class": "PitmanYor"}),
        "prior: unknown class 'PitmanYor', did you mean 'PitmanYorPrior'",
    ),
    "class, dangerous": (mixture(prior={"class": "os.system"}), "prior: unknown class 'os.system'"),
    "prior for family": (mixture(component=CRP), "component: unknown class 'ChineseRestaurantPrior'"),
    "unknown argument": (mixture(prior=CRP | {"discont": 1}), "unknown argument 'prior.discont'"),
    "missing argument": (
        mixture(prior={"class": "PitmanYorPrior", "concentration": 0.7}),
        "prior lacks 'discount', expected discount, concentration",
    ),
    "nan": (with_concentration(float("nan")), "prior.concentration is nan, expected a finite number"),
    "out of range": (with_concentration(-1.0), "prior: concentration is -1.0, expected a positive number"),
    "empty list": (with_concentration([]), "prior.concentration is .*, expected a list of finite numbers"),
    "ragged list": (with_concentration([[1.0], [1.0, 2.0]]), "expected a list of finite numbers"),
    "list of truths": (with_concentration([True]), "expected a list of finite numbers"),
    "class of another kind": (mixture(prior={"class": [3]}), r"prior.class is \[3\], expected text"),
    "random where it must be known": (
        mixture(prior={"class": "GammaConcentration", "shape": {"class": "Gamma"}, "rate": 1.0}),
        "prior.shape is .*, expected a finite number",
    ),
    "number where a distribution is needed": (
        mixture(prior={"class": "FiniteMixturesPrior", "weight_concentration": 1.0, "extra_components": 3}),
        "prior.extra_components is 3, expected a distribution",
    ),
    "continuous extra components": (
        mixture(
            prior={
                "class": "FiniteMixturesPrior",
                "weight_concentration": 1.0,
                "extra_components": {"class": "Exponential", "rate": 1.0},
            }
        ),
        "prior: extra_components is Exponential",
    ),
    "unknown distribution": (
        random_concentration(**{"class": "Gama"}),
        "unknown distribution 'Gama', did you mean 'Gamma'",
    ),
    "missing parameter": (
        with_concentration({"class": "Gamma", "rate": 1.0}),
        "prior.concentration lacks 'concentration'",
    ),
    "parameter out of range": (
        random_concentration(rate=-1.0),
        "prior.concentration: Expected parameter rate",
    ),
    "validation": (
        random_concentration(validate_args=False),
        "unknown argument 'prior.concentration.validate_args'",
    ),
    "batch of priors": (
        random_concentration(rate=[1.0, 2.0]),
        r"prior: concentration has a prior of shape \(2,\)",
    ),
    "dtype": (random_concentration(dtype="int64"), "prior.concentration.dtype is 'int64'"),
    "both probs and logits": (
        with_concentration({"class": "Geometric", "probs": 0.1, "logits": 0.1}),
        "prior.concentration: Either `probs` or `logits` must be specified",
    ),
    "parts of another kind": (
        mixture(component={"class": "Product", "parts": 3}),
        "component.parts is 3, expected a list",
    ),
    "a part that is not conjugate": (
        mixture(component={"class": "Product", "parts": [{"class": "student_t"}]}),
        "unknown class 'student_t'. Known: BernoulliBeta",
    ),
    "a factory's argument": (
        mixture(component={"class": "student_t", "dof": -1.0}),
        "component: dof is -1.0",
    ),
    "the same name twice": (
        mixture(
            prior={
                "class": "PitmanYorPrior",
                "discount": 0.0,
                "concentration": {"class": "Exponential", "rate": 1.0},
            },
            component={
                "class": "MultinomialDirichlet",
                "dim": 2,
                "concentration": {"class": "Exponential", "rate": 1.0},
            },
        ),
        "concentration is random in both",
    ),
    "deeply nested products": (nested_products(100_000), "nested more than 24 deep"),
    "deeply nested lists": (with_concentration(nested_lists(100_000)), "nested more than 24 deep"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_one_sentence(case):
    described, expected = REFUSED[case]
    with pytest.raises(ValueError, match=expected) as caught:
        build_model(described)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_some_nesting_is_fine():
    assert again(build_model(nested_products(4))).component.dim == 2


def test_a_factory_keeps_its_defaults():
    built = build_model(mixture(component={"class": "student_t", "dof": 3}))
    assert built.component.origin == student_t(dof=3.0).origin
    assert built.component.origin[1].keys() == inspect.signature(student_t).parameters.keys()


def test_building_leaves_the_random_state_alone():
    before = torch.random.get_rng_state()
    build_model(describe_model(Mixture(KNOWN_PRIOR, FAMILIES["student_t_2"])))
    assert torch.equal(before, torch.random.get_rng_state())
