"""Whether a guide passes, from what its certificate says."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from pyroclust.calibration.certificate import Certificate
from pyroclust.diagnostics import Finding, goodness_of_fit, uniformity

__all__ = ["Judgement", "judge_certificate"]

_SMALLEST_P = 0.005
_LARGEST_HIGH_K_SHARE = 0.25
_STANDARD_ERRORS = 2.6
_CHANCE = 0.05


@dataclass(frozen=True)
class Judgement:
    """All findings, in the order of the certificate."""

    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing failed; a certificate in which nothing was tested has not passed."""
        return bool(self.findings) and all(one.passed for one in self.findings)

    @property
    def sentence(self) -> str:
        """The verdict in one line."""
        failed = [f"{one.question} ({one.sentence})" for one in self.findings if not one.passed]
        if not self.findings:
            return "Nothing was tested."
        return f"Passed all {len(self.findings)} tests." if not failed else f"Failed: {'; '.join(failed)}."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {"passed": self.passed, "findings": [_stored(one) for one in self.findings]}


def _stored(found: Finding) -> dict[str, Any]:
    """Return a finding as cards have it."""
    return {
        "what": found.question,
        "figure": found.value,
        "limit": found.limit,
        "passed": found.passed,
    }


def judge_certificate(certificate: Certificate) -> Judgement:
    """Test what a certificate says about calibration, weights and the baseline.

    * Ranks of each functional are uniform: chi-square and simultaneous ECDF band, p at least 0.005.
    * Numbers of clusters, one draw a data set, follow their prior: chi-square, p at least 0.005.
    * Credible balls cover as often as they say, and pairs share a cluster as often as predicted: p at least
      0.005 each, where the certificate has them.
    * At most a quarter of the data sets have a Pareto k above 0.7, at every size: binomial, p at least 0.05.
    * log q of the truth is not below the baseline's by 2.6 standard errors, at any size.

    Example:
        >>> judge_certificate(Certificate(1)).sentence
        'Nothing was tested.'
    """
    return Judgement((*_calibrated(certificate), *_reliable(certificate), *_ahead(certificate)))


def _calibrated(certificate: Certificate) -> list[Finding]:
    found = [
        _p_value(
            f"calibration of {row.functional} at N = {row.num_points}, p",
            uniformity(np.array(row.counts)).p_value,
        )
        for row in certificate.calibration
    ]
    row = certificate.num_clusters
    if row is not None and row.prior is not None:
        p = goodness_of_fit(np.array(row.single_counts), np.array(row.prior))
        found.append(_p_value(f"averaged posterior of K at N = {row.num_points}, p", p))
    balls, pairs = certificate.coverage, certificate.reliability
    if balls is not None:
        found.append(_p_value(f"calibration of credible balls at N = {balls.num_points}, p", balls.p_value))
    if pairs is not None:
        what = f"calibration of pair probabilities at N = {pairs.num_points}, p"
        found.append(_p_value(what, pairs.p_value))
    return found


def _p_value(what: str, p: float) -> Finding:
    return Finding(what, p, _SMALLEST_P, p >= _SMALLEST_P, f"{p:.2g}")


def _reliable(certificate: Certificate) -> list[Finding]:
    found = []
    for row in certificate.sampled:
        if row.share_high_k is not None:
            high = round(row.share_high_k * row.num_datasets)
            # A share of few data sets may be large by chance.
            chance = stats.binom.sf(high - 1, row.num_datasets, _LARGEST_HIGH_K_SHARE)
            what = f"share of Pareto k above 0.7 at N = {row.num_points}"
            share = f"{row.share_high_k:.2g}"
            passed = bool(chance >= _CHANCE)
            found.append(Finding(what, row.share_high_k, _LARGEST_HIGH_K_SHARE, passed, share))
    return found


def _ahead(certificate: Certificate) -> list[Finding]:
    found = []
    for row in certificate.truth:
        if row.mean_difference is not None and row.difference_se is not None:
            limit = -_STANDARD_ERRORS * row.difference_se
            what = f"log q of the truth above the baseline's at N = {row.num_points}, nats"
            passed = row.mean_difference >= limit
            found.append(Finding(what, row.mean_difference, limit, passed, f"{row.mean_difference:.2g}"))
    return found
