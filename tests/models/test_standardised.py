"""Models for standardised columns and for tables: names, parts, chains against enumeration, words."""

import re

import pytest
import torch
from partition_laws import partition_counts

from pyroclust.distributions import ChineseRestaurantPrior, NormalInverseWishart, PartlyObserved, Product
from pyroclust.infer import exact_posterior, simulate
from pyroclust.infer.mcmc import CollapsedGibbs
from pyroclust.infer.mcmc.named_kernels import named_kernel
from pyroclust.models import (
    FAMILIES,
    PRIORS,
    Mixture,
    PosteriorPredictive,
    default_mixture,
    gaussian2d,
    in_words,
    nig_mixture,
    niw_mixture,
    normal_mixture,
    standardised_mixture,
    table_mixture,
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


def points(dim):
    near, far = torch.randn(2, 3, dim, dtype=torch.float64).mul(0.2)
    return torch.cat([near - 0.7, far + 0.7])


def distance(draws, log_probs):
    """Return the total variation between draws and enumerated probabilities."""
    counts = partition_counts(torch.from_numpy(draws.flat)).double()
    return float(0.5 * (counts / counts.sum() - log_probs.exp()).abs().sum())


def test_names_make_it_and_older_models_keep_theirs():
    for dim in (1, 2, 5):
        for made in (
            standardised_mixture(dim, family="normal", prior="mfm"),
            table_mixture(numbers=dim, family="normal", prior="mfm"),
        ):
            assert made == normal_mixture(dim)
            assert made.name == "normal_mixture"
        assert table_mixture(numbers=dim) == (nig_mixture(1) if dim == 1 else niw_mixture(dim))
    mixed = table_mixture(numbers=2, yes_no=1, missing=True, family="normal", prior="mfm")
    assert mixed.component.integrated_names == {"0.rate"}
    assert mixed.has_likelihood


def test_log_joint_is_an_average_over_the_scale(seeded):
    model, data = normal_mixture(2), points(2)
    labels = torch.tensor([[0, 0, 0, 1, 1, 1], [0, 1, 2, 3, 4, 5]])
    law = model.hyperpriors["scale"]
    scales = law.icdf((torch.arange(4000, dtype=torch.float64) + 0.5) / 4000)
    each = model.given({"scale": scales.unsqueeze(-1)}).log_joint(data, labels)
    expected = each.logsumexp(0) - torch.tensor(4000.0).log()
    torch.testing.assert_close(model.log_joint(data, labels), expected, atol=2e-3, rtol=0)


@pytest.mark.parametrize("kernel", ["merge-split+gibbs", "gibbs+merge-split"])
@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("dim", [1, 2])
def test_chains_have_the_enumerated_posterior(kernel, constrained, dim, seeded):
    model: Mixture = normal_mixture(dim)
    if constrained:
        model = model.constrained(must_link=[(0, 3)], cannot_link=[(1, 2)])
    data = points(dim)
    draws = named_kernel(kernel, model).run(data, num_draws=8000, num_chains=4, warmup=200, seed=1)
    assert distance(draws, exact_posterior(model, data)[1]) < 0.03


def test_tables_with_gaps_have_the_enumerated_posterior(seeded):
    model = table_mixture(numbers=2, yes_no=1, missing=True, family="normal", prior="mfm")
    data = torch.cat([points(2), torch.tensor([[0.0], [0], [0], [1], [1], [1]]).double()], -1)
    data[2, 1] = data[4, 2] = torch.nan
    kernel = named_kernel("merge-split+gibbs", model)
    draws = kernel.run(data, num_draws=8000, num_chains=4, warmup=200, seed=1)
    assert distance(draws, exact_posterior(model, data)[1]) < 0.03


def test_new_points_need_no_values_of_the_scale(seeded):
    model, data = normal_mixture(2), points(2)
    labels = torch.tensor([[0, 0, 0, 1, 1, 1]]).expand(4000, -1)
    new = torch.tensor([[-0.6, -0.8], [0.0, 0.0]], dtype=torch.float64)
    found = PosteriorPredictive(model, data, labels).log_prob(new)
    # The ratio of two evidences, by enumeration of where the new point goes.
    before = model.log_joint(data, labels[0])
    for row, density in zip(new, found, strict=True):
        more = torch.cat([data, row[None]])
        after = torch.stack(
            [model.log_joint(more, torch.cat([labels[0], torch.tensor([k])])) for k in (0, 1, 2)]
        )
        assert float(density) == pytest.approx(float(after.logsumexp(0) - before), abs=0.05)


COLUMNS = {"numbers": 2, "count_means": [0.4, 0.7, 0.9], "yes_no": 1, "levels": [3, 4]}


def test_numbers_alone_are_the_mixture_of_the_shelf():
    assert table_mixture(numbers=3) == niw_mixture(3)
    assert default_mixture(numbers=3) == standardised_mixture(3) == normal_mixture(3)
    assert table_mixture(numbers=3, family="nig", prior="py") == standardised_mixture(
        3, family="nig", prior="py"
    )


def test_a_table_is_built_again_from_its_card():
    for missing in (False, True):
        model = table_mixture(**COLUMNS, missing=missing)
        assert build_model(describe_model(model)) == model
        assert model.component.dim == 8


def test_missing_cells_change_nothing_where_there_are_none():
    whole, gaps = table_mixture(**COLUMNS), table_mixture(**COLUMNS, missing=True)
    data = simulate(whole, torch.empty(4, 12, 8, dtype=torch.float64))[0]
    labels = torch.tensor([0, 0, 1, 1, 2, 0, 1, 2, 2, 0, 1, 3]).expand(4, -1)
    torch.testing.assert_close(whole.log_joint(data, labels), gaps.log_joint(data, labels))


def test_a_chain_of_a_mixed_table_with_gaps_has_the_exact_posterior():
    model = table_mixture(**COLUMNS, missing=True)
    torch.manual_seed(0)
    data = simulate(model, torch.empty(1, 6, 8, dtype=torch.float64))[0][0]
    data = data.masked_fill(torch.rand(data.shape) < 0.25, torch.nan)
    draws = CollapsedGibbs(model).run(data, num_draws=10_000, warmup=200, num_chains=1, seed=1)
    assert distance(draws, exact_posterior(model, data)[1]) < 0.03


def test_clusters_of_the_prior_look_like_those_of_tables():
    model = table_mixture(**COLUMNS)
    torch.manual_seed(1)
    drawn = model.component.sample_prior((4000,))
    share = drawn["2.probs"].flatten()
    assert 0.55 < ((share < 0.2) | (share > 0.8)).double().mean() < 0.65  # Beta(1/2, 1/2): .59
    mean = drawn["1.intensity"].flatten()
    assert mean.mean().item() == pytest.approx(2 / 3, rel=0.1)
    assert 0.85 < ((mean > 0.05 * 2 / 3) & (mean < 2)).double().mean() < 0.95


def test_the_words_name_every_group_of_columns():
    words = in_words(table_mixture(**COLUMNS, missing=True))
    for said in (
        "columns 1 to 2: normal",
        "columns 3 to 5: counts",
        "column 6: answers",
        "columns 7 to 8: categ",
    ):
        assert said in words
    assert "missing cells integrated out" in words


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "there are no columns, expected at least one"),
        ({"count_means": [2.0, 1.0]}, "expected numbers in rising order"),
        ({"count_means": [0.0]}, "count_means"),
        (
            {"numbers": 2, "family": "niw", "missing": True},
            "which integrate out where columns are independent",
        ),
        (
            {"numbers": 2, "yes_no": 1, "family": "student-t"},
            "expected 'normal', 'diagonal', 'nig' or 'niw' beside columns of other",
        ),
        ({"levels": [1]}, "levels"),
        ({"numbers": 2, "yes_no": 1, "prior": "dirichlet"}, "unknown prior 'dirichlet'"),
    ],
)
def test_what_cannot_be_is_refused(arguments, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        table_mixture(**arguments)


def test_a_full_covariance_of_the_numbers_stands_beside_other_kinds():
    model = table_mixture(**COLUMNS, family="niw")
    assert type(model.component.parts[0]).__name__ == "NormalInverseWishart"
    assert not isinstance(model.component.parts[0], PartlyObserved)
