"""``import pyroclust`` is quick, and what it offers is seen by people, by ``dir`` and by type checkers."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pyroclust

NAMES = [name for name in pyroclust.__all__ if not name.startswith("__")]


def test_dir_lists_names_and_packages():
    assert set(NAMES) < set(dir(pyroclust))
    assert {"models", "guides", "diagnostics", "infer", "plots"} < set(dir(pyroclust))
    assert [name for name in dir(pyroclust) if name.startswith("_")] == ["__version__"]


def test_every_name_is_there_and_in_the_tour():
    for name in dir(pyroclust):
        getattr(pyroclust, name)
        assert name == "__version__" or name in pyroclust.__doc__


def test_type_checkers_see_the_same_names():
    tree = ast.parse(Path(pyroclust.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    assert sorted(alias.asname for node in block.body for alias in node.names) == sorted(NAMES)
    for node in block.body:
        for alias in node.names:
            assert pyroclust._HOMES[alias.name] == node.module


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="module 'pyroclust' has no attribute 'compaer'"):
        pyroclust.compaer  # noqa: B018


def test_import_needs_no_torch():
    script = (
        "import sys, pyroclust; dir(pyroclust); assert not {'torch', 'numpy', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


# What only a training, a picture, a classical method or a file of draws needs.
HEAVY = (
    *("arviz", "arviz_stats", "h5netcdf", "jinja2", "lightning_fabric", "matplotlib", "networkx", "rich"),
    *("sklearn", "scipy.cluster", "scipy.ndimage", "scipy.optimize", "scipy.signal", "scipy.stats"),
    *("scipy.sparse", "torch._dynamo"),
)


ANALYSES = "pyroclust.analysis.compare, pyroclust.analysis.running, pyroclust.analysis.forest"
LIBRARY = "pyroclust.guides, pyroclust.infer, pyroclust.models, pyroclust.baselines"


@pytest.mark.parametrize(
    ("modules", "left_out"),
    [
        (f"{ANALYSES}, {LIBRARY}", HEAVY),
        ("pyroclust.analysis.diagnose, pyroclust.data.draws", (*HEAVY, "torch", "pyro", "xarray")),
    ],
)
def test_heavy_modules_are_loaded_where_they_are_used(modules, left_out):
    script = f"import sys, {modules}; print(*{set(left_out)} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert found.stdout.split() == []


def test_results_say_what_they_are():
    table = pyroclust.read_table("iris")
    assert repr(table) == "Table('iris': 150 points of petal_length_cm, petal_width_cm, 3 reference labels)"
    assert repr(pyroclust.standardise(table)) == "Standardised(150 points of petal_length_cm, petal_width_cm)"
