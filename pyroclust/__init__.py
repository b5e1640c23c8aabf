"""Amortized Bayesian clustering in Pyro."""
