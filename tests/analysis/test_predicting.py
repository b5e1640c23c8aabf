"""New rows among the clusters of a comparison."""

import json

import numpy as np
import pandas as pd
import pytest
import torch

from pyroclust import compare, predict
from pyroclust.cli import main
from pyroclust.diagnostics.likeness import likeness
from pyroclust.distributions import ChineseRestaurantPrior, NormalInverseWishart
from pyroclust.infer import exact_posterior
from pyroclust.infer.mcmc.named_kernels import default_kernel
from pyroclust.infer.simulation import simulate
from pyroclust.models import Mixture, gaussian2d, nig_mixture
from pyroclust.models.predictive import PosteriorPredictive
from pyroclust.partitions import enumerate_partitions

QUICK = {"guide": "none", "mcmc_draws": 100, "num_chains": 2, "warmup": 50}


def two_groups(number, *, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    centres = np.repeat([[0.0, 0.0], [8.0, 8.0]], number, 0)
    return pd.DataFrame(100 * (rng.normal(size=centres.shape) + centres + shift), columns=["a", "b"])


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    return compare(two_groups(30), out=tmp_path_factory.mktemp("predict") / "out", **QUICK)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    return int(end.value.code or 0)


def test_probabilities_are_those_of_the_joint_density():
    """With every partition as often as it is probable, clusters of a new point follow by enumeration."""
    torch.manual_seed(0)
    model, data = gaussian2d(), 3 * torch.randn(5, 2, dtype=torch.float64)
    partitions, log_probs = exact_posterior(model, data)
    times = (20_000 * log_probs.exp()).round().long()
    law = PosteriorPredictive(model, data, partitions.repeat_interleave(times, 0))
    new, estimate = torch.tensor([1.0, -0.5], dtype=torch.float64), torch.tensor([0, 1, 0, 2, 1])
    wanted = torch.zeros(4, dtype=torch.float64)
    both = torch.cat([data, new.unsqueeze(0)])
    every = enumerate_partitions(6)
    for labels, weight in zip(every, model.log_joint(both, every).softmax(0), strict=True):
        companions = (labels[:5] == labels[5]).nonzero()[:, 0]
        if len(companions):
            wanted.index_add_(0, estimate[companions], (weight / len(companions)).expand(len(companions)))
        else:
            wanted[3] += weight
    torch.testing.assert_close(law.cluster_probs(new, estimate), wanted, atol=2e-3, rtol=0)


def test_a_point_that_is_left_out_has_the_density_of_the_others():
    torch.manual_seed(1)
    model, data = nig_mixture(1), torch.randn(6, 1, dtype=torch.float64)
    labels = torch.tensor([[0, 0, 1, 0, 2, 1]])
    found = PosteriorPredictive(model, data, labels).log_prob_left_out(torch.tensor([1, 4]))
    for place, one in zip((1, 4), found, strict=True):
        keep = torch.arange(6) != place
        rest = labels[:, keep]
        rest = torch.where(rest > 1, 1, rest) if place == 1 else rest
        others = PosteriorPredictive(model, data[keep], labels[:, keep])
        torch.testing.assert_close(one, others.log_prob(data[place]))


def test_rows_like_the_old_ones_join_their_clusters(compared):
    new = two_groups(10, seed=1)
    found = predict(compared, new)
    np.testing.assert_allclose(found.probabilities.sum(-1), 1.0)
    assert found.clusters.tolist() == [0] * 10 + [1] * 10
    assert found.sizes.tolist() == [30, 30]
    assert found.warning is None
    assert repr(found) == "Prediction(20 rows, 0 of them in a new cluster)"
    frame = found.frame()
    assert list(frame)[:3] == ["row", "cluster", "probability_1"]
    # In the units of the columns: a hundred times wider, a ten-thousandth as dense.
    assert frame["log_density"].median() == pytest.approx(-np.log(2 * 2 * np.pi) - 2 * np.log(100), abs=1.5)


def test_the_folder_says_the_same(compared):
    new = two_groups(5, seed=2).assign(more=1.0)
    one, other = predict(compared, new), predict(compared.folder, new)
    np.testing.assert_allclose(one.probabilities, other.probabilities)
    np.testing.assert_allclose(one.log_density, other.log_density)


def test_a_refined_guide_too(tmp_path):
    few = {"num_draws": 40, "mcmc_draws": 20, "num_chains": 2, "warmup": 50}
    result = compare(two_groups(20), guide="filter-niw2d", refine=True, out=tmp_path / "o", **few)
    assert result.answer == "refined"
    one, other = predict(result, two_groups(3)), predict(tmp_path / "o", two_groups(3))
    assert one.clusters.tolist() == [0] * 3 + [1] * 3
    np.testing.assert_allclose(one.probabilities, other.probabilities)


def test_strange_rows_are_new_and_warned_of(compared):
    found = predict(compared, two_groups(5, shift=40.0))
    assert found.is_new.all()
    assert (found.typicality == 0).all()
    assert "unlike those that were clustered" in (found.warning or "")
    one = predict(compared, two_groups(1, shift=40.0)[:1])
    assert one.warning is None
    assert one.is_new.tolist() == [True]


def test_the_command_writes_rows(compared, tmp_path, capsys):
    path, out = tmp_path / "new.csv", tmp_path / "found.csv"
    two_groups(15, seed=3).to_csv(path, index=False)
    assert run("predict", str(compared.folder), str(path), "--out", str(out), "--quiet") == 0
    printed = capsys.readouterr().out
    assert "and 10 more rows" in printed
    written = pd.read_csv(out)
    assert len(written) == 30
    assert written["cluster"].astype(str).isin(["1", "2"]).sum() >= 27
    assert (
        run("predict", str(compared.folder), str(path), "--out", str(out), "--quiet", "--json", "--overwrite")
        == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert len(told["rows"]) == 30
    assert told["warning"] is None


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [({"b": "c"}, "unknown column 'b'"), ({}, "holds no analysis")],
)
def test_errors_are_one_sentence(compared, tmp_path, capsys, columns, sentence):
    path = tmp_path / "new.csv"
    two_groups(3).rename(columns=columns).to_csv(path, index=False)
    folder = compared.folder if columns else tmp_path
    assert run("predict", str(folder), str(path), "--quiet") == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert "Traceback" not in said


def test_models_without_a_predictive_density_are_refused(compared):
    result = compare("karate", guide="none", mcmc_draws=10, num_chains=2, warmup=10)
    with pytest.raises(
        ValueError, match="nodes of a graph, which have no predictive density here, expected rows"
    ):
        predict(result, np.zeros((2, 2)))
    with pytest.raises(ValueError, match="expected 2: a, b"):
        predict(compared, np.zeros((3, 3)))


def test_the_warning_of_new_rows_keeps_its_level_on_rows_of_the_same_clusters():
    model = Mixture(ChineseRestaurantPrior(1.0), NormalInverseWishart(3, 0.05, dof=5.0, scale=0.3))
    found = []
    for seed in range(60):
        torch.manual_seed(seed)
        points = simulate(model, torch.empty(1, 40, 3))[0][0].double()
        draws = default_kernel(model).run(points[:20], num_draws=50, warmup=50, num_chains=2, seed=seed)
        law = PosteriorPredictive(model, points[:20], torch.from_numpy(draws.flat))
        usual = law.log_prob_left_out(torch.arange(20)).numpy()
        found.append(likeness(law.log_prob(points[20:]).numpy(), usual).p_value)
    assert np.mean(found) == pytest.approx(0.5, abs=4 / np.sqrt(12 * len(found)))
    # By chance .6 are below .01, and more than 4 once in 2,000 times.
    assert sum(p < 0.01 for p in found) <= 4


def test_new_rows_of_units_are_read_as_the_old_ones_were(tmp_path):
    rng, group = np.random.default_rng(0), np.repeat([0, 1], 20)
    people = pd.DataFrame(
        {"person_id": np.arange(40) + 501, "age": np.where(group, 60, 30) + rng.normal(0, 2, 40)}
    )
    visits = pd.concat([people.assign(c=np.where(group, "red", "blue"))] * 3).sort_index(kind="stable")
    visits["pressure"] = np.where(np.arange(120) % 7, visits["age"] + rng.normal(80, 4, 120), 99)
    visits = pd.get_dummies(visits.reset_index(drop=True).drop(index=[1, 5]), columns=["c"], dtype=int)
    compare(visits, aggregate="person_id", missing=["pressure=99"], out=tmp_path / "o", **QUICK)
    found = predict(tmp_path / "o", visits.iloc[:9], aggregate="person_id")
    assert found.row_names == ("501", "502", "503", "504")
    assert len(set(found.clusters)) == 1
