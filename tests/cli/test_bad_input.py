"""Bad input: exit code 2, one sentence on standard error, nothing on standard output, nothing written."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pyroclust.cli import main
from pyroclust.guides import NeuralClusteringProcess
from pyroclust.models import nig_mixture
from pyroclust.saving.guides import save_guide

NUMBERS = np.random.default_rng(0).standard_normal((6, 4))


def table(path: Path, **columns: object) -> str:
    pd.DataFrame(columns).to_csv(path, index=False)
    return str(path)


def nan_column(folder: Path) -> list[str]:
    return [table(folder / "t.csv", a=[1.0, np.nan, 3.0])]


def text_column(folder: Path) -> list[str]:
    return [table(folder / "t.csv", a=[1.0, 2.0], kind=["x", "y"])]


def one_row(folder: Path) -> list[str]:
    return [table(folder / "t.csv", a=[1.0])]


def constant_column(folder: Path) -> list[str]:
    return [table(folder / "t.csv", a=[2.0, 2.0])]


def no_guide_for_five_columns(folder: Path) -> list[str]:
    columns = [*NUMBERS.T, NUMBERS[:, 0] ** 2]
    return [table(folder / "t.csv", **dict(zip("abcde", columns, strict=True)))]


def dimension_of_another_guide(folder: Path) -> list[str]:
    return ["iris", "--guide", "filter-nig1d"]


def unknown_guide(folder: Path) -> list[str]:
    return ["galaxies", "--guide", "filter-nig3d"]


def truncated_weights(folder: Path) -> list[str]:
    save_guide(NeuralClusteringProcess(nig_mixture(1)), folder / "mine")
    weights = folder / "mine" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    return ["galaxies", "--guide", str(folder / "mine")]


def unwritable_folder(folder: Path) -> list[str]:
    (folder / "file").write_text("not a folder")
    return ["galaxies", "--guide", "filter-nig1d", "--out", str(folder / "file" / "results")]


def missing_file(folder: Path) -> list[str]:
    return [str(folder / "none.csv")]


def unknown_column(folder: Path) -> list[str]:
    return ["iris", "--columns", "petal_lenght_cm"]


def too_many_components(folder: Path) -> list[str]:
    return ["iris", "--pca", "3"]


def condition_of_another_guide(folder: Path) -> list[str]:
    return ["galaxies", "--guide", "filter-nig1d", "--condition", "concentration=1"]


def condition_without_a_number(folder: Path) -> list[str]:
    return ["galaxies", "--guide", "filter-nig1d", "--condition", "concentration"]


CASES = {
    nan_column: "1 in 'a'",
    text_column: "--label kind",
    one_row: "has 1 row",
    constant_column: "column 'a' is constant",
    no_guide_for_five_columns: "reduce with --pca 2",
    dimension_of_another_guide: "guide 'filter-nig1d' takes 1",
    condition_of_another_guide: "guide 'filter-nig1d' takes none",
    condition_without_a_number: "expected NAME=VALUE",
    unknown_guide: "did you mean 'filter-n",
    truncated_weights: "was cut off or changed",
    unwritable_folder: "cannot write into the folder",
    missing_file: "there is no file",
    unknown_column: "did you mean 'petal_length_cm'",
    too_many_components: "expected 1 to 2",
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_one_sentence_and_exit_code_2(case, tmp_path, monkeypatch, capsys):
    arguments = ["compare", *case(tmp_path)]
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SystemExit) as end:
        main(arguments)
    out, err = capsys.readouterr()
    assert end.value.code == 2
    assert out == ""
    assert CASES[case] in err
    assert err.startswith("pyroclust: ")
    assert err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "arguments",
    [["compare"], ["compare", "iris", "--draws", "3"], ["compare", "iris", "--sede", "1"], ["cluster"]],
)
def test_wrong_usage_exits_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


def test_bad_recipe(tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        main(["train", str(tmp_path / "none.toml"), "--out", str(tmp_path / "guide")])
    assert end.value.code == 2
    assert "there is no recipe" in capsys.readouterr().err
    assert not (tmp_path / "guide").exists()


def test_interrupt_exits_with_130(monkeypatch, capsys):
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pyroclust.saving.cards.list_guides", interrupted)
    with pytest.raises(SystemExit) as end:
        main(["guides"])
    assert end.value.code == 130
    assert capsys.readouterr().err == "pyroclust: interrupted\n"


def test_traceback_on_request(monkeypatch):
    monkeypatch.setenv("PYROCLUST_TRACEBACK", "1")
    with pytest.raises(ValueError, match="unknown data set"):
        main(["compare", "galaxy"])
