"""The exact filter in compiled code: its tables, and functions on them in threads."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.machine import num_threads
from pyroclust.distributions.compiled.clusters import FilterState, filter_rows
from pyroclust.distributions.compiled.pointers import Address
from pyroclust.distributions.compiled.protocol import Family, compile_family, family_of, tabulate
from pyroclust.distributions.sequential.filter import FilterEncoding, FilterScorer


class DataSets(NamedTuple):
    """Data sets laid end to end, in the order of their encoding, with the prior's weights."""

    num_points: int  # N, of each
    discount: float  # d
    moments: np.ndarray  # (B N, F), of single points
    log_alone: np.ndarray  # (B N,), log predictive density of single points in an empty cluster
    log_join: np.ndarray  # (N + 1,), log(n - d), the weight of joining a cluster of n points
    log_open: np.ndarray  # (N + 1, W), of a new cluster after n points in K clusters
    log_total: np.ndarray  # (N + 1, W), of all clusters and a new one together


def can_foresee(scorer: FilterScorer | None) -> bool:
    """Return whether there is an exact filter, of a compiled family, whose hyperparameters are numbers."""
    return scorer is not None and not scorer.conditions and _is_compiled(scorer.component)


def _is_compiled(component: Any) -> bool:
    """Return whether a family is compiled, and all that it is made of."""
    parts = [*getattr(component, "parts", ()), *(vars(component).get("part"),)]
    return type(component) in compile_family.registry and all(_is_compiled(one) for one in parts if one)


def tables_of(encoding: FilterEncoding, width: int) -> DataSets:
    """Lay data sets out for compiled functions, with weights of up to ``width`` clusters."""
    log_open = array_of(encoding.log_open(width))
    number, discount = encoding.opening.shape[1], float(encoding.discount)
    # There are never more clusters than points.
    joining = np.arange(number + 1)[:, None] - discount * np.arange(width)
    return DataSets(
        number,
        discount,
        array_of(encoding.moments.flatten(0, 1)),
        array_of(encoding.opening.flatten()),
        array_of(encoding.log_join()),
        log_open,
        np.log(np.maximum(joining, 0.0) + np.exp(log_open), where=joining > 0.0, out=np.zeros_like(log_open)),
    )


def compiled_family(encoding: FilterEncoding, num_slots: int) -> Family:
    """Return the tables and caches of the filter's family for so many clusters, filled."""
    points = array_of(encoding.points.flatten(0, 1))
    family: Family = family_of(encoding.component, points, num_slots, len(points))
    tabulate(Address(family))
    return family


def in_threads(function: Callable[[Any, int, int], None], parts: list[Any], number: int) -> None:
    """Share so many items out: one contiguous block to each part, which is what a thread needs."""
    cuts = np.linspace(0, number, len(parts) + 1).astype(int).tolist()
    first, *others = [(part, *cut) for part, cut in zip(parts, pairwise(cuts), strict=True)]
    if not others:
        function(*first)
        return
    futures = [_pool().submit(function, *block) for block in others]
    try:
        function(*first)
    finally:
        wait(futures)
    for future in futures:
        future.result()


@cache
def _pool() -> ThreadPoolExecutor:
    """Threads that stay: a sampler asks for them at every point."""
    return ThreadPoolExecutor(num_threads())


if hasattr(os, "register_at_fork"):
    # A process that is forked has no threads but its own.
    os.register_at_fork(after_in_child=_pool.cache_clear)


def threads_for(work: int, least: int, number: int) -> int:
    """Return how many threads some work is worth, of which so much is worth one, in so many items."""
    return min(num_threads(), max(1, work // least), number)


def array_of(values: Tensor) -> np.ndarray:
    """Return a contiguous array of a tensor's values."""
    return np.ascontiguousarray(values.detach().cpu().numpy())


# Clusters at first; rows that have more are labelled again with room for twice as many.
_CLUSTERS = 64
# Fewer points than this are not worth a thread.
_POINTS_A_THREAD = 1 << 13


class CompiledFilterScorer(FilterScorer):
    """A filter whose draws, and log-probabilities of many partitions, are compiled where its family is.

    One row after the other, where torch takes a step a point for all rows at once. Draws are those that torch
    would make with the same random numbers, but for rounding.
    """

    def label_points(
        self, encoding: FilterEncoding, dataset: Tensor, known: Tensor | None = None
    ) -> tuple[Tensor, Tensor] | None:
        """Draw or score partitions; None on other devices and where the prior has conditions."""
        is_compiled = type(self.component) in compile_family.registry and not self._of_prior
        if not is_compiled or encoding.points.device.type != "cpu":
            return None
        number, points = len(dataset), encoding.points.shape[1]
        known = torch.zeros(number, 1, dtype=torch.int64) if known is None else known
        begin = known.shape[1]
        labels, uniforms = np.empty((number, points), np.int64), np.empty((number, 0))
        labels[:, :begin] = known.numpy()
        if begin < points:
            uniforms = np.empty((number, points))
            uniforms[:, begin:] = torch.rand(points - begin, number, dtype=torch.float64).numpy().T
        else:
            begin = 1
        log_prob, width = np.full(number, np.inf), min(_CLUSTERS, points + 1)
        of_row = dataset.numpy()
        rows = of_row.argsort(kind="stable")
        while len(rows):
            threads = threads_for(len(rows) * points, _POINTS_A_THREAD, len(rows))

            def label(log_open: np.ndarray, first: int, last: int, rows: np.ndarray = rows) -> None:
                some = rows[first:last]
                for few in np.split(some, np.flatnonzero(np.diff(of_row[some])) + 1):
                    family, state = self._tables(encoding, of_row[few[0]], log_open)
                    filter_rows(family, state, uniforms, labels, few, begin, log_prob)

            in_threads(label, [array_of(encoding.log_open(width))] * threads, len(rows))
            rows, width = rows[np.isposinf(log_prob[rows])], 2 * width
        return torch.from_numpy(labels), torch.from_numpy(log_prob)

    def _tables(
        self, encoding: FilterEncoding, dataset: int, log_open: np.ndarray
    ) -> tuple[Address, Address]:
        """Return what compiled functions read of a data set, and room for its clusters."""
        moments, width = array_of(encoding.moments[dataset]), log_open.shape[1]
        state = FilterState(
            moments=moments,
            log_alone=array_of(encoding.opening[dataset]),
            log_join=array_of(encoding.log_join()),
            log_open=log_open,
            sizes=np.zeros(width, np.int64),
            sums=np.zeros((width, moments.shape[1])),
            weights=np.zeros(width + 1),
            logs=np.zeros(width + 1),
        )
        component = self.component
        if self._of_component:
            values = encoding.hyperparameters[dataset].tolist()
            component = component.given(dict(zip(self._of_component, values, strict=True)))
        family = Address(family_of(component, array_of(encoding.points[dataset]), width, len(moments)))
        tabulate(family)
        return family, Address(state)
