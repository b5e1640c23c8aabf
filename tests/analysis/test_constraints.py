"""Constraints and numbers of clusters: every draw keeps to them, as enumeration has it, or it is refused."""

import json

import numpy as np
import pandas as pd
import pytest
import torch

from pyroclust import Analysis, cluster, compare, forest, predict, update
from pyroclust.analysis.constraining import constrained
from pyroclust.analysis.picking import ModelAndGuide
from pyroclust.diagnostics import co_assignment
from pyroclust.guides import PredictiveFilter
from pyroclust.infer import exact_posterior, log_evidence, refine
from pyroclust.models import nig_mixture, normal_mixture, warped_clusters
from pyroclust.partitions.constraints import Constraints
from pyroclust.results.step_results import RowConstraints

# Two groups of values, and one between them.
SEVEN = pd.DataFrame({"a": [0.0, 0.3, 0.5, 2.0, 3.4, 3.7, 4.0]})
MUST, CANNOT = [(0, 3)], [(1, 2)]
KNOWN = Constraints.of(7, must_link=MUST, cannot_link=CANNOT)
QUICK = {"num_draws": 400, "mcmc_draws": 500, "warmup": 50}
MANY = QUICK | {"num_draws": 1000}
FEW = {"mcmc_draws": 40, "num_chains": 2, "warmup": 40}


def exact(model, data):
    partitions, log_probs = exact_posterior(model, data)
    weights = log_probs.exp().numpy()
    return co_assignment(partitions.numpy(), weights=weights / weights.sum())


@pytest.fixture(scope="module", params=["exact filter", "none"])
def seven(request):
    known = {"must_link": MUST, "cannot_link": CANNOT}
    if request.param == "none":
        return compare(SEVEN, guide="none", also=["evidence"], **known, **QUICK)
    return compare(SEVEN, guide=PredictiveFilter(nig_mixture(1)), refine=True, **known, **QUICK)


def model_of(found):
    return nig_mixture(1) if found.guide is not None else normal_mixture(1)


def test_every_draw_of_every_source_keeps_the_constraints(seven):
    for one in seven.draws.values():
        assert KNOWN.allows(torch.from_numpy(one.assignments)).all()
    assert not seven.constraints.free.kept.all()
    for estimate in seven.estimates.values():
        assert KNOWN.allows(torch.from_numpy(estimate.assignments))


def test_the_answer_is_that_of_enumeration(seven):
    data, model = torch.from_numpy(seven.data.values), model_of(seven)
    with_known, summary = exact(model.under(KNOWN), data), seven.results["constraints"]
    np.testing.assert_allclose(summary.effect.together_after, with_known, atol=0.1)
    np.testing.assert_allclose(summary.effect.together_before, exact(model, data), atol=0.1)
    np.testing.assert_allclose(seven.summary("mcmc").co_assignment, with_known, atol=0.06)


def test_the_bayes_factor_is_that_of_enumeration_and_said_in_page_and_file(seven):
    data, model = torch.from_numpy(seven.data.values), model_of(seven)
    known, odds = model.under(KNOWN), seven.results["constraints"].odds
    posterior = float(log_evidence(known, data) - log_evidence(model, data))
    assert odds.log_prior == pytest.approx(float(known.log_prob_constraints()))
    assert odds.log_posterior == pytest.approx(posterior, abs=max(4 * odds.error, 0.1))
    assert odds.finding.question == "Do the data speak for the constraints?"
    assert odds.finding in seven.findings
    figures = seven.to_dict()["constraints"]
    assert figures["known"]["rows"] == 4
    assert figures["odds"]["sentence"] == odds.sentence
    assert "4 of them constrained" in seven.introduction
    # Simulations know of no constraints.
    assert any("nothing is known" in note for note in seven.notes) is (seven.guide is not None)
    assert seven.failures == []


def test_without_refining_the_free_posterior_is_that_of_chains_with_a_seed():
    not_refined = compare(SEVEN, must_link=MUST, **QUICK)
    assert "refined" not in not_refined.draws
    assert not_refined.constraints.free.draws.assignments.shape[0] == 4
    assert not_refined.constraints.free.evidences
    before = torch.get_rng_state()
    again = compare(SEVEN, must_link=MUST, **QUICK)
    assert repr(again.constraints.free.evidences) == repr(not_refined.constraints.free.evidences)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.fixture(scope="module")
def three():
    return compare(SEVEN, guide=PredictiveFilter(nig_mixture(1)), clusters=(3, 4), refine=True, **MANY)


def test_every_source_has_such_a_number_and_is_that_of_enumeration(three):
    data, model = torch.from_numpy(three.data.values), nig_mixture(1).constrained(clusters=(3, 4))
    expected = exact(model, data)
    for name, one in three.draws.items():
        if name != "proposals":
            assert set(one.num_clusters.ravel().tolist()) == {3, 4}
            near = 0.25 if name == "guide" else 0.08
            np.testing.assert_allclose(three.summary(name).co_assignment, expected, atol=near)
    assert {one.num_clusters for one in three.estimates.values()} <= {3, 4}


def test_log_q_and_evidence_count_the_share(three):
    data, model = torch.from_numpy(three.data.values), nig_mixture(1)
    inside = model.constrained(clusters=(3, 4))
    share, evidence = three.about["share_of_guide_draws_inside"], float(log_evidence(inside, data))
    assert 0.2 < share < 0.8
    assert three.draws["guide"].num_draws == round(1000 * share)
    said = f"{round(1000 * share)} ({100 * share:.3g} %) have between 3 and 4 clusters"
    assert said in " ".join(three.notes)
    weights = three.results["weights"].log_weights
    assert np.logaddexp.reduce(weights.ravel()) - np.log(weights.size) == pytest.approx(evidence, abs=0.2)
    for one in three.results["refining"].evidences:
        assert one.estimate == pytest.approx(evidence, abs=0.3)
    odds = three.results["constraints"].odds
    prior = inside.under(inside.constraints.over(7)).log_prob_constraints()
    assert odds.log_prior == pytest.approx(float(prior))
    assert odds.log_posterior == pytest.approx(evidence - float(log_evidence(model, data)), abs=0.3)


def test_the_first_words_and_the_file_say_it(three, tmp_path):
    assert three.in_words.how_many.startswith("3 clusters, given between 3 and 4 clusters (probability ")
    assert three.introduction.startswith("7 rows of a, given between 3 and 4 clusters.")
    assert "given between 3 and 4 clusters" in three.model.in_words
    assert any(note.startswith("Of 1,000 draws of the guide ") for note in three.notes)
    figures = three.to_dict()
    assert figures["clusters"] == [3, 4]
    assert figures["answer_in_words"]["given"] == "between 3 and 4 clusters"
    three.save(tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "given between 3 and 4 clusters" in page[: page.index("</title>")]
    again = Analysis.read(tmp_path / "out")
    assert again.in_words.given == three.in_words.given
    assert any("a new row may be in one more" in note for note in predict(again, [0.1]).notes)
    with pytest.raises(ValueError, match="source has constraints on its rows"):
        update(again, [0.1])


def test_a_guide_with_too_few_draws_inside_is_of_no_use_and_says_so():
    found = compare(SEVEN, guide=PredictiveFilter(nig_mixture(1)), clusters=(6, 7), **MANY)
    assert found.draws.keys() == {"mcmc"}
    assert found.guide is found.to_dict()["guide"] is None
    said = [note for note in found.notes if "fewer than 100: the guide is of no use here" in note]
    assert len(said) == 1
    expected = exact(nig_mixture(1).constrained(clusters=(6, 7)), torch.from_numpy(found.data.values))
    np.testing.assert_allclose(found.summary("mcmc").co_assignment, expected, atol=0.08)


def test_partial_labels_and_links_hold_beside_a_number():
    frame = SEVEN.assign(known=["x", None, None, None, "y", None, None])
    found = compare(frame, partial_labels="known", clusters=2, must_link=MUST, **MANY)
    assert found.data.points.columns == ("a",)
    draws = found.draws["mcmc"].assignments
    assert (draws.max(-1) == 1).all()
    assert (draws[..., 0] == draws[..., 3]).all()
    assert (draws[..., 0] != draws[..., 4]).all()
    assert found.constraints.allows(found.summary("mcmc").assignments)
    assert found.constraints.spelled[-1] == "Apart: rows with different labels (x, y)."
    known = Constraints.of(7, must_link=MUST, cannot_link=[(0, 4)], clusters=2)
    model = {"nig_mixture": nig_mixture, "normal_mixture": normal_mixture}[found.model.name](1).under(known)
    expected = exact(model, torch.from_numpy(found.data.values))
    np.testing.assert_allclose(found.summary("mcmc").co_assignment, expected, atol=0.08)
    assert found.in_words.how_many.startswith("2 clusters, given 2 clusters (")
    assert "3 of them constrained, given 2 clusters" in found.introduction


def test_random_hyperparameters_draw_inside_also_where_nothing_weighs_the_guide():
    model, data = normal_mixture(1).constrained(clusters=2), torch.tensor([[0.0], [0.1], [1.0], [1.1], [2.0]])
    draws, _ = refine(model, PredictiveFilter(normal_mixture(1)), data.double(), num_draws=50, seed=0)
    assert (draws.assignments.max(-1) == 1).all()


def test_families_that_are_not_conjugate_keep_to_a_number():
    found = cluster(SEVEN, clusters=(2, 3), family="student-t", **FEW | {"mcmc_draws": 20, "warmup": 20})
    assert set(found.draws["mcmc"].num_clusters.ravel().tolist()) <= {2, 3}
    assert found.in_words.given == "between 2 and 3 clusters"
    assert np.isnan(found.results["constraints"].odds.error) or found.constraints.free.kept.any()


def test_other_constraints_are_another_run_and_repeated_as_they_are_typed(tmp_path):
    found = cluster(SEVEN, clusters=(2, 3), must_link=MUST, out=tmp_path / "out", **FEW)
    assert "--clusters 2-3" in found.repeat.as_command("cluster")
    written = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    assert written["repeat"]["arguments"]["clusters"] == [2, 3]
    cluster(SEVEN, clusters=(2, 3), must_link=[(3, 0)], out=tmp_path / "out", **FEW)
    for other in ({"clusters": (2, 4), "must_link": MUST}, {"clusters": (2, 3), "cannot_link": CANNOT}):
        with pytest.raises(ValueError, match="holds the results of another run"):
            cluster(SEVEN, **other, out=tmp_path / "out", **FEW)
    exactly = cluster(SEVEN, clusters=2, **FEW).repeat.as_command("cluster")
    assert "--clusters 2" in exactly.split(" --mcmc")[0]


REFUSED = [
    (cluster, SEVEN, {"clusters": 0}, "clusters is 0, expected a number of at least 1, as 3, or the fewest"),
    (cluster, SEVEN, {"clusters": (4, 2)}, r"clusters is \(4, 2\), expected a number of at least 1"),
    (cluster, SEVEN, {"clusters": "3"}, "clusters is '3', expected a number of at least 1"),
    (
        cluster,
        SEVEN,
        {"clusters": (6, 7), "must_link": [(0, 1), (1, 2)]},
        "at least 6, and what must be together makes 5 groups of the 7 rows: expected at most 5",
    ),
    (cluster, SEVEN, {"num_clusters": 3}, r"num_clusters is 3, .*: take clusters \(--clusters\), as 3 or"),
    (cluster, "karate", {"clusters": 2}, "clusters is given, but karate has nodes of a graph"),
    (compare, "karate", {"partial_labels": "club"}, "partial_labels is given, but source has nodes"),
    (compare, SEVEN, {"must_link": MUST, "cannot_link": MUST}, r"the pair \(0, 3\), and these points must"),
    (compare, SEVEN, {"must_link": []}, "must_link given, but nothing is said of any two rows"),
    (compare, SEVEN, {"must_link": [(2, 2)]}, "must_link given, but nothing is said of any two rows"),
    (forest, SEVEN, {}, "no number of clusters is given"),
    (forest, SEVEN, {"num_clusters": 7, "must_link": MUST}, "expected at most 6"),
    (forest, pd.DataFrame(np.zeros((3, 1))), {"num_clusters": 2, "raw": True}, "all rows are equally far"),
    (forest, pd.DataFrame(np.eye(3)), {"num_clusters": 2, "raw": True}, "all rows are equally far apart"),
]


@pytest.mark.parametrize(("function", "source", "options", "said"), REFUSED)
def test_what_cannot_be_is_one_sentence(function, source, options, said):
    with pytest.raises(ValueError, match=said):
        function(source, **options)


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
    # To a number of clusters any guide can be.
    _, own = constrained(picked, Constraints.of(7, clusters=2), is_default=False)
    assert own.guide.posterior(torch.zeros(7, 1)).sample((2,)).shape == (2, 7)
    with pytest.raises(ValueError, match="can only be simulated"):
        constrained(ModelAndGuide(model=warped_clusters()), KNOWN, is_default=True)


def test_forests_keep_constraints_and_say_what_they_changed():
    found = forest(SEVEN, num_clusters=3, must_link=MUST, cannot_link=CANNOT, num_draws=200)
    assert KNOWN.allows(torch.from_numpy(found.draws["forest"].assignments)).all()
    assert KNOWN.allows(torch.from_numpy(found.estimates["forest"].assignments))
    assert found.results["constraints"].odds is None
    assert found.results["constraints"].effect.change.max() > 0
    assert found.verdict.level.value == "not confirmed"
    more = forest(SEVEN, num_clusters=2, cannot_link=[(0, 1), (1, 2), (0, 2)], num_draws=100)
    assert more.about["more_clusters_than_asked"] == 1
    assert more.findings[0].passed is False
    of_prior = forest(SEVEN, expected_clusters=3, num_draws=200)
    assert len(of_prior.num_clusters()[0]) > 2
    assert "gamma-crp has clusters, 3 on average" in of_prior.about["asked"]


NO_PAIRS = np.empty((0, 2), dtype=np.int64)


def row_constraints(**changes):
    given = {
        "row_names": tuple(map(str, range(1, 31))),
        "groups": (),
        "must_link": NO_PAIRS,
        "cannot_link": NO_PAIRS,
        "labels": None,
        "apart": NO_PAIRS,
        "bound": np.arange(4),
    }
    return RowConstraints(**given | changes)


def test_the_first_groups_and_pairs_are_spelled():
    groups = tuple((2 * k, 2 * k + 1) for k in range(7))
    pairs = np.array([[20, 21 + k] for k in range(6)])
    found = row_constraints(groups=groups, cannot_link=pairs, apart=pairs).spelled
    assert found[0] == "Together: rows 1, 2."
    assert found[5] == "Apart: rows 21, 22."
    assert found[-1] == "And 2 more groups and 1 more pair."
    assert len(found) == 11
    labels = np.array(["a", "b", None] * 10, dtype=object)
    assert row_constraints(groups=(tuple(range(12)),), labels=labels).spelled == (
        "Together: rows 1, 2, 3, 4, 5, 6, 7, 8 and 4 more.",
        "Apart: rows with different labels (a, b).",
    )
