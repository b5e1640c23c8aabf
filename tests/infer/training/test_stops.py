"""Ways to stop: a loss that is not finite, Ctrl-C, an early end."""

import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from training_cases import TINY, new_guide, run, same

from pyroclust.core.interrupts import interrupt_between_steps
from pyroclust.infer import InclusiveKL
from pyroclust.infer.training.checkpoint import read_checkpoint


def after(calls: int, what: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the loss of a later step do something else."""
    real, count = InclusiveKL.per_dataset, iter(range(1000))

    def per_dataset(self: InclusiveKL, *arguments: Any) -> Tensor:
        loss = real(self, *arguments)
        return what(loss) if next(count) == calls else loss

    monkeypatch.setattr(InclusiveKL, "per_dataset", per_dataset)


@pytest.mark.parametrize("what", ["loss", "gradient norm"])
def test_nan_keeps_the_last_good_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    good, _ = run(max_steps=7)

    def spoil(loss: Tensor) -> Tensor:
        return (
            loss * torch.nan if what == "loss" else loss + loss.sum() * (loss - loss.detach() + 1e-45).sqrt()
        )

    after(7, spoil, monkeypatch)
    guide = new_guide()
    with pytest.raises(ValueError, match=f"{what} is (nan|inf) at step 7.*last good checkpoint has 7 steps"):
        run(tmp_path, guide=guide)
    assert same(good, dict(guide.state_dict()))
    assert read_checkpoint(tmp_path / "checkpoint.pt")["done"] == 7


def test_ctrl_c_finishes_the_step_and_leaves_a_usable_guide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def press(loss: Tensor) -> Tensor:
        signal.raise_signal(signal.SIGINT)
        return loss

    with monkeypatch.context() as patch:
        after(4, press, patch)
        guide = new_guide()
        _, result = run(tmp_path, guide=guide)
    assert result.interrupted
    assert 5 <= result.steps < TINY.steps
    assert guide.posterior(torch.randn(6, 2)).sample((2,)).shape == (2, 6)
    resumed, last = run(tmp_path, resume=True)
    assert not last.interrupted
    assert same(resumed, run()[0])


def press_twice() -> None:
    with interrupt_between_steps() as interrupt:
        signal.raise_signal(signal.SIGINT)
        assert interrupt.requested
        signal.raise_signal(signal.SIGINT)


def test_a_second_ctrl_c_is_obeyed_at_once() -> None:
    with pytest.raises(KeyboardInterrupt):
        press_twice()


def test_the_callers_random_numbers_are_left_alone() -> None:
    guide = new_guide()
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    run(guide=guide)
    assert torch.equal(torch.rand(4), expected)


def test_max_steps_stops_on_the_schedule_of_the_whole_training(tmp_path: Path) -> None:
    run(tmp_path, max_steps=5)
    last = (tmp_path / "log.csv").read_text().splitlines()[-1].split(",")
    assert float(last[4]) == pytest.approx(TINY.learning_rate_at(4))
