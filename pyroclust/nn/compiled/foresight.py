"""What the points to come would say of a decision, by the exact filter: features for sequential guides."""

import numpy as np
import torch
from torch import Tensor

from pyroclust.distributions.compiled.pointers import Address
from pyroclust.distributions.sequential.filter import FilterEncoding
from pyroclust.distributions.sequential.scorer import Candidates
from pyroclust.nn.compiled.family_lanes import shape_of
from pyroclust.nn.compiled.filter import (
    array_of,
    compiled_family,
    in_threads,
    tables_of,
    threads_for,
)
from pyroclust.nn.compiled.foresight_loops import (
    FEATURES,
    FOUND,
    NUM_FEATURES,
    ROOM,
    Decisions,
    Foreseer,
    add_up_ahead,
    rows_of_lanes,
)
from pyroclust.nn.compiled.lanes import LANES, Lanes

# Fewer predictives than this are not worth a thread.
_PREDICTIVES_A_THREAD = 1 << 16


class Foresight:
    r"""What each candidate of a decision does to the points to come, under the exact filter.

    These are looked at one at a time, all else as it is now, and one after the other, each put where its
    weight is largest, :math:`\hat c_j`:

    .. math:: \Delta_{kj} = \log p(x_j \mid x_{\le n}, c_{<n}, c_n = k) - \log p(x_j \mid x_{<n}, c_{<n}),
        \qquad j > n

    .. math:: E_k = \sum_{j>n} \log p(x_j \mid x_{<j}, c_{<n}, c_n = k, \hat c_{n+1:j-1})

    less the same of all candidates together, :math:`\log \sum_k q_k e^{E_k}` with the filter's probabilities
    :math:`q_k`. For a single point to come, the posterior of the decision is :math:`q_k e^{\Delta_k}`; of
    more, a network learns how far to trust them. With P and M the sums of positive and of negative
    :math:`\Delta_{kj}`, and J points to come, the features are :math:`\operatorname{arcsinh}` of and
    :math:`1/\sqrt{1 + J}` times P - M and E, :math:`\log(1 + P)`, :math:`\log(1 + M)`, and E / 4 cut off at
    10. See Lin, Chen and Liu (2013), Lookahead strategies for sequential Monte Carlo,
    https://doi.org/10.1214/12-STS401.

    Of more than ``references`` points to come every k-th is looked at. Candidates whose filter weight is more
    than ``within`` nats below the largest have features 0: of guides of the shelf the law is the same but for
    .002 nats of 300 points.
    """

    num_features = NUM_FEATURES

    def __init__(self, encoding: FilterEncoding, references: int, *, within: float = 12.0) -> None:
        self._encoding, self._references, self.within = encoding, references, within
        self._num_points, self.num_moments = encoding.moments.shape[1:]
        self._width = 0
        self._threads: list[Address] = []

    @torch.no_grad()
    def __call__(self, candidates: Candidates) -> tuple[Tensor, Tensor]:
        """Describe candidates, whose last moments are the filter's.

        Joining is ``(M, 8)`` and opening ``(Q, 8)``, float64: the features, and 1 where there is something to
        decide, 0 for candidates out of question and where only one is left.
        """
        clusters, places = candidates.clusters, len(candidates.place)
        number, most = len(clusters), int(clusters.max())
        found = np.empty((places + number, FOUND))
        decisions = Address(
            Decisions(
                self._references,
                self.within,
                candidates.moments.shape[-1] - self.num_moments,
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
        threads = self.threads(most, threads_for(predictives, _PREDICTIVES_A_THREAD, number))
        in_threads(lambda one, begin, end: add_up_ahead(one, decisions, begin, end), threads, number)
        features = torch.from_numpy(found[:, FEATURES:]).to(candidates.counts.device)
        return features[:places], features[places:]

    def threads(self, clusters: int, number: int) -> list[Address]:
        """Return what as many threads need, a :class:`Foreseer` each, for decisions of so many clusters."""
        width = clusters + ROOM + 2
        if width > self._width:
            self._width, self._threads = width + width // 2, []
            self._data = tables_of(self._encoding, self._width)
            self._shape = shape_of(compiled_family(self._encoding, 1), self._data.log_join)
        while len(self._threads) < number:
            rows = rows_of_lanes(self._width)
            thread = Foreseer.of_tables(
                compiled_family(self._encoding, rows * LANES),
                self._shape,
                Lanes.empty(rows, self._shape, self.num_moments),
                self._data,
                width=self._width,
                references=min(self._references, self._num_points),
            )
            self._threads.append(Address(thread))
        return self._threads[:number]
