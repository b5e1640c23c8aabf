"""How points scatter around what a decoder says: the likelihoods of deep models."""

from abc import ABC, abstractmethod
from typing import Any, Self

import pyro.distributions as dist
import torch
from torch import Size, Tensor
from torch.distributions import Distribution, constraints

from pyroclust.counts import check_count, check_number
from pyroclust.registry import register

__all__ = ["BernoulliObservation", "CountsObservation", "NormalObservation", "Observation", "WordCounts"]


class Observation(ABC):
    """The law of a point given the numbers that a decoder has for it.

    A new one is one class with ``@register(Observation)``.
    """

    @abstractmethod
    def law(self, outputs: Tensor, *, event_dim: int) -> Distribution:
        """Return the law of points.

        Args:
            outputs: of a decoder, ``(*batch, *event_shape)``.
            event_dim: dimensions of a point.
        """

    @abstractmethod
    def mean(self, outputs: Tensor, *, event_dim: int) -> Tensor:
        """Return the means of points, as pictures show them, ``(*batch, *event_shape)``."""

    def check(self, data: Tensor) -> None:  # noqa: B027 -- any number is possible, unless a class says so
        """Refuse points that the law cannot have.

        Raises:
            ValueError: if there are some.
        """


@register(Observation)
class NormalObservation(Observation):
    r"""Numbers with normal noise, so that the loss is a squared error: :math:`x \sim N(\hat x, s^2)`.

    Args:
        scale: s, in units of the data.

    Example:
        >>> NormalObservation(0.5).law(torch.zeros(3, 2), event_dim=1).log_prob(torch.zeros(3, 2)).shape
        torch.Size([3])
    """

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = check_number("scale", scale, above=0)

    def law(self, outputs: Tensor, *, event_dim: int) -> Distribution:
        """Return the law of points."""
        return dist.Normal(outputs, self.scale).to_event(event_dim)

    def mean(self, outputs: Tensor, *, event_dim: int) -> Tensor:
        """Return the outputs themselves."""
        return outputs


@register(Observation)
class BernoulliObservation(Observation):
    r"""Pixels that are on or off, so that the loss is a binary cross-entropy.

    .. math:: \log p(x) = \sum_d x_d \log \sigma(o_d) + (1 - x_d) \log(1 - \sigma(o_d))

    Grey pixels, numbers between 0 and 1, count as shares of both, as in most deep clustering of images; the
    formula is no density of grey pixels then. Draws are black and white.

    Example:
        >>> BernoulliObservation().law(torch.zeros(8, 8), event_dim=2).log_prob(torch.zeros(8, 8))
        tensor(-44.3614)
    """

    def law(self, outputs: Tensor, *, event_dim: int) -> Distribution:
        """Return the law of points."""
        return dist.Bernoulli(logits=outputs, validate_args=False).to_event(event_dim)

    def mean(self, outputs: Tensor, *, event_dim: int) -> Tensor:
        """Return the probabilities that pixels are on."""
        return outputs.sigmoid()

    def check(self, data: Tensor) -> None:
        """Refuse numbers outside of 0..1."""
        _check_range(data, 0.0, 1.0, "divide pixels by their largest value, or take NormalObservation")


class WordCounts(dist.TorchDistribution):
    r"""Bags of words: a multinomial law whose number of words is that of the document.

    .. math:: \log p(x) = \log \frac{n!}{\prod_d x_d!} + \sum_d x_d \log \pi_d, \qquad n = \sum_d x_d

    Args:
        logits: of the words, ``(*batch, D)``.
        length: words of a document that is drawn.

    Shape:
        batch_shape: ``(*batch)``; event_shape: ``(D,)``.

    Example:
        >>> law = WordCounts(torch.zeros(2), length=3)
        >>> law.log_prob(torch.tensor([2.0, 1.0])).exp()
        tensor(0.3750)
        >>> law.sample((4,)).sum(-1)
        tensor([3., 3., 3., 3.])
    """

    support = constraints.independent(constraints.nonnegative, 1)
    arg_constraints: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, logits: Tensor, *, length: int = 100) -> None:
        self.logits, self.length = logits.log_softmax(-1), check_count("length", length)
        super().__init__(logits.shape[:-1], logits.shape[-1:], validate_args=False)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        """Return the same law with a larger batch shape."""
        return type(self)(self.logits.expand(*batch_shape, *self.event_shape), length=self.length)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Draw documents of ``length`` words."""
        with torch.no_grad():
            law = torch.distributions.Multinomial(self.length, logits=self.logits, validate_args=False)
            return law.sample(torch.Size(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the log-probability of documents of any length."""
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return ways + (value * self.logits).sum(-1)


@register(Observation)
class CountsObservation(Observation):
    """Bags of words: counts of a vocabulary, the length of a document being given; see :class:`WordCounts`.

    Args:
        length: words of a document that is simulated.

    Example:
        >>> CountsObservation().law(torch.zeros(3, 20), event_dim=1).log_prob(torch.zeros(3, 20))
        tensor([0., 0., 0.])
    """

    def __init__(self, length: int = 100) -> None:
        self.length = check_count("length", length)

    def law(self, outputs: Tensor, *, event_dim: int) -> Distribution:
        """Return the law of points."""
        return WordCounts(outputs, length=self.length)

    def mean(self, outputs: Tensor, *, event_dim: int) -> Tensor:
        """Return the shares of the words."""
        return outputs.softmax(-1)

    def check(self, data: Tensor) -> None:
        """Refuse negative numbers."""
        _check_range(data, 0.0, float("inf"), "give counts of words")


def _check_range(data: Tensor, low: float, high: float, remedy: str) -> None:
    if data.numel() and bool(((data < low) | (data > high)).any()):
        raise ValueError(
            f"data has numbers from {data.min():.4g} to {data.max():.4g}, expected {low:g} to {high:g}: "
            f"{remedy}"
        )
