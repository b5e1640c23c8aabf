"""Many data sets at the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from faults.cases import run_command

QUICK = ["--guide", "filter-nig1d", "--draws", "40", "--budget", "0"]


@pytest.fixture
def tables(tmp_path, monkeypatch):
    # Workers of one core are this process.
    monkeypatch.setattr("pyroclust.core.workers.num_threads", lambda: 1)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=90), "who": np.repeat(["a", "b", "c"], 30)})
    frame.to_csv(tmp_path / "all.csv", index=False)
    for name, part in frame.groupby("who"):
        part[["x"]].to_csv(tmp_path / f"part-{name}.csv", index=False)
    return tmp_path


def test_a_table_by_a_column_and_files_of_a_pattern(tables):
    typed = ["cluster", str(tables / "all.csv"), "--by", "who", "--out", str(tables / "by"), *QUICK]
    code, printed, _ = run_command(typed)
    assert code == 0
    assert "How many clusters: " in printed
    code, printed, _ = run_command([*typed, "--json"])
    assert [one["data_set"] for one in json.loads(printed)] == ["a", "b", "c"]
    pattern = ["cluster", str(tables / "part-*.csv"), "--out", str(tables / "files"), *QUICK]
    assert run_command(pattern)[0] == 0
    files = {path.name for path in (tables / "files").iterdir() if not path.name.startswith(".")}
    assert files == {
        *("report.html", "summaries.parquet", "assignments.parquet"),
        *("data-sets.json", "draws.zarr"),
    }


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--budget", "3"], "--budget is 3.0"),
        (["--by", "who", "--chains", "2"], "--chains is 2, which many data sets do not take"),
        (["--by", "nobody"], "unknown column 'nobody'"),
        (["--by", "who", "--out", "."], "other files"),
    ],
)
def test_what_cannot_be_is_one_sentence(tables, monkeypatch, options, said):
    monkeypatch.chdir(tables)
    code, _, error = run_command(["cluster", "all.csv", *options])
    assert code == 2
    assert said in error
    assert len(error.strip().splitlines()) <= 2
