"""Draws of a guide on given tables against long chains: figures, storage, what is refused."""

from dataclasses import replace

import pytest
import torch

from pyroclust import load_guide, save_guide
from pyroclust.calibration import Certificate, CertificateSettings, certify, check_guide
from pyroclust.calibration.accuracy import real_tables_row
from pyroclust.calibration.checking import store_certificate
from pyroclust.cli.guides import _lines
from pyroclust.guides import NeuralClusteringProcess, PredictiveFilter
from pyroclust.infer.mcmc.chains import Reference, reference_chains
from pyroclust.models import gaussian2d, warped_clusters

TABLES = [torch.tensor([[0.0, 0.0], [1.5, 0.0], [3.0, 0.5], [9.0, 0.0]]), torch.eye(5, 2)]


def few(_: int, points: torch.Tensor) -> Reference:
    return reference_chains(gaussian2d(), points, seconds=None, sweeps=8000)


def test_the_exact_filter_has_the_figures_of_the_baseline() -> None:
    row = real_tables_row(PredictiveFilter(gaussian2d()), TABLES, num_draws=800, reference=few)
    assert (row.num_tables, row.num_draws, row.num_agreed) == (2, 800, 2)
    assert row.baseline_largest == pytest.approx(row.median_largest, abs=0.08)
    assert row.baseline_efficiency == pytest.approx(row.median_efficiency, abs=0.1)
    assert row.median_floor <= row.median_largest < 0.3


def test_a_bad_guide_is_seen() -> None:
    torch.manual_seed(0)
    guide = NeuralClusteringProcess(gaussian2d())
    torch.nn.init.constant_(guide.scorer.to_open.bias, 4.0)
    row = real_tables_row(guide, TABLES, num_draws=80, reference=few)
    assert row.median_largest > 0.3 > row.baseline_largest


def test_certificates_keep_the_row_and_do_without() -> None:
    guide, settings = PredictiveFilter(gaussian2d()), CertificateSettings.nothing()
    plain = certify(guide, settings=settings)
    assert plain.real_tables is None
    assert "real_tables" not in plain.to_dict()
    found = certify(guide, settings=settings, tables=TABLES[:1], tables_source="two of mine")
    assert found.failures == {}
    assert found.real_tables.source == "two of mine"
    assert Certificate.from_dict(found.to_dict()) == found
    (line,) = [one for one in _lines(found) if "real tables" in one]
    assert line.startswith("On 1 real tables (two of mine), against long chains: largest error of a pair")
    assert line.endswith("(medians)")
    assert replace(found, real_tables=None).to_dict().keys() == plain.to_dict().keys()


def test_a_check_keeps_what_was_found_on_tables(tmp_path) -> None:
    guide, settings = NeuralClusteringProcess(gaussian2d()), CertificateSettings.nothing()
    save_guide(guide, tmp_path / "one")
    found = certify(load_guide(tmp_path / "one"), settings=settings, tables=TABLES)
    store_certificate(tmp_path / "one", found)
    again = check_guide(tmp_path / "one", settings=settings)
    assert again.certificate.real_tables == found.real_tables
    assert found.real_tables.lower_efficiency <= found.real_tables.median_efficiency


def test_what_cannot_be_measured_is_said() -> None:
    guide = PredictiveFilter(gaussian2d())
    with pytest.raises(ValueError, match="tables is empty"):
        real_tables_row(guide, [])
    with pytest.raises(ValueError, match="num_draws is 10, expected a multiple of 8"):
        real_tables_row(guide, TABLES, num_draws=10)
    certificate = certify(
        NeuralClusteringProcess(warped_clusters()), settings=CertificateSettings.nothing(), tables=TABLES
    )
    assert "real tables" in certificate.failures
