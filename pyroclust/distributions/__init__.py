"""Distributions over partitions, conjugate component families, and data given a partition."""

from pyroclust.distributions.block_rates import BlockRates
from pyroclust.distributions.clusterwise_partition import ClusterwisePartition
from pyroclust.distributions.component_labels import DiagonalMixture
from pyroclust.distributions.families.bernoulli_beta import BernoulliBeta
from pyroclust.distributions.families.binomial_beta import BinomialBeta
from pyroclust.distributions.families.categories import Categories
from pyroclust.distributions.families.censored_normal import CensoredNormal
from pyroclust.distributions.families.circular import Circular
from pyroclust.distributions.families.clustered_data import ClusteredData
from pyroclust.distributions.families.component import Component, ConjugateComponent
from pyroclust.distributions.families.inverse_wishart import InverseWishartCholesky
from pyroclust.distributions.families.multinomial_dirichlet import MultinomialDirichlet
from pyroclust.distributions.families.negative_binomial import NegativeBinomialBeta
from pyroclust.distributions.families.normal_independent import NormalIndependent
from pyroclust.distributions.families.normal_inverse_gamma import NormalInverseGamma
from pyroclust.distributions.families.normal_inverse_wishart import NormalInverseWishart
from pyroclust.distributions.families.normal_known_variance import NormalKnownVariance
from pyroclust.distributions.families.ordered_levels import OrderedLevels
from pyroclust.distributions.families.partly_observed import PartlyObserved
from pyroclust.distributions.families.poisson_gamma import PoissonGamma
from pyroclust.distributions.families.product import Product
from pyroclust.distributions.families.pyro_component import PyroComponent
from pyroclust.distributions.families.student_t import student_t
from pyroclust.distributions.families.von_mises import von_mises
from pyroclust.distributions.filtering import Filtering
from pyroclust.distributions.observations import (
    BernoulliObservation,
    CountsObservation,
    NormalObservation,
    Observation,
)
from pyroclust.distributions.partition_distribution import PartitionDistribution
from pyroclust.distributions.perturbed_forest import PerturbedSpanningForest, standardised_similarity
from pyroclust.distributions.priors.chinese_restaurant import ChineseRestaurantPrior, ChineseRestaurantProcess
from pyroclust.distributions.priors.constrained import ConstrainedPartition
from pyroclust.distributions.priors.dirichlet_multinomial import (
    DirichletMultinomialPartition,
    DirichletMultinomialPrior,
)
from pyroclust.distributions.priors.dynamic_mixtures import DynamicMixturesPrior
from pyroclust.distributions.priors.finite_mixtures import FiniteMixturesPrior, MixtureOfFiniteMixtures
from pyroclust.distributions.priors.gamma_concentration import GammaConcentration
from pyroclust.distributions.priors.pitman_yor import PitmanYorPrior, PitmanYorProcess
from pyroclust.distributions.priors.prior import PartitionPrior, elicit
from pyroclust.distributions.sequential.partition import OrderAveragedPartition, SequentialPartition

__all__ = [
    "BernoulliBeta",
    "BernoulliObservation",
    "BinomialBeta",
    "BlockRates",
    "Categories",
    "CensoredNormal",
    "ChineseRestaurantPrior",
    "ChineseRestaurantProcess",
    "Circular",
    "ClusteredData",
    "ClusterwisePartition",
    "Component",
    "ConjugateComponent",
    "ConstrainedPartition",
    "CountsObservation",
    "DiagonalMixture",
    "DirichletMultinomialPartition",
    "DirichletMultinomialPrior",
    "DynamicMixturesPrior",
    "Filtering",
    "FiniteMixturesPrior",
    "GammaConcentration",
    "InverseWishartCholesky",
    "MixtureOfFiniteMixtures",
    "MultinomialDirichlet",
    "NegativeBinomialBeta",
    "NormalIndependent",
    "NormalInverseGamma",
    "NormalInverseWishart",
    "NormalKnownVariance",
    "NormalObservation",
    "Observation",
    "OrderAveragedPartition",
    "OrderedLevels",
    "PartitionDistribution",
    "PartitionPrior",
    "PartlyObserved",
    "PerturbedSpanningForest",
    "PitmanYorPrior",
    "PitmanYorProcess",
    "PoissonGamma",
    "Product",
    "PyroComponent",
    "SequentialPartition",
    "elicit",
    "standardised_similarity",
    "student_t",
    "von_mises",
]
