"""`--strict` ends with code 3 without a verdict or with a bad one."""

import json

import numpy as np
import pytest
import typer

from pyroclust.cli import main
from pyroclust.cli.console import end_strictly
from pyroclust.diagnostics import Trust, Verdict

REFUSED = {Trust.UNKNOWN, Trust.DISTRUST, Trust.DIFFER}


def code_of(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    return int(end.value.code or 0)


@pytest.mark.parametrize("level", Trust)
def test_levels_that_end_a_strict_command(level):
    verdict = Verdict(level, "why")
    end_strictly(verdict, strict=False)
    if level not in REFUSED:
        end_strictly(verdict, strict=True)
        return
    with pytest.raises(typer.Exit) as end:
        end_strictly(verdict, strict=True)
    assert end.value.exit_code == 3


def test_diagnose_writes_and_prints_before_it_ends(tmp_path, capsys):
    draws = np.zeros((2, 60, 6), dtype=int)
    draws[1, :, 3:] = 1
    np.save(tmp_path / "d.npy", draws)
    arguments = ["diagnose", str(tmp_path / "d.npy"), "--out", str(tmp_path / "o"), "--json"]
    assert code_of(*arguments) == 0
    plain = json.loads(capsys.readouterr().out)
    assert code_of(*arguments, "--strict") == 3
    assert json.loads(capsys.readouterr().out) | {"files": ()} == plain | {"files": ()}
    assert plain["verdict"]["level"] in {"do not trust", "cannot tell"}


def compared(folder, *more: str) -> int:
    np.save(folder / "p.npy", np.random.default_rng(0).standard_normal((6, 1)))
    few = [
        "--guide",
        "filter-nig1d",
        "--draws",
        "20",
        "--mcmc-draws",
        "20",
        "--chains",
        "2",
        "--warmup",
        "0",
        "--json",
    ]
    return code_of("compare", str(folder / "p.npy"), "--out", str(folder / "o"), *few, *more)


def test_compare_writes_and_prints_before_it_ends_strictly(tmp_path, capsys, monkeypatch):
    # Forty draws are too few for a verdict.
    monkeypatch.setattr("pyroclust.analysis.drawing._REFINING_SECONDS", 0.0)
    assert compared(tmp_path, "--strict") == 3
    found = json.loads(capsys.readouterr().out)
    assert (found["verdict"]["level"], found["answer"]) == ("cannot tell", None)
    assert (found["refining"], found["weights"]["draws"]) == (None, 20)
    written = json.loads((tmp_path / "o" / "summary.json").read_text(encoding="utf-8"))
    assert written["verdict"] == found["verdict"]
