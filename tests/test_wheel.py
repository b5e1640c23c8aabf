"""The built wheel: what is inside, and the command it installs, run from another directory."""

import json
import os
import shutil
import site
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = {
    "pyroclust": "pyroclust",
    "models": "pyroclust/models",
    "guides": "pyroclust/guides",
    "recipes": "pyroclust/recipes/shipped",
}


def run(*command: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {"OMP_NUM_THREADS": "1", "COLUMNS": "110"}
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    # A copy: building in place would leave a build folder whose old files end up in the next wheel.
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, source / folder, ignore=ignore)
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, source / file)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    built = run(*pip, "--wheel-dir", out, source, cwd=out)
    assert built.returncode == 0, built.stderr
    (found,) = out.glob("pyroclust-*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """Install the wheel alone into an environment that borrows the other packages of this one."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index"]
    done = run(*pip, wheel, cwd=folder)
    assert done.returncode == 0, done.stderr
    (packages,) = folder.glob("lib/python*/site-packages")
    # A plain path in a .pth file brings the packages but not the editable install of this checkout.
    (packages / "borrowed.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    return folder / "bin"


def test_every_file_of_the_package_is_inside(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    suffixes = {".toml", ".py", ".typed", ".csv", ".json", ".safetensors", ".jinja", ".css", ".js"}
    for folder, installed_as in FOLDERS.items():
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in suffixes and "__pycache__" not in path.parts and path.name != "log.csv":
                assert f"{installed_as}/{path.relative_to(ROOT / folder).as_posix()}" in names
    assert {"pyroclust/py.typed", "pyroclust/models/mixture.py", "pyroclust/data/galaxies.csv"} <= names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"pyroclust"}


def test_command_says_its_version(installed, tmp_path):
    done = run(installed / "pyroclust", "--version", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("pyroclust 0.")


def test_package_comes_from_the_wheel(installed, tmp_path):
    code = "import pyroclust, pyroclust.models, pyroclust.guides; print(pyroclust.models.__file__)"
    done = run(installed / "python", "-c", code, cwd=tmp_path)
    assert Path(done.stdout).is_relative_to(installed.parent), done.stderr


@pytest.mark.prove
def test_command_compares_from_any_directory(installed, tmp_path):
    options = ["--guide", "filter-nig1d", "--draws", "50", "--mcmc-draws", "50", "--out", "found"]
    done = run(installed / "pyroclust", "compare", "galaxies", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "How many clusters" in done.stdout
    assert json.loads((tmp_path / "found" / "summary.json").read_text())["num_points"] == 82
    assert (tmp_path / "found" / "report.html").stat().st_size > 10_000


def test_what_lies_in_the_package_is_found_from_any_directory(installed, tmp_path):
    code = """
from pyroclust import list_guides, load_guide, read_table
from pyroclust.recipes import list_recipes, read_recipe
steps = [read_recipe(name).training.steps for name in list_recipes()]
# Its draws need no compiled code, which another place would compile anew.
guide = load_guide("ncp-published-gaussian2d")
draws = guide.posterior(read_table("galaxies").data[:20].repeat(2, 1) / 20_000 - 1).sample((30,))
print(len(steps), min(steps), len(list_guides()), *draws.shape)
"""
    done = run(installed / "python", "-c", code, cwd=tmp_path)
    num_recipes, fewest, num_guides, *shape = map(int, done.stdout.split())
    assert num_recipes == len(list((ROOT / "recipes").glob("*.toml"))), done.stderr
    assert fewest > 0
    assert num_guides == len(list((ROOT / "pyroclust" / "pretrained_guides").glob("*/card.json")))
    assert shape == [30, 20]
    assert not list(tmp_path.iterdir())
