"""Networks: scorers of pointwise guides, networks of clusterwise ones, set attention, visiting orders."""

from pyroclust.nn.attention import (
    FullSetEncoder,
    Future,
    FutureAttention,
    InducedFuture,
    PointEncoder,
    SetEncoder,
)
from pyroclust.nn.convolutional_encoders import ImageEncoder, WaveformEncoder
from pyroclust.nn.deep_parts import (
    Decoder,
    Deformation,
    DenseDecoder,
    ExactSum,
    GumbelSoftmax,
    ImageDecoder,
    ImageDeformation,
    NearestSeed,
    NormalNoise,
    Relaxation,
    SeedRule,
    SpreadingSeeds,
    Views,
)
from pyroclust.nn.encoders import DenseEncoder, Encoder, VectorEncoder
from pyroclust.nn.features import AdaptiveShape, ClusterShape, FixedShape
from pyroclust.nn.graph_encoders import GatedGraphEncoder, GraphEncoder
from pyroclust.nn.networks.clusterwise_network import ClusterwiseNetwork
from pyroclust.nn.networks.filtering_network import (
    AutoencoderDensity,
    FilteringNetwork,
    FlowDensity,
    GaussianDensity,
)
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
