"""Every example in a docstring, run on the installed package from another directory."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import pyroclust

MODULES = sorted(module.name for module in pkgutil.walk_packages(pyroclust.__path__, "pyroclust."))
MODULES += sorted(
    module.name
    for package in ("pyroclust.models", "pyroclust.guides")
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}.")
)


def test_mapped_packages_are_covered():
    mapped = {
        "pyroclust.models.mixture",
        "pyroclust.models.deep_mixture",
        "pyroclust.guides.exact_filters",
    }
    assert mapped | {"pyroclust.data.tables"} <= set(MODULES)


@pytest.mark.parametrize("name", sorted(set(MODULES)))
def test_examples(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    # Looking for examples takes longer than running most of them.
    if ">>>" not in inspect.getsource(module):
        return
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0, capsys.readouterr().out
