"""What an analysis says of clusters that are split, of the prior of their number, and of large ones."""

import json

import numpy as np
import pytest
import torch

from pyroclust import Analysis, cluster
from pyroclust.distributions import GammaConcentration
from pyroclust.infer import exact_posterior
from pyroclust.models import Mixture, normal_mixture
from pyroclust.report import page as pages
from pyroclust.results.answer import with_doubts

FEW = {"mcmc_draws": 50, "num_chains": 2, "warmup": 100}
NORMAL = {"family": "normal", "prior": "mfm"}


def heavy_tailed():
    rng = np.random.default_rng(0)
    return rng.normal(size=(300, 2)) / np.sqrt(rng.chisquare(3, size=(300, 1)) / 3)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return cluster(heavy_tailed(), out=tmp_path_factory.mktemp("of") / "heavy", **NORMAL, **FEW)


def test_a_heavy_tailed_cluster_is_a_doubt_in_words_and_no_worse(found):
    (finding,) = found.checks["split_clusters"]
    assert finding.passed is False
    assert finding.mark.value == "with care"
    assert "heavy-tailed" in finding.sentence
    assert found.in_words.rely.endswith(f" But {finding.sentence}.")
    assert found.verdict.level is found.summary("mcmc").verdict.level
    assert finding in found.findings
    assert found.results["split_clusters"].groups[0].gain > finding.limit


def test_the_page_has_it_and_the_prior(found):
    page = pages.page_of(found)
    titles = [section.title for section in page.sections]
    assert "Are clusters split because of their shape" in titles
    assert not page.missing
    table = next(one for one in page.sections if one.title == "How many clusters").parts[2]
    assert table.header == ("clusters", "MCMC", "prior")
    prior = normal_mixture(2).prior.log_prob_num_clusters(300).exp()
    for number, _, before in table.rows:
        assert float(before) == pytest.approx(prior[int(number) - 1].item(), abs=6e-4)


def test_the_file_has_it_and_is_read_back(found):
    written = json.loads((found.folder / "summary.json").read_text(encoding="utf-8"))
    assert written["split_clusters"]["groups"][0]["gain"] > 5
    prior = normal_mixture(2).prior.log_prob_num_clusters(300, most=20).exp()
    assert written["prior_num_clusters"]["values"][:3] == [1, 2, 3]
    np.testing.assert_allclose(written["prior_num_clusters"]["probabilities"][:20], prior)
    large = written["answer_in_words"]["large_clusters"]
    assert large["least_rows"] == 3
    assert set(large) == {"least_rows", "num_clusters", "probability", "interval"}
    again = Analysis.read(found.folder)
    assert again.in_words == found.in_words
    table = next(one for one in pages.page_of(again).sections if one.title == "How many clusters").parts[2]
    assert "prior" in table.header


def test_a_doubt_makes_a_good_answer_one_with_care():
    said = with_doubts("Yes: MCMC converged.", ["Cluster 1 is skewed."])
    assert said == "With care: MCMC converged. But cluster 1 is skewed."
    assert with_doubts("Not yet: no.", ["Cluster 1 is skewed."]) == "Not yet: no. But cluster 1 is skewed."


def test_normal_clusters_pass():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(200, 2)) + 8 * (np.arange(200) % 2)[:, None]
    found = cluster(rows, **NORMAL, **FEW)
    (finding,) = found.checks["split_clusters"]
    assert finding.passed
    assert "student-t" not in found.in_words.rely


@pytest.mark.parametrize(
    ("rows", "other", "results"),
    [
        (60, {"family": "student-t"}, {"prior_num_clusters"}),
        (60, {"weight": np.arange(1, 61)}, set()),
        (300, {"must_link": [(0, 1)]}, {"split_clusters"}),
    ],
)
def test_what_is_asked_of_other_models(rows, other, results):
    found = cluster(heavy_tailed()[:rows], mcmc_draws=10, num_chains=1, warmup=10, **other)
    assert {"prior_num_clusters", "split_clusters"} & found.results.keys() == results
    assert not found.failures


def test_other_priors_find_what_enumeration_under_them_does():
    rows = np.array([[-1.2], [-1.0], [-0.9], [0.1], [0.8], [1.0], [1.3]])
    found = cluster(rows, mcmc_draws=4000, num_chains=4, warmup=200, seed=0)
    data = torch.from_numpy(found.data.values)
    others = {one["prior"]: one for one in found.results["other_priors"]}
    prior = GammaConcentration(2.0, 4.0)
    every, log_probs = exact_posterior(Mixture(prior, normal_mixture(1).component), data)
    exact = np.bincount(every.amax(-1).numpy() + 1, log_probs.exp().numpy())
    one = others["Dirichlet process of random concentration"]
    assert one["num_clusters"] == exact.argmax()
    assert one["probability"] == pytest.approx(exact.max(), abs=0.03)
    assert len(others) == 4
    assert all(0.05 < one["effective_share"] <= 1 for one in others.values())
