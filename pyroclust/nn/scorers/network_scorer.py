"""The contract of scorers that are networks, and of those whose head is told of the points to come."""

from abc import abstractmethod
from typing import ClassVar, Protocol, Self, TypeVar

import torch
from torch import Tensor, nn

from pyroclust.distributions.families.component import ConjugateComponent
from pyroclust.distributions.priors.prior import PartitionPrior
from pyroclust.distributions.sequential.filter import FilterScorer
from pyroclust.distributions.sequential.scorer import Candidates, Encoding, EncodingT, Scorer
from pyroclust.nn.compiled.foresight import Foresight
from pyroclust.nn.compiled.prefixes import PrefixSampler
from pyroclust.nn.features import ConditionInputs


class NetworkScorer(nn.Module, Scorer[EncodingT]):
    """A network that scores candidates: what :class:`~pyroclust.guides.NeuralClusteringProcess` is made of.

    A new one is a subclass in a file of its own, which writes the methods of
    :class:`~pyroclust.distributions.sequential.scorer.Scorer`, keeps the arguments of its constructor as
    attributes of their names, and has ``@register(NetworkScorer)`` above it. One that can be told
    hyperparameters of the model overrides :meth:`take_conditions`.

    Attributes:
        conditions: how hyperparameters enter, None for none.
        filter: log-weights of the exact filter of a conjugate model, None for none.
        fits_any_model: whether :meth:`of` gives the same weights for other models.
    """

    conditions: ConditionInputs | None = None
    filter: FilterScorer | None = None
    fits_any_model: ClassVar[bool] = False

    def of(self, prior: PartitionPrior, component: ConjugateComponent) -> Self:
        """Return the scorer of another model: a view with the same weights.

        Raises:
            ValueError: if the scorer is made for one model, as here, or does not fit the other.
        """
        raise ValueError(
            f"scorer is a {type(self).__name__}, which is made for one model, expected a ColumnScorer: carry "
            "it over to a model of the same shape with retarget"
        )

    def positions(self, data: Tensor) -> Tensor:
        """Return points, ``(B, N, ...)``, as vectors between which a visiting order measures distances."""
        return data

    def take_conditions(self, inputs: ConditionInputs | None, *, num_columns: int) -> None:
        """Take note of the conditions of the guide, which has so many columns, None for none.

        Raises:
            ValueError: if the scorer was built for others, or takes none, as here.
        """
        if inputs is not None:
            raise ValueError(
                f"conditions are {', '.join(inputs.names)}, expected none: the {type(self).__name__} takes "
                "none"
            )


class ForeseeingEncoding(Encoding, Protocol):
    """What is computed once per data set and order, the look-ahead among it."""

    @property
    def context(self) -> Tensor:
        """Contexts of points, ``(B, N, W)``."""
        ...

    @property
    def foresight(self) -> Foresight | None:
        """Tries candidates on the points to come; None if the scorer does not look ahead."""
        ...


ForeseeingT = TypeVar("ForeseeingT", bound=ForeseeingEncoding)


class ForeseeingScorer(NetworkScorer[ForeseeingT]):
    r"""A scorer with one head for all candidates, which a foresight may inform.

    .. math:: \text{logit} = v^\top \text{head}(s + u + E a) + t(s)^\top a

    with what the candidates of a decision share, s, what a candidate has for itself, u, and its foresight a.
    Candidates that are out of question under the exact filter keep its weight.
    """

    width: int  # numbers in s and u
    foresight: int  # points to come that each candidate is tried on; 0 for none

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
        joining, opening = encoding.foresight(candidates)
        joined = self.join(query.index_select(0, candidates.decision), states, ahead=joining)
        return joined, self.open(query, ahead=opening)

    @abstractmethod
    def _sampler(self, encoding: ForeseeingT) -> PrefixSampler | None:
        """Return what draws in compiled code; None where there is nothing of that kind."""

    def label_points(
        self, encoding: ForeseeingT, dataset: Tensor, known: Tensor | None = None
    ) -> tuple[Tensor, Tensor] | None:
        """Draw partitions, or score known ones, in compiled code: whole ones, in float32 on a processor."""
        context = encoding.context
        some_known = known is not None and known.shape[1] < context.shape[1]
        if some_known or context.device.type != "cpu" or context.dtype != torch.float32:
            return None
        sampler = self._sampler(encoding)
        return None if sampler is None else sampler.label(dataset, known)


def progress_of(points: Tensor) -> Tensor:
    """Return how many points come before and after each, as networks see it, ``(B, N, ...) -> (B, N, 3)``."""
    number = points.shape[1]
    steps = torch.arange(number, device=points.device)
    progress = torch.stack([steps.log1p() / 3, (number - 1 - steps).log1p() / 3, steps / number], -1)
    return progress.to(points.dtype).expand(*points.shape[:2], 3)
