"""How points scatter around what a decoder says: the likelihoods of deep models."""

from abc import ABC, abstractmethod

import pyro.distributions as dist
from torch import Tensor
from torch.distributions import Distribution

from pyroclust.core.numbers import check_count, check_number
from pyroclust.core.registry import register

_ROUNDING = 1e-5


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
        >>> import torch
        >>> NormalObservation(0.5).law(torch.zeros(3, 2), event_dim=1).log_prob(torch.zeros(3, 2)).shape
        torch.Size([3])
    """

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = check_number("scale", scale, above=0)

    def law(self, outputs: Tensor, *, event_dim: int) -> Distribution:
        return dist.Normal(outputs, self.scale).to_event(event_dim)

    def mean(self, outputs: Tensor, *, event_dim: int) -> Tensor:
        return outputs


@register(Observation)
class BernoulliObservation(Observation):
    r"""Pixels that are on or off, so that the loss is a binary cross-entropy.

    .. math:: \log p(x) = \sum_d x_d \log \sigma(o_d) + (1 - x_d) \log(1 - \sigma(o_d))

    Grey pixels, numbers between 0 and 1, count as shares of both, as in most deep clustering of images; the
    formula is no density of grey pixels then. Draws are black and white.

    Example:
        >>> import torch
        >>> BernoulliObservation().law(torch.zeros(8, 8), event_dim=2).log_prob(torch.zeros(8, 8))
        tensor(-44.3614)
    """

    def law(self, outputs: Tensor, *, event_dim: int) -> Distribution:
        return dist.Bernoulli(logits=outputs, validate_args=False).to_event(event_dim)

    def mean(self, outputs: Tensor, *, event_dim: int) -> Tensor:
        return outputs.sigmoid()

    def check(self, data: Tensor) -> None:
        _check_range(data, 0.0, 1.0, "divide pixels by their largest value, or take NormalObservation")


@register(Observation)
class CountsObservation(Observation):
    r"""Bags of words: counts of a vocabulary, the length of a document being given.

    .. math:: \log p(x) = \log \frac{n!}{\prod_d x_d!} + \sum_d x_d \log \pi_d, \qquad n = \sum_d x_d

    Args:
        length: words of a document that is simulated.

    Example:
        >>> import torch
        >>> CountsObservation().law(torch.zeros(3, 20), event_dim=1).log_prob(torch.zeros(3, 20))
        tensor([0., 0., 0.])
    """

    def __init__(self, length: int = 100) -> None:
        self.length = check_count("length", length)

    def law(self, outputs: Tensor, *, event_dim: int) -> Distribution:
        # Its log-probabilities are those of documents of any length.
        return dist.Multinomial(self.length, logits=outputs, validate_args=False)

    def mean(self, outputs: Tensor, *, event_dim: int) -> Tensor:
        return outputs.softmax(-1)

    def check(self, data: Tensor) -> None:
        _check_range(data, 0.0, float("inf"), "give counts of words")


def _check_range(data: Tensor, low: float, high: float, remedy: str) -> None:
    # Pixels between others, of a deformed image, are right up to rounding.
    if data.numel() and bool(((data < low - _ROUNDING) | (data > high + _ROUNDING)).any()):
        raise ValueError(
            f"data has numbers from {data.min():.4g} to {data.max():.4g}, expected {low:g} to {high:g}: "
            f"{remedy}"
        )
