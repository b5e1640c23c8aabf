"""Every case of the fault table: what is done to the library, and what has to happen."""

import importlib
import pkgutil
from pathlib import Path

import faults
import pytest
from faults.cases import Case


def all_cases() -> list[Case]:
    """Collect the cases of every file of this folder that has some."""
    found: list[Case] = []
    for module in pkgutil.iter_modules(faults.__path__):
        if not module.name.startswith(("test_", "conftest")):
            found += getattr(importlib.import_module(f"faults.{module.name}"), "CASES", [])
    return found


CASES = all_cases()


@pytest.mark.parametrize(
    "case", [pytest.param(one, id=str(one), marks=[pytest.mark.faults] if one.slow else []) for one in CASES]
)
def test_case(case: Case, tmp_path: Path, monkeypatch, record_property) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("family", "name", "expected"):
        record_property(name, getattr(case, name))
    record_property("got", case.run(tmp_path))


def test_names_are_unique() -> None:
    assert len({str(one) for one in CASES}) == len(CASES)
