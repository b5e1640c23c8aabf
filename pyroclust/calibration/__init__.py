"""Simulation-based checks of any sampler of partitions, and the certificate of a guide."""

from pyroclust.calibration.calibrating import Calibration, LocalCalibration, calibrate, calibrate_near
from pyroclust.calibration.certificate import Certificate, judge_certificate
from pyroclust.calibration.certifying import CertificateSettings, certify
from pyroclust.calibration.checking import CheckResult, check_guide

__all__ = [
    "Calibration",
    "Certificate",
    "CertificateSettings",
    "CheckResult",
    "LocalCalibration",
    "calibrate",
    "calibrate_near",
    "certify",
    "check_guide",
    "judge_certificate",
]
