"""``pyroclust compare`` of a folder of images and of arrays: draws of a guide, sheets, and no likelihood."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from pyroclust import compare
from pyroclust.cli import main

RANDOM = np.random.default_rng(0)


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write forty handwritten digits of three classes, dark on light, a folder a class."""
    folder = tmp_path_factory.mktemp("images") / "digits"
    bundle = load_digits()
    for place in np.flatnonzero(np.isin(bundle.target, [0, 1, 4]))[:40]:
        path = folder / str(bundle.target[place]) / f"{place}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray((255 - bundle.images[place] * 255 / 16).astype(np.uint8)).save(path)
    return folder


def code_of(*arguments: str) -> object:
    """Run the command line and return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return ended.value.code


def test_a_folder_of_images(digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert not code_of("compare", str(digits), "--draws", "60", "--out", str(out), "--json", "--quiet")
    figures = json.loads(capsys.readouterr().out)
    assert figures["guide"] == "ncp-glyphs8"
    assert figures["points"] == "images of 8 x 8 pixels"
    assert figures["point_estimates"]["guide"]["adjusted_rand_to_labels"] > 0.6
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "has no formula" in page
    assert "The images, by the point estimate" in page
    assert "Which images are unsure" in page
    frame = pd.read_csv(out / "assignments.csv")
    assert len(frame) == 40
    assert set(frame["label"]) == {0, 1, 4}
    assert frame.iloc[0, 0].endswith(".png")
    assert not any("," in name for name in frame.columns)


def test_an_array_of_images_is_the_same_data(digits: Path) -> None:
    bundle = load_digits()
    names = [int(path.stem) for one in "014" for path in (digits / one).iterdir()]
    images = bundle.images[sorted(names)] / 16
    result = compare(images, num_draws=20)
    assert result.guide.name == "ncp-glyphs8"
    assert result.draws["guide"].assignments.shape == (1, 20, 40)
    assert result.about["columns"] == []
