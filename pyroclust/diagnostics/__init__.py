"""Summaries and checks of posterior draws of partitions: arrays in, arrays and small dataclasses out.

Nothing here knows a model or a guide: draws from any software will do, as integer arrays ``(chains, draws,
points)`` or ``(draws, points)`` with labels 0 to N - 1.
"""

from pyroclust.diagnostics.chains.convergence import Convergence, convergence, ess, max_rhat, min_ess, rhat
from pyroclust.diagnostics.chains.functionals import functionals
from pyroclust.diagnostics.chains.partition_convergence import (
    CoMembershipEss,
    DistanceRhat,
    co_membership_ess,
    distance_rhat,
)
from pyroclust.diagnostics.chains.short_chains import (
    Drift,
    Round,
    StartMemory,
    drift,
    nested_rhat,
    start_memory,
    start_test,
)
from pyroclust.diagnostics.differences.agreement import Agreement, Noise, agreement, noise_floor
from pyroclust.diagnostics.differences.effects import Effect
from pyroclust.diagnostics.differences.likeness import Likeness, likeness
from pyroclust.diagnostics.differences.two_sample import TwoSampleTest, classifier_test, count_test, mmd_test
from pyroclust.diagnostics.draws.co_assignment import co_assignment, dendrogram_order
from pyroclust.diagnostics.draws.frequencies import (
    PartitionEntropy,
    RankedPartitions,
    partition_entropy,
    ranked_partitions,
)
from pyroclust.diagnostics.draws.informative_pairs import InformativePairs, most_informative_pairs
from pyroclust.diagnostics.draws.labels import normalised_weights, resample
from pyroclust.diagnostics.draws.losses import (
    AdjustedRand,
    Binder,
    NormalisedVariationOfInformation,
    PartitionLoss,
    VariationOfInformation,
    adjusted_rand_loss,
    binder,
    expected_vi,
    normalised_vi,
    pairwise_loss,
    variation_of_information,
)
from pyroclust.diagnostics.draws.num_clusters import cluster_count_posterior, total_variation
from pyroclust.diagnostics.estimates.cluster_profiles import ClusterProfiles, cluster_profiles
from pyroclust.diagnostics.estimates.credible_ball import CredibleBall, credible_ball
from pyroclust.diagnostics.estimates.modes import PartitionModes, partition_modes
from pyroclust.diagnostics.estimates.point_estimates import point_estimate, point_uncertainty
from pyroclust.diagnostics.estimates.salso import SalsoSearch
from pyroclust.diagnostics.estimates.searches import (
    DrawsSearch,
    EnumerationSearch,
    LinkageSearch,
    PartitionSearch,
)
from pyroclust.diagnostics.estimates.separation import (
    ClusterContrasts,
    ColumnShares,
    cluster_contrasts,
    column_shares,
    likely_outliers,
    outlier_probabilities,
)
from pyroclust.diagnostics.simulations.coverage import BallCoverage, ball_coverage
from pyroclust.diagnostics.simulations.familiarity import Familiarity, FamiliarityRow, familiarity
from pyroclust.diagnostics.simulations.reliability import PairReliability, pair_reliability
from pyroclust.diagnostics.simulations.sbc import (
    SbcRow,
    SimulationBasedCalibration,
    rank_counts,
    rank_statistics,
    sbc,
)
from pyroclust.diagnostics.simulations.uniformity import (
    Uniformity,
    ecdf_band,
    ecdf_test,
    goodness_of_fit,
    threshold_band,
    uniformity,
)
from pyroclust.diagnostics.sources import SourceComparison, compare_sources
from pyroclust.diagnostics.verdicts.draws import judge_draws
from pyroclust.diagnostics.verdicts.evidence import EvidenceHeadline, evidence_headline
from pyroclust.diagnostics.verdicts.judging import judge
from pyroclust.diagnostics.verdicts.verdict import Answer, Finding, Mark, Trust, Verdict
from pyroclust.diagnostics.weights.evidence import (
    EvidenceMethod,
    LogEvidence,
    bridge_log_evidence,
    importance_evidence,
    log_evidences,
    population_evidence,
    reciprocal_log_evidence,
    repeated_log_evidence,
)
from pyroclust.diagnostics.weights.importance import (
    effective_draws,
    importance_efficiency,
    importance_log_evidence,
    importance_weights,
    pareto_k,
    smooth_log_weights,
    weighted_expectation,
)

__all__ = [
    "AdjustedRand",
    "Agreement",
    "Answer",
    "BallCoverage",
    "Binder",
    "ClusterContrasts",
    "ClusterProfiles",
    "CoMembershipEss",
    "ColumnShares",
    "Convergence",
    "CredibleBall",
    "DistanceRhat",
    "DrawsSearch",
    "Drift",
    "Effect",
    "EnumerationSearch",
    "EvidenceHeadline",
    "EvidenceMethod",
    "Familiarity",
    "FamiliarityRow",
    "Finding",
    "InformativePairs",
    "Likeness",
    "LinkageSearch",
    "LogEvidence",
    "Mark",
    "Noise",
    "NormalisedVariationOfInformation",
    "PairReliability",
    "PartitionEntropy",
    "PartitionLoss",
    "PartitionModes",
    "PartitionSearch",
    "RankedPartitions",
    "Round",
    "SalsoSearch",
    "SbcRow",
    "SimulationBasedCalibration",
    "SourceComparison",
    "StartMemory",
    "Trust",
    "TwoSampleTest",
    "Uniformity",
    "VariationOfInformation",
    "Verdict",
    "adjusted_rand_loss",
    "agreement",
    "ball_coverage",
    "binder",
    "bridge_log_evidence",
    "classifier_test",
    "cluster_contrasts",
    "cluster_count_posterior",
    "cluster_profiles",
    "co_assignment",
    "co_membership_ess",
    "column_shares",
    "compare_sources",
    "convergence",
    "count_test",
    "credible_ball",
    "dendrogram_order",
    "distance_rhat",
    "drift",
    "ecdf_band",
    "ecdf_test",
    "effective_draws",
    "ess",
    "evidence_headline",
    "expected_vi",
    "familiarity",
    "functionals",
    "goodness_of_fit",
    "importance_efficiency",
    "importance_evidence",
    "importance_log_evidence",
    "importance_weights",
    "judge",
    "judge_draws",
    "likely_outliers",
    "likeness",
    "log_evidences",
    "max_rhat",
    "min_ess",
    "mmd_test",
    "most_informative_pairs",
    "nested_rhat",
    "noise_floor",
    "normalised_vi",
    "normalised_weights",
    "outlier_probabilities",
    "pair_reliability",
    "pairwise_loss",
    "pareto_k",
    "partition_entropy",
    "partition_modes",
    "point_estimate",
    "point_uncertainty",
    "population_evidence",
    "rank_counts",
    "rank_statistics",
    "ranked_partitions",
    "reciprocal_log_evidence",
    "repeated_log_evidence",
    "resample",
    "rhat",
    "sbc",
    "smooth_log_weights",
    "start_memory",
    "start_test",
    "threshold_band",
    "total_variation",
    "uniformity",
    "variation_of_information",
    "weighted_expectation",
]
