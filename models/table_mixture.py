"""A mixture for columns of several kinds, of which cells may be missing."""

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from pyroclust.core.numbers import check_count, check_number
from pyroclust.distributions import (
    BernoulliBeta,
    BinomialBeta,
    Categories,
    CensoredNormal,
    Circular,
    Component,
    ConjugateComponent,
    NegativeBinomialBeta,
    NormalInverseGamma,
    NormalInverseWishart,
    OrderedLevels,
    PartlyObserved,
    PoissonGamma,
    Product,
)
from pyroclust.models.mixture import Mixture
from pyroclust.models.standardised import FAMILIES, diagonal_normals, named_prior, standardised_mixture

# Half an observation of every answer and category: Jeffreys' prior.
_HALF = 0.5
_PRIOR_OF_NUMBERS: dict[str, Any] = {"kappa": 0.08, "shape": 2.0, "rate": 0.2}


def table_mixture(
    *,
    numbers: int = 0,
    count_means: Sequence[float] = (),
    yes_no: int = 0,
    levels: Sequence[int] = (),
    ordered: Sequence[int] = (),
    overdispersed_means: Sequence[float] = (),
    periods: Sequence[float] = (),
    limits: Sequence[tuple[float | None, float | None]] = (),
    trials: Sequence[Sequence[int]] = (),
    missing: bool = False,
    family: str | None = None,
    prior: str | None = None,
    concentration: float | None = None,
    expected_clusters: float | None = None,
    num_points: int | None = None,
) -> Mixture:
    r"""Return a mixture for a table of numbers, counts, answers and categories, in this order of columns.

    Then come ordered answers, overdispersed counts, places on a circle, numbers that are cut at a limit, and
    pairs of successes and trials.

    .. math::
        \sigma^2_{kd} \sim IG(2, 0.2), \; \mu_{kd} \sim N(0, \sigma^2_{kd} / 0.08), \quad
        \lambda_{kd} \sim \mathrm{Gamma}(1, 1 / m), \quad p_{kd} \sim \mathrm{Beta}(1/2, 1/2), \quad
        q_{kd} \sim \mathrm{Dirichlet}(1/2, \ldots, 1/2)

    Columns are independent within a cluster. Numbers have mean 0 and variance 1. A cluster's mean count is
    exponential around m, the mean of the columns; columns whose means have the same power of ten share m.
    Answers and categories have Jeffreys' prior. ``examples/prior_of_tables.py`` draws the pictures. Missing
    cells are integrated out, as :class:`~pyroclust.distributions.PartlyObserved` says.

    Args:
        numbers: how many columns of numbers.
        count_means: mean of each column of counts, in rising order.
        yes_no: how many columns of 0 and 1.
        levels: number of categories of each column of them.
        ordered: number of levels of each column of ordered answers.
        overdispersed_means: mean of each column of counts that vary more than Poisson counts, rising.
        periods: circumference of each column of places on a circle, 24 for hours.
        limits: floor and ceiling of each column of numbers that are cut there, ``None`` for none.
        trials: of each pair of columns of successes and trials, numbers of trials that simulations have.
        missing: whether cells may be missing, nan.
        family: that of the numbers is ``"nig"`` by default; ``"normal"`` with a random scale, or ``"niw"``
            with a full covariance where no cell is missing. Numbers alone, all there, take any family of
            :func:`standardised_mixture`, by default with full covariances.
        prior: name of the prior, ``"gamma-crp"`` by default.
        concentration: of that prior.
        expected_clusters: as of :func:`standardised_mixture`.
        num_points: likewise.

    Raises:
        ValueError: if there is no column, a number is out of range, or the family is another.

    Example:
        >>> model = table_mixture(numbers=2, count_means=[0.4, 3.0], yes_no=1, levels=[3, 5])
        >>> model.name, model.component.dim, [type(part).__name__ for part in model.component.parts]
        ('table', 7, ['NormalInverseGamma', 'PoissonGamma', 'PoissonGamma', 'BernoulliBeta', 'Categories'])
    """
    check_count("numbers", numbers, at_least=0)
    check_count("yes_no", yes_no, at_least=0)
    means, dispersed = (
        _rising(name, values)
        for name, values in (("count_means", count_means), ("overdispersed_means", overdispersed_means))
    )
    if prior is None:
        prior = "gamma-crp" if concentration is None else "crp"
    others = (means, levels, ordered, dispersed, periods, limits, trials)
    alone = bool(numbers) and not (yes_no or any(others))
    if alone and not missing:
        return standardised_mixture(
            numbers,
            family=("nig" if numbers == 1 else "niw") if family is None else family,
            prior=prior,
            concentration=concentration,
            expected_clusters=expected_clusters,
            num_points=num_points,
        )
    parts: list[ConjugateComponent] = []
    if numbers:
        parts.append(_numbers(numbers, family, missing=missing))
    for group in _alike(means):
        rate = len(group) / sum(group)
        parts.append(
            _with_gaps(
                PoissonGamma(1 if missing else len(group), 1.0, rate=rate), len(group), missing=missing
            )
        )
    if yes_no:
        flags = BernoulliBeta(1 if missing else yes_no, _HALF, beta=_HALF)
        parts.append(_with_gaps(flags, yes_no, missing=missing))
    if levels:
        parts.append(Categories(list(levels), _HALF))
    if ordered:
        parts.append(OrderedLevels(list(ordered)))
    for group in _alike(dispersed):
        counts = NegativeBinomialBeta(1 if missing else len(group), mean=sum(group) / len(group))
        parts.append(_with_gaps(counts, len(group), missing=missing))
    for period, alike in groupby(periods):
        number = len(list(alike))
        parts.append(_with_gaps(Circular(1 if missing else number, period=period), number, missing=missing))
    parts += [PartlyObserved(CensoredNormal(*one, **_PRIOR_OF_NUMBERS), 1) for one in limits]
    parts += [PartlyObserved(BinomialBeta(_HALF, beta=_HALF, trials=one), 1) for one in trials]
    if not parts:
        raise ValueError("there are no columns, expected at least one of numbers, counts, yes_no and levels")
    law = named_prior(
        prior, concentration=concentration, expected_clusters=expected_clusters, num_points=num_points
    )
    return Mixture(law, parts[0] if len(parts) == 1 else Product(parts), name="table")


def default_mixture(
    *, family: str | None = None, prior: str | None = None, concentration: float | None = None, **columns: Any
) -> Mixture:
    """Return :func:`table_mixture` as a table is clustered by default: docs/priors.md says why.

    Args:
        family: ``"normal"`` by default.
        prior: ``"mfm"`` by default, ``"crp"`` where a concentration is set.
        concentration: of that prior.
        **columns: the columns and what else :func:`table_mixture` takes.

    Example:
        >>> default_mixture(numbers=2).name
        'normal_mixture'
    """
    family = "normal" if family is None else family
    prior = ("mfm" if concentration is None else "crp") if prior is None else prior
    return table_mixture(family=family, prior=prior, concentration=concentration, **columns)


def _numbers(number: int, family: str | None, *, missing: bool) -> ConjugateComponent:
    own = 1 if missing else number
    if family in (None, "nig"):
        return _with_gaps(NormalInverseGamma(own, **_PRIOR_OF_NUMBERS), number, missing=missing)
    if family in ("normal", "diagonal"):
        return _with_gaps(diagonal_normals(own), number, missing=missing)
    found: Component | None = FAMILIES["niw"](number) if family == "niw" else None
    if not isinstance(found, NormalInverseWishart):
        raise ValueError(
            f"family is '{family}', expected 'normal', 'diagonal', 'nig' or 'niw' beside columns of other "
            "kinds"
        )
    if missing:
        raise ValueError(
            "family is 'niw', but cells are missing, which integrate out where columns are independent: "
            "expected 'normal', or a table without these rows"
        )
    return found


def _with_gaps(part: ConjugateComponent, number: int, *, missing: bool) -> ConjugateComponent:
    return PartlyObserved(part, number) if missing else part


def _rising(name: str, values: Sequence[float]) -> list[float]:
    means = [check_number(name, one, above=0) for one in values]
    if means != sorted(means):
        raise ValueError(f"{name} is {list(values)}, expected numbers in rising order: sort the columns")
    return means


def _alike(means: list[float]) -> list[list[float]]:
    """Divide means by their powers of ten."""
    return [list(group) for _, group in groupby(means, key=lambda mean: math.floor(math.log10(mean)))]
