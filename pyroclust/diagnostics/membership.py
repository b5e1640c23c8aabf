"""Draws of partitions as flat label arrays and as membership indicators."""

from collections.abc import Iterator

import numpy as np

__all__ = ["as_chains", "checked_labels", "checked_weights", "flatten", "memberships", "renumbered"]


def checked_labels(name: str, assignments: np.ndarray) -> np.ndarray:
    """Return ``assignments`` as int64 after checking that they are labels 0 to N - 1.

    Shape:
        assignments: ``(..., N)``; output: the same.

    Raises:
        ValueError: if the array is empty, not of integers, or has labels outside 0 to N - 1.

    Example:
        >>> checked_labels("draws", np.array([[0, 0, 1]])).dtype
        dtype('int64')
    """
    labels = np.asarray(assignments)
    if labels.ndim == 0 or labels.size == 0:
        raise ValueError(
            f"{name} has shape {labels.shape}, expected (..., N) with at least one draw and one point"
        )
    if not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(f"{name} has dtype {labels.dtype}, expected integers")
    low, high = labels.min(), labels.max()
    if low < 0 or high >= labels.shape[-1]:
        raise ValueError(
            f"{name} has labels from {low} to {high}, expected 0 to {labels.shape[-1] - 1}: "
            "renumber them with pyroclust.partitions.canonical"
        )
    return labels.astype(np.int64, copy=False)


def flatten(draws: np.ndarray) -> np.ndarray:
    """Merge chains and draws.

    Shape:
        draws: ``(chains, draws, N)`` or ``(draws, N)``; output: ``(S, N)`` int64.

    Raises:
        ValueError: if ``draws`` has another number of dimensions or is not made of labels.

    Example:
        >>> flatten(np.zeros((4, 10, 3), dtype=int)).shape
        (40, 3)
    """
    labels = checked_labels("draws", draws)
    if labels.ndim not in (2, 3):
        raise ValueError(
            f"draws has shape {labels.shape}, expected (chains, draws, points) or (draws, points)"
        )
    return labels.reshape(-1, labels.shape[-1])


def as_chains(draws: np.ndarray) -> np.ndarray:
    """Give draws a chain dimension where they have none.

    Shape:
        draws: ``(chains, draws, N)`` or ``(draws, N)``; output: ``(chains, draws, N)`` int64.

    Raises:
        ValueError: if ``draws`` has another number of dimensions or is not made of labels.

    Example:
        >>> as_chains(np.zeros((10, 3), dtype=int)).shape
        (1, 10, 3)
    """
    labels = flatten(draws)
    chains = np.shape(draws)[0] if np.ndim(draws) == 3 else 1
    return labels.reshape(chains, -1, labels.shape[-1])


def checked_weights(weights: np.ndarray | None, num_draws: int) -> np.ndarray:
    """Return normalised weights of the draws, equal ones for ``None``.

    Shape:
        weights: any shape with ``num_draws`` entries; output: ``(num_draws,)``, sums to 1.

    Raises:
        ValueError: if the number of weights differs, or one is negative or not finite, or all are zero.

    Example:
        >>> checked_weights(np.array([1.0, 3.0]), 2).tolist()
        [0.25, 0.75]
    """
    if weights is None:
        return np.full(num_draws, 1 / num_draws)
    flat = np.asarray(weights, dtype=np.float64).reshape(-1)
    if len(flat) != num_draws:
        raise ValueError(f"weights has {len(flat)} entries, expected {num_draws}, one a draw")
    if not np.isfinite(flat).all() or flat.min() < 0 or flat.sum() <= 0:
        raise ValueError("weights must be finite, not negative and not all zero")
    return flat / flat.sum()


def memberships(
    draws: np.ndarray, *, max_entries: int = 4_000_000
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield the clusters of blocks of draws as rows of 0 and 1.

    Two matrix products with these rows give co-assignments and contingency tables, exactly in float32 up to
    16 million points. A block holds about ``max_entries`` numbers, so memory does not grow with the draws.

    Shape:
        draws: ``(S, N)`` labels.
        output: ``members (M, N)`` float32, one row a cluster; ``owner (M,)`` the draw of each row;
        ``starts`` the first row of each draw of the block.

    Example:
        >>> [members.tolist() for members, _, _ in memberships(np.array([[0, 0, 1]]))]
        [[[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]]
    """
    total, points = draws.shape
    width = int(draws.max()) + 1
    step = max(1, max_entries // (points * width))
    for begin in range(0, total, step):
        block = draws[begin : begin + step]
        cells = block + width * np.arange(len(block))[:, None]
        used, row = np.unique(cells, return_inverse=True)
        members = np.zeros((len(used), points), dtype=np.float32)
        members[row.reshape(cells.shape), np.arange(points)] = 1
        owner = used // width
        yield members, begin + owner, np.searchsorted(owner, np.arange(len(block)))


def renumbered(assignments: np.ndarray) -> np.ndarray:
    """Renumber clusters by first appearance: :func:`pyroclust.partitions.canonical` without torch.

    Shape:
        assignments: ``(S, N)`` labels 0 to N - 1; output: the same.

    Example:
        >>> renumbered(np.array([[2, 2, 0, 1]])).tolist()
        [[0, 0, 1, 2]]
    """
    position = np.arange(assignments.shape[-1])
    rows = np.arange(len(assignments))[:, None]
    first = np.full_like(assignments, len(position))
    np.minimum.at(first, (rows, assignments), position)
    first_of_point = first[rows, assignments]
    rank = np.cumsum(first_of_point == position, axis=-1) - 1
    return rank[rows, first_of_point]
