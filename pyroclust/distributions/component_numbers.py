"""Any prior on the number of components of a finite mixture, as a table of log-probabilities."""

import torch
from torch import Tensor
from torch.distributions import Categorical, Distribution

__all__ = ["MOST_TERMS", "check_extra_components", "log_component_numbers"]

MOST_TERMS = 1 << 23
_FIRST_TERMS = 64
# What the probabilities may miss of one: parameters in float32 miss about 1e-7.
_MISSING = 1e-6
_NEGLIGIBLE = 1e-17


def check_extra_components(extra_components: Distribution) -> None:
    """Refuse what is not a distribution of one whole number.

    Raises:
        ValueError: if it is no distribution, continuous, or a distribution of vectors.
    """
    if not isinstance(extra_components, Distribution):
        raise ValueError(
            f"extra_components is {extra_components!r}, expected a Pyro distribution over 0, 1, 2, ...: "
            "the number of components less one; where it is known, use the Dirichlet-multinomial prior"
        )
    support = extra_components.support
    if extra_components.event_shape or support is None or not support.is_discrete:
        raise ValueError(
            f"extra_components is {extra_components}, expected a distribution of one of 0, 1, 2, ...: "
            "Poisson, Geometric, Categorical or the like"
        )


def log_component_numbers(extra_components: Distribution, *, at_least: int = 1) -> Tensor:
    """Tabulate the log-probabilities of M components, M - 1 being a draw of the distribution.

    The table grows until its upper half holds less than 1e-17 of the probability, and is normalised.

    Args:
        extra_components: over 0, 1, 2, ..., of shape ``batch_shape``; a distribution with
            ``has_enumerate_support`` ends where its support ends.
        at_least: the smallest length wanted.

    Shape:
        output: ``(T, *batch_shape)`` float64 for M = 1, ..., T.

    Raises:
        ValueError: if 8,388,608 terms do not hold the probability.

    Example:
        >>> from torch.distributions import Categorical
        >>> log_component_numbers(Categorical(torch.tensor([0.25, 0.75])), at_least=3).exp()
        tensor([0.2500, 0.7500, 0.0000], dtype=torch.float64)
    """
    if extra_components.has_enumerate_support:
        terms = int(extra_components.enumerate_support(expand=False).max()) + 1
        found = _log_probs(extra_components, terms)
        _check_total(extra_components, found)
        padding = found.new_full((max(0, at_least - terms), *found.shape[1:]), -torch.inf)
        return torch.cat([found.log_softmax(0), padding])
    terms = max(_FIRST_TERMS, 1 << (at_least - 1).bit_length())
    while True:
        found = _log_probs(extra_components, terms)
        mass = found.detach().exp()
        whole = bool(((mass.sum(0) - 1).abs() < _MISSING).all())
        if whole and bool((mass[terms // 2 :].sum(0) < _NEGLIGIBLE).all()):
            return found.log_softmax(0)
        if terms >= MOST_TERMS:
            _check_total(extra_components, found)
            raise ValueError(
                f"extra_components is {extra_components}, expected a lighter tail: {terms} terms leave more "
                f"than {_NEGLIGIBLE:g} of the probability; cut it off with a Categorical"
            )
        terms *= 2


def _log_probs(extra_components: Distribution, terms: int) -> Tensor:
    if isinstance(extra_components, Categorical):
        # Its log_prob replaces probability zero by the smallest step from one.
        probs = extra_components.probs.double().movedim(-1, 0)
        return torch.where(probs > 0, torch.where(probs > 0, probs, 1.0).log(), -torch.inf)
    try:
        device = extra_components.mean.device
    except NotImplementedError:
        device = torch.device("cpu")
    values = torch.arange(terms, dtype=torch.float64, device=device)
    return extra_components.log_prob(values.view(-1, *(1,) * len(extra_components.batch_shape))).double()


def _check_total(extra_components: Distribution, log_probs: Tensor) -> None:
    total = log_probs.detach().exp().sum(0)
    if not bool(((total - 1).abs() < _MISSING).all()):
        raise ValueError(
            f"extra_components is {extra_components}, expected probabilities of 0, 1, 2, ... that sum to "
            f"one: the first {len(log_probs)} sum to {total.tolist()}"
        )
