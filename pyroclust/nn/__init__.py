"""Networks: scorers of pointwise guides, networks of clusterwise ones, set attention, visiting orders."""

from pyroclust.nn.attention_block import MultiheadAttentionBlock
from pyroclust.nn.cluster_latents import DiscreteLatents, GaussianLatents
from pyroclust.nn.cluster_shape import AdaptiveShape, ClusterShape, FixedShape
from pyroclust.nn.clusterwise_network import ClusterwiseNetwork
from pyroclust.nn.condition_inputs import ConditionInput, ConditionInputs
from pyroclust.nn.future import Future
from pyroclust.nn.future_attention import FutureAttention
from pyroclust.nn.image_encoder import ImageEncoder
from pyroclust.nn.induced_future import InducedFuture
from pyroclust.nn.kernel_look_ahead import KernelLookAhead
from pyroclust.nn.light_scorer import LightScorer
from pyroclust.nn.nearest_next import NearestNext
from pyroclust.nn.neighbour_scorer import NeighbourScorer
from pyroclust.nn.orders import DensestFirst, Order, RandomOrder
from pyroclust.nn.point_pools import AttentivePool, GatedPool, SummedPool
from pyroclust.nn.set_attention import InducedSetAttention, PooledAttention
from pyroclust.nn.set_encoder import SetEncoder
from pyroclust.nn.summed_scorer import SummedScorer

__all__ = [
    "AdaptiveShape",
    "AttentivePool",
    "ClusterShape",
    "ClusterwiseNetwork",
    "ConditionInput",
    "ConditionInputs",
    "DensestFirst",
    "DiscreteLatents",
    "FixedShape",
    "Future",
    "FutureAttention",
    "GatedPool",
    "GaussianLatents",
    "ImageEncoder",
    "InducedFuture",
    "InducedSetAttention",
    "KernelLookAhead",
    "LightScorer",
    "MultiheadAttentionBlock",
    "NearestNext",
    "NeighbourScorer",
    "Order",
    "PooledAttention",
    "RandomOrder",
    "SetEncoder",
    "SummedPool",
    "SummedScorer",
]
