"""Importance weights: how good they are, and the evidence that they give."""
