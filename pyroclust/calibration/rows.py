"""The rows of a certificate: what was measured, on how many data sets, and the figures."""

from dataclasses import dataclass

import numpy as np

from pyroclust.diagnostics import Uniformity, uniformity
from pyroclust.diagnostics.simulations.uniformity import goodness_of_fit

__all__ = [
    "CalibrationRow",
    "ClusterCountRow",
    "CoverageRow",
    "ExactRow",
    "OrderRow",
    "RealTablesRow",
    "ReliabilityRow",
    "SampledRow",
    "SpeedRow",
    "TruthRow",
]


@dataclass(frozen=True)
class ExactRow:
    """Against enumeration of all partitions of N points, nats.

    Attributes:
        num_points: N.
        num_datasets: fresh data sets.
        mean_kl: mean of KL(exact || guide).
        median_kl: its median.
        mean_kl_se: standard error of the mean.
    """

    num_points: int
    num_datasets: int
    mean_kl: float
    median_kl: float
    mean_kl_se: float

    def __repr__(self) -> str:
        """Return the mean divergence."""
        kl = f"{self.mean_kl:.3g} ± {self.mean_kl_se:.2g}"
        return f"ExactRow(mean KL {kl} nats, {self.num_datasets} data sets of {self.num_points} points)"


@dataclass(frozen=True)
class SampledRow:
    """From draws of the guide and the true partitions.

    Attributes:
        num_points: N.
        num_datasets: fresh data sets.
        num_draws: draws a data set.
        median_efficiency: median over data sets of the importance-sampling ESS over the number of draws.
        mean_efficiency: its mean.
        low_efficiency: its 5th percentile.
        log_prob_truth: mean log q of the simulated partition, nats.
        log_evidence: mean importance-sampling estimate of log p(data), nats: a proposal that misses modes
            falls behind others.
        high_efficiency: 95th percentile of the efficiency.
        median_pareto_k: median over data sets of the Pareto k of the weights; ``None`` where it is not
            finite: weights that tie have no tail, with fewer than 25 draws none can be fitted.
        share_high_k: share of the data sets whose k is above 0.7; ``None`` where no k could be fitted. One
            that could not be fitted does not count as above.
    """

    num_points: int
    num_datasets: int
    num_draws: int
    median_efficiency: float
    mean_efficiency: float
    low_efficiency: float
    log_prob_truth: float
    log_evidence: float
    high_efficiency: float | None = None
    median_pareto_k: float | None = None
    share_high_k: float | None = None

    def __repr__(self) -> str:
        """Return the median efficiency."""
        share = f"median efficiency {self.median_efficiency:.2f}"
        return f"SampledRow({share}, {self.num_datasets} data sets of {self.num_points} points)"


@dataclass(frozen=True)
class TruthRow:
    """Log q of simulated partitions, by guide and baseline on the same data sets.

    The mean difference is an unbiased estimate of how much nearer, in KL(exact || .), the guide is.

    Attributes:
        num_points: N.
        num_datasets: fresh data sets.
        log_prob: mean log q of the guide, nats.
        baseline_log_prob: mean log q of the baseline, nats; ``None`` without a baseline.
        mean_difference: mean of guide minus baseline, nats; positive where the guide is better.
        difference_se: standard error of the mean difference.
    """

    num_points: int
    num_datasets: int
    log_prob: float
    baseline_log_prob: float | None = None
    mean_difference: float | None = None
    difference_se: float | None = None

    def __repr__(self) -> str:
        """Return the mean log q, and how far it is ahead of the baseline."""
        ahead = "" if self.mean_difference is None else f", {self.mean_difference:+.3f} against the baseline"
        return f"TruthRow(log q {self.log_prob:.3f} nats{ahead}, N = {self.num_points})"


@dataclass(frozen=True)
class CalibrationRow:
    """Simulation-based calibration of one functional of the partition.

    Attributes:
        functional: ``num_clusters``, ``entropy``, ``together`` (do the points 0 and 1 share a cluster),
            ``pairs`` (how many of N // 2 disjoint pairs do), ``neighbours`` (share of points in the cluster
            of their nearest neighbour), ``log_prob`` (log q) or ``log_joint``.
        num_points: N.
        num_datasets: fresh data sets.
        num_draws: S, draws a data set.
        counts: how many ranks of the truth among S draws fell in each of the equal bins of 0, ..., S.
    """

    functional: str
    num_points: int
    num_datasets: int
    num_draws: int
    counts: tuple[int, ...]

    def __repr__(self) -> str:
        """Return the functional and its p-value."""
        return f"CalibrationRow({self.functional}: p = {self.uniformity.p_value:.2g}, N = {self.num_points})"

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

    For exact posteriors the average is the prior, and one draw a data set is an independent draw from it.

    Attributes:
        num_points: N.
        num_datasets: fresh data sets.
        num_draws: draws a data set.
        prior: exact probabilities of 1, ..., K_max clusters, the rest of the mass in the last; ``None`` where
            the model does not know them.
        simulated: frequencies among the true partitions.
        averaged: probabilities by the averaged posterior.
        averaged_se: their standard errors over data sets.
        single_counts: number of clusters in one draw a data set, counts of 1, ..., K_max.
        total_variation: between prior and averaged posterior; ``None`` without a prior.
        total_variation_noise: what exact posteriors would have, on average.
    """

    num_points: int
    num_datasets: int
    num_draws: int
    prior: tuple[float, ...] | None
    simulated: tuple[float, ...]
    averaged: tuple[float, ...]
    averaged_se: tuple[float, ...]
    single_counts: tuple[int, ...]
    total_variation: float | None
    total_variation_noise: float

    def __repr__(self) -> str:
        """Return the distance between prior and averaged posterior."""
        distance = "no prior"
        if self.total_variation is not None:
            distance = f"total variation {self.total_variation:.3f}, noise {self.total_variation_noise:.3f}"
        return f"ClusterCountRow({distance}, N = {self.num_points})"

    @property
    def p_value(self) -> float | None:
        """Of one draw a data set against the prior; ``None`` without a prior."""
        if self.prior is None:
            return None
        return goodness_of_fit(np.array(self.single_counts), np.array(self.prior))


@dataclass(frozen=True)
class CoverageRow:
    """Nominal against observed coverage of the credible balls of partitions.

    Attributes:
        num_points: N.
        num_datasets: fresh data sets.
        num_draws: draws a data set.
        levels: nominal.
        observed: share of the data sets whose ball contains the truth, one a level.
        low: lower limits of what exact posteriors would show, 95 % for all levels together.
        high: upper limits.
        p_value: that observed coverage is nominal.
    """

    num_points: int
    num_datasets: int
    num_draws: int
    levels: tuple[float, ...]
    observed: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    p_value: float

    def __repr__(self) -> str:
        """Return the p-value."""
        return (
            f"CoverageRow(p = {self.p_value:.2g}, {self.num_datasets} data sets of {self.num_points} points)"
        )


@dataclass(frozen=True)
class ReliabilityRow:
    """Predicted probability that two points share a cluster against how often they do, in equal bins.

    Attributes:
        num_points: N.
        num_datasets: fresh data sets.
        num_draws: draws a data set.
        predicted: mean probability of the pairs in each bin that has any.
        observed: share of them that do share a cluster.
        low: lower limits of what exact posteriors would show, 95 % for all bins together.
        high: upper limits.
        counts: pairs in each bin, over all data sets.
        brier: mean squared difference of outcomes and probabilities.
        brier_prior: the same with the base rate for every pair.
        ece: expected calibration error.
        ece_noise: what exact posteriors would have, on average.
        p_value: that the probabilities are calibrated; at least 0.001.
    """

    num_points: int
    num_datasets: int
    num_draws: int
    predicted: tuple[float, ...]
    observed: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    counts: tuple[int, ...]
    brier: float
    brier_prior: float
    ece: float
    ece_noise: float
    p_value: float

    def __repr__(self) -> str:
        """Return the calibration error."""
        error = f"calibration error {self.ece:.4f}, noise {self.ece_noise:.4f}"
        return f"ReliabilityRow({error}, p = {self.p_value:.2g}, N = {self.num_points})"


@dataclass(frozen=True)
class OrderRow:
    """How much q depends on the order in which points are visited.

    For a partition drawn from the guide: standard deviation over mean of q(c | x) over random orders.

    Attributes:
        num_points: N.
        num_datasets: fresh data sets.
        num_orders: orders a data set.
        median: median over data sets; 0 would be an exchangeable guide.
        low: 5th percentile.
        high: 95th percentile.
        baseline_median: of the baseline on the same data sets; ``None`` without one.

    References:
        Chelly et al. (2025), Consistent amortized clustering via generative flow networks.
        https://proceedings.mlr.press/v258/chelly25a.html
    """

    num_points: int
    num_datasets: int
    num_orders: int
    median: float
    low: float
    high: float
    baseline_median: float | None = None

    def __repr__(self) -> str:
        """Return the median spread."""
        return (
            f"OrderRow(median spread {self.median:.2f} over {self.num_orders} orders, N = {self.num_points})"
        )


@dataclass(frozen=True)
class RealTablesRow:
    """Draws as the guide makes them, on real tables, against long chains of merge-split and Gibbs moves.

    Attributes:
        source: which tables, in words.
        num_tables: how many.
        num_draws: draws a table.
        num_agreed: tables on which two halves of the chains agreed.
        median_efficiency: median over tables of the importance-sampling ESS over the number of draws.
        lower_efficiency: its lower quarter.
        median_largest: of the largest error of a co-assignment probability.
        median_mean: of their mean error.
        median_floor: of the largest error that as many draws of the chains would have.
        baseline_efficiency: of the exact filter, on the same tables.
        baseline_largest: likewise.
        baseline_mean: likewise.
    """

    source: str
    num_tables: int
    num_draws: int
    num_agreed: int
    median_efficiency: float
    lower_efficiency: float
    median_largest: float
    median_mean: float
    median_floor: float
    baseline_efficiency: float | None = None
    baseline_largest: float | None = None
    baseline_mean: float | None = None

    def __repr__(self) -> str:
        """Return the errors and the efficiency."""
        return (
            f"RealTablesRow({self.num_tables} tables, median largest error {self.median_largest:.3f}, "
            f"efficiency {self.median_efficiency:.2g})"
        )


@dataclass(frozen=True)
class SpeedRow:
    """Draws a second of one data set on one thread, with their log-probabilities, encoding included.

    Attributes:
        num_points: N.
        num_draws: draws a data set.
        draws_per_second: best of the repeats.
    """

    num_points: int
    num_draws: int
    draws_per_second: float

    def __repr__(self) -> str:
        """Return the speed."""
        return f"SpeedRow({self.draws_per_second:,.0f} draws a second, N = {self.num_points})"
