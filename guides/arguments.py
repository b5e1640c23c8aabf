"""Scorers and orders as JSON: what a card stores, and how a guide is built from it again."""

from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from pyroclust.distributions.sequential.filter import FilterScorer
from pyroclust.nn import (
    AdaptiveShape,
    ConditionInputs,
    DensestFirst,
    FixedShape,
    FutureAttention,
    ImageEncoder,
    InducedFuture,
    LightScorer,
    NearestNext,
    NeighbourScorer,
    Order,
    RandomOrder,
    SummedScorer,
)

__all__ = [
    "ENCODERS",
    "FUTURES",
    "build_order",
    "build_scorer",
    "describe",
    "describe_scorer",
    "refuse_a_view",
]

FUTURES: dict[str, Callable[..., Any]] = {"FutureAttention": FutureAttention, "InducedFuture": InducedFuture}
"""Contexts of the points still to come that a card or a recipe may name."""

ENCODERS: dict[str, Callable[..., Any]] = {"ImageEncoder": ImageEncoder}
"""Encoders of points that a card or a recipe may name."""

_SHAPES: dict[str, Callable[..., Any]] = {"AdaptiveShape": AdaptiveShape, "FixedShape": FixedShape}
_ORDERS: dict[str, Callable[..., Order]] = {
    "DensestFirst": DensestFirst,
    "NearestNext": NearestNext,
    "RandomOrder": RandomOrder,
}


def describe(part: Any) -> dict[str, Any]:
    """Return the class name and the constructor arguments of an order or a shape.

    Example:
        >>> describe(DensestFirst(1.4))
        {'class': 'DensestFirst', 'arguments': {'bandwidth': 1.4}}
    """
    return {"class": type(part).__name__, "arguments": dict(part.arguments)}


def describe_scorer(scorer: LightScorer | NeighbourScorer | SummedScorer) -> dict[str, Any]:
    """Return what :func:`build_scorer` needs, ready for JSON.

    Raises:
        ValueError: if the scorer has an encoder, or contexts of the points to come, of an unknown class.
    """
    described = describe(scorer)
    if isinstance(scorer, LightScorer):
        described |= {"shape": describe(scorer.shape), "filter": scorer.filter is not None}
    if isinstance(scorer, LightScorer | SummedScorer):
        described |= _describe_inputs(scorer)
    return described


def build_order(described: Mapping[str, Any]) -> Order:
    """Build an order from its description.

    Raises:
        ValueError: if the class is not a known order.
    """
    return _known(_ORDERS, described["class"])(**described["arguments"])


def build_scorer(
    model: Any, described: Mapping[str, Any], *, conditions: ConditionInputs | None = None
) -> LightScorer | NeighbourScorer | SummedScorer:
    """Build a scorer from its description; a filter's log-weights come from the model.

    Args:
        model: a collapsed mixture.
        described: what :func:`describe_scorer` returned.
        conditions: how hyperparameters enter; None for none.

    Raises:
        ValueError: if the class of the scorer or of a part of it is not known.
    """
    if described["class"] == "SummedScorer":
        return SummedScorer(**_build_inputs(described), **described["arguments"])
    if described["class"] == "NeighbourScorer":
        return NeighbourScorer(**described["arguments"])
    if described["class"] != "LightScorer":
        raise ValueError(
            f"scorer class is '{described['class']}', expected one of: LightScorer, NeighbourScorer, "
            "SummedScorer"
        )
    shape = _known(_SHAPES, described["shape"]["class"])(**described["shape"]["arguments"])
    names = () if conditions is None else conditions.names
    filtered = FilterScorer(model.prior, model.component, conditions=names) if described["filter"] else None
    parts: dict[str, Any] = {"filter": filtered, "conditions": conditions, **_build_inputs(described)}
    return LightScorer(shape, **parts, **described["arguments"])


def refuse_a_view(condition_values: Mapping[str, Any]) -> None:
    """Refuse to describe a guide that was conditioned.

    Raises:
        ValueError: if there are values.
    """
    if condition_values:
        raise ValueError(
            f"guide is conditioned on {', '.join(condition_values)}, expected the guide it is a view of: "
            "save that one, and condition it when it is loaded"
        )


def _describe_inputs(scorer: LightScorer | SummedScorer) -> dict[str, Any]:
    """Describe the encoder and the contexts of the points to come, where there are any."""
    parts = {"encoder": (scorer.encoder, ENCODERS), "future": (scorer.future, FUTURES)}
    described = {}
    for name, (part, known) in parts.items():
        if type(part).__name__ in known:
            described[name] = describe(part)
        elif part is not None and not isinstance(part, nn.Identity):
            raise ValueError(
                f"scorer.{name} is of class '{type(part).__name__}', expected one that a card can name: "
                f"{', '.join(known)}; save the weights with torch.save instead"
            )
    return described


def _build_inputs(described: Mapping[str, Any]) -> dict[str, Any]:
    """Build the encoder and the contexts of the points to come, where there are any."""
    known = {"encoder": ENCODERS, "future": FUTURES}
    return {
        name: _known(classes, described[name]["class"])(**described[name]["arguments"])
        for name, classes in known.items()
        if name in described
    }


def _known(classes: Mapping[str, Callable[..., Any]], name: str) -> Callable[..., Any]:
    if name not in classes:
        raise ValueError(f"class is '{name}', expected one of: {', '.join(sorted(classes))}")
    return classes[name]
