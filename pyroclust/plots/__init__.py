"""Matplotlib pictures of partitions: Axes in, Axes out."""

from pyroclust.plots.certificate import (
    plot_certificate,
    plot_efficiency,
    plot_order_spread,
    plot_rank_ecdf,
)
from pyroclust.plots.clustering import plot_clustering
from pyroclust.plots.co_assignment import plot_co_assignment, plot_co_assignment_difference
from pyroclust.plots.log_weights import plot_log_weights
from pyroclust.plots.num_clusters import plot_num_clusters
from pyroclust.plots.style import CYCLE, new_figure, png_bytes, style
from pyroclust.plots.trace import plot_trace
from pyroclust.plots.training import plot_training, plot_training_loss

__all__ = [
    "CYCLE",
    "new_figure",
    "plot_certificate",
    "plot_clustering",
    "plot_co_assignment",
    "plot_co_assignment_difference",
    "plot_efficiency",
    "plot_log_weights",
    "plot_num_clusters",
    "plot_order_spread",
    "plot_rank_ecdf",
    "plot_trace",
    "plot_training",
    "plot_training_loss",
    "png_bytes",
    "style",
]
