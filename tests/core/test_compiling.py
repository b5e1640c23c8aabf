"""Machine code on disk is found again, is never older than its source, and needs no place to write."""

import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numba import config
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError
from test_import_law import SOURCES

import pyroclust
from pyroclust.core import compiling
from pyroclust.distributions.compiled import protocol

SOURCE = """
from pyroclust.core.compiling import compiled

@compiled
def twice(x):
    return {factor} * x
"""
FACTORY = """
from pyroclust.core.compiling import compiled

def make(factor):
    @compiled
    def scaled(x):
        return factor * x

    return scaled
"""


def load(path, monkeypatch):
    """Import a module anew, as another process would."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def _where_users_keep_code(monkeypatch):
    """Keep code beside its file, as without NUMBA_CACHE_DIR, which `make test` sets."""
    monkeypatch.setattr(config, "CACHE_DIR", "")
    # Python takes bytecode of a file that changed within a second for that of the new one.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


def write(path, text):
    path.write_text(text)
    compiling._stamp.cache_clear()
    return path


def hits(function):
    return sum(function.stats.cache_hits.values())


def test_code_is_found_again_until_its_file_changes(tmp_path, monkeypatch):
    path = write(tmp_path / "twice_module.py", SOURCE.format(factor=2))
    assert load(path, monkeypatch).twice(3) == 6
    again = load(path, monkeypatch).twice
    assert again(3) == 6
    assert hits(again) == 1
    edited = load(write(path, SOURCE.format(factor=3)), monkeypatch).twice
    assert edited(3) == 9
    assert hits(edited) == 0
    assert len(list(tmp_path.rglob("*.nbc"))) == 1


@pytest.mark.parametrize("kept_bytes", [0, 10, -50])
def test_damaged_files_are_compiled_anew(tmp_path, monkeypatch, kept_bytes):
    path = write(tmp_path / "twice_module.py", SOURCE.format(factor=2))
    load(path, monkeypatch).twice(3)
    (kept,) = tmp_path.rglob("*.nbc")
    kept.write_bytes(kept.read_bytes()[:kept_bytes])
    again = load(path, monkeypatch).twice
    assert again(3) == 6
    assert hits(again) == 0


def test_stamps_cover_what_is_inlined(tmp_path, monkeypatch):
    """Code of kernels is made of all files beside them, that of other functions of their folder's."""
    kernels, losses = tmp_path / "infer" / "mcmc", tmp_path / "diagnostics"
    monkeypatch.setattr(compiling, "_LIBRARY", tmp_path)
    monkeypatch.setattr(compiling, "_KERNELS", kernels)
    for folder in (kernels / "families", losses):
        folder.mkdir(parents=True)
        (folder / "one.py").write_text("a")
    (kernels / "sweep.py").write_text("a")

    def stamps():
        compiling._stamp.cache_clear()
        return [compiling._stamp(one) for one in (kernels / "families" / "one.py", losses / "one.py")]

    before = stamps()
    write(kernels / "sweep.py", "b")
    (kernel, loss), middle = stamps(), stamps()
    assert (kernel != before[0], loss) == (True, before[1])
    (losses / "two.py").write_text("new")
    assert (stamps()[0], stamps()[1] != middle[1]) == (middle[0], True)
    for name, value in (("__file__", str(write(tmp_path / "compiling.py", "a"))), ("numba_version", "0.0")):
        last = stamps()
        monkeypatch.setattr(compiling, name, value)
        assert all(one != two for one, two in zip(stamps(), last, strict=True))
    compiling._stamp.cache_clear()


def functions_of(module):
    """Return the compiled functions that a module defines, those of its families' tables too."""
    methods = [
        one
        for kind, every in protocol._METHODS.items()
        if kind.__module__ == module.__name__
        for one in every
    ]
    found = [*vars(module).values(), *methods]
    return [one for one in found if isinstance(one, Dispatcher) and one.py_func.__module__ == module.__name__]


@pytest.mark.parametrize(
    "name", [name for name, path in SOURCES.items() if "compiling import" in path.read_text()]
)
def test_stamps_cover_every_function_that_a_function_calls(name):
    """Machine code on disk contains that of the functions that it calls, of other files too."""
    for function in functions_of(importlib.import_module(name)):
        origins = compiling._origins(SOURCES[name])
        for called in map(function.py_func.__globals__.get, function.py_func.__code__.co_names):
            if isinstance(called, Dispatcher):
                assert Path(called.py_func.__code__.co_filename) in origins, (function, called)


def test_code_of_functions_within_functions_is_not_kept(tmp_path, monkeypatch):
    """The file does not say what they refer to."""
    make = load(write(tmp_path / "factory_module.py", FACTORY), monkeypatch).make
    assert [make(factor)(3) for factor in (2, 5)] == [6, 15]
    assert not list(tmp_path.rglob("*.nbc"))


def test_code_of_two_functions_on_a_line_is_kept_apart(tmp_path, monkeypatch):
    text = "from pyroclust.core.compiling import compiled\n"
    text += "one, two = compiled(lambda x: x + 1), compiled(lambda x: 2 * x)\n"
    module = load(write(tmp_path / "line_module.py", text), monkeypatch)
    assert (module.one(5), module.two(5)) == (6, 10)
    assert len(list(tmp_path.rglob("*.nbc"))) == 2


def test_code_is_for_one_processor_and_a_full_disk_keeps_none(tmp_path, monkeypatch):
    twice = load(write(tmp_path / "twice_module.py", SOURCE.format(factor=2)), monkeypatch).twice
    paths = {
        twice._cache._path((), SimpleNamespace(magic_tuple=lambda cpu=cpu: ("x86", cpu)))
        for cpu in ("a", "b")
    }
    assert len(paths) == 2

    def full(path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(twice._cache._cache_file, "_open_for_write", full)
    assert twice(3) == 6
    assert not list(tmp_path.rglob("*.nbc"))


def test_lightly_optimised_code_is_kept_apart(tmp_path, monkeypatch):
    path = write(tmp_path / "light_module.py", SOURCE.format(factor=2))
    assert load(path, monkeypatch).twice(5) == 10
    monkeypatch.setattr(config, "OPT", 1 if config.OPT != 1 else 3)
    other = load(path, monkeypatch).twice
    assert (other(5), hits(other)) == (10, 0)


def test_folders_that_others_can_write_are_not_used(tmp_path, monkeypatch):
    path = write(tmp_path / "twice_module.py", SOURCE.format(factor=2))
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__").chmod(0o777)
    assert load(path, monkeypatch).twice(3) == 6
    assert not list(tmp_path.rglob("*.nbc"))


@pytest.mark.skipif(os.name == "nt", reason="folders of Windows have no such owners")
def test_folders_of_others_are_not_used():
    def owned_by(owner, mode=0o40755):
        return SimpleNamespace(stat=lambda: SimpleNamespace(st_uid=owner, st_mode=mode))

    own = os.geteuid()
    assert compiling._is_private(owned_by(own))
    assert compiling._is_private(owned_by(0))
    assert not compiling._is_private(owned_by(own + 1))
    assert not compiling._is_private(owned_by(own, mode=0o40757))


def test_a_chosen_folder_is_used(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "chosen"))
    path = write(tmp_path / "twice_module.py", SOURCE.format(factor=2))
    assert load(path, monkeypatch).twice(3) == 6
    assert [one.relative_to(tmp_path).parts[0] for one in tmp_path.rglob("*.nbc")] == ["chosen"]


def test_the_users_folder_is_used_where_the_package_is_read_only(tmp_path, monkeypatch):
    path = write(tmp_path / "twice_module.py", SOURCE.format(factor=2))
    (tmp_path / "__pycache__").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert load(path, monkeypatch).twice(3) == 6
    assert [one.relative_to(tmp_path).parts[0] for one in tmp_path.rglob("*.nbc")] == ["cache"]


SCRIPT = """
import pyroclust
from pyroclust.distributions.compiled.protocol import log_rising
assert pyroclust.__file__.startswith({root!r}), pyroclust.__file__
assert log_rising(1.0, 3.0) > 1.79
"""


def test_nothing_can_be_written(tmp_path):
    """An installed copy is imported and compiles; a file in place of every folder keeps root out, too."""
    copy = tmp_path / "site" / "pyroclust"
    ignored = shutil.ignore_patterns("__pycache__", "pretrained_guides")
    shutil.copytree(Path(pyroclust.__file__).parent, copy, ignore=ignored)
    for name in ("models", "guides"):
        source = Path(importlib.util.find_spec(f"pyroclust.{name}").origin).parent
        shutil.copytree(source, copy / name, ignore=ignored, dirs_exist_ok=True)
    for folder in {one.parent for one in copy.rglob("*.py")}:
        (folder / "__pycache__").write_text("no folder")
    nowhere = {"HOME": "/dev/null", "PYTHONPATH": str(tmp_path / "site"), "PYTHONDONTWRITEBYTECODE": "1"}
    env = {name: one for name, one in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    command = [sys.executable, "-c", SCRIPT.format(root=str(tmp_path / "site"))]
    done = subprocess.run(command, env=env | nowhere, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_functions_that_allocate_nothing_refuse_to():
    @compiling.compiled(allocates=False)
    def allocate(size):
        return np.zeros(size).sum()

    with pytest.raises(NumbaError):
        allocate(3)
