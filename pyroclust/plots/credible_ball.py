"""A credible ball of partitions: its centre and its bounds on the data."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from pyroclust.diagnostics import CredibleBall, PartitionLoss, VariationOfInformation
from pyroclust.plots.names import counted, loss_unit
from pyroclust.plots.panels import draw_panels

__all__ = ["plot_credible_ball"]

_DEFAULT_LOSS = VariationOfInformation()


def plot_credible_ball(
    data: np.ndarray,
    ball: CredibleBall,
    *,
    axes: Sequence[Axes],
    columns: Sequence[str] = (),
    loss: PartitionLoss = _DEFAULT_LOSS,
) -> list[Axes]:
    """Draw the estimate and the first horizontal, upper and lower bound on the data, with their distances.

    The horizontal bound is the farthest partition in the ball; the upper bound the farthest of those with the
    fewest clusters, the lower that of those with the most. Where all four look alike the estimate is sure.

    Shape:
        data: ``(N, D)``; axes: four.

    Args:
        data: in the units of the axes.
        ball: such as :func:`pyroclust.diagnostics.credible_ball`.
        axes: where to draw.
        columns: names of the D columns.
        loss: the distance that the ball was made with.

    Raises:
        ValueError: if the shapes do not fit.

    References:
        Wade and Ghahramani (2018), Bayesian cluster analysis. https://doi.org/10.1214/17-BA1073

    Example:
        >>> from pyroclust.diagnostics import credible_ball
        >>> from pyroclust.plots.style import new_figure
        >>> ball = credible_ball(np.array([[0, 0], [0, 1]]), np.array([0, 0]), level=1)
        >>> axes = new_figure(6, 4).subplots(2, 2)
        >>> axes = plot_credible_ball(np.array([[0.0], [1.0]]), ball, axes=axes)
        >>> [ax.get_title() for ax in axes[:2]]
        ['Estimate: 1 cluster', 'Horizontal bound: 2 clusters, 1.00 bits']
    """
    bounds = np.stack([ball.estimate, ball.horizontal[0], ball.upper[0], ball.lower[0]])
    distances = loss(ball.estimate, bounds)
    unit = loss_unit(loss)
    words = ["Estimate", "Horizontal bound", "Upper bound", "Lower bound"]
    sizes = [len(np.unique(row)) for row in bounds]
    titles = [f"{words[0]}: {counted(sizes[0], 'cluster')}"]
    titles += [
        f"{word}: {counted(size, 'cluster')}, {distance:.2f}{unit}"
        for word, size, distance in zip(words[1:], sizes[1:], distances[1:], strict=True)
    ]
    return draw_panels(data, bounds, titles, axes=axes, columns=columns)
