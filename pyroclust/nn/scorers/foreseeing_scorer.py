"""What scorers have in common whose head may be told what a decision does to the points to come."""

from abc import abstractmethod
from typing import Protocol, TypeVar

import torch
from torch import Tensor, nn

from pyroclust.distributions.sequential.scorer import Candidates, Encoding
from pyroclust.nn.compiled.foresight import Foresight
from pyroclust.nn.scorers.network_scorer import NetworkScorer

__all__ = ["ForeseeingEncoding", "ForeseeingScorer"]


class ForeseeingEncoding(Encoding, Protocol):
    """What is computed once per data set and order, the look-ahead among it.

    Attributes:
        foresight: tries candidates on the points to come; None if the scorer does not look ahead.
    """

    @property
    def foresight(self) -> Foresight | None:
        """Tries candidates on the points to come; None if the scorer does not look ahead."""
        ...


ForeseeingT = TypeVar("ForeseeingT", bound=ForeseeingEncoding)


class ForeseeingScorer(NetworkScorer[ForeseeingT]):
    r"""A scorer with one head for all candidates, which a :class:`~pyroclust.nn.Foresight` may inform.

    .. math:: \text{logit} = v^\top \text{head}(s + u + E a) + t(s)^\top a

    with what the candidates of a decision share, s, what a candidate has for itself, u, and its foresight a.
    Candidates that are out of question under the exact filter keep its weight.

    Attributes:
        width: numbers in s and u.
        foresight: points to come that each candidate is tried on; 0 for none.
    """

    width: int
    foresight: int

    def _make_head(self, *, at_zero: bool) -> None:
        """Make the layers; those that end in logits can start at zero, and those of the foresight do."""
        width = self.width
        self.new_cluster = nn.Parameter(torch.zeros(width))
        self.head = nn.Sequential(nn.LayerNorm(width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.to_join, self.to_open = nn.Linear(width, 1), nn.Linear(width, 1)
        zero: list[Tensor] = [*self.to_join.parameters(), *self.to_open.parameters()] if at_zero else []
        if self.foresight:
            self.ahead_to_head = nn.Linear(Foresight.num_features, width, bias=False)
            self.trust = nn.Linear(width, Foresight.num_features)
            zero += [self.ahead_to_head.weight, *self.trust.parameters()]
        for weight in zero:
            nn.init.zeros_(weight)

    def _logit(self, shared: Tensor, own: Tensor, last: nn.Linear, ahead: Tensor | None) -> Tensor:
        """Apply the head to what a decision shares and what a candidate has for itself."""
        if ahead is None:
            return last(self.head(shared + own)).squeeze(-1)
        features, is_asked = ahead.to(shared.dtype).tensor_split((-1,), -1)
        trusted = (self.trust(shared) * features).sum(-1)
        judged = last(self.head(shared + own + self.ahead_to_head(features))).squeeze(-1)
        return is_asked.squeeze(-1) * (judged + trusted)

    @property
    @abstractmethod
    def _before_filter(self) -> int:
        """How many of the moments that clusters sum up come before those of the filter."""

    @abstractmethod
    def join(self, query: Tensor, states: Tensor, *, ahead: Tensor | None = None) -> Tensor:
        """Score existing clusters, told what they do to the points to come or not, ``(M, 8)``."""

    @abstractmethod
    def open(self, query: Tensor, *, ahead: Tensor | None = None) -> Tensor:
        """Score a new cluster, told what it does to the points to come or not, ``(Q, 8)``."""

    def decide(
        self, encoding: ForeseeingT, query: Tensor, states: Tensor, candidates: Candidates
    ) -> tuple[Tensor, Tensor]:
        """Score all candidates, by what they do to the points to come too."""
        if encoding.foresight is None:
            return super().decide(encoding, query, states, candidates)
        joining, opening = encoding.foresight(candidates, skip=self._before_filter)
        joined = self.join(query.index_select(0, candidates.decision), states, ahead=joining)
        return joined, self.open(query, ahead=opening)
