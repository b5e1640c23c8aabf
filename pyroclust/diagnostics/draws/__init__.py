"""Draws of partitions as arrays: taken out of what holds them, checked, compared and counted."""
