"""Matplotlib pictures of partitions: Axes in, Axes out.

Every ``plot_...`` draws on the ``ax`` or ``axes`` that it is given and returns them; ``plot_certificate`` and
``plot_training`` make a figure. What cannot be drawn, such as arrays of other shapes or numbers that are no
finite ones, is a ``ValueError`` that names the argument.
"""

from pyroclust.plots.agreement import (
    plot_agreement,
    plot_partition_map,
    plot_permutation_null,
    plot_two_samples,
)
from pyroclust.plots.calibration import (
    plot_averaged_posterior,
    plot_coverage,
    plot_familiarity,
    plot_log_weights,
    plot_reliability,
)
from pyroclust.plots.certificate import (
    plot_certificate,
    plot_efficiency,
    plot_order_spread,
    plot_rank_ecdf,
    plot_training,
    plot_training_loss,
)
from pyroclust.plots.clusterings import (
    plot_baselines,
    plot_clustering,
    plot_credible_ball,
    plot_modes,
    plot_partition_draws,
)
from pyroclust.plots.components import (
    plot_cluster_densities,
    plot_cluster_parameters,
    plot_components,
    plot_filtering,
    plot_missing_levels,
    plot_missing_numbers,
)
from pyroclust.plots.convergence import (
    plot_co_membership,
    plot_convergence,
    plot_distances,
    plot_rank_bars,
    plot_trace,
)
from pyroclust.plots.images_and_graphs import (
    plot_block_matrix,
    plot_contact_sheet,
    plot_generated,
    plot_graph,
    plot_uncertain_images,
    plot_waveforms,
)
from pyroclust.plots.posterior import (
    plot_co_assignment,
    plot_co_assignment_difference,
    plot_distance_histogram,
    plot_num_clusters,
    plot_point_uncertainty,
    plot_ranked_partitions,
    plot_scores,
)
from pyroclust.plots.style import CYCLE, GREY, INK, new_figure, png_bytes, style

__all__ = [
    "CYCLE",
    "GREY",
    "INK",
    "new_figure",
    "plot_agreement",
    "plot_averaged_posterior",
    "plot_baselines",
    "plot_block_matrix",
    "plot_certificate",
    "plot_cluster_densities",
    "plot_cluster_parameters",
    "plot_clustering",
    "plot_co_assignment",
    "plot_co_assignment_difference",
    "plot_co_membership",
    "plot_components",
    "plot_contact_sheet",
    "plot_convergence",
    "plot_coverage",
    "plot_credible_ball",
    "plot_distance_histogram",
    "plot_distances",
    "plot_efficiency",
    "plot_familiarity",
    "plot_filtering",
    "plot_generated",
    "plot_graph",
    "plot_log_weights",
    "plot_missing_levels",
    "plot_missing_numbers",
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
    "plot_uncertain_images",
    "plot_waveforms",
    "png_bytes",
    "style",
]
