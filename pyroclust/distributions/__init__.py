"""Distributions over partitions, conjugate component families, and data given a partition."""

from pyroclust.distributions.bernoulli_beta import BernoulliBeta
from pyroclust.distributions.block_counts import block_sizes
from pyroclust.distributions.chinese_restaurant import ChineseRestaurantProcess
from pyroclust.distributions.chinese_restaurant_prior import ChineseRestaurantPrior
from pyroclust.distributions.clustered_data import ClusteredData, block_moments
from pyroclust.distributions.clusterwise import ClusterwisePartition
from pyroclust.distributions.components import Component, ConjugateComponent
from pyroclust.distributions.dirichlet_multinomial import DirichletMultinomialPartition
from pyroclust.distributions.dirichlet_multinomial_prior import DirichletMultinomialPrior
from pyroclust.distributions.elicitation import elicit
from pyroclust.distributions.finite_mixtures_prior import FiniteMixturesPrior
from pyroclust.distributions.gamma_concentration import GammaConcentration
from pyroclust.distributions.inverse_wishart import InverseWishartCholesky
from pyroclust.distributions.mixture_of_finite_mixtures import MixtureOfFiniteMixtures
from pyroclust.distributions.multinomial_dirichlet import MultinomialDirichlet
from pyroclust.distributions.normal_independent import NormalIndependent
from pyroclust.distributions.normal_inverse_gamma import NormalInverseGamma
from pyroclust.distributions.normal_inverse_wishart import NormalInverseWishart
from pyroclust.distributions.normal_known_variance import NormalKnownVariance
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.partition_prior import PartitionPrior
from pyroclust.distributions.pitman_yor import PitmanYorProcess
from pyroclust.distributions.pitman_yor_prior import PitmanYorPrior
from pyroclust.distributions.poisson_gamma import PoissonGamma
from pyroclust.distributions.product import Product
from pyroclust.distributions.pyro_component import PyroComponent
from pyroclust.distributions.student_t import student_t
from pyroclust.distributions.von_mises import von_mises

__all__ = [
    "BernoulliBeta",
    "ChineseRestaurantPrior",
    "ChineseRestaurantProcess",
    "ClusteredData",
    "ClusterwisePartition",
    "Component",
    "ConjugateComponent",
    "DirichletMultinomialPartition",
    "DirichletMultinomialPrior",
    "FiniteMixturesPrior",
    "GammaConcentration",
    "InverseWishartCholesky",
    "MixtureOfFiniteMixtures",
    "MultinomialDirichlet",
    "NormalIndependent",
    "NormalInverseGamma",
    "NormalInverseWishart",
    "NormalKnownVariance",
    "PartitionDistribution",
    "PartitionPrior",
    "PitmanYorPrior",
    "PitmanYorProcess",
    "PoissonGamma",
    "Product",
    "PyroComponent",
    "block_moments",
    "block_sizes",
    "elicit",
    "student_t",
    "von_mises",
]
