"""Cluster parameters that chains keep, because they do not integrate out."""
