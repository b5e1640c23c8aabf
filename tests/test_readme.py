"""The example of the README runs as it stands, with fewer steps."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def block_with(words: str) -> str:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    (block,) = (one for one in blocks if words in one)
    return block


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(block_with("steps=1000").replace("steps=1000", "steps=20"), {})
    efficiency, shape = capsys.readouterr().out.strip().splitlines()[-2:]
    assert 0 < float(efficiency.removeprefix("tensor(").split(",")[0].rstrip(")")) <= 1
    assert shape == "torch.Size([1, 1000, 9])"


def test_the_example_of_clusterwise_guides_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(block_with("acp-gaussian2d"), {})
    estimated, exact, *_ = capsys.readouterr().out.strip().splitlines()
    assert estimated.startswith("False tensor(")
    assert exact == "True"


def test_the_example_of_diagnoses_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(block_with("diagnose(ours)"), {})
    converged, agree, estimates, calibrated = capsys.readouterr().out.strip().splitlines()
    assert converged.startswith("The 4 chains of the draws agree")
    assert agree.startswith("A and B agree")
    assert estimates.split()[0] == estimates.split()[2] == "3"
    assert calibrated.startswith("Calibrated")


def test_two_commands_set_everything_up() -> None:
    commands = re.findall(r"^    (make \w+)", README.read_text(), re.MULTILINE)
    assert commands == ["make demo", "make test"]
