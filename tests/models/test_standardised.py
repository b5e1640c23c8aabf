"""Models by the names of their family and prior, and what is said of them."""

import re

import pytest
import torch

from pyroclust.distributions import ChineseRestaurantPrior, NormalInverseWishart, Product
from pyroclust.infer import simulate
from pyroclust.models import (
    FAMILIES,
    PRIORS,
    Mixture,
    gaussian2d,
    in_words,
    niw_mixture,
    normal_mixture,
    standardised_mixture,
    warped_clusters,
)
from pyroclust.saving.models import build_model, describe_model

EVERY = [(family, prior) for family in FAMILIES for prior in PRIORS]


def test_the_defaults_are_the_models_of_the_shelf():
    assert standardised_mixture(1) == normal_mixture(1)
    assert standardised_mixture(13) == normal_mixture(13)
    assert standardised_mixture(13).name == "normal_mixture"
    assert standardised_mixture(2, family="nig", prior="gamma-crp").name == "nig_mixture"
    assert standardised_mixture(13, family="niw", prior="gamma-crp") == niw_mixture(13)
    assert standardised_mixture(2, concentration=0.7).prior == ChineseRestaurantPrior(0.7)


@pytest.mark.parametrize(("family", "prior"), EVERY)
def test_every_name_makes_a_model_that_simulates_and_is_described(family, prior):
    model = standardised_mixture(3, family=family, prior=prior)
    assert simulate(model, torch.empty(2, 4, 3))[0].shape == (2, 4, 3)
    assert build_model(describe_model(model)) == model
    assert model.has_likelihood == (family != "student-t")


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("expected", [1.5, 6.0, 60.0])
def test_the_expected_number_of_clusters_is_the_prior_mean(prior, expected):
    model = standardised_mixture(2, prior=prior, expected_clusters=expected, num_points=100)
    assert float(model.prior.expected_num_clusters(100)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("prior", ["crp", "py", "mfm"])
def test_a_concentration_is_that_of_the_prior(prior):
    found = standardised_mixture(2, prior=prior, concentration=1.7).prior
    name = "weight_concentration" if prior == "mfm" else "concentration"
    assert getattr(found, name) == 1.7


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"family": "gamma"}, "unknown family 'gamma'. Known: diagonal, nig, niw, normal, student-t"),
        ({"prior": "dp"}, "unknown prior 'dp', did you mean 'py'? Known: crp, gamma-crp, mfm, py"),
        (
            {"prior": "gamma-crp", "concentration": 2.0},
            "concentration is 2.0, but it is random under prior 'gamma-crp': choose prior crp or py or mfm, "
            "or say how many clusters you expect",
        ),
        (
            {"concentration": 1.0, "expected_clusters": 3.0},
            "concentration is 1.0 and expected_clusters is 3.0, expected one of them",
        ),
        ({"concentration": 0.0}, "concentration is 0.0, expected a positive number"),
        ({"expected_clusters": 1.0}, "expected_clusters is 1.0, expected a number of at least 1.01"),
        (
            {"expected_clusters": 40.0},
            "expected_clusters is 40, expected at most 34.3999: prior 'mfm' reaches no more in 40",
        ),
        ({"expected_clusters": float("nan")}, "expected_clusters is nan, expected a number of at least 1.01"),
        ({"concentration": float("inf")}, "concentration is inf, expected a positive number"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(asked, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        standardised_mixture(2, num_points=40, **asked)


@pytest.mark.parametrize(("family", "prior"), EVERY)
def test_words_and_formula_have_the_numbers_of_the_model(family, prior):
    said = in_words(standardised_mixture(3, family=family, prior=prior))
    symbols = {"niw": "IW(5, 0.2 I)", "nig": "IG(2, 0.2)", "student-t": "t(4, μ_kd, τ_kd^(-1/2))"}
    symbols |= {"normal": "IW(5, scale I)", "diagonal": "IG(2, rate)"}
    laws = {"gamma-crp": "CRP(α)", "crp": "CRP(0.5)", "py": "PY(0.25, 0.3)", "mfm": "M - 1 ~ Geometric(0.4)"}
    assert symbols[family] in said
    assert laws[prior] in said
    is_random = family in ("normal", "diagonal")
    assert ("one random number for all of them, before the data around 0.2 (" in said) == is_random
    assert ("scale ~ LogNormal(log 0.2, 1)" in said) == (family == "normal")
    assert ("1 with probability 0.4, and each further number 0.6 times" in said) == (prior == "mfm")
    assert "{" not in said


def test_models_without_a_formula_of_their_own_say_what_they_are():
    assert "N(0, 10²)" in in_words(gaussian2d())
    assert "known by its simulations alone" in in_words(type("Other", (), {"name": "mine"})())
    assert "PyroComponent" in in_words(warped_clusters())
    both = Product([NormalInverseWishart(2, 0.1, dof=4.0, scale=1.0)])
    assert "columns 1 to 2: normal clusters, each with a mean and a full" in in_words(
        Mixture(niw_mixture().prior, both)
    )
