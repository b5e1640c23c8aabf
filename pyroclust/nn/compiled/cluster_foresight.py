"""Who belongs with an anchor by the exact filter: features for clusterwise guides."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pyroclust.distributions.clusterwise.steps import ClusterStep
from pyroclust.distributions.compiled.pointers import Address
from pyroclust.distributions.sequential.filter import FilterEncoding
from pyroclust.nn.compiled.cluster_foresight_loops import (
    ALTERNATIVES,
    ROOM,
    SPARE,
    Rows,
    Scratch,
    ask_completions,
)
from pyroclust.nn.compiled.filter_tables import array_of, compiled_family, in_threads, tables_of, threads_for

__all__ = ["ClusterForesight", "Completions"]

# Fewer predictives than this are not worth a thread.
_PREDICTIVES_A_THREAD = 1 << 16
_SURE = 15.0


@dataclass(frozen=True)
class Completions:
    """What completions say of anchors and of the points that are left.

    Attributes:
        log_odds: of belonging with the anchor in each state of its cluster, at most 15 either way, nats,
            ``(R, T, 3)``.
        parts: whether a point is in the anchor's cluster, in the neighbour, in the remote part, 0 or 1,
            ``(R, T, 3)``.
        gains: log posterior odds of the cluster with its neighbour, and in two parts, against the cluster as
            it is, at most 15 either way, nats, ``(R, 2)``.
        sizes: of the anchor's cluster and of its neighbour, and the number of clusters, ``(R, 3)``.
    """

    log_odds: Tensor
    parts: Tensor
    gains: Tensor
    sizes: Tensor

    num_states = ALTERNATIVES
    num_point_features = 3 * ALTERNATIVES
    num_row_features = 7

    def of_points(self) -> Tensor:
        """Return features of points, ``(R, T, 9)``."""
        return torch.cat([self.log_odds / 4, self.log_odds.tanh(), self.parts], -1)

    def of_rows(self) -> Tensor:
        """Return features of anchors, ``(R, 7)``."""
        return torch.cat([self.gains / 4, self.gains.tanh(), self.sizes.log1p() / 3], -1)


class ClusterForesight:
    r"""Who belongs with an anchor, if all other points that are left are labelled by the model.

    The points that are left are put where their weight is largest under the exact filter, one after the
    other, and then twice more, given all others. With :math:`A` the cluster of the anchor that this makes,
    every point has log-odds of belonging with it,

    .. math:: \ell_i = \log p(c_i = A \mid x, c_{-i}) - \log p(c_i \ne A \mid x, c_{-i})

    and the same where A is one with the cluster B that it is most likely one with, and where A is in two
    parts: one around the anchor, one around the point of A that is least likely in it, of which the anchor's
    is meant. The log posterior odds of these two states against the first one are features too. None of this
    has gradients.

    Cost: O(T K) predictives an anchor for T points that are left and K clusters, in threads; memory O(B N F)
    and O(R T).

    Args:
        encoding: B data sets, of a filter for which ``can_foresee`` holds.
    """

    def __init__(self, encoding: FilterEncoding) -> None:
        self._encoding = encoding
        self._width = 0
        self._log_rising = array_of(encoding.log_join()[1:-1].cumsum(0))
        self._log_rising = np.concatenate([[0.0, 0.0], self._log_rising])
        self._parts: list[tuple[Address, Address]] = []

    @torch.no_grad()
    def __call__(self, step: ClusterStep) -> Completions:
        """Describe anchors and the points that are left.

        Args:
            step: the anchors.
        """
        rows, width = step.others.shape
        log_odds = np.zeros((rows, width, ALTERNATIVES))
        parts = np.zeros_like(log_odds)
        gains = np.zeros((rows, 5))
        counts = step.mask.sum(-1)
        asked = Address(
            Rows(
                array_of(step.dataset),
                array_of(step.anchor),
                array_of(step.others),
                array_of(counts),
                array_of(step.num_closed),
                self._log_rising,
                log_odds,
                parts,
                gains,
            )
        )
        threads = threads_for(20 * int(counts.sum()), _PREDICTIVES_A_THREAD, max(1, rows))
        self._prepare(int(step.num_closed.max()) + ROOM + 2, threads)

        def ask(part: tuple[Address, Address], begin: int, end: int) -> None:
            family, work = part
            ask_completions(family, work, self._data, asked, begin, end)

        in_threads(ask, self._parts[:threads], rows)
        device = step.others.device
        found, where, whole = (torch.from_numpy(one).to(device) for one in (log_odds, parts, gains))
        found, unlike = found.clamp(-_SURE, _SURE), whole[:, :2].clamp(-_SURE, _SURE)
        return Completions(found, where, unlike, whole[:, 2:])

    def _prepare(self, width: int, threads: int) -> None:
        """Make tables for so many clusters, and scratch space for each thread."""
        if width > self._width:
            self._width = width + width // 2
            self._data = Address(tables_of(self._encoding, self._width))
        points = self._encoding.opening.shape[1]
        while len(self._parts) < threads:
            work = Scratch(
                np.zeros(ROOM + SPARE, np.int64),
                np.zeros((ROOM + SPARE, self._encoding.moments.shape[-1])),
                np.zeros(ROOM + 1),
                np.zeros(points, np.int64),
                np.zeros(points, np.int64),
            )
            self._parts.append((compiled_family(self._encoding, ROOM + SPARE), Address(work)))
