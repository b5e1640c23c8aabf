"""Markov chain Monte Carlo over partitions, as kernels of ``pyro.infer.MCMC``."""

from pyroclust.infer.mcmc import inverse_gamma, inverse_wishart, known_variance  # noqa: F401  (register families)
from pyroclust.infer.mcmc.collapsed_gibbs import CollapsedGibbs
from pyroclust.infer.mcmc.draws import GibbsDraws, assignments
from pyroclust.infer.mcmc.protocol import CollapsedModel
from pyroclust.infer.mcmc.starts import FromDraws, OneCluster, Overdispersed, Singletons, Starts

__all__ = [
    "CollapsedGibbs",
    "CollapsedModel",
    "FromDraws",
    "GibbsDraws",
    "OneCluster",
    "Overdispersed",
    "Singletons",
    "Starts",
    "assignments",
]
