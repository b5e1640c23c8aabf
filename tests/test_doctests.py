"""Every example in a docstring, run on the installed package from another directory."""

import doctest
import importlib

import pytest
from test_import_law import SOURCES

# Looking for examples takes longer than running most of them.
MODULES = [module for module, path in SOURCES.items() if ">>>" in path.read_text(encoding="utf-8")]


def test_mapped_packages_are_covered():
    assert {"pyroclust.models.mixture", "pyroclust.guides.exact_filters", "pyroclust.data.tables"} <= set(
        MODULES
    )


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(
        importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    assert found.failed == 0, capsys.readouterr().out
