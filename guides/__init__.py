"""Amortized guides: distributions over partitions, given data."""
