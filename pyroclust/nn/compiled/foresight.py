"""What the points to come would say of a decision, by the exact filter: features for sequential guides."""

from typing import cast

import numpy as np
import torch
from torch import Tensor

from pyroclust.distributions.compiled.pointers import Address
from pyroclust.distributions.sequential.filter import FilterEncoding
from pyroclust.distributions.sequential.scorer import Candidates
from pyroclust.nn.compiled.filter_tables import array_of, compiled_family, in_threads, tables_of, threads_for
from pyroclust.nn.compiled.foresight_loops import (
    ROOM,
    Ahead,
    Decisions,
    add_up_ahead,
    compiled_ahead,
    rows_of_lanes,
)
from pyroclust.nn.compiled.lanes import LANES, Lanes, Shape
from pyroclust.nn.compiled.shapes import shape_of

__all__ = ["Foresight"]

# Fewer predictives than this are not worth a thread.
_PREDICTIVES_A_THREAD = 1 << 16


class Foresight:
    r"""What each candidate of a decision does to the points to come, under the exact filter.

    The points to come are looked at in two ways. One at a time, all else as it is now,

    .. math:: \Delta_{kj} = \log p(x_j \mid x_{\le n}, c_{<n}, c_n = k) - \log p(x_j \mid x_{<n}, c_{<n}),
        \qquad j > n

    where :math:`p` is the predictive density of the model, summed over the cluster of :math:`x_j`: for a
    single point to come, the posterior of the decision is the filter's times :math:`e^{\Delta_k}`. And one
    after the other, each put where its weight is largest, :math:`\hat c_j`,

    .. math:: E_k = \sum_{j>n} \log p(x_j \mid x_{<j}, c_{<n}, c_n = k, \hat c_{n+1:j-1})

    less the same of all candidates together, :math:`\log \sum_k q_k e^{E_k}` with the filter's probabilities
    :math:`q_k`. Neither is the evidence of the points to come, and a network has to learn how far to trust
    them. With P and M the sums of positive and of negative :math:`\Delta_{kj}`, and J points to come, the
    features are :math:`\operatorname{arcsinh}` of and :math:`1/\sqrt{1 + J}` times P - M and E,
    :math:`\log(1 + P)`, :math:`\log(1 + M)`, and E / 4 cut off at 10. They have no gradients.

    Cost: O(K R) predictives a candidate for K clusters and R points, some 20 ns each in two dimensions, in
    threads; memory O(B N F).

    Args:
        encoding: B data sets in visiting order, of a filter for which
            :func:`~pyroclust.nn.compiled.filter_tables.can_foresee` holds.
        references: R, points to come that are looked at; of more than these every k-th.
        within: candidates whose filter weight is so many nats below the largest are out of question: their
            features are 0, which saves most of the cost where clusters are apart. Of guides of the shelf the
            law is the same but for .002 nats of 300 points; within 10 the tails of some weights suffer.

    Attributes:
        num_features: how many features a candidate has.

    References:
        Lin, Chen and Liu (2013), Lookahead strategies for sequential Monte Carlo.
        https://doi.org/10.1214/12-STS401
    """

    num_features = 7

    def __init__(self, encoding: FilterEncoding, references: int, *, within: float = 12.0) -> None:
        self._encoding, self._references, self.within = encoding, references, within
        self._width = 0
        self._parts: list[tuple[Address, ...]] = []

    @torch.no_grad()
    def __call__(self, candidates: Candidates, *, skip: int = 0) -> tuple[Tensor, Tensor]:
        """Describe candidates.

        Args:
            candidates: what there is to decide.
            skip: how many of the candidates' moments come before the filter's.

        Shape:
            output: of joining ``(M, 8)`` and of opening ``(Q, 8)``, float64: the features, and 1 where there
                is something to decide, 0 for candidates out of question and where only one is left.
        """
        clusters, places = candidates.clusters, len(candidates.place)
        number, most = len(clusters), int(clusters.max())
        found = np.empty((places + number, 5))
        decisions = Address(
            Decisions(
                self._references,
                self.within,
                skip,
                array_of(candidates.dataset),
                array_of(candidates.step),
                array_of(clusters),
                array_of(clusters.cumsum(0) - clusters),
                array_of(candidates.place),
                array_of(candidates.counts.flatten()),
                array_of(candidates.moments.flatten(0, 1)),
                found,
            )
        )
        predictives = places * min(self._references, self._num_points) * max(1, most)
        threads = threads_for(predictives, _PREDICTIVES_A_THREAD, number)
        parts = self.parts(most + ROOM + 2, threads)

        def describe(part: tuple[Address, ...], begin: int, end: int) -> None:
            family, shape, work, ahead = part
            add_up_ahead(family, shape, work, self.data, decisions, ahead, begin, end)

        in_threads(describe, parts, number)
        joining, opening = torch.from_numpy(found).to(candidates.counts.device).tensor_split((places,))
        to_come = (self._num_points - 1 - candidates.step).double()
        return _features(joining, to_come.index_select(0, candidates.decision)), _features(opening, to_come)

    @property
    def _num_points(self) -> int:
        return self._encoding.opening.shape[1]

    @property
    def data(self) -> Address:
        """The data sets as compiled functions read them."""
        return self._data

    @property
    def shape(self) -> Shape:
        """What vector units need of the family."""
        self.parts(ROOM + 2, 1)
        return cast(Shape, self._shape.content)

    def parts(self, width: int, threads: int) -> list[tuple[Address, ...]]:
        """Return family, shape, clusters and scratch space for so many clusters, for each thread."""
        if width > self._width:
            self._width, self._parts = width + width // 2, []
            data = tables_of(self._encoding, self._width)
            self._data, self._shape = Address(data), Address(shape_of(self._encoding, data))
        while len(self._parts) < threads:
            rows = rows_of_lanes(self._width)
            shape, num_moments = cast(Shape, self._shape.content), self._encoding.moments.shape[-1]
            work = Address(Lanes.empty(rows, shape, num_moments))
            ahead = Ahead.empty(self._width, shape.dim, min(self._references, self._num_points))
            family = compiled_family(self._encoding, rows * LANES)
            ahead = compiled_ahead(ahead, family, self._shape, work, self._data)
            self._parts.append((family, self._shape, work, Address(ahead)))
        return self._parts[:threads]


def _features(sums: Tensor, to_come: Tensor) -> Tensor:
    """Bring gains, losses and evidence, the first of ``(..., 5)``, to the scale of a network."""
    net, evidence = sums[..., 0] - sums[..., 1], sums[..., 2]
    both = torch.stack([net, evidence], -1)
    return torch.cat(
        [
            both / (1 + to_come).sqrt().unsqueeze(-1),
            both.asinh(),
            sums[..., :2].log1p(),
            evidence.clamp(-10, 10).unsqueeze(-1) / 4,
            sums[..., -1:],
        ],
        -1,
    )
