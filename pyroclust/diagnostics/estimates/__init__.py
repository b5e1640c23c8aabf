"""Partitions that stand for a posterior, and how far and how surely they do."""
