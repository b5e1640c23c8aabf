import itertools
import os
import subprocess
import sys
from dataclasses import replace
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

import arviz
import arviz_functions
import numpy as np
import pytest
import torch
import xarray as xr
from pyro.distributions import Poisson
from pyro.infer import MCMC

from pyroclust import to_arviz
from pyroclust.data.draws.arviz import prior_sbc_group
from pyroclust.data.draws.pointwise import pointwise_log_likelihood
from pyroclust.data.tables import Standardised
from pyroclust.diagnostics import SimulationBasedCalibration, functionals, sbc, variation_of_information
from pyroclust.diagnostics.differences import central_draw
from pyroclust.distributions import (
    FiniteMixturesPrior,
    NormalInverseGamma,
    NormalKnownVariance,
    PitmanYorPrior,
)
from pyroclust.infer.mcmc import CollapsedGibbs, assignments
from pyroclust.models import Mixture, niw_mixture
from pyroclust.partitions import Draws, canonical, enumerate_partitions
from pyroclust.results.analysis import Analysis

# An interpreter that has arviz >= 1 and what pyroclust.data.draws.arviz imports; CI sets it where it has one.
ARVIZ_1 = os.environ.get("PYROCLUST_ARVIZ1_PYTHON")


@pytest.fixture
def comparison() -> Analysis:
    generator = np.random.default_rng(0)
    labels = np.zeros((2, 5, 3), dtype=np.int64)
    labels[..., 2] = generator.integers(2, size=(2, 5))
    values, columns = generator.standard_normal((3, 2)), ("width", "height")
    return arviz_functions.analysis_of(
        Standardised(values, np.array([1.0, 2.0]), np.array([3.0, 4.0]), columns),
        name="boxes",
        model="niw_mixture",
        guide=Draws(
            name="filter",
            assignments=labels[:1],
            log_joint=np.zeros((1, 5)),
            log_prob=-np.ones((1, 5)),
            seconds=0.5,
        ),
        mcmc=Draws(
            name="CollapsedGibbs",
            assignments=labels,
            log_joint=generator.standard_normal((2, 5)),
            seconds=1.5,
        ),
        labels=np.array(["a", "a", "b"]),
        row_names=("p", "q", "r"),
    )


@pytest.fixture
def calibration() -> SimulationBasedCalibration:
    rng = np.random.default_rng(0)
    truth = {"num_clusters": rng.integers(1, 4, size=60).astype(float), "entropy": rng.normal(size=60)}
    draws = {
        "num_clusters": rng.integers(1, 4, size=(9, 60)).astype(float),
        "entropy": rng.normal(size=(9, 60)),
    }
    return sbc(truth, draws, seed=0, num_bins=10)


def test_groups_and_dimensions(comparison):
    tree = to_arviz(comparison)
    assert dict(tree["posterior"]["assignments"].sizes) == {"chain": 2, "draw": 5, "point": 3}
    assert dict(tree["guide"]["log_prob"].sizes) == {"chain": 1, "draw": 5}
    assert "log_prob" not in tree["posterior"]
    assert dict(tree["observed_data"]["data"].sizes) == {"point": 3, "column": 2}
    assert {"log_likelihood", "prior_sbc"}.isdisjoint(tree.groups())
    np.testing.assert_array_equal(tree["sample_stats"]["lp"], comparison.draws["mcmc"].log_joint)
    assert set(tree["sample_stats"].data_vars) == {"lp"}
    pit = to_arviz(comparison, calibration={"entropy": np.array([0.0, 0.5, 1.0])})["prior_sbc"]
    assert pit["entropy"].values.tolist() == [[0.0, 0.5, 1.0]]
    others = Draws(name="others", assignments=comparison.draws["mcmc"].assignments, point_names=tuple("pqr"))
    tree = to_arviz(others)
    assert tree["posterior"].attrs["source"] == "others"
    assert tree["posterior"]["point"].values.tolist() == ["p", "q", "r"]
    assert {"sample_stats", "observed_data", "guide"}.isdisjoint(tree.groups())


def test_every_group_says_what_made_it_and_when(comparison):
    ours = {f"{one}_library": "pyroclust" for one in ("creation", "inference")}
    tree = to_arviz(comparison)
    for name in tree.groups():
        found = tree[name].attrs
        assert ours.items() <= found.items()
        assert found["inference_library_version"] == version("pyroclust")
        assert datetime.fromisoformat(found["created_at"]).tzinfo is not None
    foreign = to_arviz(comparison.draws["mcmc"].assignments)["posterior"].attrs
    assert foreign["creation_library"] == "pyroclust"
    assert "inference_library" not in foreign


def test_functionals_are_those_of_the_diagnostics(comparison):
    tree = to_arviz(comparison)
    reference = tree["constant_data"]["reference"].values
    for group, draws in (("posterior", comparison.draws["mcmc"]), ("guide", comparison.draws["guide"])):
        expected = functionals(draws.assignments, reference=reference, num_pairs=0)
        assert set(tree[group].data_vars) - {"log_joint", "log_prob"} == set(expected)
        for name, values in expected.items():
            assert tree[group][name].dtype == np.float64
            np.testing.assert_array_equal(tree[group][name], values)


def test_a_guide_alone_is_the_posterior(comparison):
    guide = replace(comparison.draws["guide"], log_joint=None)
    tree = to_arviz(replace(comparison, draws={"guide": guide}))
    np.testing.assert_array_equal(tree["posterior"]["assignments"], guide.assignments)
    assert set(tree["sample_stats"].data_vars) == {"log_prob"}
    assert "log_joint" not in tree["posterior"]
    assert tree["posterior"]["point"].values.tolist() == ["p", "q", "r"]


@pytest.mark.parametrize(
    "form",
    [
        lambda drawn: torch.from_numpy(drawn.assignments),
        lambda drawn: drawn.assignments + 5,
        lambda drawn: drawn,
    ],
    ids=["tensor", "labels of any kind", "draws"],
)
def test_draws_in_any_form(comparison, form):
    source = form(comparison.draws["mcmc"])
    tree = to_arviz(source)
    np.testing.assert_array_equal(tree["posterior"]["assignments"], comparison.draws["mcmc"].assignments)
    if hasattr(source, "log_joint"):
        np.testing.assert_array_equal(tree["sample_stats"]["lp"], comparison.draws["mcmc"].log_joint)
    again = to_arviz(tree)
    np.testing.assert_array_equal(again["posterior"]["assignments"], comparison.draws["mcmc"].assignments)


def test_a_run_of_pyro_and_what_holds_no_draws():
    mcmc = MCMC(CollapsedGibbs(niw_mixture()), num_samples=4, warmup_steps=1, disable_progbar=True)
    mcmc.run(torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]]))
    tree = to_arviz(mcmc)
    np.testing.assert_array_equal(tree["posterior"]["assignments"], assignments(mcmc))
    np.testing.assert_allclose(tree["sample_stats"]["lp"], mcmc.get_samples(group_by_chain=True)["log_joint"])
    with pytest.raises(ValueError, match="the draws is of type int, expected draws of partitions"):
        to_arviz(3)


def test_reference_is_where_distances_start(comparison):
    reference = np.array([0, 1, 2])
    tree = to_arviz(comparison, reference=reference)
    expected = variation_of_information(comparison.draws["mcmc"].assignments, reference)
    np.testing.assert_allclose(tree["posterior"]["distance_to_reference"], expected)
    np.testing.assert_array_equal(tree["constant_data"]["reference"], reference)
    with pytest.raises(ValueError, match=r"reference has shape \(2,\), expected \(3,\)"):
        to_arviz(comparison, reference=reference[:2])


def test_central_draw_is_the_medoid():
    draws = np.array([[[0, 1, 2, 3], [0, 0, 1, 1]], [[0, 0, 1, 2], [0, 0, 0, 0]]])
    flat = draws.reshape(4, 4)
    means = [variation_of_information(flat, one).mean() for one in flat]
    np.testing.assert_array_equal(central_draw(draws), flat[int(np.argmin(means))])
    assert central_draw(np.zeros((3, 1000, 2), dtype=np.int64)).tolist() == [0, 0]


def test_file_keeps_integer_labels_names_and_units(comparison, tmp_path):
    path = tmp_path / "draws.nc"
    to_arviz(comparison).to_netcdf(str(path), engine="h5netcdf")
    with xr.open_dataset(path, group="posterior", engine="h5netcdf") as posterior:
        assert posterior["assignments"].dtype == np.int64
        np.testing.assert_array_equal(posterior["assignments"], comparison.draws["mcmc"].assignments)
        np.testing.assert_array_equal(
            posterior["num_clusters"], comparison.draws["mcmc"].assignments.max(-1) + 1
        )
        np.testing.assert_array_equal(posterior["log_joint"], comparison.draws["mcmc"].log_joint)
        assert posterior["point"].values.tolist() == ["p", "q", "r"]
        assert posterior.attrs["seconds"] == 1.5
        assert posterior.attrs["model"] == "niw_mixture"
    with xr.open_dataset(path, group="observed_data", engine="h5netcdf") as observed:
        assert observed["label"].values.tolist() == ["a", "a", "b"]
        np.testing.assert_array_equal(observed["scale"], comparison.data.points.scale)
        np.testing.assert_array_equal(observed["location"], comparison.data.points.location)
        assert observed["column"].values.tolist() == ["width", "height"]
    again = arviz.from_netcdf(str(path), engine="h5netcdf")
    np.testing.assert_array_equal(again["guide"]["log_prob"], comparison.draws["guide"].log_prob)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("num_clusters", [4, 1])
def test_arviz_summarises_and_draws_without_being_told_of_labels(tmp_path, num_clusters):
    comparison = arviz_functions.many_points(num_clusters=num_clusters)
    tree = to_arviz(comparison)
    arviz_functions.check_summary(tree)
    arviz_functions.check_plots(arviz_functions.check_file(tree, comparison, tmp_path / "draws.nc"))
    arviz_functions.check_calibration(comparison)


def test_a_tree_where_arviz_is_1(comparison, calibration, tmp_path, monkeypatch):
    monkeypatch.setattr(arviz, "__version__", "1.3.0")
    tree = to_arviz(comparison, calibration=calibration)
    assert isinstance(tree, xr.DataTree)
    assert set(tree.children) == {
        "posterior",
        "guide",
        "sample_stats",
        "observed_data",
        "constant_data",
        "prior_sbc",
    }
    tree.to_netcdf(tmp_path / "tree.nc", engine="h5netcdf")
    with xr.open_datatree(tmp_path / "tree.nc", engine="h5netcdf") as again:
        np.testing.assert_array_equal(again["posterior"]["assignments"], comparison.draws["mcmc"].assignments)
        assert again["posterior"]["assignments"].dtype == np.int64
        assert again["posterior"]["point"].values.tolist() == ["p", "q", "r"]
        assert again["prior_sbc"]["entropy"].shape == (1, 60)


def test_containers_need_no_torch():
    script = "import sys; import pyroclust.data.draws.arviz; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.skipif(ARVIZ_1 is None, reason="PYROCLUST_ARVIZ1_PYTHON names no interpreter with ArviZ 1.x")
def test_arviz_1_in_its_own_interpreter(tmp_path):
    root = Path(__file__).parents[3]
    script = Path(arviz_functions.__file__)
    run = subprocess.run(
        [str(ARVIZ_1), "-B", str(script), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
    )
    assert run.stdout.startswith("arviz 1."), run.stderr


class TestPriorSbc:
    def test_ranks_become_uniform_numbers_within_their_step(self, calibration):
        group = prior_sbc_group(calibration)
        for name, ranks in calibration.ranks.items():
            values = group[name].values
            assert values.shape == (1, 60)
            np.testing.assert_array_equal(np.floor(values[0] * 10), ranks)
        assert len(np.unique(group["num_clusters"])) == 60
        xr.testing.assert_identical(group, prior_sbc_group(calibration))

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({"a": np.array([0.0, 7.0])}, "from 0 to 7, expected PIT values in"),
            ({"a": np.array([0.0, np.nan])}, "expected PIT values"),
            ({"a": np.array([-0.1, 0.0])}, "expected PIT values"),
            ({"a": np.zeros(2), "b": np.zeros(3)}, "expected one"),
            ({"a": np.zeros((2, 2))}, "expected one"),
            ({}, "calibration is empty"),
        ],
    )
    def test_bad_values_are_refused(self, values, message):
        with pytest.raises(ValueError, match=message):
            prior_sbc_group(values)


class TestLogLikelihood:
    @pytest.mark.parametrize(
        "model",
        [
            niw_mixture(),
            Mixture(PitmanYorPrior(0.5, 1.0), NormalInverseGamma(2, 0.3, shape=2.0, rate=1.0)),
            Mixture(FiniteMixturesPrior(1.0, Poisson(3.0)), NormalKnownVariance(2)),
        ],
        ids=["crp", "pitman-yor", "finite mixtures"],
    )
    def test_equals_the_sum_over_places_of_the_point(self, comparison, model):
        found = to_arviz(comparison, model=model)["log_likelihood"]["data"]
        assert found.dims == ("chain", "draw", "point")
        data = torch.as_tensor(comparison.data.values)
        for point, (chain, draw) in itertools.product(range(3), np.ndindex(2, 5)):
            rest = [other for other in range(3) if other != point]
            others = canonical(torch.from_numpy(comparison.draws["mcmc"].assignments[chain, draw, rest]))
            placed = torch.stack(
                [torch.cat([others, torch.tensor([k])]) for k in range(int(others.max()) + 2)]
            )
            whole = model.log_joint(data[[*rest, point]], canonical(placed)).logsumexp(0)
            expected = whole - model.log_joint(data[rest], others)
            assert found.values[chain, draw, point] == pytest.approx(float(expected), abs=1e-6)

    @pytest.mark.filterwarnings("ignore:overflow encountered in exp", "ignore:Estimated shape parameter")
    def test_leave_one_out_equals_the_predictive_density(self):
        # The posterior without a point, by weights, against a run without it.
        torch.manual_seed(0)
        data = torch.tensor([[-2.0, 0.1], [-2.2, 0.3], [2.0, 0.0], [2.3, -0.2], [0.2, 0.1]])
        model = niw_mixture()
        draws = CollapsedGibbs(model).run(data, num_draws=4000, warmup=200, num_chains=4, seed=0)
        tree = to_arviz(comparison_of(draws, data), model=model)
        loo = arviz.loo(tree, pointwise=True).loo_i.values
        for point in range(5):
            rest = torch.tensor([other for other in range(5) if other != point])
            assert loo[point] == pytest.approx(exact_predictive(model, data, rest, point), abs=0.05)

    def test_blocks_change_nothing(self, monkeypatch):
        data, draws = torch.randn(6, 2), torch.randint(3, (50, 6))
        draws = torch.from_numpy(np.stack([np.unique(row, return_inverse=True)[1] for row in draws.numpy()]))
        whole = pointwise_log_likelihood(niw_mixture(), data, draws)
        monkeypatch.setattr("pyroclust.data.draws.pointwise._NUMBERS", 200)
        torch.testing.assert_close(pointwise_log_likelihood(niw_mixture(), data, draws), whole)

    def test_what_cannot_be_evaluated_is_refused(self, comparison):
        with pytest.raises(ValueError, match="model has no conjugate component family"):
            to_arviz(comparison, model=object())
        with pytest.raises(ValueError, match="model is given without data"):
            to_arviz(comparison.draws["mcmc"], model=niw_mixture())
        with pytest.raises(ValueError, match=r"data and draws have shapes \(3, 2\) and \(1, 4\)"):
            pointwise_log_likelihood(niw_mixture(), torch.zeros(3, 2), torch.zeros(1, 4, dtype=torch.int64))


def exact_predictive(model, data, rest, point) -> float:
    """log p(x_i | x_-i), by enumeration of all partitions."""
    order = torch.cat([rest, torch.tensor([point])])
    whole = model.log_joint(data[order], enumerate_partitions(len(order))).logsumexp(0)
    part = model.log_joint(data[rest], enumerate_partitions(len(rest))).logsumexp(0)
    return float(whole - part)


def comparison_of(draws, data) -> Analysis:
    return arviz_functions.analysis_of(
        Standardised(data.double().numpy(), np.zeros(2), np.ones(2), ("x", "y")),
        name="few",
        model="niw_mixture",
        row_names=tuple(map(str, range(len(data)))),
        guide=replace(draws, log_prob=draws.log_joint),
        mcmc=draws,
    )
