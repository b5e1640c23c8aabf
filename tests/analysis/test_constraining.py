"""Constraints in a comparison: every draw keeps them, the answer is that of enumeration, or it is refused."""

import numpy as np
import pandas as pd
import pytest
import torch

from pyroclust import compare, forest
from pyroclust.analysis.constraining import constrained, constraints_of
from pyroclust.analysis.picking import ModelAndGuide
from pyroclust.data import read_table
from pyroclust.diagnostics import co_assignment
from pyroclust.guides import PredictiveFilter
from pyroclust.infer import exact_posterior, log_evidence
from pyroclust.models import nig_mixture, normal_mixture, standardised_mixture, warped_clusters
from pyroclust.partitions.constraints import Constraints

# Two groups of values, and one between them.
SEVEN = pd.DataFrame({"a": [0.0, 0.3, 0.5, 2.0, 3.4, 3.7, 4.0]})
MUST, CANNOT = [(0, 3)], [(1, 2)]
KNOWN = Constraints.of(7, must_link=MUST, cannot_link=CANNOT)
QUICK = {"num_draws": 400, "mcmc_draws": 500, "warmup": 50}
FEW = {"num_draws": 20, "mcmc_draws": 20, "num_chains": 2, "warmup": 20}


@pytest.fixture(scope="module", params=["exact filter", "none"])
def seven(request):
    known = {"must_link": MUST, "cannot_link": CANNOT}
    if request.param == "none":
        return compare(SEVEN, guide="none", also=["evidence"], **known, **QUICK)
    return compare(SEVEN, guide=PredictiveFilter(nig_mixture(1)), refine=True, **known, **QUICK)


def model_of(found):
    return nig_mixture(1) if found.guide is not None else normal_mixture(1)


def exact(model, data):
    partitions, log_probs = exact_posterior(model, data)
    weights = log_probs.exp().numpy()
    return co_assignment(partitions.numpy(), weights=weights / weights.sum())


def test_every_draw_of_every_source_keeps_the_constraints(seven):
    for one in seven.draws.values():
        assert KNOWN.allows(torch.from_numpy(one.assignments)).all()
    assert not seven.constraints.free.kept.all()
    for estimate in seven.estimates.values():
        assert KNOWN.allows(torch.from_numpy(estimate.assignments))


def test_the_answer_is_that_of_enumeration(seven):
    data = torch.from_numpy(seven.data.values)
    model = model_of(seven)
    with_known = exact(model.under(KNOWN), data)
    summary = seven.results["constraints"]
    np.testing.assert_allclose(summary.effect.together_after, with_known, atol=0.1)
    np.testing.assert_allclose(summary.effect.together_before, exact(model, data), atol=0.1)
    np.testing.assert_allclose(seven.summary("mcmc").co_assignment, with_known, atol=0.06)


def test_the_bayes_factor_is_that_of_enumeration(seven):
    data = torch.from_numpy(seven.data.values)
    model = model_of(seven)
    known = model.under(KNOWN)
    odds = seven.results["constraints"].odds
    posterior = float(log_evidence(known, data) - log_evidence(model, data))
    assert odds.log_prior == pytest.approx(float(known.log_prob_constraints()))
    assert odds.log_posterior == pytest.approx(posterior, abs=max(4 * odds.error, 0.1))
    assert odds.finding.question == "Do the data speak for the constraints?"
    assert odds.finding in seven.findings


def test_the_page_and_the_file_say_it(seven):
    figures = seven.to_dict()["constraints"]
    assert figures["known"]["rows"] == 4
    assert figures["odds"]["sentence"] == seven.results["constraints"].odds.sentence
    assert "4 of them constrained" in seven.introduction


def test_simulations_know_of_no_constraints_and_the_page_says_so(seven):
    said = any("nothing is known" in note for note in seven.notes)
    assert said is (seven.guide is not None)
    assert seven.failures == []


@pytest.fixture(scope="module")
def not_refined():
    return compare(SEVEN, must_link=MUST, **QUICK)


def test_without_refining_the_free_posterior_is_that_of_chains(not_refined):
    assert "refined" not in not_refined.draws
    assert not_refined.constraints.free.draws.assignments.shape[0] == 4
    assert not_refined.constraints.free.evidences


def test_the_free_posterior_has_a_seed_and_leaves_the_random_state_alone(not_refined):
    before = torch.get_rng_state()
    again = compare(SEVEN, must_link=MUST, **QUICK)
    assert repr(again.constraints.free.evidences) == repr(not_refined.constraints.free.evidences)
    assert torch.equal(torch.get_rng_state(), before)


def test_partial_labels_are_constraints(tmp_path):
    frame = SEVEN.assign(known=["x", None, None, "x", None, None, "y"])
    found = compare(frame, partial_labels="known", guide="none", num_chains=2, mcmc_draws=20, warmup=20)
    assert found.data.points.columns == ("a",)
    draws = found.draws["mcmc"].assignments
    assert (draws[..., 0] == draws[..., 3]).all()
    assert (draws[..., 0] != draws[..., 6]).all()
    assert found.constraints.spelled == (
        "Together: rows 1, 4.",
        "Apart: rows with different labels (x, y).",
    )


def test_pairs_in_python_are_named_by_their_points():
    with pytest.raises(ValueError, match=r"the pair \(0, 3\), and these points must be together by \(0, 3\)"):
        compare(SEVEN, must_link=MUST, cannot_link=MUST)


def test_nothing_given_is_nothing_known():
    assert constraints_of(read_table(SEVEN), must_link=None, cannot_link=None) == (None, None)


@pytest.mark.parametrize("pairs", [[], [(2, 2)]])
def test_pairs_that_say_nothing_are_refused(pairs):
    with pytest.raises(ValueError, match="must_link given, but nothing is said of any two rows"):
        compare(SEVEN, must_link=pairs)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (standardised_mixture(2, family="student-t"), "take --family niw or nig"),
        (warped_clusters(), "can only be simulated"),
    ],
)
def test_models_that_nothing_holds_are_refused(model, said):
    with pytest.raises(ValueError, match=said):
        constrained(ModelAndGuide(model=model), KNOWN, is_default=True)


class Stubborn(PredictiveFilter):
    why_no_constraints = "it does not listen"


def test_a_guide_that_cannot_be_held_is_refused_and_a_default_one_replaced():
    guide = Stubborn(nig_mixture(1))
    picked = ModelAndGuide(model=guide.model, guide=guide, name="mine")
    with pytest.raises(ValueError, match=r"'mine' cannot be held to constraints \(it does not listen\)"):
        constrained(picked, KNOWN, is_default=False)
    free, own = constrained(picked, KNOWN, is_default=True)
    assert (free.name, own.name) == ("exact filter", "exact filter")
    assert own.guide.constraints == KNOWN
    assert free.guide.constraints is None
    assert "cannot be held" in own.notes[0]


def test_graphs_take_no_constraints():
    with pytest.raises(ValueError, match="karate has nodes of a graph, expected rows of columns"):
        compare("karate", must_link=[(0, 1)])
    with pytest.raises(ValueError, match="partial_labels is given, but source has nodes of a graph"):
        compare("karate", partial_labels="club")


def test_other_constraints_are_another_run(tmp_path):
    settings = {"guide": "none", "num_chains": 2, "mcmc_draws": 20, "warmup": 20, "out": tmp_path / "out"}
    compare(SEVEN, must_link=MUST, **settings)
    compare(SEVEN, must_link=[(3, 0)], **settings)
    with pytest.raises(ValueError, match="holds the results of another run"):
        compare(SEVEN, cannot_link=CANNOT, **settings)


def test_forests_keep_constraints_and_say_what_they_changed():
    found = forest(SEVEN, num_clusters=3, must_link=MUST, cannot_link=CANNOT, num_draws=200)
    assert KNOWN.allows(torch.from_numpy(found.draws["forest"].assignments)).all()
    assert KNOWN.allows(torch.from_numpy(found.estimates["forest"].assignments))
    assert found.results["constraints"].odds is None
    assert found.results["constraints"].effect.change.max() > 0
    assert found.verdict.level.value == "not confirmed"


def test_more_trees_than_asked_are_reported():
    apart = [(0, 1), (1, 2), (0, 2)]
    found = forest(SEVEN, num_clusters=2, cannot_link=apart, num_draws=100)
    assert found.about["more_clusters_than_asked"] == 1
    assert found.findings[0].passed is False


def test_rows_that_are_all_equally_far_apart_are_refused():
    for rows in (np.zeros((3, 1)), np.eye(3)):
        with pytest.raises(ValueError, match="all rows are equally far apart"):
            forest(
                pd.DataFrame(rows, columns=[f"x{one}" for one in range(rows.shape[1])]),
                num_clusters=2,
                raw=True,
            )


def test_a_prior_gives_the_number_of_trees():
    found = forest(SEVEN, expected_clusters=3, num_draws=200)
    assert len(found.num_clusters()[0]) > 2
    assert "gamma-crp has clusters, 3 on average" in found.about["asked"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "no number of clusters is given"),
        ({"num_clusters": 2, "prior": "crp"}, "num_clusters and prior are both given"),
        ({"num_clusters": 9}, "num_clusters"),
        ({"num_clusters": 7, "must_link": MUST}, "expected at most 6"),
    ],
)
def test_other_numbers_of_trees_are_refused(asked, said):
    with pytest.raises(ValueError, match=said):
        forest(SEVEN, **asked)
