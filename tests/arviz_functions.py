"""What ArviZ does with our containers; also run by an interpreter that has ArviZ 1.x and no torch."""

import sys
import warnings
from pathlib import Path

import arviz
import matplotlib

matplotlib.use("Agg")

import numpy as np
import xarray as xr
from matplotlib import pyplot

from pyroclust.data.draws.arviz import to_arviz
from pyroclust.data.tables import Standardised, Table
from pyroclust.diagnostics import sbc
from pyroclust.partitions.draws import Draws
from pyroclust.partitions.raw_labels import renumbered
from pyroclust.results.analysis import Analysis
from pyroclust.results.data import AnalysedData
from pyroclust.results.records import GuideRecord, ModelRecord

IS_TREE = int(arviz.__version__.split(".")[0]) >= 1
FUNCTIONALS = ["num_clusters", "entropy", "largest_share", "distance_to_reference", "log_joint"]


def analysis_of(
    points: Standardised, *, name: str, model: str, row_names: tuple, labels=None, **draws: Draws
):
    """Return an analysis that took no step."""
    table = Table(name, points.data * points.scale + points.location, points.columns, labels, row_names)
    guide = GuideRecord(draws["guide"].name) if "guide" in draws else None
    data = AnalysedData(table, points)
    return Analysis(command="compare", data=data, model=ModelRecord(model), guide=guide, draws=draws)


def many_points(*, num_clusters: int = 4) -> Analysis:
    """Return draws of 300 points; of one cluster, where every functional but log_joint is constant."""
    rng = np.random.default_rng(0)
    labels = rng.integers(num_clusters, size=(5 * 60, 300)) * rng.integers(2, size=(5 * 60, 1))
    draws = renumbered(labels).reshape(5, 60, 300)
    log_joint = rng.normal(size=(5, 60))
    return analysis_of(
        Standardised(rng.normal(size=(300, 2)), np.zeros(2), np.ones(2), ("x", "y")),
        name="many",
        model="model",
        guide=Draws(
            name="guide",
            assignments=draws[:1],
            log_joint=log_joint[:1],
            log_prob=log_joint[:1],
            seconds=0.5,
        ),
        mcmc=Draws(name="mcmc", assignments=draws[1:], log_joint=log_joint[1:], seconds=1.0),
        labels=np.where(np.arange(300) < 150, "left", "right"),
        row_names=tuple(f"p{place}" for place in range(300)),
    )


def check_summary(tree: object) -> None:
    """One row a functional, none a label."""
    summary = arviz.summary(tree)
    assert list(summary.index) == FUNCTIONALS, list(summary.index)


def check_file(tree: object, comparison: Analysis, path: Path) -> object:
    """The file opens again with the same labels, names and functionals."""
    tree.to_netcdf(str(path), engine="h5netcdf")
    again = arviz.from_netcdf(str(path), engine="h5netcdf")
    for group, draws in (("posterior", comparison.draws["mcmc"]), ("guide", comparison.draws["guide"])):
        assert again[group]["assignments"].dtype == np.int64
        np.testing.assert_array_equal(again[group]["assignments"], draws.assignments)
        np.testing.assert_array_equal(again[group]["log_joint"], draws.log_joint)
    assert again["posterior"]["point"].values.tolist() == list(comparison.row_names)
    assert list(again["posterior"].data_vars) == FUNCTIONALS
    assert again["observed_data"]["label"].values.tolist() == comparison.data.table.labels.tolist()
    with xr.open_dataset(path, group="posterior", engine="h5netcdf") as posterior:
        np.testing.assert_array_equal(posterior["assignments"], comparison.draws["mcmc"].assignments)
    check_summary(again)
    return again


def check_plots(tree: object) -> None:
    """Traces, ranks and intervals are drawn without naming variables."""
    names = ["plot_trace", "plot_rank", "plot_forest"]
    names += ["plot_trace_dist", "plot_dist"] if IS_TREE else ["plot_posterior"]
    for name in names:
        getattr(arviz, name)(tree)
        pyplot.close("all")


def check_calibration(comparison: Analysis) -> None:
    """Simulation-based calibration is drawn, by ArviZ 1.x, from the group prior_sbc."""
    rng = np.random.default_rng(0)
    truth = {"num_clusters": rng.integers(1, 4, size=200).astype(float), "entropy": rng.normal(size=200)}
    draws = {
        "num_clusters": rng.integers(1, 4, size=(99, 200)).astype(float),
        "entropy": rng.normal(size=(99, 200)),
    }
    tree = to_arviz(comparison, calibration=sbc(truth, draws, seed=0, num_bins=10))
    assert set(tree["prior_sbc"].data_vars) == {"num_clusters", "entropy"}
    if IS_TREE:
        arviz.plot_ecdf_pit(tree)
        pyplot.close("all")


def main() -> None:
    """Check all of the above in the folder given."""
    for num_clusters in (4, 1):
        comparison = many_points(num_clusters=num_clusters)
        tree = to_arviz(comparison)
        check_summary(tree)
        check_plots(check_file(tree, comparison, Path(sys.argv[1]) / f"{num_clusters}.nc"))
        check_calibration(comparison)
    assert "torch" not in sys.modules
    print("arviz", arviz.__version__)


if __name__ == "__main__":
    # ArviZ divides by the variance of constants.
    warnings.simplefilter("ignore")
    main()
