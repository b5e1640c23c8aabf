"""Every output of every command, and what lies in its place: only what a run wrote itself is replaced."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from faults.cases import run_command, snapshot
from training_cases import recipe

import pyroclust
from pyroclust.calibration import CertificateSettings
from pyroclust.guides import PredictiveFilter
from pyroclust.models import nig_mixture


@dataclass(frozen=True)
class Output:
    """An output of a command, or of a function in Python.

    Attributes:
        run: with the words of the command but those that say where, or the function of a source.
        option: that says where.
        name: of one of its files, in the folder; empty where it is a file itself.
        source: what it reads first.
    """

    run: str | Callable[[str, int, str, bool], object]
    option: str = "--out"
    name: str = "assignments.csv"
    source: str = ""

    def __call__(self, place: str, seed: int, *, overwrite: bool, source: str = "") -> tuple[int, str]:
        """Write with a seed, and return the exit code and what was said."""
        if not isinstance(self.run, str):
            try:
                self.run(source or self.source, seed, place, overwrite)
            except ValueError as error:
                return 2, str(error)
            return 0, ""
        words = self.run.format(source=source or self.source, seed=seed).split()
        code, _, err = run_command([*words, self.option, place, *["--overwrite"] * overwrite])
        return code, " ".join(err.split())


def _saved(source: str, seed: int, place: str, overwrite: bool) -> None:  # noqa: FBT001
    pyroclust.diagnose(source, seed=seed).save(place, overwrite=overwrite)


def _saved_guide(source: str, seed: int, place: str, overwrite: bool) -> None:  # noqa: FBT001
    pyroclust.save_guide(PredictiveFilter(nig_mixture(1)), place, card={"seeds": {"weights": seed}})


FEW = "--columns a --mcmc-draws 10 --chains 2 --warmup 10 --seed {seed} --quiet"
FOREST = "forest {source} --columns a --clusters 2 --draws 20 --seed {seed} --quiet"
OUTPUTS: dict[str, Output] = {
    "cluster": Output("cluster {source} " + FEW, source="t.csv"),
    "compare": Output("compare {source} --guide none " + FEW, source="t.csv"),
    "forest": Output(FOREST, source="t.csv"),
    "diagnose": Output("diagnose {source} --seed {seed} --quiet", source="d.npy"),
    "update": Output("update {source} n.csv --draws 20 --seed {seed} --quiet", source="base"),
    "predict": Output("predict base {source} --seed {seed} --quiet", name="", source="n.csv"),
    "check --out": Output("check ./g --seed {seed}", name="certificate.png"),
    "check --save": Output("check ./g --seed {seed}", option="--save", name="certificate.png"),
    "check --save (card)": Output("check ./g", option="--save", name="card.json"),
    "train": Output("train r{seed}.toml --quick --json", name="recipe.toml"),
    "train (log)": Output("train r{seed}.toml --quick --json", name="log.csv"),
    "Analysis.save": Output(_saved, source="d.npy"),
    "save_guide": Output(_saved_guide, name="card.json"),
}
# A guide is stored again in the place of one.
AGAIN_WITHOUT_A_WORD = ("check --save", "check --save (card)", "save_guide")
# Cards have no checksum of their own, and logs grow.
CHANGES_ARE_SEEN = set(OUTPUTS) - {"check --save (card)", "train (log)", "save_guide"}


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Inputs of all commands, and below ``own`` what each of them writes."""
    folder = tmp_path_factory.mktemp("stock")
    rng = np.random.default_rng(0)
    for name, rows in (("t.csv", 24), ("n.csv", 3)):
        values = rng.normal(size=rows) + 6 * (np.arange(rows) % 2)
        pd.DataFrame({"a": values}).to_csv(folder / name, index=False)
    np.save(folder / "d.npy", rng.integers(2, size=(2, 30, 6)))
    pyroclust.save_guide(PredictiveFilter(nig_mixture(1)), folder / "g", card={"max_points": 8})
    for seed in (1, 2):
        (folder / f"r{seed}.toml").write_text(recipe(1, seed=seed))
    pyroclust.cluster(
        pd.read_csv(folder / "t.csv"), mcmc_draws=10, num_chains=2, warmup=10, out=folder / "base"
    )
    return folder


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = classmethod(lambda cls: CertificateSettings.nothing())
    monkeypatch.setattr(CertificateSettings, "quick", nothing)
    monkeypatch.setattr("pyroclust.cli.guides._effort", lambda *, quick: CertificateSettings.nothing())
    monkeypatch.setattr("pyroclust.report.writing.render_page", lambda page: page.title)


@pytest.fixture
def folder(stock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(stock, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def everything(folder: Path) -> dict[str, Any]:
    """Return checksums of all files, and where links lead."""
    links = {str(one): os.readlink(one) for one in folder.rglob("*") if one.is_symlink()}
    return snapshot(folder) | links


def files(folder: Path) -> set[str]:
    """Return the names of all files but the events of TensorBoard, which hold the time."""
    return {str(one.relative_to(folder)) for one in folder.rglob("*") if one.parent.name != "tensorboard"}


def own(stock: Path, folder: Path, name: str) -> None:
    """Put what an earlier run of the command wrote into its place."""
    kept = stock / "own" / name
    if not kept.exists():
        code, said = OUTPUTS[name]("out", 1, overwrite=False)
        assert code == 0, said
        kept.mkdir(parents=True)
        for path in (folder / "out", folder / ".out.pyroclust"):
            if path.exists():
                shutil.move(path, kept / path.name)
    shutil.copytree(kept, folder, dirs_exist_ok=True)


def lay(what: str, place: Path) -> None:
    place.parent.mkdir(exist_ok=True)
    if what == "a stranger's file":
        place.write_text("mine")
    elif what == "a link":
        (place.parent / "precious").write_text("precious")
        place.symlink_to("precious")
    elif what == "a folder":
        place.mkdir()
        (place / "mine").write_text("mine")


@pytest.mark.parametrize(
    ("what", "overwrite"),
    [("a stranger's file", False), ("a stranger's file", True), ("a link", True), ("a folder", True)],
)
@pytest.mark.parametrize("name", OUTPUTS)
def test_what_no_run_wrote_is_never_replaced(name, what, overwrite, folder):
    output = OUTPUTS[name]
    lay(what, folder / "out" / output.name)
    before = everything(folder)
    code, said = output("out", 1, overwrite=overwrite)
    assert code == 2, said
    assert everything(folder) == before


@pytest.mark.parametrize("overwrite", [False, True], ids=["", "--overwrite"])
@pytest.mark.parametrize("name", OUTPUTS)
def test_own_results_are_replaced_where_they_are_unchanged(name, overwrite, stock, folder):
    output = OUTPUTS[name]
    own(stock, folder, name)
    before, names = everything(folder), files(folder)
    code, said = output("out", 2, overwrite=overwrite)
    if overwrite or name in AGAIN_WITHOUT_A_WORD:
        assert code == 0, said
        assert files(folder) == names
    else:
        assert code == 2, said
        assert "--overwrite" in said
        assert everything(folder) == before


@pytest.mark.parametrize("overwrite", [False, True], ids=["", "--overwrite"])
@pytest.mark.parametrize("name", sorted(CHANGES_ARE_SEEN))
def test_own_results_that_somebody_changed_are_not_replaced(name, overwrite, stock, folder):
    output = OUTPUTS[name]
    own(stock, folder, name)
    place = folder / "out" / output.name
    place.write_bytes(place.read_bytes() + b"\n")
    before = everything(folder)
    for seed in (1, 2):
        code, said = output("out", seed, overwrite=overwrite)
        assert code == 2, said
        assert everything(folder) == before
    assert "was changed since pyroclust wrote it" in said


@pytest.mark.parametrize("name", [name for name, one in OUTPUTS.items() if one.source])
def test_inputs_are_never_replaced(name, stock, folder):
    output = OUTPUTS[name]
    source, place = "out", "out"
    if name == "update":
        shutil.copytree("base", "out")
    else:
        own(stock, folder, name)
    if name in ("diagnose", "Analysis.save"):
        source = "out/draws.nc"
    elif name in ("cluster", "compare", "forest"):
        source = "out/assignments.csv"
    elif name == "predict":
        # What predict wrote for one source are the new rows of another.
        (folder / "out").rename("out.csv")
        (folder / ".out.pyroclust").unlink()
        shutil.copy("n.csv", "out.csv")
        source = place = "out.csv"
    before = everything(folder)
    code, said = output(place, 1, overwrite=True, source=source)
    assert code == 2, said
    assert everything(folder) == before
    assert "is an input of this run" in said
