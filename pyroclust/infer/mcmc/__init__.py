"""Markov chain Monte Carlo over partitions, as kernels of ``pyro.infer.MCMC``."""

from pyroclust.infer.mcmc import (  # noqa: F401  (register families)
    bernoulli,
    independent_normal,
    inverse_gamma,
    inverse_wishart,
    known_variance,
    multinomial,
    poisson,
    product,
    uncollapsed,
)
from pyroclust.infer.mcmc.auxiliary_gibbs import AuxiliaryGibbs
from pyroclust.infer.mcmc.collapsed_gibbs import CollapsedGibbs
from pyroclust.infer.mcmc.companion_nuts import CompanionNUTS
from pyroclust.infer.mcmc.compose import Compose
from pyroclust.infer.mcmc.draws import ChainDraws, assignments
from pyroclust.infer.mcmc.guide_blocks import NeighbourBlocks, UniformBlocks
from pyroclust.infer.mcmc.guide_proposal import GuideProposal
from pyroclust.infer.mcmc.kernel import PartitionKernel
from pyroclust.infer.mcmc.merge_split import MergeSplit
from pyroclust.infer.mcmc.parameter_updates import ExactParameters, ParameterUpdates, SliceParameters
from pyroclust.infer.mcmc.protocol import CollapsedModel
from pyroclust.infer.mcmc.slice_hyperparameters import SliceHyperparameters
from pyroclust.infer.mcmc.split_merge import SplitMerge
from pyroclust.infer.mcmc.starts import FromDraws, OneCluster, Overdispersed, Singletons, Starts

__all__ = [
    "AuxiliaryGibbs",
    "ChainDraws",
    "CollapsedGibbs",
    "CollapsedModel",
    "CompanionNUTS",
    "Compose",
    "ExactParameters",
    "FromDraws",
    "GuideProposal",
    "MergeSplit",
    "NeighbourBlocks",
    "OneCluster",
    "Overdispersed",
    "ParameterUpdates",
    "PartitionKernel",
    "Singletons",
    "SliceHyperparameters",
    "SliceParameters",
    "SplitMerge",
    "Starts",
    "UniformBlocks",
    "assignments",
]
