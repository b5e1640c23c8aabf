"""What cards store of guides that pass some tests of calibration and fail others."""

from typing import Any

from pyroclust.calibration import Certificate
from pyroclust.calibration.certificate import CalibrationRow, SampledRow, certificate_content


def stored_certificate(*passed: bool) -> dict[str, Any]:
    """Return a certificate with a test of calibration each, and weights that fail."""
    ranks = {True: (50, 50, 50, 50), False: (200, 0, 0, 0)}
    calibration = tuple(
        CalibrationRow(f"functional_{number}", 30, 200, 99, ranks[one]) for number, one in enumerate(passed)
    )
    sampled = SampledRow(30, 200, 99, 0.1, 0.1, 0.1, -1.0, -1.0, share_high_k=0.9)
    return certificate_content(Certificate(1, sampled=(sampled,), calibration=calibration))
