import arviz
import numpy as np
import pytest
import xarray as xr

from pyroclust import to_arviz
from pyroclust.comparison import Comparison, PartitionDraws


@pytest.fixture
def comparison() -> Comparison:
    generator = np.random.default_rng(0)
    labels = np.zeros((2, 5, 3), dtype=np.int64)
    labels[..., 2] = generator.integers(2, size=(2, 5))
    return Comparison(
        source="boxes",
        model_name="niw_mixture",
        guide_name="filter",
        columns=("width", "height"),
        data=generator.standard_normal((3, 2)),
        guide=PartitionDraws("filter", labels[:1], np.zeros((1, 5)), 0.5, log_prob=-np.ones((1, 5))),
        mcmc=PartitionDraws("CollapsedGibbs", labels, generator.standard_normal((2, 5)), 1.5),
        location=np.array([1.0, 2.0]),
        scale=np.array([3.0, 4.0]),
        true_labels=np.array(["a", "a", "b"]),
        row_names=("p", "q", "r"),
    )


def test_groups_and_dimensions(comparison):
    tree = to_arviz(comparison)
    assert dict(tree["posterior"]["assignments"].sizes) == {"chain": 2, "draw": 5, "point": 3}
    assert dict(tree["guide"]["log_prob"].sizes) == {"chain": 1, "draw": 5}
    assert "log_prob" not in tree["posterior"]
    assert dict(tree["observed_data"]["data"].sizes) == {"point": 3, "column": 2}


def test_file_keeps_integer_labels_names_and_units(comparison, tmp_path):
    path = tmp_path / "draws.nc"
    to_arviz(comparison).to_netcdf(str(path), engine="h5netcdf")
    with xr.open_dataset(path, group="posterior", engine="h5netcdf") as posterior:
        assert posterior["assignments"].dtype == np.int64
        np.testing.assert_array_equal(posterior["assignments"], comparison.mcmc.assignments)
        np.testing.assert_array_equal(posterior["num_clusters"], comparison.mcmc.assignments.max(-1) + 1)
        np.testing.assert_array_equal(posterior["log_joint"], comparison.mcmc.log_joint)
        assert posterior["point"].values.tolist() == ["p", "q", "r"]
        assert posterior.attrs["seconds"] == 1.5
    with xr.open_dataset(path, group="observed_data", engine="h5netcdf") as observed:
        assert observed["label"].values.tolist() == ["a", "a", "b"]
        np.testing.assert_array_equal(observed["scale"], comparison.scale)


def test_arviz_reads_the_file(comparison, tmp_path):
    path = tmp_path / "draws.nc"
    to_arviz(comparison).to_netcdf(str(path), engine="h5netcdf")
    again = arviz.from_netcdf(str(path), engine="h5netcdf")
    assert again["posterior"]["assignments"].dtype == np.int64
    np.testing.assert_array_equal(again["guide"]["log_prob"], comparison.guide.log_prob)
