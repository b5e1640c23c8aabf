"""Markov chain Monte Carlo over partitions, as kernels of ``pyro.infer.MCMC``."""

from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.infer.mcmc.auxiliary_gibbs import AuxiliaryGibbs
from pyroclust.infer.mcmc.blocked_gibbs import BlockedGibbs
from pyroclust.infer.mcmc.collapsed_gibbs import CollapsedGibbs
from pyroclust.infer.mcmc.companion_nuts import CompanionNUTS
from pyroclust.infer.mcmc.compiled import graphs  # noqa: F401  (registers them)
from pyroclust.infer.mcmc.compose import Compose
from pyroclust.infer.mcmc.guide_proposal import GuideProposal, NeighbourBlocks, UniformBlocks
from pyroclust.infer.mcmc.hyperparameters import SliceHyperparameters
from pyroclust.infer.mcmc.kernel import PartitionKernel, Transition, assignments
from pyroclust.infer.mcmc.parallel_tempering import ParallelTempering
from pyroclust.infer.mcmc.parameters import ExactParameters, ParameterUpdates, SliceParameters
from pyroclust.infer.mcmc.split_merge import MergeSplit, SplitMerge
from pyroclust.infer.mcmc.states import ChainStates, FromDraws, OneCluster, Overdispersed, Singletons, Starts

__all__ = [
    "AuxiliaryGibbs",
    "BlockedGibbs",
    "ChainStates",
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
    "ParallelTempering",
    "ParameterUpdates",
    "PartitionKernel",
    "Singletons",
    "SliceHyperparameters",
    "SliceParameters",
    "SplitMerge",
    "Starts",
    "Transition",
    "UniformBlocks",
    "assignments",
]
