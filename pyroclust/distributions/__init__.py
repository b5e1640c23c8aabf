"""Distributions over partitions, conjugate component families, and data given a partition."""

from pyroclust.distributions.block_counts import block_sizes
from pyroclust.distributions.chinese_restaurant import ChineseRestaurantProcess
from pyroclust.distributions.clustered_data import ClusteredData, block_moments
from pyroclust.distributions.components import ConjugateComponent
from pyroclust.distributions.normal_inverse_gamma import NormalInverseGamma
from pyroclust.distributions.normal_inverse_wishart import NormalInverseWishart
from pyroclust.distributions.normal_known_variance import NormalKnownVariance
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.partition_priors import FixedConcentration, GammaConcentration, PartitionPrior

__all__ = [
    "ChineseRestaurantProcess",
    "ClusteredData",
    "ConjugateComponent",
    "FixedConcentration",
    "GammaConcentration",
    "NormalInverseGamma",
    "NormalInverseWishart",
    "NormalKnownVariance",
    "PartitionDistribution",
    "PartitionPrior",
    "block_moments",
    "block_sizes",
]
