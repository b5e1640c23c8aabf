"""How the tests are shared out: whole files to one worker, the long ones first."""

from pathlib import Path
from types import SimpleNamespace

import pytest

TESTS = Path(__file__).parent


class Worker:
    """A worker that takes what it is sent and never runs it."""

    shutting_down = False

    def __init__(self, number):
        self.gateway = SimpleNamespace(id=f"gw{number}")
        self.taken = []

    def send_runtest_some(self, indices):
        self.taken += indices

    def shutdown(self):
        self.shutting_down = True


class Item:
    """A test as it is collected."""

    def __init__(self, file):
        self.nodeid = f"{file}::test"


@pytest.fixture
def conftest(pytestconfig):
    return pytestconfig.pluginmanager.get_plugin(str(TESTS / "conftest.py"))


def run_by(conftest, names, *, num_workers=3):
    """Return the names of the tests that each worker is sent, all workers equally quick."""
    config = SimpleNamespace(getvalue={"dist": "loadfile", "tx": [f"{num_workers}*popen"]}.get)
    config.option = SimpleNamespace(loadscopereorder=False)
    schedule = conftest.pytest_xdist_make_scheduler(config, log=None)
    workers = [Worker(number) for number in range(num_workers)]
    for worker in workers:
        schedule.add_node(worker)
        schedule.add_node_collection(worker, names)
    schedule.schedule()
    done = [0] * num_workers
    while not schedule.tests_finished or sum(done) < len(names):
        for number, worker in enumerate(workers):
            if done[number] < len(worker.taken):
                schedule.mark_test_complete(worker, worker.taken[done[number]])
                done[number] += 1
    return [[names[index] for index in worker.taken] for worker in workers]


def test_a_file_stays_on_one_worker(conftest):
    files = [f"tests/a/test_{name}.py" for name in "abcdefg"] + list(conftest.TOGETHER)
    names = [f"{file}::test_{number}[{file}]" for file in files for number in range(4)]
    taken = run_by(conftest, names)
    assert sorted(name for one in taken for name in one) == sorted(names)
    assert all(one for one in taken)
    files_of = [{name.split("::")[0] for name in one} for one in taken]
    for file in files:
        assert sum(file in one for one in files_of) == 1, file
    for group in set(conftest.TOGETHER.values()):
        together = {file for file, own in conftest.TOGETHER.items() if own == group}
        assert sum(bool(one & together) for one in files_of) == 1, group


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
