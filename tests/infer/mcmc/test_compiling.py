"""Machine code on disk must not outlive the code that it was made from."""

import importlib.util
import sys

import numpy as np
import pytest
from numba.core.errors import NumbaError

from pyroclust.infer.mcmc.compiled import compiling
from pyroclust.infer.mcmc.compiled.chain import rebuild
from pyroclust.infer.mcmc.compiled.runner import run_draws

SOURCE = """
from pyroclust.infer.mcmc.compiled.compiling import lean

@lean
def twice(x):
    return 2 * x
"""


RENAMED = """
from typing import NamedTuple
import numpy as np
from pyroclust.infer.mcmc.compiled.compiling import lean

class {name}(NamedTuple):
    values: np.ndarray

@lean
def first(family):
    return family.values[0]
"""


def load(path, monkeypatch):
    """Import a module anew, as another process would."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)
    spec.loader.exec_module(module)
    return module


def test_cache_is_found_again_until_a_file_of_the_folder_changes(tmp_path, monkeypatch):
    path = tmp_path / "twice_module.py"
    path.write_text(SOURCE)
    monkeypatch.setattr(compiling, "_folder_stamp", lambda: "before")
    assert load(path, monkeypatch).twice(3) == 6
    again = load(path, monkeypatch).twice
    again(3)
    assert sum(again.stats.cache_hits.values()) == 1
    monkeypatch.setattr(compiling, "_folder_stamp", lambda: "after")
    edited = load(path, monkeypatch).twice
    edited(3)
    assert sum(edited.stats.cache_hits.values()) == 0


def test_cache_of_types_that_exist_no_more_is_left(tmp_path, monkeypatch):
    path = tmp_path / "renamed_module.py"
    for name in ("Old", "New"):
        path.write_text(RENAMED.format(name=name))
        module = load(path, monkeypatch)
        assert module.first(getattr(module, name)(np.ones(1))) == 1.0


def test_stamp_covers_names_and_contents(tmp_path, monkeypatch):
    monkeypatch.setattr(compiling, "__file__", str(tmp_path / "compiled" / "compiling.py"))
    stamps = set()
    for name, text in (("one.py", "a"), ("one.py", "b"), ("two.py", "b"), ("notes.txt", "c")):
        (tmp_path / name).write_text(text)
        compiling._folder_stamp.cache_clear()
        stamps.add(compiling._folder_stamp())
    compiling._folder_stamp.cache_clear()
    assert len(stamps) == 3


@pytest.mark.parametrize("function", [run_draws, rebuild])
def test_library_functions_carry_the_stamp(function):
    assert function._cache._cache_file._source_stamp[1] == compiling._folder_stamp()


def test_lean_functions_refuse_to_allocate():
    @compiling.lean
    def allocate(size):
        return np.zeros(size).sum()

    with pytest.raises(NumbaError):
        allocate(3)
