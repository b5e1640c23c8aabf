"""Networks: scorers of pointwise guides, networks of clusterwise ones, set attention, visiting orders."""

from pyroclust.nn.attention import FullSetEncoder, PointEncoder, SetEncoder
from pyroclust.nn.deep.decoders import Decoder, DenseDecoder, ImageDecoder
from pyroclust.nn.deep.relaxations import ExactSum, GumbelSoftmax, Relaxation
from pyroclust.nn.deep.seed_rules import NearestSeed, SeedRule, SpreadingSeeds
from pyroclust.nn.deep.views import Deformation, ImageDeformation, NormalNoise, Views
from pyroclust.nn.encoders.convolutional_encoders import ImageEncoder, WaveformEncoder
from pyroclust.nn.encoders.dense_encoders import DenseEncoder, VectorEncoder
from pyroclust.nn.encoders.encoder import Encoder
from pyroclust.nn.encoders.graph_encoders import GatedGraphEncoder, GraphEncoder
from pyroclust.nn.features.cluster_shape import AdaptiveShape, ClusterShape, FixedShape
from pyroclust.nn.features.futures import Future, FutureAttention, InducedFuture
from pyroclust.nn.networks.cluster_densities import AutoencoderDensity, FlowDensity, GaussianDensity
from pyroclust.nn.networks.clusterwise_network import ClusterwiseNetwork
from pyroclust.nn.networks.filtering_network import FilteringNetwork
from pyroclust.nn.networks.latents import DiscreteLatents, GaussianLatents
from pyroclust.nn.networks.mixture_network import (
    AttentiveDecoder,
    MeanDecoder,
    MixtureNetwork,
    RecurrentDecoder,
)
from pyroclust.nn.orders import (
    Anchors,
    DensestFirst,
    FarthestLast,
    NearestNext,
    Order,
    RandomAnchors,
    RandomOrder,
    StratifiedAnchors,
)
from pyroclust.nn.scorers.column_scorer import ColumnScorer
from pyroclust.nn.scorers.graph_scorer import GraphScorer
from pyroclust.nn.scorers.light_scorer import LightScorer
from pyroclust.nn.scorers.neighbour_scorer import NeighbourScorer
from pyroclust.nn.scorers.network_scorer import NetworkScorer
from pyroclust.nn.scorers.summed_scorer import SummedScorer

__all__ = [
    "AdaptiveShape",
    "Anchors",
    "AttentiveDecoder",
    "AutoencoderDensity",
    "ClusterShape",
    "ClusterwiseNetwork",
    "ColumnScorer",
    "Decoder",
    "Deformation",
    "DenseDecoder",
    "DenseEncoder",
    "DensestFirst",
    "DiscreteLatents",
    "Encoder",
    "ExactSum",
    "FarthestLast",
    "FilteringNetwork",
    "FixedShape",
    "FlowDensity",
    "FullSetEncoder",
    "Future",
    "FutureAttention",
    "GatedGraphEncoder",
    "GaussianDensity",
    "GaussianLatents",
    "GraphEncoder",
    "GraphScorer",
    "GumbelSoftmax",
    "ImageDecoder",
    "ImageDeformation",
    "ImageEncoder",
    "InducedFuture",
    "LightScorer",
    "MeanDecoder",
    "MixtureNetwork",
    "NearestNext",
    "NearestSeed",
    "NeighbourScorer",
    "NetworkScorer",
    "NormalNoise",
    "Order",
    "PointEncoder",
    "RandomAnchors",
    "RandomOrder",
    "RecurrentDecoder",
    "Relaxation",
    "SeedRule",
    "SetEncoder",
    "SpreadingSeeds",
    "StratifiedAnchors",
    "SummedScorer",
    "VectorEncoder",
    "Views",
    "WaveformEncoder",
]
