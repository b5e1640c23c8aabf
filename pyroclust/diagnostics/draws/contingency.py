"""Sums over the cells of contingency tables, compiled: what every loss between partitions is made of."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from pyroclust.core.compiling import compiled
from pyroclust.core.machine import num_threads

_PAIRS_A_BLOCK = 1_000_000
_POINTS_A_THREAD = 1_000_000
# Cells that stay in the first cache.
_SMALL_TABLE = 4096


@compiled(allocates=False, fastmath=False)
def _compact(labels: np.ndarray, names: np.ndarray, compacted: np.ndarray, counts: np.ndarray) -> None:
    for s in range(labels.shape[0]):
        for k in range(len(names)):
            names[k] = -1
        found = 0
        for i in range(labels.shape[1]):
            label = labels[s, i]
            if names[label] < 0:
                names[label] = found
                found += 1
            compacted[s, i] = names[label]
        counts[s] = found


def compact(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Renumber the clusters of each row by first appearance, and count them: O(N) a row."""
    compacted, counts = np.empty(labels.shape, np.int32), np.empty(len(labels), np.int64)
    # Read-only or strided arrays would be compiled for once more.
    labels = np.require(labels, np.int64, ["C", "W"])
    _compact(labels, np.empty(int(labels.max(initial=-1)) + 1, np.int32), compacted, counts)
    return compacted, counts


@compiled(allocates=False, fastmath=False)
def _sorted_points(labels: np.ndarray, starts: np.ndarray, points: np.ndarray, clusters: int) -> None:
    for k in range(clusters + 1):
        starts[k] = 0
    for i in range(len(labels)):
        starts[labels[i] + 1] += 1
    for k in range(1, clusters + 1):
        starts[k] += starts[k - 1]
    for i in range(len(labels)):
        points[starts[labels[i]]] = i
        starts[labels[i]] += 1
    for k in range(clusters, 0, -1):
        starts[k] = starts[k - 1]
    starts[0] = 0


@compiled(allocates=False, fastmath=False)
def _losses(
    a: np.ndarray,
    a_counts: np.ndarray,
    b: np.ndarray,
    b_counts: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    terms: np.ndarray,
    form: np.ndarray,
    weights: np.ndarray | None,
    stride: int,
    room: np.ndarray,
    losses: np.ndarray,
) -> None:
    points, starts, begins, sizes, row, spare = room[0], room[1], room[2], room[3], room[4], room[5]
    last, own, is_small = -1, 0.0, False
    for p in range(len(rows)):
        clusters = a_counts[rows[p]]
        if rows[p] != last:
            last = rows[p]
            _sorted_points(a[last], starts, points, clusters)
            own = 0.0
            for k in range(clusters):
                size = np.int64(starts[k + 1] - starts[k])
                # Of two ways numba compiles the one that is asked for.
                if weights is not None:
                    size = np.int64(0)
                    for i in range(starts[k], starts[k + 1]):
                        size += weights[points[i]]
                own += terms[size]
            is_small = weights is None and clusters * stride <= _SMALL_TABLE
            for i in range(a.shape[1]):
                begins[i] = stride * a[last, i] if is_small else 0
        partner, width = b[columns[p]], b_counts[columns[p]]
        joint, cells = 0.0, 0
        if is_small:
            # In the order of the points, and into two tables: a count seldom waits for the one before.
            for i in range(a.shape[1] // 2):
                row[begins[2 * i] + partner[2 * i]] += 1
                spare[begins[2 * i + 1] + partner[2 * i + 1]] += 1
            if a.shape[1] % 2:
                row[begins[a.shape[1] - 1] + partner[a.shape[1] - 1]] += 1
            for cell in range(clusters * stride):
                row[cell] += spare[cell]
                spare[cell] = 0
        for k in range(clusters):
            begin, end = starts[k], starts[k + 1]
            if is_small:
                table = row[k * stride :]
            else:
                table = row
                for i in range(begin, end):
                    table[partner[points[i]]] += 1 if weights is None else weights[points[i]]
            if end - begin < width:
                # Cells met again are empty by then and add nothing: cheaper than asking.
                for i in range(begin, end):
                    label = partner[points[i]]
                    count = table[label]
                    joint += terms[count]
                    cells += count > 0
                    sizes[label] += count
                    table[label] = 0
            else:
                for label in range(width):
                    count = table[label]
                    joint += terms[count]
                    cells += count > 0
                    sizes[label] += count
                    table[label] = 0
        other = 0.0
        for label in range(width):
            other += terms[sizes[label]]
            sizes[label] = 0
        # As many cells as clusters on either side: equal partitions, whatever the rounding says.
        if cells == clusters and cells == width:
            losses[p] = 0.0
        else:
            above = form[0] * own + form[1] * other - 2 * joint
            below = form[2] + form[3] * joint + form[4] * (own + other) + form[5] * own * other
            losses[p] = max(above / below, 0.0)


def matched_losses(
    a: np.ndarray,
    b: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    terms: np.ndarray,
    form: np.ndarray,
    *,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Return the losses of listed pairs of partitions: O(N) a pair, in threads."""
    left, right = compact(a), compact(b)
    losses, stride = np.empty(len(rows)), int(right[1].max())
    # Few pairs are not worth a thread.
    step = max(1 + _POINTS_A_THREAD // a.shape[1], -(-len(rows) // num_threads()))

    def run(begin: int) -> None:
        part = slice(begin, begin + step)
        room = np.zeros((6, max(_SMALL_TABLE, a.shape[1] + 1)), np.int32)
        _losses(*left, *right, rows[part], columns[part], terms, form, weights, stride, room, losses[part])

    if step >= len(rows):
        run(0)
    else:
        with ThreadPoolExecutor(num_threads()) as pool:
            list(pool.map(run, range(0, len(rows), step)))
    return losses


def all_losses(
    a: np.ndarray, b: np.ndarray, terms: np.ndarray, form: np.ndarray, *, weights: np.ndarray | None = None
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield the losses of all pairs of partitions in blocks of rows, so that memory stays below 100 MB."""
    step = max(1, _PAIRS_A_BLOCK // len(b))
    for begin in range(0, len(a), step):
        rows = np.arange(len(a[begin : begin + step]))
        pairs = np.repeat(rows, len(b)), np.tile(np.arange(len(b)), len(rows))
        losses = matched_losses(a[begin : begin + step], b, *pairs, terms, form, weights=weights)
        yield slice(begin, begin + len(rows)), losses.reshape(len(rows), len(b))


@compiled(allocates=False, fastmath=False)
def _companions(
    labels: np.ndarray,
    clusters: np.ndarray,
    number: int,
    mass: np.ndarray,
    times: np.ndarray,
    room: np.ndarray,
    found: np.ndarray,
) -> None:
    points, starts, row = room[0], room[1], room[2]
    _sorted_points(clusters, starts, points, number)
    for s in range(len(labels)):
        for k in range(number):
            for i in range(starts[k], starts[k + 1]):
                row[labels[s, points[i]]] += times[points[i]]
            for i in range(starts[k], starts[k + 1]):
                found[points[i]] += mass[s] * (row[labels[s, points[i]]] - 1)
            for i in range(starts[k], starts[k + 1]):
                row[labels[s, points[i]]] = 0


def companions(labels: np.ndarray, clusters: np.ndarray, mass: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return how many of the other rows of its cluster share a label with each row, on average: O(S N)."""
    room, found = np.zeros((3, len(clusters) + 1), np.int32), np.zeros(len(clusters))
    _companions(labels, clusters.astype(np.int32), int(clusters.max()) + 1, mass, times, room, found)
    return found


@compiled(allocates=False, fastmath=False)
def _largest_company(
    labels: np.ndarray, mass: np.ndarray, places: np.ndarray, shared: np.ndarray, found: np.ndarray
) -> None:
    for p in range(len(places)):
        for i in range(len(shared)):
            shared[i] = 0.0
        for s in range(len(labels)):
            label, weight = labels[s, places[p]], mass[s]
            for i in range(len(shared)):
                shared[i] += weight * (labels[s, i] == label)
        shared[places[p]] = 0.0
        for i in range(len(shared)):
            found[p] = max(found[p], shared[i])


def largest_company(labels: np.ndarray, places: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Return the largest co-assignment of each of some points with any other: O(S N) a point."""
    found = np.zeros(len(places))
    if len(places):
        _largest_company(labels, mass, places, np.empty(labels.shape[1]), found)
    return found
