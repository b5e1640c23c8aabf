"""``pyroclust compare`` of graphs: a guide beside MCMC of the same model, and pictures of the graph."""

import json
from pathlib import Path

import networkx
import numpy as np
import pandas as pd
import pytest

from pyroclust import compare
from pyroclust.baselines import GRAPH_BASELINES
from pyroclust.cli import main
from pyroclust.core.large_tables import LARGE_TABLE
from pyroclust.models import StochasticBlockModel

FEW = ("--draws", "100", "--mcmc-draws", "100", "--warmup", "100", "--quiet")
RATES = ("--within", "20", "60", "--between", "2", "60")


def code_of(*arguments: str) -> object:
    """Run the command line and return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return ended.value.code


def test_the_karate_club(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert not code_of("compare", "karate", *RATES, *FEW, "--also", "baselines", "--out", str(out), "--json")
    figures = json.loads(capsys.readouterr().out)
    assert figures["points"] == "nodes of a graph"
    assert figures["num_points"] == 34
    assert "p_kk ~ Beta(20, 60)" in figures["model_in_words"]
    assert figures["point_estimates"]["mcmc"]["adjusted_rand_to_labels"] > 0.7
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "The graph, by the point estimate" in page
    assert "34 nodes and 78 edges" in page
    assert "spectral clustering" in page
    assert "k-means" not in page
    frame = pd.read_csv(out / "assignments.csv")
    assert set(frame["label"]) == {"Mr. Hi", "Officer"}
    assert list(frame["row"]) == list(range(34))


def test_edges_of_a_file_and_graphs_of_networkx_are_the_same(tmp_path: Path) -> None:
    graph = networkx.stochastic_block_model([12, 12], [[0.8, 0.05], [0.05, 0.8]], seed=0)
    path = tmp_path / "edges.csv"
    path.write_text("one,other\n" + "".join(f"{a},{b}\n" for a, b in graph.edges))
    told = {"num_draws": 50, "mcmc_draws": 50, "warmup": 50}
    found = [compare(graph, **told), compare(path, edges=True, **told)]
    first, second = found
    assert np.array_equal(first.data.values, second.data.values)
    assert np.array_equal(first.draws["guide"].assignments, second.draws["guide"].assignments)
    assert first.estimates["mcmc"].num_clusters == 2


def test_mcmc_alone_with_a_prior_by_name(tmp_path: Path) -> None:
    result = compare(
        "les-miserables", guide="none", prior="py", expected_clusters=6, also=["baselines"], mcmc_draws=60
    )
    assert result.model.in_words.startswith("The model stochastic_block_model: every block")
    assert "Pitman-Yor" in result.model.in_words
    assert result.row_names[0] == "Napoleon"
    assert [row.result.name for row in result.results["baselines"]] == [one.name for one in GRAPH_BASELINES]


def test_a_graph_beyond_what_counts_as_large() -> None:
    nodes = LARGE_TABLE + 20
    graph = networkx.stochastic_block_model([nodes // 2] * 2, [[0.1, 0.01], [0.01, 0.1]], seed=0)
    result = compare(graph, num_draws=10, mcmc_draws=10, warmup=10)
    assert result.draws["guide"].assignments.shape == (1, 10, nodes)
    assert result.estimates["mcmc"].num_clusters == 2


def test_a_guide_of_graphs_refuses_tables() -> None:
    from pyroclust.guides import BlockFilter

    with pytest.raises(ValueError, match="takes nodes of a graph"):
        compare("iris", guide=BlockFilter(StochasticBlockModel()), num_draws=20, mcmc_draws=20)
