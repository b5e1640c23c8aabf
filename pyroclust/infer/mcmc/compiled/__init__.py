"""Compiled chains: their state, their moves, and the loop over draws."""
