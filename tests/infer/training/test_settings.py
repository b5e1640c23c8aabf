"""Schedule, sizes, averages, precision and devices; fresh and different simulations in every step."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from training_cases import TINY, run, with_steps

from pyroclust.infer import Devices, FitSettings, InclusiveKL
from pyroclust.infer.training.engine import AveragedWeights


def test_the_learning_rate_warms_up_and_falls() -> None:
    settings = FitSettings(steps=1000, warmup_steps=100, learning_rate=1.0, final_fraction=0.1)
    rates = [settings.learning_rate_at(step) for step in (0, 99, 100, 550, 1000)]
    assert rates == pytest.approx([0.01, 1.0, 1.0, 0.55, 0.1])


def test_sizes_are_log_uniform_within_their_limits() -> None:
    settings = FitSettings(min_points=5, max_points=79)
    drawn = torch.tensor([settings.draw_points() for _ in range(4000)])
    assert (drawn.min(), drawn.max()) == (5, 79)
    assert (drawn < 20).double().mean().item() == pytest.approx(0.5, abs=0.03)


def test_the_average_forgets_the_first_weights() -> None:
    module, settings = nn.Linear(1, 1, bias=False), FitSettings(averaging=0.9)
    nn.init.constant_(module.weight, 1e6)
    averages = AveragedWeights(module)
    expected = 1e6
    for step in range(300):
        nn.init.constant_(module.weight, float(step))
        decay = min(0.9, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * step
        averages.update(settings.decay_at(step))
    assert averages.values[0].item() == pytest.approx(expected, rel=1e-4)
    with averages.in_module():
        assert module.weight.item() == pytest.approx(expected, rel=1e-4)
    assert module.weight.item() == 299
    assert FitSettings(averaging=0.0).decay_at(50) == 0
    assert FitSettings().decay_at(0) == pytest.approx(0.1)


def test_every_step_has_fresh_data_and_every_data_set_labels_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[Tensor, Tensor]] = []
    real = InclusiveKL.simulate

    def simulate(self: InclusiveKL, *arguments: object) -> object:
        trace = real(self, *arguments)
        seen.append((trace.nodes["data"]["value"], trace.nodes["assignments"]["value"]))
        return trace

    monkeypatch.setattr(InclusiveKL, "simulate", simulate)
    run()
    assert len(seen) == TINY.steps
    assert len({data[0, 0, 0].item() for data, _ in seen}) == TINY.steps
    assert len({data.shape[1] for data, _ in seen}) > 3
    assert all(data.shape[0] * data.shape[1] <= TINY.points_per_step for data, _ in seen)
    assert all(len(labels.unique(dim=0)) > 1 for _, labels in seen if labels.shape[1] > 7)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_points": 4}, "min_points and max_points are 5 and 4"),
        ({"steps": 0}, "steps is 0, expected at least 1"),
        ({"steps": 2.5}, r"steps is 2\.5, expected a whole number"),
        ({"orders": 0}, "orders is 0, expected at least 1"),
        ({"averaging": 1.5}, r"averaging is 1\.5, expected a number of at least 0 and of at most 1"),
        ({"learning_rate": float("nan")}, "learning_rate is nan, expected a positive number"),
        ({"consistency": 0.1}, "consistency is 0.1 with one visiting order"),
        ({"orders": 2, "antithetic": 1}, "antithetic is 1, expected true or false"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FitSettings(**settings)


def test_what_is_kept_are_plain_numbers() -> None:
    settings = FitSettings(steps=np.int64(3), clip=np.float32(0.5), warmup_steps=0, weight_decay=0)
    assert [type(getattr(settings, name)) for name in ("steps", "clip", "weight_decay")] == [
        int,
        float,
        float,
    ]


def losses(folder: Path) -> list[float]:
    with (folder / "log.csv").open() as stream:
        return [float(row["nats_per_point"]) for row in csv.DictReader(stream)]


def test_bfloat16_follows_float32(tmp_path: Path) -> None:
    run(tmp_path / "whole", settings=with_steps(40))
    run(tmp_path / "half", settings=with_steps(40), devices=Devices(precision="bf16-mixed"))
    whole, half = losses(tmp_path / "whole"), losses(tmp_path / "half")
    assert half == pytest.approx(whole, rel=0.03)
    assert half != whole


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"accelerator": "tpu"}, "accelerator is 'tpu', expected one of cpu, gpu, auto"),
        ({"precision": "8"}, "precision is '8'"),
        ({"accelerator": "gpu"}, "accelerator is 'gpu', but torch finds none"),
    ],
)
def test_devices_that_are_not_there(
    names: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ValueError, match=message):
        Devices(**names)
