"""The certificate of a guide: what was measured on fresh data of its model, and whether the guide passes."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from pyroclust.core.numbers import json_values
from pyroclust.diagnostics import Finding, Uniformity, Verdict, uniformity
from pyroclust.diagnostics.judging import (
    baseline_finding,
    calibrated_finding,
    certificate_verdict,
    error_finding,
    likelihood_finding,
    unmeasured_finding,
    weights_finding,
)
from pyroclust.diagnostics.limits import MAX_CLUSTER_ERROR, MAX_MEMBERSHIP_ERROR
from pyroclust.diagnostics.ranks import goodness_of_fit
from pyroclust.diagnostics.verdict import all_passed
from pyroclust.saving.cards import decode

Count = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
# Shares and probabilities, up to rounding.
Share = Annotated[float, Meta(ge=0, le=1.000001)]


@dataclass(frozen=True)
class ExactRow:
    """KL(exact || guide) in nats, against enumeration of all partitions of N points."""

    num_points: Count
    num_datasets: Count
    mean_kl: float
    median_kl: float
    mean_kl_se: float


@dataclass(frozen=True)
class SampledRow:
    """Importance weights of the guide's draws, and log q of the true partitions, at one size."""

    num_points: Count
    num_datasets: Count
    num_draws: Count
    # Effective sample size over the number of draws: over the data sets, its median, mean and 5th percentile.
    median_efficiency: float
    mean_efficiency: float
    low_efficiency: float
    log_prob_truth: float
    # Mean importance-sampling estimate of log p(data): a proposal that misses modes falls behind others.
    log_evidence: float
    high_efficiency: float | None = None
    # Without a value where none is finite: weights that tie have no tail, below 25 draws none can be fitted.
    median_pareto_k: float | None = None
    # Of the data sets, those with k above 0.7; one whose k could not be fitted does not count as above.
    share_high_k: Share | None = None


@dataclass(frozen=True)
class TruthRow:
    """Log q of simulated partitions in nats, by guide and baseline on the same data sets.

    The mean difference, guide minus baseline, is an unbiased estimate of how much nearer the guide is in
    KL(exact || .).
    """

    num_points: Count
    num_datasets: Count
    log_prob: float
    baseline_log_prob: float | None = None
    mean_difference: float | None = None
    difference_se: float | None = None


@dataclass(frozen=True)
class CalibrationRow:
    """Ranks of one functional of the truth among S draws, see :class:`.SimulatedDraws`, in equal bins."""

    functional: str
    num_points: Count
    num_datasets: Count
    num_draws: Count
    counts: Annotated[tuple[Count, ...], Meta(min_length=2)]

    @property
    def uniformity(self) -> Uniformity:
        """Tests of the counts."""
        return uniformity(np.array(self.counts))

    @property
    def mean_rank(self) -> float:
        """Mean of the ranks between 0 and 1, from the middles of the bins; a half if calibrated."""
        counts = np.array(self.counts)
        middles = (np.arange(len(counts)) + 0.5) / len(counts)
        return float(counts @ middles / counts.sum())


@dataclass(frozen=True)
class ClusterCountRow:
    """The prior of the number of clusters against the guide's posterior, averaged over simulated data.

    For exact posteriors the average is the prior, and one draw a data set is an independent draw from it. The
    last of the numbers 1, ..., K_max holds the rest of the mass.
    """

    num_points: Count
    num_datasets: Count
    num_draws: Count
    prior: tuple[Share, ...] | None
    simulated: tuple[float, ...]
    averaged: tuple[float, ...]
    averaged_se: tuple[float, ...]
    # Of one draw a data set.
    single_counts: tuple[Count, ...]
    total_variation: float | None
    # What exact posteriors would have, on average.
    total_variation_noise: float

    def __post_init__(self) -> None:
        if self.prior is not None and not len(self.prior) == len(self.single_counts) > 0:
            raise ValueError("prior and single_counts have different lengths, expected one of each a number")

    @property
    def p_value(self) -> float | None:
        """Of one draw a data set against the prior; ``None`` without a prior."""
        if self.prior is None:
            return None
        return goodness_of_fit(np.array(self.single_counts), np.array(self.prior))


@dataclass(frozen=True)
class CoverageRow:
    """Nominal against observed coverage of credible balls of partitions, with limits of exact posteriors."""

    num_points: Count
    num_datasets: Count
    num_draws: Count
    levels: tuple[float, ...]
    observed: tuple[float, ...]
    # 95 % for all levels together.
    low: tuple[float, ...]
    high: tuple[float, ...]
    p_value: float


@dataclass(frozen=True)
class ReliabilityRow:
    """Predicted probability that two points share a cluster against how often they do, in equal bins."""

    num_points: Count
    num_datasets: Count
    num_draws: Count
    predicted: tuple[float, ...]
    observed: tuple[float, ...]
    # Limits of what exact posteriors would show, 95 % for all bins together.
    low: tuple[float, ...]
    high: tuple[float, ...]
    # Pairs in each bin, over all data sets.
    counts: tuple[Count, ...]
    brier: float
    # The same with the base rate for every pair.
    brier_prior: float
    # Expected calibration error, and what exact posteriors would have on average.
    ece: float
    ece_noise: float
    p_value: float


@dataclass(frozen=True)
class OrderRow:
    """How much q depends on the order in which points are visited; 0 would be an exchangeable guide.

    For a partition drawn from the guide: standard deviation over mean of q(c | x) over random orders; over
    the data sets its median, 5th and 95th percentile. After Chelly et al. (2025), Consistent amortized
    clustering via generative flow networks, https://proceedings.mlr.press/v258/chelly25a.html
    """

    num_points: Count
    num_datasets: Count
    num_orders: Count
    median: float
    low: float
    high: float
    baseline_median: float | None = None


@dataclass(frozen=True)
class MixtureRow:
    """What a guide that returns the parameters of a mixture claims, at one size: mixture and memberships.

    Components are matched with the true clusters as the memberships agree with these best.
    """

    num_points: Count
    num_datasets: Count
    # A point, in nats: of the mixture, and of the true parameters, where the model has them as sites.
    log_likelihood: float
    true_log_likelihood: float | None
    difference_se: float | None
    # Predicted memberships of single points against how often they are right, in equal bins.
    predicted: tuple[float, ...]
    observed: tuple[float, ...]
    counts: tuple[Count, ...]
    # Expected calibration error of these, and mean error of the number of components that own a point.
    ece: float
    cluster_error: float


@dataclass(frozen=True)
class RealTablesRow:
    """Draws as the guide makes them, on real tables, against long chains; medians over the tables.

    ``largest`` and ``mean`` are errors of co-assignment probabilities, ``floor`` the largest error that as
    many draws of the chains would have; the baseline is the exact filter.
    """

    source: str
    num_tables: Count
    num_draws: Count
    # Tables on which two halves of the chains agreed.
    num_agreed: Count
    median_efficiency: float
    lower_efficiency: float
    median_largest: float
    median_mean: float
    median_floor: float
    baseline_efficiency: float | None = None
    baseline_largest: float | None = None
    baseline_mean: float | None = None


@dataclass(frozen=True)
class SpeedRow:
    """Draws a second of one data set on one thread, with their log-probabilities, encoding included."""

    num_points: Count
    num_draws: Count
    draws_per_second: float


@dataclass(frozen=True)
class Certificate:
    """What was measured, by part; a part that was left out, or that the model cannot have, is empty.

    Attributes:
        seed: of all data sets and draws.
        exact: divergence from enumerated posteriors.
        sampled: importance sampling, a row a size.
        truth: log q of the truth beside a baseline, a row a size.
        calibration: ranks of the truth, a row a functional.
        num_clusters: prior against averaged posterior of K.
        coverage: of credible balls of partitions, in the draws of the calibration.
        reliability: of pair probabilities, in the same draws.
        order: dependence on the visiting order.
        speed: draws a second.
        seconds: what the certificate took.
        baseline: class of the baseline; ``None`` without one.
        conditions: hyperparameters that the guide is conditioned on, at eight values drawn from their priors.
        versions: of the libraries that measured.
        failures: why parts could not be measured, by their names.
        made_for: what was measured, as :attr:`~pyroclust.saving.cards.GuideCard.made_for` says it; empty for
            a guide that no card can describe, and in certificates of earlier versions.
        real_tables: draws on real tables beside long chains; ``None`` unless there were tables.
        mixture: likelihood and memberships of a guide that returns a mixture, a row a size: what it claims,
            and is judged by. Its partitions, which take the parameters as known, are measured all the same.
    """

    seed: Count
    exact: tuple[ExactRow, ...] = ()
    sampled: tuple[SampledRow, ...] = ()
    truth: tuple[TruthRow, ...] = ()
    calibration: tuple[CalibrationRow, ...] = ()
    num_clusters: ClusterCountRow | None = None
    order: OrderRow | None = None
    speed: SpeedRow | None = field(default=None, compare=False)
    seconds: float | None = field(default=None, compare=False)
    baseline: str | None = None
    conditions: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    coverage: CoverageRow | None = None
    reliability: ReliabilityRow | None = None
    made_for: Mapping[str, str | None] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    real_tables: RealTablesRow | None = None
    mixture: tuple[MixtureRow, ...] = ()

    def __repr__(self) -> str:
        parts = [f"seed {self.seed}"]
        parts += [f"mean KL {one.mean_kl:.3g} nats at N = {one.num_points}" for one in self.exact]
        parts += [f"efficiency {one.median_efficiency:.2g} at N = {one.num_points}" for one in self.sampled]
        if self.calibration:
            first = self.calibration[0]
            parts.append(f"calibrated on {first.num_datasets} data sets of {first.num_points} points")
        return f"Certificate({', '.join(parts)})"

    @property
    def lacks_likelihood(self) -> bool:
        """Whether draws were ranked without the log joint: their model has none, and so no weights."""
        ranked = {row.functional for row in self.calibration}
        return bool(ranked) and "log_joint" not in ranked

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, strings, lists and ``None``, ready for JSON; what a card stores."""
        content: dict[str, Any] = json_values(asdict(self))
        seldom = ("failures", "real_tables", "mixture")
        return {key: one for key, one in content.items() if one or key not in seldom}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Certificate":
        """Read what :meth:`to_dict` wrote; entries that are missing are empty, others are passed over.

        Raises:
            ValueError: if an entry has not the right form.
        """
        present = {name: one for name, one in content.items() if one is not None}
        for name, kind in _ROWS.items():
            if name in present:
                present[name] = _nan_for_null(kind, present[name])
        try:
            return decode(present, cls)
        except ValueError as error:
            raise ValueError(f"content has a missing or malformed entry of a certificate ({error})") from None


_ROWS: dict[str, type[Any]] = {
    "exact": ExactRow,
    "sampled": SampledRow,
    "truth": TruthRow,
    "calibration": CalibrationRow,
    "num_clusters": ClusterCountRow,
    "coverage": CoverageRow,
    "reliability": ReliabilityRow,
    "order": OrderRow,
    "real_tables": RealTablesRow,
    "mixture": MixtureRow,
    "speed": SpeedRow,
}


def _nan_for_null(kind: type[Any], rows: Any) -> Any:
    """Return rows with nan where a figure must be and is null: JSON has no nan."""
    if isinstance(rows, list):
        return [_nan_for_null(kind, row) for row in rows]
    if not isinstance(rows, Mapping):
        return rows
    figures = [one.name for one in fields(kind) if one.type is float]
    return {**rows, **{name: math.nan for name in figures if rows.get(name, 0) is None}}


def judge_certificate(certificate: Certificate) -> Verdict:
    """Test what a certificate says about calibration, weights and the baseline.

    * Ranks of each functional are uniform: chi-square and simultaneous ECDF band, p at least 0.005.
    * Numbers of clusters, one draw a data set, follow their prior: chi-square, p at least 0.005.
    * Credible balls cover as often as they say, and pairs share a cluster as often as predicted: p at least
      0.005 each, where the certificate has them.
    * At most a quarter of the data sets have a Pareto k above 0.7, at every size: binomial, p at least 0.05.
    * No part failed while it was measured.
    * log q of the truth is not below the baseline's by 2.6 standard errors, at any size.

    A guide that returns a mixture claims no law of partitions, and is judged by what it claims at every size:

    * Its likelihood is not below that of the true parameters by 2.6 standard errors.
    * Memberships of single points are off by 0.02 at most, the number of clusters by 0.2, in the mean.

    Example:
        >>> judge_certificate(Certificate(1)).sentence
        'Nothing was tested.'
    """
    failed = [unmeasured_finding(f"measuring of {what}", why) for what, why in certificate.failures.items()]
    if certificate.mixture:
        claimed = [one for row in certificate.mixture for one in _mixture_findings(row)]
        return certificate_verdict([*claimed, *failed])
    weights = [
        weights_finding(row.share_high_k, num_points=row.num_points, num_datasets=row.num_datasets)
        for row in certificate.sampled
        if row.share_high_k is not None
    ]
    ahead = [
        baseline_finding(row.mean_difference, row.difference_se, num_points=row.num_points)
        for row in certificate.truth
        if row.mean_difference is not None and row.difference_se is not None
    ]
    return certificate_verdict([*calibration_findings(certificate), *weights, *ahead, *failed])


def _mixture_findings(row: MixtureRow) -> list[Finding]:
    size, findings = row.num_points, []
    if row.true_log_likelihood is not None and row.difference_se is not None:
        difference = row.log_likelihood - row.true_log_likelihood
        findings.append(likelihood_finding(difference, row.difference_se, num_points=size))
    return [
        *findings,
        error_finding("memberships of single points", row.ece, MAX_MEMBERSHIP_ERROR, num_points=size),
        error_finding("the number of clusters", row.cluster_error, MAX_CLUSTER_ERROR, num_points=size),
    ]


def calibration_findings(certificate: Certificate) -> list[Finding]:
    """Test what a certificate says about calibration alone, which needs no likelihood."""
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


def certificate_content(certificate: Certificate) -> dict[str, Any]:
    """Return what a card stores: the certificate, whether it passed, and its findings."""
    findings = judge_certificate(certificate).findings
    stored = [
        {"what": one.question, "figure": one.value, "limit": one.limit, "passed": one.passed is True}
        for one in findings
    ]
    passed = bool(findings) and all_passed(findings)
    return certificate.to_dict() | {"verdict": {"passed": passed, "findings": stored}}
