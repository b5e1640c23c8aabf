"""``pyroclust compare`` of what is no table: graphs, folders of images and arrays of them."""

import json
from pathlib import Path

import networkx
import numpy as np
import pandas as pd
import pytest
from faults.cases import run_command
from PIL import Image
from sklearn.datasets import load_digits

from pyroclust import compare
from pyroclust.baselines import GRAPH_BASELINES
from pyroclust.core.large_tables import LARGE_TABLE
from pyroclust.guides import BlockFilter
from pyroclust.models import StochasticBlockModel


def test_the_karate_club(tmp_path):
    few = "--draws 100 --mcmc-draws 100 --warmup 100 --within 20 60 --between 2 60 --also baselines"
    code, out, _ = run_command([*f"compare karate {few} --quiet --json --out".split(), str(tmp_path / "out")])
    assert code == 0
    figures = json.loads(out)
    assert figures["points"] == "nodes of a graph"
    assert figures["num_points"] == 34
    assert "p_kk ~ Beta(20, 60)" in figures["model_in_words"]
    assert figures["point_estimates"]["mcmc"]["adjusted_rand_to_labels"] > 0.7
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for said in ("The graph, by the point estimate", "34 nodes and 78 edges", "spectral clustering"):
        assert said in page
    assert "k-means" not in page
    frame = pd.read_csv(tmp_path / "out" / "assignments.csv")
    assert set(frame["label"]) == {"Mr. Hi", "Officer"}
    assert list(frame["row"]) == list(range(34))


def test_edges_of_a_file_and_graphs_of_networkx_are_the_same(tmp_path):
    graph = networkx.stochastic_block_model([12, 12], [[0.8, 0.05], [0.05, 0.8]], seed=0)
    path = tmp_path / "edges.csv"
    path.write_text("one,other\n" + "".join(f"{a},{b}\n" for a, b in graph.edges))
    few = {"num_draws": 50, "mcmc_draws": 50, "warmup": 50}
    first, second = compare(graph, **few), compare(path, edges=True, **few)
    assert np.array_equal(first.data.values, second.data.values)
    assert np.array_equal(first.draws["guide"].assignments, second.draws["guide"].assignments)
    assert first.estimates["mcmc"].num_clusters == 2


def test_mcmc_alone_with_a_prior_by_name():
    result = compare(
        "les-miserables", guide="none", prior="py", expected_clusters=6, also=["baselines"], mcmc_draws=60
    )
    assert result.model.in_words.startswith("The model stochastic_block_model: every block")
    assert "Pitman-Yor" in result.model.in_words
    assert result.row_names[0] == "Napoleon"
    assert [row.result.name for row in result.results["baselines"]] == [one.name for one in GRAPH_BASELINES]


def test_a_graph_beyond_what_counts_as_large():
    nodes = LARGE_TABLE + 20
    graph = networkx.stochastic_block_model([nodes // 2] * 2, [[0.1, 0.01], [0.01, 0.1]], seed=0)
    result = compare(graph, num_draws=10, mcmc_draws=10, warmup=10)
    assert result.draws["guide"].assignments.shape == (1, 10, nodes)
    assert result.estimates["mcmc"].num_clusters == 2


def test_a_guide_of_graphs_refuses_tables():
    with pytest.raises(ValueError, match="takes nodes of a graph"):
        compare("iris", guide=BlockFilter(StochasticBlockModel()), num_draws=20, mcmc_draws=20)


def test_a_folder_of_images_and_the_same_in_an_array(tmp_path):
    """Forty handwritten digits of three classes, dark on light, a folder a class."""
    bundle, folder, out = load_digits(), tmp_path / "scans", tmp_path / "out"
    some = np.flatnonzero(np.isin(bundle.target, [0, 1, 4]))[:40]
    for place in some:
        path: Path = folder / str(bundle.target[place]) / f"{place}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray((255 - bundle.images[place] * 255 / 16).astype(np.uint8)).save(path)
    command = ["compare", str(folder), "--draws", "60", "--out", str(out), "--json", "--quiet"]
    code, printed, _ = run_command(command)
    assert code == 0
    figures = json.loads(printed)
    assert figures["guide"] == "ncp-glyphs8"
    assert figures["points"] == "images of 8 x 8 pixels"
    assert figures["point_estimates"]["guide"]["adjusted_rand_to_labels"] > 0.6
    page = (out / "report.html").read_text(encoding="utf-8")
    for said in ("has no formula", "The images, by the point estimate", "Which images are unsure"):
        assert said in page
    frame = pd.read_csv(out / "assignments.csv")
    assert len(frame) == 40
    assert set(frame["label"]) == {0, 1, 4}
    assert frame.iloc[0, 0].endswith(".png")
    assert not any("," in name for name in frame.columns)

    result = compare(bundle.images[some] / 16, num_draws=20)
    assert result.guide.name == "ncp-glyphs8"
    assert result.draws["guide"].assignments.shape == (1, 20, 40)
    assert result.about["columns"] == []
