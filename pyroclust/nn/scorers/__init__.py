"""Scorers: the networks of pointwise guides."""
