"""`pyroclust check`: what it prints, stores, and leaves alone; `pyroclust train`: a guide from a recipe."""

import json
from pathlib import Path

import pytest
import torch
import training_cases
from faults.cases import run_command

from pyroclust.calibration import Certificate, CertificateSettings, check_guide
from pyroclust.calibration.certificate import certificate_content
from pyroclust.calibration.checking import store_certificate
from pyroclust.guides import NeuralClusteringProcess
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.models import overlap2d
from pyroclust.saving.cards import read_card
from pyroclust.saving.guides import load_guide, save_guide

TINY = CertificateSettings(
    num_exact=3,
    exact_points=4,
    num_sampled=2,
    sampled_points=(6, 9, 40),
    num_draws=30,
    num_truths=5,
    num_calibrated=20,
    calibrated_points=6,
    calibrated_draws=19,
    num_bins=10,
    num_ordered=4,
    num_orders=5,
    ordered_points=5,
    num_timed=1,
    timed_points=8,
)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both sizes of the command are tiny here."""
    monkeypatch.setattr("pyroclust.cli.guides._effort", lambda *, quick: TINY)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    model = overlap2d()
    guide = NeuralClusteringProcess(model, scorer=light_scorer_for(model, width=8))
    notes = {"about": "tiny", "max_points": 30, "recipe": {"kept": [1, 2.5]}, "seeds": {"weights": 3}}
    save_guide(guide, tmp_path / "mine", card=notes)
    return tmp_path / "mine"


def run(*arguments: str, code: int = 0) -> tuple[str, str]:
    found, out, err = run_command(["check", *arguments])
    assert found == code, err
    return out, err


def test_prints_every_part_and_stores_it(folder) -> None:
    before = json.loads((folder / "card.json").read_text())
    weights = (folder / "weights.safetensors").read_bytes()
    out, _ = run(str(folder), "--seed", "7", "--save", str(folder))
    for word in ("KL", "efficiency", "Pareto k", "log_joint", "prior", "orders", "Draws a second", "Stored"):
        assert word in out
    assert "Passed" in out or "Failed" in out
    assert "The card has no certificate to compare with." in out
    # Eighty columns in a pipe, and no figure cut off.
    assert max(map(len, out.split("Stored")[0].splitlines())) <= 80
    assert "…" not in out
    for word in ("calibration of entropy at N = 6", "at least 0.005", "at most 25%"):
        assert word in out
    after = json.loads((folder / "card.json").read_text())
    assert (folder / "weights.safetensors").read_bytes() == weights
    assert {k: v for k, v in after.items() if k != "certificate"} == {
        k: v for k, v in before.items() if k != "certificate"
    }
    stored = Certificate.from_dict(after["certificate"])
    assert stored.seed == 7
    assert [row.num_points for row in stored.sampled] == [6, 9]
    assert stored.baseline == "PredictiveFilter"
    assert after["certificate"]["verdict"] == certificate_content(stored)["verdict"]
    assert sorted(path.name for path in folder.iterdir()) == [
        ".certificate.png.pyroclust",
        "card.json",
        "certificate.png",
        "weights.safetensors",
    ]
    assert (folder / "certificate.png").read_bytes().startswith(b"\x89PNG")
    assert load_guide(folder).model.name == "overlap2d"
    assert read_card(folder).certificate["seed"] == 7


def test_json_is_all_of_standard_output(folder) -> None:
    out, _ = run(str(folder), "--json")
    content = json.loads(out)
    assert content["guide"] == "mine"
    assert content["certificate"]["verdict"]["findings"]
    assert content["note"] == "Not stored: --save FOLDER stores the guide with this certificate."
    assert not read_card(folder).certificate


def test_options_reach_the_measurement(folder) -> None:
    out, _ = run(str(folder), "--json", "--points", "50,5", "--datasets", "30")
    found = json.loads(out)["certificate"]
    assert [row["num_points"] for row in found["sampled"]] == [5, 50]
    assert found["calibration"][0]["num_datasets"] == 30


def test_a_quick_look_replaces_no_certificate(folder) -> None:
    here = ["--save", str(folder)]
    first, _ = run(str(folder), "--quick", *here)
    assert "Stored" in first
    card = (folder / "card.json").read_bytes()
    _, error = run(str(folder), "--quick", "--seed", "9", *here, code=2)
    assert "which a quick look does not replace" in " ".join(error.split())
    assert (folder / "card.json").read_bytes() == card
    again, _ = run(str(folder), "--quick", "--seed", "9")
    assert "tests that are in the card's certificate too" in " ".join(again.split())
    run(str(folder), "--seed", "9", *here)
    assert read_card(folder).certificate["seed"] == 9


def test_another_folder_gets_the_guide_with_its_certificate(folder, tmp_path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    copy = tmp_path / "copy"
    for seed in ("3", "4"):
        run(str(folder), "--seed", seed, "--save", str(copy))
        assert read_card(copy).certificate["seed"] == int(seed)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    same = load_guide(copy).state_dict()
    assert all(torch.equal(one, same[name]) for name, one in load_guide(folder).state_dict().items())
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    _, error = run(str(folder), "--save", str(tmp_path / "full"), code=2)
    assert "holds other files (mine.txt)" in error


def test_out_gets_certificate_and_picture(folder, tmp_path) -> None:
    run(str(folder), "--out", str(tmp_path / "out"))
    assert json.loads((tmp_path / "out" / "certificate.json").read_text())["guide"] == "mine"
    assert (tmp_path / "out" / "certificate.png").stat().st_size > 10_000
    assert not (folder / "certificate.png").exists()


def test_a_card_that_cannot_be_written_is_as_it_was(folder, monkeypatch) -> None:
    def refused(folder: Path, card: str) -> None:
        raise PermissionError(13, "Permission denied", str(folder))

    before = (folder / "card.json").read_bytes()
    monkeypatch.setattr("pyroclust.calibration.checking.write_card", refused)
    _, error = run(str(folder), "--save", str(folder), code=2)
    assert "Permission denied" in error
    assert (folder / "card.json").read_bytes() == before
    assert not (folder / "certificate.png").exists()


def test_nothing_is_written_into_the_package(folder, monkeypatch) -> None:
    monkeypatch.setattr("pyroclust.core.files._LIBRARY", folder.parent)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for option in ("--save", "--out"):
        _, error = run(str(folder), option, str(folder), code=2)
        assert "lies inside the installed package" in error
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_card_is_the_old_one_or_the_new_one(folder, monkeypatch) -> None:
    before = (folder / "card.json").read_bytes()
    result = check_guide(folder, settings=TINY)

    def full_disk(source: object, target: object) -> None:
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr("os.replace", full_disk)
    with pytest.raises(OSError, match="No space left"):
        store_certificate(folder, result.certificate)
    assert (folder / "card.json").read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == ["card.json", "weights.safetensors"]


def test_strict_ends_with_3_once_what_could_be_measured_is_printed_and_written(folder, tmp_path) -> None:
    guide = load_guide(folder)
    with torch.no_grad():
        for weight in guide.parameters():
            weight.fill_(1e30)
    save_guide(guide, tmp_path / "bad", card={"about": "its weights overflow", "max_points": 30})
    arguments = (str(tmp_path / "bad"), "--seed", "7", "--json")
    plain, _ = run(*arguments)
    out, _ = run(*arguments, "--strict", "--out", str(tmp_path / "o"), code=3)
    found = json.loads(out)["certificate"]
    assert found["verdict"] == json.loads(plain)["certificate"]["verdict"]
    assert found["verdict"]["passed"] is False
    assert (tmp_path / "o" / "certificate.json").is_file()


def test_a_recipe_becomes_a_guide_with_a_certificate(tmp_path) -> None:
    (tmp_path / "tiny.toml").write_text(training_cases.recipe(3))
    out = str(tmp_path / "out")
    code, printed, err = run_command(
        ["train", str(tmp_path / "tiny.toml"), "--out", out, "--quick", "--json"]
    )
    assert code == 0, err
    content = json.loads(printed)
    assert content["steps"] == 3
    assert content["certificate"]["exact"][0]["mean_kl"] > 0
    assert load_guide(out).model.name == "overlap2d"
