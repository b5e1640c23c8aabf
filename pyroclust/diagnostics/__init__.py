"""Summaries and checks of posterior draws of partitions: arrays in, arrays and small dataclasses out.

Nothing here knows a model or a guide: draws from any software will do, as integer arrays ``(chains, draws,
points)`` or ``(draws, points)`` with labels 0 to N - 1.
"""

from pyroclust.diagnostics.agreement import Agreement, Noise, agreement, noise_floor
from pyroclust.diagnostics.cluster_profiles import ClusterProfiles, cluster_profiles
from pyroclust.diagnostics.co_membership import CoMembershipEss, co_membership_ess
from pyroclust.diagnostics.convergence import Convergence, convergence, ess, max_rhat, min_ess, rhat
from pyroclust.diagnostics.counts import cluster_count_posterior, total_variation
from pyroclust.diagnostics.coverage import BallCoverage, ball_coverage
from pyroclust.diagnostics.credible_ball import CredibleBall, credible_ball
from pyroclust.diagnostics.distance_rhat import DistanceRhat, distance_rhat
from pyroclust.diagnostics.entropy import PartitionEntropy, partition_entropy
from pyroclust.diagnostics.estimates import point_estimate, point_uncertainty
from pyroclust.diagnostics.evidence import (
    LogEvidence,
    bridge_log_evidence,
    log_evidences,
    reciprocal_log_evidence,
)
from pyroclust.diagnostics.familiarity import Familiarity, familiarity
from pyroclust.diagnostics.familiarity_rows import FamiliarityRow
from pyroclust.diagnostics.functionals import functionals
from pyroclust.diagnostics.importance import (
    effective_draws,
    importance_efficiency,
    importance_weights,
    log_evidence,
    pareto_k,
    weighted_expectation,
)
from pyroclust.diagnostics.losses import (
    adjusted_rand_loss,
    binder,
    expected_vi,
    normalised_vi,
    variation_of_information,
)
from pyroclust.diagnostics.modes import PartitionModes, partition_modes
from pyroclust.diagnostics.pairwise import pairwise_loss
from pyroclust.diagnostics.partition_losses import (
    AdjustedRand,
    Binder,
    NormalisedVariationOfInformation,
    PartitionLoss,
    VariationOfInformation,
)
from pyroclust.diagnostics.permutation_test import TwoSampleTest
from pyroclust.diagnostics.ranked import RankedPartitions, ranked_partitions
from pyroclust.diagnostics.ranks import rank_counts, rank_statistics
from pyroclust.diagnostics.reliability import PairReliability, pair_reliability
from pyroclust.diagnostics.salso import SalsoSearch
from pyroclust.diagnostics.sbc import SbcRow, SimulationBasedCalibration, sbc
from pyroclust.diagnostics.searches import DrawsSearch, EnumerationSearch, LinkageSearch, PartitionSearch
from pyroclust.diagnostics.similarity import co_assignment, dendrogram_order
from pyroclust.diagnostics.source_effects import Effect
from pyroclust.diagnostics.sources import SourceComparison, compare_sources
from pyroclust.diagnostics.two_sample import classifier_test, count_test, mmd_test
from pyroclust.diagnostics.uniformity import (
    Uniformity,
    ecdf_band,
    ecdf_test,
    goodness_of_fit,
    threshold_band,
    uniformity,
)
from pyroclust.diagnostics.verdict import Evidence, Trust, Verdict, judge

__all__ = [
    "AdjustedRand",
    "Agreement",
    "BallCoverage",
    "Binder",
    "ClusterProfiles",
    "CoMembershipEss",
    "Convergence",
    "CredibleBall",
    "DistanceRhat",
    "DrawsSearch",
    "Effect",
    "EnumerationSearch",
    "Evidence",
    "Familiarity",
    "FamiliarityRow",
    "LinkageSearch",
    "LogEvidence",
    "Noise",
    "NormalisedVariationOfInformation",
    "PairReliability",
    "PartitionEntropy",
    "PartitionLoss",
    "PartitionModes",
    "PartitionSearch",
    "RankedPartitions",
    "SalsoSearch",
    "SbcRow",
    "SimulationBasedCalibration",
    "SourceComparison",
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
    "cluster_count_posterior",
    "cluster_profiles",
    "co_assignment",
    "co_membership_ess",
    "compare_sources",
    "convergence",
    "count_test",
    "credible_ball",
    "dendrogram_order",
    "distance_rhat",
    "ecdf_band",
    "ecdf_test",
    "effective_draws",
    "ess",
    "expected_vi",
    "familiarity",
    "functionals",
    "goodness_of_fit",
    "importance_efficiency",
    "importance_weights",
    "judge",
    "log_evidence",
    "log_evidences",
    "max_rhat",
    "min_ess",
    "mmd_test",
    "noise_floor",
    "normalised_vi",
    "pair_reliability",
    "pairwise_loss",
    "pareto_k",
    "partition_entropy",
    "partition_modes",
    "point_estimate",
    "point_uncertainty",
    "rank_counts",
    "rank_statistics",
    "ranked_partitions",
    "reciprocal_log_evidence",
    "rhat",
    "sbc",
    "threshold_band",
    "total_variation",
    "uniformity",
    "variation_of_information",
    "weighted_expectation",
]
