"""Bad input: exit code 2, one sentence on standard error, nothing on standard output, nothing written."""

import subprocess
import sys
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


def infinite_column(folder: Path) -> list[str]:
    return [table(folder / "t.csv", a=[1.0, np.inf, 3.0])]


def text_column(folder: Path) -> list[str]:
    return [table(folder / "t.csv", a=[1.0, 2.0, 3.0], kind=["1.5", "x", "2.5"])]


def one_row(folder: Path) -> list[str]:
    return [table(folder / "t.csv", a=[1.0])]


def constant_column(folder: Path) -> list[str]:
    return [table(folder / "t.csv", a=[2.0, 2.0])]


def condition_without_a_guide_on_the_shelf(folder: Path) -> list[str]:
    columns = [*NUMBERS.T, NUMBERS[:, 0] ** 2]
    made = table(folder / "t.csv", **dict(zip("abcde", columns, strict=True)))
    return [made, "--condition", "concentration=1"]


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


def repeated_column(folder: Path) -> list[str]:
    return ["iris", "--columns", "petal_length_cm,petal_length_cm"]


def empty_file(folder: Path) -> list[str]:
    (folder / "t.csv").write_text("")
    return [str(folder / "t.csv")]


def binary_file(folder: Path) -> list[str]:
    (folder / "t.csv").write_bytes(bytes(range(256)))
    return [str(folder / "t.csv")]


def a_folder(folder: Path) -> list[str]:
    (folder / "t.csv").mkdir()
    return [str(folder / "t.csv")]


def no_suffix(folder: Path) -> list[str]:
    (folder / "table").write_text("1,2\n3,4\n")
    return [str(folder / "table")]


def pickled_array(folder: Path) -> list[str]:
    np.save(folder / "t.npy", np.array([{}, 1], dtype=object), allow_pickle=True)
    return [str(folder / "t.npy")]


def three_dimensions(folder: Path) -> list[str]:
    np.save(folder / "t.npy", np.zeros((2, 2, 2)))
    return [str(folder / "t.npy")]


def folder_without_a_guide(folder: Path) -> list[str]:
    (folder / "empty").mkdir()
    return ["galaxies", "--guide", str(folder / "empty")]


def too_many_components(folder: Path) -> list[str]:
    return ["iris", "--pca", "3"]


def condition_of_another_guide(folder: Path) -> list[str]:
    return ["galaxies", "--guide", "filter-nig1d", "--condition", "concentration=1"]


def condition_without_a_number(folder: Path) -> list[str]:
    return ["galaxies", "--guide", "filter-nig1d", "--condition", "concentration"]


CASES = {
    infinite_column: "column 'a' holds 1 infinite values",
    text_column: "--label kind",
    one_row: "has 1 row",
    constant_column: "column 'a' is constant",
    condition_without_a_guide_on_the_shelf: "guide 'exact filter' takes none",
    dimension_of_another_guide: "guide 'filter-nig1d' takes 1",
    condition_of_another_guide: "guide 'filter-nig1d' takes none",
    condition_without_a_number: "expected NAME=VALUE",
    unknown_guide: "did you mean 'filter-n",
    truncated_weights: "was cut off or changed",
    unwritable_folder: "cannot write into the folder",
    missing_file: "there is no file",
    repeated_column: "a column name appears twice",
    empty_file: "is empty",
    binary_file: "is not a readable .csv file",
    a_folder: "has no images",
    no_suffix: "its suffix is ''",
    pickled_array: "is not a readable .npy file",
    three_dimensions: "there is no guide on the shelf for images of 2 x 2 pixels",
    folder_without_a_guide: "card.json",
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


NEW_USERS = {
    "compare nosuch.csv": "there is no file 'nosuch.csv'; check the path",
    "compare galaxy": "unknown data set 'galaxy', did you mean 'galaxies'?",
    "compare points.ods": "its suffix is '.ods', expected one of .csv",
    "compare semicolons.csv --columns a": "semicolons: column 'a' is constant",
    "compare iris --columns petal_length_cm,species": "column 'species' is the label and cannot be clustered",
    "compare iris --columns petal": "unknown column 'petal'",
    "compare iris --label specie": "unknown column 'specie', did you mean 'species'?",
    "compare iris --pca 0": "--pca is 0, expected 1 to 2",
    "compare galaxies --condition concentration": "expected NAME=VALUE such as concentration=0.7",
    "diagnose nosuch.csv": "there is no file 'nosuch.csv'; check the path",
    "diagnose nosuch": "its suffix is '', expected one of .csv",
    "diagnose draws.rds": "its suffix is '.rds', expected one of .csv",
    "diagnose summary.csv": "a table of statistics, expected the draws themselves",
    "diagnose measured.csv": "holds 5.1 in draw 1, point 1, expected whole numbers",
    "diagnose named.csv": "holds '5.1' and the like in column 'width'",
    "diagnose whole.npy": "different values for 3 points, and hardly any two of a draw are equal",
    "diagnose one.npy": "has shape (5,), expected (draws, points)",
    "diagnose good.npy --group guide": "only .nc files have groups",
    "diagnose good.npy --variable z": "the one array of 'good.npy' has no name",
    "diagnose good.npy --other-group guide": "there is no second file",
    "diagnose good.npy --data iris": "expected one row a point",
    "diagnose good.npy --label species": "there is no table to look for it in",
}


@pytest.fixture
def new_users_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"mean": [5.1, 2.0], "sd": [1.2, 0.3]}, index=["K", "entropy"]).to_csv("summary.csv")
    pd.DataFrame({"width": [5.1, 4.9], "height": [3.5, 3.0]}).to_csv("measured.csv", index=False)
    pd.DataFrame({"width": [5.1, 4.9], "kind": ["a", "b"]}).to_csv("named.csv", index=False)
    Path("semicolons.csv").write_text("a;b;c\n1;1;2\n1;2;2\n")
    np.save("whole.npy", np.random.default_rng(0).integers(100, 30_000, size=(100, 3)))
    np.save("one.npy", np.zeros(5, dtype=int))
    np.save("good.npy", np.random.default_rng(0).integers(3, size=(2, 20, 6)))


@pytest.mark.parametrize("command", NEW_USERS)
@pytest.mark.usefixtures("new_users_files")
def test_what_new_users_type_gets_one_sentence(command, capsys):
    with pytest.raises(SystemExit) as end:
        main(command.split())
    out, err = capsys.readouterr()
    assert end.value.code == 2
    assert out == ""
    assert NEW_USERS[command] in err
    assert err.startswith("pyroclust: ")
    assert err.count("\n") == 1


EARLY = [
    "compare nosuch.csv",
    "compare iris --columns petal",
    "compare galaxies --guide nosuch",
    "diagnose one.npy",
    "diagnose good.npy --data nosuch.csv",
]


@pytest.mark.usefixtures("new_users_files")
def test_bad_input_is_refused_before_torch_is_loaded():
    script = (
        "import sys\nfrom pyroclust.cli import main\n"
        f"for command in {EARLY}:\n"
        "    try:\n        main(command.split())\n"
        "    except SystemExit as end:\n        assert end.code == 2\n"
        "    assert not {'torch', 'pyro'} & set(sys.modules), command"
    )
    subprocess.run([sys.executable, "-c", script], check=True, stderr=subprocess.PIPE)


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
