"""Draws of partitions from files that any software wrote."""

from pyroclust.io.draws import DRAWS_SUFFIXES, DrawsFile, read_draws

__all__ = ["DRAWS_SUFFIXES", "DrawsFile", "read_draws"]
