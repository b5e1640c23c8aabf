"""How the tests are shared out: whole files to one worker, the long ones first."""

from pathlib import Path
from types import SimpleNamespace

import pytest

TESTS = Path(__file__).parent


class Item:
    """A test as it is collected."""

    def __init__(self, file):
        self.nodeid = f"{file}::test"


@pytest.fixture
def conftest(pytestconfig):
    return pytestconfig.pluginmanager.get_plugin(str(TESTS / "conftest.py"))


def test_a_file_stays_on_one_worker(conftest):
    assert conftest._group("tests/a/test_b.py::test_c[tests/d.py]") == "tests/a/test_b.py"
    for file, group in conftest.TOGETHER.items():
        assert conftest._group(f"{file}::test") == group


def test_other_ways_to_share_are_left_alone(conftest):
    config = SimpleNamespace(getvalue={"dist": "load"}.get)
    assert conftest.pytest_xdist_make_scheduler(config, log=None) is None


def test_long_files_are_begun_first_and_exist(conftest):
    long = list(conftest.LONG)
    items = [Item(file) for file in ("tests/test_short.py", *reversed(long))]
    conftest.pytest_collection_modifyitems(items)
    assert [item.nodeid.split("::")[0] for item in items] == [*long, "tests/test_short.py"]
    named = {*conftest.TOGETHER, *long} - set(conftest.TOGETHER.values())
    assert [name for name in named if not (TESTS.parent / name).is_file()] == []
    assert set(conftest.TOGETHER.values()) <= set(long)


def test_make_test_keeps_files_together():
    (line,) = [one for one in (TESTS.parent / "Makefile").read_text().splitlines() if "--dist" in one]
    assert "--dist loadfile --no-loadscope-reorder" in line
