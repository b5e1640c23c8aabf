"""Matplotlib pictures of partitions: Axes in, Axes out."""

from pyroclust.plots.agreement import plot_agreement
from pyroclust.plots.averaged_posterior import plot_averaged_posterior
from pyroclust.plots.baselines import plot_baselines
from pyroclust.plots.certificate import (
    plot_certificate,
    plot_efficiency,
    plot_order_spread,
    plot_rank_ecdf,
)
from pyroclust.plots.cluster_parameters import plot_cluster_parameters
from pyroclust.plots.clustering import plot_clustering
from pyroclust.plots.co_assignment import plot_co_assignment, plot_co_assignment_difference
from pyroclust.plots.co_membership import plot_co_membership
from pyroclust.plots.convergence import plot_convergence
from pyroclust.plots.coverage import plot_coverage
from pyroclust.plots.credible_ball import plot_credible_ball
from pyroclust.plots.distance_histogram import plot_distance_histogram
from pyroclust.plots.distances import plot_distances
from pyroclust.plots.familiarity import plot_familiarity
from pyroclust.plots.log_weights import plot_log_weights
from pyroclust.plots.modes import plot_modes
from pyroclust.plots.num_clusters import plot_num_clusters
from pyroclust.plots.partition_draws import plot_partition_draws
from pyroclust.plots.permutation_null import plot_permutation_null
from pyroclust.plots.point_uncertainty import plot_point_uncertainty
from pyroclust.plots.rank_bars import plot_rank_bars
from pyroclust.plots.ranked_partitions import plot_ranked_partitions
from pyroclust.plots.reliability import plot_reliability
from pyroclust.plots.scores import plot_scores
from pyroclust.plots.style import CYCLE, GREY, INK, new_figure, png_bytes, style
from pyroclust.plots.trace import plot_trace
from pyroclust.plots.training import plot_training, plot_training_loss
from pyroclust.plots.two_samples import plot_partition_map, plot_two_samples

__all__ = [
    "CYCLE",
    "GREY",
    "INK",
    "new_figure",
    "plot_agreement",
    "plot_averaged_posterior",
    "plot_baselines",
    "plot_certificate",
    "plot_cluster_parameters",
    "plot_clustering",
    "plot_co_assignment",
    "plot_co_assignment_difference",
    "plot_co_membership",
    "plot_convergence",
    "plot_coverage",
    "plot_credible_ball",
    "plot_distance_histogram",
    "plot_distances",
    "plot_efficiency",
    "plot_familiarity",
    "plot_log_weights",
    "plot_modes",
    "plot_num_clusters",
    "plot_order_spread",
    "plot_partition_draws",
    "plot_partition_map",
    "plot_permutation_null",
    "plot_point_uncertainty",
    "plot_rank_bars",
    "plot_rank_ecdf",
    "plot_ranked_partitions",
    "plot_reliability",
    "plot_scores",
    "plot_trace",
    "plot_training",
    "plot_training_loss",
    "plot_two_samples",
    "png_bytes",
    "style",
]
