"""Networks: scorers of sequential guides, cluster frames, look-ahead and visiting orders."""

from pyroclust.nn.cluster_shape import AdaptiveShape, ClusterShape, FixedShape
from pyroclust.nn.condition_inputs import ConditionInput, ConditionInputs
from pyroclust.nn.kernel_look_ahead import KernelLookAhead
from pyroclust.nn.light_scorer import LightScorer
from pyroclust.nn.orders import DensestFirst, Order, RandomOrder
from pyroclust.nn.set_attention import InducedSetAttention
from pyroclust.nn.summed_scorer import SummedScorer

__all__ = [
    "AdaptiveShape",
    "ClusterShape",
    "ConditionInput",
    "ConditionInputs",
    "DensestFirst",
    "FixedShape",
    "InducedSetAttention",
    "KernelLookAhead",
    "LightScorer",
    "Order",
    "RandomOrder",
    "SummedScorer",
]
