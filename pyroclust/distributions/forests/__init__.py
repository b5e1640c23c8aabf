"""Spanning forests of perturbed similarities: solvers, and the law of the partitions that they make."""
