"""A comparison given how many clusters there are: enumeration, shares of guides, what is said and refused."""

import json

import numpy as np
import pandas as pd
import pytest
import torch

from pyroclust import Analysis, cluster, compare, predict, update
from pyroclust.analysis.constraining import constrained
from pyroclust.analysis.picking import ModelAndGuide
from pyroclust.diagnostics import co_assignment
from pyroclust.guides import PredictiveFilter
from pyroclust.infer import exact_posterior, log_evidence, refine
from pyroclust.models import nig_mixture, normal_mixture, overlap2d
from pyroclust.partitions.constraints import Constraints
from pyroclust.sklearn import PartitionPosterior

# Two groups of values, and one between them.
SEVEN = pd.DataFrame({"a": [0.0, 0.3, 0.5, 2.0, 3.4, 3.7, 4.0]})
QUICK = {"num_draws": 1000, "mcmc_draws": 500, "warmup": 50}
FEW = {"mcmc_draws": 40, "num_chains": 2, "warmup": 40}
KNOWN = {"must_link": [(0, 1)], "cannot_link": [(0, 4)]}


def exact(model, data):
    partitions, log_probs = exact_posterior(model, data)
    weights = log_probs.exp().numpy()
    return co_assignment(partitions.numpy(), weights=weights / weights.sum())


@pytest.fixture(scope="module")
def three():
    return compare(SEVEN, guide=PredictiveFilter(nig_mixture(1)), clusters=(3, 4), refine=True, **QUICK)


def test_every_source_is_inside_and_that_of_enumeration(three):
    data, model = torch.from_numpy(three.data.values), nig_mixture(1).constrained(clusters=(3, 4))
    expected = exact(model, data)
    for name, one in three.draws.items():
        if name != "proposals":
            assert set(one.num_clusters.ravel().tolist()) == {3, 4}
            near = 0.25 if name == "guide" else 0.08
            np.testing.assert_allclose(three.summary(name).co_assignment, expected, atol=near)
    for estimate in three.estimates.values():
        assert estimate.num_clusters in (3, 4)


def test_log_q_and_evidence_count_the_share(three):
    data, model = torch.from_numpy(three.data.values), nig_mixture(1)
    inside = model.constrained(clusters=(3, 4))
    share = three.about["share_of_guide_draws_inside"]
    assert 0.2 < share < 0.8
    assert three.draws["guide"].num_draws == round(1000 * share)
    assert f"{round(1000 * share)} ({100 * share:.3g} %) have between 3 and 4 clusters" in " ".join(
        three.notes
    )
    weights = three.results["weights"].log_weights
    evidence = np.logaddexp.reduce(weights.ravel()) - np.log(weights.size)
    assert evidence == pytest.approx(float(log_evidence(inside, data)), abs=0.2)
    for one in three.results["refining"].evidences:
        assert one.estimate == pytest.approx(float(log_evidence(inside, data)), abs=0.3)
    odds = three.results["constraints"].odds
    assert odds.log_prior == pytest.approx(float(prior_of(inside)))
    free = float(log_evidence(model, data))
    assert odds.log_posterior == pytest.approx(float(log_evidence(inside, data)) - free, abs=0.3)


def prior_of(model):
    return model.under(model.constraints.over(7)).log_prob_constraints()


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


def test_nothing_is_added_where_nothing_is_given():
    found = cluster(SEVEN, **FEW)
    figures = found.to_dict()
    assert figures.keys().isdisjoint({"clusters", "share_of_guide_draws_inside"})
    assert "given" not in figures["answer_in_words"]
    assert "given" not in found.in_words.how_many


def test_a_guide_with_too_few_draws_inside_is_of_no_use_and_says_so():
    found = compare(SEVEN, guide=PredictiveFilter(nig_mixture(1)), clusters=(6, 7), **QUICK)
    assert found.draws.keys() == {"mcmc"}
    assert found.guide is None
    assert found.to_dict()["guide"] is None
    said = [note for note in found.notes if "fewer than 100: the guide is of no use here" in note]
    assert len(said) == 1
    data = torch.from_numpy(found.data.values)
    expected = exact(nig_mixture(1).constrained(clusters=(6, 7)), data)
    np.testing.assert_allclose(found.summary("mcmc").co_assignment, expected, atol=0.08)


def test_links_and_labels_hold_beside_it():
    frame = SEVEN.assign(known=["x", None, None, None, "y", None, None])
    found = compare(frame, partial_labels="known", clusters=2, must_link=[(0, 3)], **QUICK)
    draws = found.draws["mcmc"].assignments
    assert (draws.max(-1) == 1).all()
    assert (draws[..., 0] == draws[..., 3]).all()
    assert (draws[..., 0] != draws[..., 4]).all()
    known = Constraints.of(7, must_link=[(0, 3)], cannot_link=[(0, 4)], clusters=2)
    assert found.constraints.allows(found.summary("mcmc").assignments)
    data = torch.from_numpy(found.data.values)
    model = found_model(found).under(known)
    np.testing.assert_allclose(found.summary("mcmc").co_assignment, exact(model, data), atol=0.08)
    assert found.in_words.how_many.startswith("2 clusters, given 2 clusters (")
    assert "2 of 7 rows" not in found.introduction
    assert "3 of them constrained, given 2 clusters" in found.introduction


def found_model(found):
    return {"nig_mixture": nig_mixture, "normal_mixture": normal_mixture}[found.model.name](1)


def test_random_hyperparameters_draw_inside_also_where_nothing_weighs_the_guide():
    model, data = normal_mixture(1).constrained(clusters=2), torch.tensor([[0.0], [0.1], [1.0], [1.1], [2.0]])
    draws, _ = refine(model, PredictiveFilter(normal_mixture(1)), data.double(), num_draws=50, seed=0)
    assert (draws.assignments.max(-1) == 1).all()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"clusters": 8}, "clusters asks for at least 8, and there are 7 rows: expected at most 7"),
        ({"clusters": 0}, "clusters is 0, expected a number of at least 1, as 3, or the fewest and the most"),
        ({"clusters": (4, 2)}, r"clusters is \(4, 2\), expected a number of at least 1"),
        ({"clusters": "3"}, "clusters is '3', expected a number of at least 1"),
        (
            {"clusters": 2, "cannot_link": [(0, 1), (1, 2), (0, 2)]},
            "at most 2, and cannot_link or partial_labels has 3 rows or groups that are all apart from one "
            "another, which takes 3 clusters: expected at least 3",
        ),
        (
            {"clusters": (6, 7), "must_link": [(0, 1), (1, 2)]},
            "at least 6, and what must be together makes 5 groups of the 7 rows: expected at most 5",
        ),
        (
            {"clusters": 3, "family": "student-t", "must_link": [(0, 1)]},
            "do not integrate out, and its kernel cannot keep to",
        ),
        ({"num_clusters": 3}, r"num_clusters is 3, .*: take clusters \(--clusters\), as 3 or \(2, 6\)"),
    ],
)
def test_what_cannot_be_is_one_sentence(asked, said):
    with pytest.raises(ValueError, match=said):
        cluster(SEVEN, **asked, **FEW)


def test_graphs_take_no_number():
    with pytest.raises(ValueError, match="clusters is given, but karate has nodes of a graph"):
        cluster("karate", clusters=2)


def test_a_guide_that_cannot_be_held_to_links_can_to_a_number():
    class Stubborn(PredictiveFilter):
        why_no_constraints = "it does not listen"

    guide = Stubborn(overlap2d())
    picked = ModelAndGuide(model=guide.model, guide=guide, name="mine")
    _, own = constrained(picked, Constraints.of(7, clusters=2), is_default=False)
    assert own.guide.posterior(torch.zeros(7, 2)).sample((2,)).shape == (2, 7)
    with pytest.raises(ValueError, match="cannot be held to constraints"):
        constrained(picked, Constraints.of(7, clusters=2, must_link=[(0, 1)]), is_default=False)


def test_another_number_is_another_run_and_is_repeated_as_it_is_typed(tmp_path):
    found = cluster(SEVEN, clusters=(2, 3), out=tmp_path / "out", **FEW)
    assert "--clusters 2-3" in found.repeat.as_command("cluster")
    written = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    assert written["repeat"]["arguments"]["clusters"] == [2, 3]
    with pytest.raises(ValueError, match="holds the results of another run"):
        cluster(SEVEN, clusters=(2, 4), out=tmp_path / "out", **FEW)
    assert (
        "--clusters 2" in cluster(SEVEN, clusters=2, **FEW).repeat.as_command("cluster").split(" --mcmc")[0]
    )


def test_families_that_are_not_conjugate_keep_to_a_number():
    found = cluster(SEVEN, clusters=(2, 3), family="student-t", **FEW | {"mcmc_draws": 20, "warmup": 20})
    assert set(found.draws["mcmc"].num_clusters.ravel().tolist()) <= {2, 3}
    assert found.in_words.given == "between 2 and 3 clusters"
    assert np.isnan(found.results["constraints"].odds.error) or found.constraints.free.kept.any()


def test_the_door_for_scikit_learn_takes_it():
    X = SEVEN.to_numpy()
    posterior = PartitionPosterior(clusters=(3, 4), random_state=0, **FEW).fit(X)
    assert set(posterior.num_clusters_) <= {3, 4}
    assert posterior.get_params()["clusters"] == (3, 4)
