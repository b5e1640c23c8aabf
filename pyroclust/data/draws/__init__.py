"""Draws of partitions from files and objects of any software."""

from pyroclust.data.draws.reading import DRAWS_SUFFIXES, DrawsSource, draws_from, read_draws

__all__ = ["DRAWS_SUFFIXES", "DrawsSource", "draws_from", "read_draws"]
