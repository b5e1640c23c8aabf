"""The example of the README runs as it stands, with fewer steps."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    found = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert found is not None
    exec(found[1].replace("steps=1000", "steps=20"), {})
    efficiency, shape = capsys.readouterr().out.strip().splitlines()[-2:]
    assert 0 < float(efficiency.removeprefix("tensor(").split(",")[0].rstrip(")")) <= 1
    assert shape == "torch.Size([1, 1000, 9])"


def test_the_example_of_clusterwise_guides_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    (block,) = (one for one in blocks if "acp-gaussian2d" in one)
    exec(block, {})
    estimated, exact, *_ = capsys.readouterr().out.strip().splitlines()
    assert estimated.startswith("False tensor(")
    assert exact == "True"


def test_two_commands_set_everything_up() -> None:
    commands = re.findall(r"^    (make \w+)", README.read_text(), re.MULTILINE)
    assert commands == ["make demo", "make test"]
