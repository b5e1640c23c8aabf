"""Markov chain Monte Carlo over partitions, as kernels of ``pyro.infer.MCMC``."""

from pyroclust.infer.mcmc import inverse_gamma, inverse_wishart, known_variance  # noqa: F401  (register families)
from pyroclust.infer.mcmc.collapsed_gibbs import CollapsedGibbs
from pyroclust.infer.mcmc.compose import Compose
from pyroclust.infer.mcmc.draws import ChainDraws, assignments
from pyroclust.infer.mcmc.kernel import PartitionKernel
from pyroclust.infer.mcmc.merge_split import MergeSplit
from pyroclust.infer.mcmc.protocol import CollapsedModel
from pyroclust.infer.mcmc.slice_hyperparameters import SliceHyperparameters
from pyroclust.infer.mcmc.split_merge import SplitMerge
from pyroclust.infer.mcmc.starts import FromDraws, OneCluster, Overdispersed, Singletons, Starts

__all__ = [
    "ChainDraws",
    "CollapsedGibbs",
    "CollapsedModel",
    "Compose",
    "FromDraws",
    "MergeSplit",
    "OneCluster",
    "Overdispersed",
    "PartitionKernel",
    "Singletons",
    "SliceHyperparameters",
    "SplitMerge",
    "Starts",
    "assignments",
]
