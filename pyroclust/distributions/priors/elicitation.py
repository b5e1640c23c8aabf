"""Choosing a prior by the number of clusters it expects."""

import math
from collections.abc import Callable
from typing import TypeVar

import scipy

from pyroclust.core.numbers import check_count, check_number
from pyroclust.distributions.hyperparameters import shown
from pyroclust.distributions.priors.prior import PartitionPrior

PriorT = TypeVar("PriorT", bound=PartitionPrior)

# An end of the bounds at zero or of a bounded interval is approached, not taken: 1e-9 of the way.
_MARGIN = 1e-9
_TOLERANCE = 1e-12


def elicit(
    family: Callable[[float], PriorT],
    *,
    num_points: int,
    expected_clusters: float,
    bounds: tuple[float, float] = (1e-6, 1e6),
) -> PriorT:
    """Find the hyperparameter that gives a wanted prior mean of the number of clusters.

    Brent's root finder, on a log scale where the lower bound is positive; some ten to fifty evaluations of
    ``expected_num_clusters``, which must rise or fall with the hyperparameter.

    Args:
        family: builds the prior from the hyperparameter to be found, all others fixed.
        num_points: N at which the mean is wanted.
        expected_clusters: the wanted mean, between 1 and N.
        bounds: where to look. With a lower bound of zero, such as ``(0, 1)`` for a discount, the search is on
            the plain scale and stays 1e-9 of the way inside.

    Returns:
        The prior; it holds the number that was found.

    Raises:
        ValueError: if the prior cannot have the wanted mean within the bounds; the reachable range is named;
            or the family refuses a number within them.

    Example:
        >>> from pyroclust.distributions import ChineseRestaurantPrior, PitmanYorPrior
        >>> prior = elicit(ChineseRestaurantPrior, num_points=100, expected_clusters=5.0)
        >>> round(prior.concentration, 4), round(prior.expected_num_clusters(100).item(), 9)
        (0.9476, 5.0)
        >>> build = lambda discount: PitmanYorPrior(discount, 0.5)
        >>> round(elicit(build, num_points=100, expected_clusters=9.0, bounds=(0, 1)).discount, 3)
        0.319
    """
    num_points = check_count("num_points", num_points)
    check_number("expected_clusters", expected_clusters)
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ValueError(f"bounds is {shown(bounds)}, expected two numbers, the lower one first")
    low, high = (check_number(f"bounds[{place}]", one) for place, one in enumerate(bounds))
    if not low < high:
        raise ValueError(f"bounds is {bounds}, expected the lower one first")
    logarithmic = low > 0
    if not logarithmic:
        low, high = low + _MARGIN * (high - low), high - _MARGIN * (high - low)

    def mean(position: float) -> float:
        value = math.exp(position) if logarithmic else position
        return float(family(value).expected_num_clusters(num_points))

    ends = (math.log(low), math.log(high)) if logarithmic else (low, high)
    reached = sorted(mean(end) for end in ends)
    if not reached[0] <= expected_clusters <= reached[1]:
        raise ValueError(
            f"expected_clusters is {expected_clusters}, expected {reached[0]:.6g} to {reached[1]:.6g}: what "
            f"this prior reaches at {num_points} points with the hyperparameter between {bounds[0]:g} and "
            f"{bounds[1]:g}; widen bounds or change the other hyperparameters"
        )
    found = scipy.optimize.brentq(
        lambda at: mean(at) - expected_clusters, *ends, xtol=_TOLERANCE, rtol=_TOLERANCE
    )
    return family(math.exp(found) if logarithmic else found)
