"""Simulation-based checks of any sampler of partitions, and the certificate of a guide."""

from pyroclust.calibration.calibrate import calibrate, calibrate_near
from pyroclust.calibration.certificate import Certificate, certify, full_certificate
from pyroclust.calibration.result import Calibration, LocalCalibration
from pyroclust.calibration.settings import CertificateSettings

__all__ = [
    "Calibration",
    "Certificate",
    "CertificateSettings",
    "LocalCalibration",
    "calibrate",
    "calibrate_near",
    "certify",
    "full_certificate",
]
