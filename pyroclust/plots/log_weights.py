"""How uneven the importance weights of a guide are."""

import numpy as np
from matplotlib.axes import Axes
from scipy.special import logsumexp

from pyroclust.plots.given import drawable
from pyroclust.plots.style import CYCLE, INK

__all__ = ["plot_log_weights"]


def plot_log_weights(log_weights: np.ndarray, *, ax: Axes) -> Axes:
    """Draw a histogram of the log importance weights, 0 being the weight of an average draw.

    The nearer all mass lies to 0, the nearer the guide is to the posterior; mass far to the right means draws
    that count for many others.

    Shape:
        log_weights: S entries of log p(c, x) - log q(c), any shape.

    Args:
        log_weights: in nats.
        ax: where to draw.

    Raises:
        ValueError: if there are no weights, or they are no finite numbers.

    Example:
        >>> from pyroclust.plots.style import new_figure
        >>> plot_log_weights(np.zeros(9), ax=new_figure(4, 3).subplots()).get_ylabel()
        'draws'
    """
    flat = drawable("log_weights", log_weights).reshape(-1)
    if not flat.size:
        raise ValueError("log_weights is empty, expected at least one number")
    relative = flat - (logsumexp(flat) - np.log(len(flat)))
    low, high = min(-1.0, 1.05 * float(relative.min())), max(1.0, 1.05 * float(relative.max()))
    ax.hist(relative, bins=np.linspace(low, high, 62).tolist(), color=CYCLE[0])
    ax.axvline(0, color=INK, lw=1, ls=(0, (4, 3)))
    ax.set(xlabel="log weight relative to the mean weight (nats)", ylabel="draws", xlim=(low, high))
    return ax
