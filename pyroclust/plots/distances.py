"""Traces of the distances of draws to reference partitions."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from pyroclust.diagnostics import DistanceRhat, PartitionLoss, VariationOfInformation, pairwise_loss
from pyroclust.plots.names import loss_name, with_unit
from pyroclust.plots.trace import plot_trace

__all__ = ["plot_distances"]

_DEFAULT_LOSS = VariationOfInformation()


def plot_distances(
    draws: np.ndarray, found: DistanceRhat, *, axes: Sequence[Axes], loss: PartitionLoss = _DEFAULT_LOSS
) -> list[Axes]:
    """Draw a trace of distances a reference, the references with the largest R-hat first.

    Chains in different modes keep different distances to a partition of one of them, even where their numbers
    of clusters agree. Cost O(R S N) for R Axes, in compiled code.

    Shape:
        draws: ``(chains, draws, N)``; axes: at most as many as there are references.

    Args:
        draws: posterior draws.
        found: such as :func:`pyroclust.diagnostics.distance_rhat` of the same draws.
        axes: where to draw.
        loss: the distance that ``found`` was made with.

    Raises:
        ValueError: if the draws have no dimension of chains, or there are more Axes than references.

    Example:
        >>> from pyroclust.diagnostics import distance_rhat
        >>> from pyroclust.plots.style import new_figure
        >>> draws = np.random.default_rng(0).integers(2, size=(4, 50, 5))
        >>> axes = new_figure(6, 4).subplots(1, 2)
        >>> len(plot_distances(draws, distance_rhat(draws, seed=0), axes=axes)[0].lines)
        4
    """
    flat = np.ravel(np.asarray(axes, dtype=object)).tolist()
    if draws.ndim != 3:
        raise ValueError(f"draws has shape {draws.shape}, expected (chains, draws, N)")
    if len(flat) > len(found.references):
        raise ValueError(
            f"axes has {len(flat)} Axes, expected at most {len(found.references)}, one a reference"
        )
    order = np.argsort(-np.nan_to_num(found.rhats, nan=0.0, posinf=np.inf), kind="stable")[: len(flat)]
    distances = pairwise_loss(found.references[order], draws.reshape(-1, draws.shape[-1]), loss=loss)
    for ax, place, row in zip(flat, order.tolist(), distances, strict=True):
        rhat = found.rhats[place]
        words = "constant" if np.isnan(rhat) else "R-hat ∞" if np.isinf(rhat) else f"R-hat {rhat:.3f}"
        plot_trace(row.reshape(draws.shape[:2]), ax=ax, name=f"To reference {place + 1}: {words}")
    flat[0].set_ylabel(with_unit(loss_name(loss), loss).replace(" (", "\n("))
    return flat
