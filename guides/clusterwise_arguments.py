"""Clusterwise networks as JSON: what a card stores, and how a network is built from it again."""

from collections.abc import Callable, Mapping
from typing import Any

from pyroclust.nn.attention import SetEncoder
from pyroclust.nn.clusterwise_network import ClusterwiseNetwork
from pyroclust.nn.latents import DiscreteLatents, GaussianLatents
from pyroclust.nn.pools import AttentivePool, GatedPool, SummedPool
from pyroclust.protocols import CollapsedModel

__all__ = ["build_network", "describe_network"]

_LATENTS: dict[str, Callable[..., Any]] = {
    "DiscreteLatents": DiscreteLatents,
    "GaussianLatents": GaussianLatents,
}
_POOLS: dict[str, Any] = {one.__name__: one for one in (AttentivePool, GatedPool, SummedPool)}


def describe_network(network: ClusterwiseNetwork) -> dict[str, Any]:
    """Return what :func:`build_network` needs, ready for JSON."""
    return {
        "scale": network.scale,
        "width": network.width,
        "decoder_width": network.decoder_width,
        "latents": {"class": type(network.latents).__name__, "arguments": network.latents.arguments},
        "pool": type(network.pool).__name__,
        "bandwidths": list(network.bandwidths),
        "differences": network.differences,
        "up_front": _arguments(network.up_front),
        "each_step": _arguments(network.each_step),
    }


def build_network(model: CollapsedModel, described: Mapping[str, Any]) -> ClusterwiseNetwork:
    """Build an untrained network from its description.

    Raises:
        ValueError: if a class is not known.
        TypeError: if arguments do not fit.
    """
    rest = dict(described)
    latents, pool, width = rest.pop("latents"), rest.pop("pool"), rest["width"]
    return ClusterwiseNetwork(
        model.component.dim,
        rest.pop("scale"),
        latents=_known(_LATENTS, latents["class"], where="latents")(**latents["arguments"]),
        pool=_known(_POOLS, pool, where="pool"),
        up_front=_encoder(width, rest.pop("up_front")),
        each_step=_encoder(width, rest.pop("each_step")),
        **rest,
    )


def _arguments(encoder: SetEncoder | None) -> dict[str, Any] | None:
    return None if encoder is None else dict(encoder.arguments)


def _encoder(width: int, arguments: Mapping[str, Any] | None) -> SetEncoder | None:
    return None if arguments is None else SetEncoder(width, **arguments)


def _known(classes: Mapping[str, Any], name: str, *, where: str) -> Any:
    if name not in classes:
        raise ValueError(f"{where} is '{name}', expected one of: {', '.join(sorted(classes))}")
    return classes[name]
