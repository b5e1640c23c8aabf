"""Whether a guide passes, from what its certificate says."""

from pyroclust.calibration.certificate import Certificate
from pyroclust.diagnostics import Finding, Verdict
from pyroclust.diagnostics.verdicts.calibration import (
    baseline_finding,
    calibrated_finding,
    certificate_verdict,
    unmeasured_finding,
    weights_finding,
)

__all__ = ["calibration_findings", "judge_certificate"]


def judge_certificate(certificate: Certificate) -> Verdict:
    """Test what a certificate says about calibration, weights and the baseline.

    * Ranks of each functional are uniform: chi-square and simultaneous ECDF band, p at least 0.005.
    * Numbers of clusters, one draw a data set, follow their prior: chi-square, p at least 0.005.
    * Credible balls cover as often as they say, and pairs share a cluster as often as predicted: p at least
      0.005 each, where the certificate has them.
    * At most a quarter of the data sets have a Pareto k above 0.7, at every size: binomial, p at least 0.05.
    * No part failed while it was measured.
    * log q of the truth is not below the baseline's by 2.6 standard errors, at any size.

    Example:
        >>> judge_certificate(Certificate(1)).sentence
        'Nothing was tested.'
    """
    return certificate_verdict(
        [
            *calibration_findings(certificate),
            *_reliable(certificate),
            *_ahead(certificate),
            *(unmeasured_finding(f"measuring of {what}", why) for what, why in certificate.failures.items()),
        ]
    )


def calibration_findings(certificate: Certificate) -> list[Finding]:
    """Test what a certificate says about calibration alone, which needs no likelihood.

    Example:
        >>> calibration_findings(Certificate(1))
        []
    """
    tests = [
        (f"calibration of {row.functional}", row.num_points, row.uniformity.p_value)
        for row in certificate.calibration
    ]
    counts = certificate.num_clusters
    if counts is not None and counts.p_value is not None:
        tests.append(("averaged posterior of K", counts.num_points, counts.p_value))
    balls, pairs = certificate.coverage, certificate.reliability
    if balls is not None:
        tests.append(("calibration of credible balls", balls.num_points, balls.p_value))
    if pairs is not None:
        tests.append(("calibration of pair probabilities", pairs.num_points, pairs.p_value))
    return [calibrated_finding(what, p, num_points=size) for what, size, p in tests]


def _reliable(certificate: Certificate) -> list[Finding]:
    return [
        weights_finding(row.share_high_k, num_points=row.num_points, num_datasets=row.num_datasets)
        for row in certificate.sampled
        if row.share_high_k is not None
    ]


def _ahead(certificate: Certificate) -> list[Finding]:
    return [
        baseline_finding(row.mean_difference, row.difference_se, num_points=row.num_points)
        for row in certificate.truth
        if row.mean_difference is not None and row.difference_se is not None
    ]
