"""Draws of partitions from files and objects of any software; ArviZ containers out."""

from pyroclust.io.arviz import to_arviz
from pyroclust.io.draws import DRAWS_SUFFIXES, DrawsSource, draws_from, read_draws

__all__ = ["DRAWS_SUFFIXES", "DrawsSource", "draws_from", "read_draws", "to_arviz"]
