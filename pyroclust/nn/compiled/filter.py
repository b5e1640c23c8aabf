"""The exact filter in compiled code."""

import numpy as np
import torch
from torch import Tensor

from pyroclust.distributions.compiled.clusters import FilterState, filter_rows
from pyroclust.distributions.compiled.pointers import Address
from pyroclust.distributions.compiled.protocol import compile_family, family_of, tabulate
from pyroclust.distributions.sequential.filter import FilterEncoding, FilterScorer
from pyroclust.nn.compiled.filter_tables import array_of, in_threads, threads_for

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
