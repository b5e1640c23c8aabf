"""Prints the table of cases at the end of ``make faults``: case, expected, got."""

import signal
from collections.abc import Iterator

import pytest
from rich.console import Console
from rich.table import Table


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fault-table", action="store_true", help="Print case, expected and got.")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.getoption("--fault-table"):
        return
    rows = []
    for outcome in ("failed", "passed"):
        for report in terminalreporter.stats.get(outcome, []):
            said = dict(getattr(report, "user_properties", ()))
            if "expected" in said and (report.when == "call" or outcome == "failed"):
                got = said.get("got", _last_line(report))
                rows.append((said["family"], said["name"], said["expected"], got, outcome))
    rows.sort()
    table = Table("family", "case", "expected", "got", "", title=f"{len(rows)} cases")
    for *cells, outcome in rows:
        table.add_row(*(cell.replace("[", r"\[") for cell in cells), "ok" if outcome == "passed" else "WRONG")
    Console(width=200).print(table)


def _last_line(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return "failed" if crash is None else crash.message.splitlines()[0]


@pytest.fixture(autouse=True)
def signals_as_in_a_terminal() -> Iterator[None]:
    """A test run in the background inherits signals that are ignored; cases begin with none."""
    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    usual = {"SIGINT": signal.default_int_handler}
    before = {name: signal.signal(getattr(signal, name), usual.get(name, signal.SIG_DFL)) for name in names}
    yield
    for name, handler in before.items():
        signal.signal(getattr(signal, name), handler)
