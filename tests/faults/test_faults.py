"""Every case of the fault table: what is done to the library, and what has to happen."""

import importlib.util
from pathlib import Path

import pytest
from faults.cases import Case, all_cases

ROOT = Path(__file__).parents[2]
CASES = all_cases()


@pytest.mark.parametrize(
    "case", [pytest.param(one, id=str(one), marks=[pytest.mark.faults] if one.slow else []) for one in CASES]
)
def test_case(case: Case, tmp_path: Path, monkeypatch, record_property) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("family", "name", "expected"):
        record_property(name, getattr(case, name))
    record_property("got", case.run(tmp_path) or "as expected")


def test_names_are_unique() -> None:
    assert len({str(one) for one in CASES}) == len(CASES)


def test_the_page_shows_the_cases() -> None:
    spec = importlib.util.spec_from_file_location("reliability", ROOT / "docs" / "reliability.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text("utf-8") == module.page(), "run: python docs/reliability.py"
    assert module.LIST.read_text("utf-8") == module.cases(), "run: python docs/reliability.py"
