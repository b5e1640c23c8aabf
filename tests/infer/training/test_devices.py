"""Precision and devices: bfloat16 follows float32, unknown names are refused."""

import csv
from pathlib import Path

import pytest
from training_cases import run, with_steps

from pyroclust.infer import Devices


def losses(folder: Path) -> list[float]:
    with (folder / "log.csv").open() as stream:
        return [float(row["nats_per_point"]) for row in csv.DictReader(stream)]


def test_bfloat16_follows_float32(tmp_path: Path) -> None:
    run(tmp_path / "whole", settings=with_steps(40))
    run(tmp_path / "half", settings=with_steps(40), devices=Devices(precision="bf16-mixed"))
    whole, half = losses(tmp_path / "whole"), losses(tmp_path / "half")
    assert half == pytest.approx(whole, rel=0.03)
    assert half != whole


def test_unknown_devices_are_refused() -> None:
    with pytest.raises(ValueError, match="accelerator is 'tpu', expected one of cpu, gpu, auto"):
        Devices(accelerator="tpu")
    with pytest.raises(ValueError, match="precision is '8'"):
        Devices(precision="8")


def test_a_gpu_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ValueError, match="accelerator is 'gpu', but torch finds none"):
        Devices(accelerator="gpu")
