"""Simulation-based checks of any sampler of partitions, and the certificate of a guide."""
