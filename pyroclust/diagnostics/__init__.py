"""Summaries and checks of posterior draws of partitions: arrays in, arrays and small dataclasses out.

Nothing here knows a model or a guide: draws from any software will do, as integer arrays ``(chains, draws,
points)`` or ``(draws, points)`` with labels 0 to N - 1. What is no draws, weights or numbers of the shape
that a function names is a ``ValueError`` of one sentence.
"""

from pyroclust.diagnostics.chains.convergence import Convergence, convergence, ess, max_rhat, min_ess, rhat
from pyroclust.diagnostics.chains.functionals import functionals
from pyroclust.diagnostics.chains.partition_convergence import (
    CoMembershipEss,
    DistanceRhat,
    co_membership_ess,
    distance_rhat,
)
from pyroclust.diagnostics.chains.short_chains import drift, nested_rhat
from pyroclust.diagnostics.differences.agreement import Agreement, agreement
from pyroclust.diagnostics.differences.two_sample import TwoSampleTest, classifier_test, count_test, mmd_test
from pyroclust.diagnostics.draws.co_assignment import co_assignment, dendrogram_order
from pyroclust.diagnostics.draws.frequencies import (
    PartitionEntropy,
    RankedPartitions,
    cluster_count_posterior,
    partition_entropy,
    ranked_partitions,
    total_variation,
)
from pyroclust.diagnostics.draws.informative_pairs import InformativePairs, most_informative_pairs
from pyroclust.diagnostics.draws.labels import normalised_weights, resample
from pyroclust.diagnostics.draws.losses import (
    AdjustedRand,
    Binder,
    NormalisedVariationOfInformation,
    PartitionLoss,
    VariationOfInformation,
    pairwise_loss,
    variation_of_information,
)
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
from pyroclust.diagnostics.simulations.familiarity import Familiarity, familiarity
from pyroclust.diagnostics.simulations.reliability import PairReliability, pair_reliability
from pyroclust.diagnostics.simulations.sbc import SimulationBasedCalibration, sbc
from pyroclust.diagnostics.simulations.uniformity import Uniformity, uniformity
from pyroclust.diagnostics.sources import SourceComparison, compare_sources
from pyroclust.diagnostics.verdicts.judging import judge, judge_draws
from pyroclust.diagnostics.verdicts.verdict import Answer, Finding, Mark, Trust, Verdict
from pyroclust.diagnostics.weights.evidence import (
    EvidenceHeadline,
    EvidenceMethod,
    LogEvidence,
    evidence_headline,
    importance_evidence,
    log_evidences,
)
from pyroclust.diagnostics.weights.importance import (
    effective_draws,
    importance_efficiency,
    importance_weights,
    pareto_k,
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
    "EnumerationSearch",
    "EvidenceHeadline",
    "EvidenceMethod",
    "Familiarity",
    "Finding",
    "InformativePairs",
    "LinkageSearch",
    "LogEvidence",
    "Mark",
    "NormalisedVariationOfInformation",
    "PairReliability",
    "PartitionEntropy",
    "PartitionLoss",
    "PartitionModes",
    "PartitionSearch",
    "RankedPartitions",
    "SalsoSearch",
    "SimulationBasedCalibration",
    "SourceComparison",
    "Trust",
    "TwoSampleTest",
    "Uniformity",
    "VariationOfInformation",
    "Verdict",
    "agreement",
    "ball_coverage",
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
    "effective_draws",
    "ess",
    "evidence_headline",
    "familiarity",
    "functionals",
    "importance_efficiency",
    "importance_evidence",
    "importance_weights",
    "judge",
    "judge_draws",
    "likely_outliers",
    "log_evidences",
    "max_rhat",
    "min_ess",
    "mmd_test",
    "most_informative_pairs",
    "nested_rhat",
    "normalised_weights",
    "outlier_probabilities",
    "pair_reliability",
    "pairwise_loss",
    "pareto_k",
    "partition_entropy",
    "partition_modes",
    "point_estimate",
    "point_uncertainty",
    "ranked_partitions",
    "resample",
    "rhat",
    "sbc",
    "total_variation",
    "uniformity",
    "variation_of_information",
    "weighted_expectation",
]
