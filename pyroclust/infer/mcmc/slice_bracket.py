"""The compiled part of slice sampling many numbers side by side: brackets, candidates, acceptance."""

import numpy as np

from pyroclust.infer.mcmc.compiling import compiled

__all__ = ["accept", "propose"]


@compiled
def propose(low: np.ndarray, high: np.ndarray, uniforms: np.ndarray, offsets: np.ndarray) -> None:
    """Write the candidates that shrinkage comes to if none of them is accepted, and shrink the brackets.

    Where the next candidate lies depends on rejections alone, not on densities: all can be evaluated at once.

    Args:
        low: lower ends of the brackets about 0, ``(T,)``, overwritten.
        high: upper ends, ``(T,)``, overwritten.
        uniforms: uniform random numbers, ``(Q, T)``.
        offsets: output, ``(Q, T)``.
    """
    for t in range(len(low)):
        for q in range(len(uniforms)):
            offset = low[t] + (high[t] - low[t]) * uniforms[q, t]
            offsets[q, t] = offset
            if offset < 0.0:
                low[t] = offset
            else:
                high[t] = offset


@compiled
def accept(values: np.ndarray, level: np.ndarray, chosen: np.ndarray) -> int:
    """Choose the first candidate above the level wherever none is chosen yet.

    Args:
        values: log densities of the candidates, ``(Q, T)``.
        level: log heights of the slices, ``(T,)``.
        chosen: index of the accepted candidate, negative where there is none, ``(T,)``, overwritten.

    Returns:
        How many have none still.
    """
    left = 0
    for t in range(len(level)):
        if chosen[t] >= 0:
            continue
        for q in range(len(values)):
            if values[q, t] > level[t]:
                chosen[t] = q
                break
        if chosen[t] < 0:
            left += 1
    return left
