"""The same seeds keep giving the same certificates and calibrations: figures of an earlier version."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from pyroclust import calibrate, calibrate_near, certify, load_guide
from pyroclust.calibration import Calibration, CertificateSettings
from pyroclust.guides import PredictiveFilter
from pyroclust.models import overlap2d, sensitivity2d

STORED = json.loads((Path(__file__).parent / "stored_figures.json").read_text())
SMALL = CertificateSettings(
    seed=5,
    num_exact=4,
    exact_points=5,
    num_sampled=0,
    sampled_points=(6, 9, 40),
    num_truths=7,
    num_calibrated=40,
    calibrated_points=7,
    calibrated_draws=19,
    num_bins=10,
    num_ordered=5,
    num_orders=6,
    ordered_points=6,
    num_timed=0,
)


def assert_same(stored: Any, found: Any, where: str) -> None:
    if isinstance(stored, Mapping):
        for name, one in stored.items():
            assert_same(one, found[name], f"{where}, {name}")
    elif isinstance(stored, list) and stored and isinstance(stored[0], Mapping):
        assert len(stored) == len(found), where
        for place, one in enumerate(stored):
            assert_same(one, found[place], f"{where} {place}")
    else:
        assert found == (pytest.approx(stored, rel=1e-4) if isinstance(stored, float | list) else stored), (
            where
        )


def counts(found: Calibration) -> dict[str, list[int]]:
    return {row.name: row.counts.tolist() for row in found.sbc.rows}


def test_certificate() -> None:
    assert_same(
        STORED["certificate"], certify(load_guide("filter-nig1d"), settings=SMALL).to_dict(), "filter"
    )


def test_calibration_of_a_guide_with_conditions() -> None:
    guide = PredictiveFilter(sensitivity2d(), conditions=("concentration", "prior_scale"))
    found = calibrate(guide, sensitivity2d(), num_points=8, num_datasets=60, num_draws=39, seed=3)
    row = found.num_clusters
    figures = {"p_values": found.p_values, "counts": counts(found)}
    averages = {"simulated": list(row.simulated), "averaged": list(row.averaged)}
    assert_same(STORED["calibrate"], figures | averages, "calibrate")


def test_calibration_near_data() -> None:
    data = torch.randn(9, 2, generator=torch.Generator().manual_seed(1))
    guide, sizes = PredictiveFilter(overlap2d()), {"num_simulations": 200, "num_nearest": 50}
    near = calibrate_near(guide, guide.model, data, num_draws=19, seed=2, **sizes)
    found = near.calibration
    figures = {"p_values": found.p_values, "radius": near.radius, "counts": counts(found)}
    assert_same(STORED["near"], figures, "near")
