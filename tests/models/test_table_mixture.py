"""The mixture for columns of several kinds: its parts, its prior predictive, and what it refuses."""

import re

import numpy as np
import pytest
import torch

from pyroclust.distributions import PartlyObserved
from pyroclust.infer import exact_posterior
from pyroclust.infer.mcmc import CollapsedGibbs
from pyroclust.infer.simulation import simulate
from pyroclust.models import (
    default_mixture,
    in_words,
    niw_mixture,
    normal_mixture,
    standardised_mixture,
    table_mixture,
)
from pyroclust.saving.models import build_model, describe_model

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
    every, exact = exact_posterior(model, data)
    draws = CollapsedGibbs(model).run(data, num_draws=10_000, warmup=200, num_chains=1, seed=1).assignments
    code = {tuple(one): at for at, one in enumerate(every.tolist())}
    found = np.bincount([code[tuple(one)] for one in draws.reshape(-1, 6).tolist()], minlength=len(every))
    assert 0.5 * np.abs(found / found.sum() - exact.exp().numpy()).sum() < 0.03


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
