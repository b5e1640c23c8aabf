"""Mixtures for standardised data: the defaults for columns of numbers, and any by the names of its parts."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyro.distributions import Geometric, LogNormal

from pyroclust.core.messages import unknown_name
from pyroclust.core.numbers import check_count, check_number
from pyroclust.core.registry import register
from pyroclust.distributions import (
    ChineseRestaurantPrior,
    Component,
    ConjugateComponent,
    FiniteMixturesPrior,
    GammaConcentration,
    NormalInverseGamma,
    NormalInverseWishart,
    PartitionPrior,
    PitmanYorPrior,
    elicit,
    student_t,
)
from pyroclust.models.mixture import Mixture

_KAPPA = 0.05
WEIGHT = 0.5
"""Concentration of the weights of components."""


@register(Mixture)
def normal_mixture(dim: int = 2) -> Mixture:
    r"""Return the mixture of normal clusters for columns of mean 0 and variance 1: the default for numbers.

    .. math::
        M - 1 \sim \mathrm{Geometric}(0.4), \; w \sim \mathrm{Dirichlet}(\tfrac12, \ldots, \tfrac12), \;
        \log s \sim N(\log 0.2, 1), \;
        \Sigma_k \sim IW(D + 2, s I), \; \mu_k \sim N(0, \Sigma_k / 0.05), \; x_i \sim N(\mu_k, \Sigma_k)

    Of one column :math:`\sigma^2_k \sim IG(2, s)`. The common scale is random, so that few wide clusters and
    many tight ones are judged alike, and integrates out. docs/priors.md says why these numbers.

    Args:
        dim: dimension of the points.

    Example:
        >>> import torch
        >>> from pyroclust.infer import exact_posterior
        >>> points = torch.tensor([[-1.2], [-1.1], [-1.0], [-0.9], [0.9], [1.0], [1.1], [1.2]])
        >>> partitions, log_probs = exact_posterior(normal_mixture(1), points)
        >>> partitions[log_probs.argmax()].tolist()
        [0, 0, 0, 0, 1, 1, 1, 1]

    References:
        Miller & Harrison (2018), Mixture models with a prior on the number of components.
        https://doi.org/10.1080/01621459.2016.1255636
        Richardson & Green (1997), On Bayesian analysis of mixtures with an unknown number of components.
        https://doi.org/10.1111/1467-9868.00095
    """
    return Mixture(PRIORS["mfm"].usual, normals(check_count("dim", dim)), name="normal_mixture")


def law_of_number() -> Geometric:
    """Return the law of the number of components less one."""
    return Geometric(0.4)


def normals(dim: int) -> ConjugateComponent:
    """Return normal clusters of a common random scale, with full covariances."""
    if dim == 1:
        return diagonal_normals(dim)
    return NormalInverseWishart(dim, _KAPPA, dof=dim + 2.0, scale=_law_of_scale())


def diagonal_normals(dim: int) -> ConjugateComponent:
    """Return the same with independent columns."""
    return NormalInverseGamma(dim, _KAPPA, shape=2.0, rate=_law_of_scale())


def _law_of_scale() -> LogNormal:
    return LogNormal(math.log(0.2), 1.0)


@register(Mixture)
def niw_mixture(dim: int = 2) -> Mixture:
    r"""Return the normal-inverse-Wishart mixture for columns of mean 0 and variance 1.

    .. math::
        \alpha \sim \mathrm{Gamma}(2, 4), \; c \sim CRP(\alpha), \;
        \Sigma_k \sim IW(D + 2, 0.2 I), \; \mu_k \sim N(0, \Sigma_k / 0.08), \; x_i \sim N(\mu_k, \Sigma_k)

    The least informative degrees of freedom with a finite mean, :math:`E[\Sigma_k] = 0.2 I`; concentration
    and spread of the means are those of :func:`nig_mixture`. ``examples/prior_predictive.py`` draws the
    picture.

    Args:
        dim: dimension of the points.
    """
    component = FAMILIES["niw"](check_count("dim", dim))
    return Mixture(PRIORS["gamma-crp"].usual, component, name="niw_mixture")


@register(Mixture)
def nig_mixture(dim: int = 1) -> Mixture:
    r"""Return the normal-inverse-gamma mixture for columns of mean 0 and variance 1.

    .. math::
        \alpha \sim \mathrm{Gamma}(2, 4), \; c \sim CRP(\alpha), \;
        \sigma^2_{kd} \sim IG(2, 0.2), \; \mu_{kd} \sim N(0, \sigma^2_{kd} / 0.08), \; x_{id} \sim
        N(\mu_{kd}, \sigma^2_{kd})

    Why these numbers, on standardised data:

    * A cluster's variance has mean 0.2 and median 0.12, and the heaviest tail with a finite mean: its
      standard deviation is between 0.23 and 0.61 of the data's in four cases of five.
    * Gamma(2, 4) is the prior of Escobar and West: about 3 clusters in 100 points, 1 to 7 in nine cases of
      ten.
    * The variance between means is 0.2 / 0.08 = 2.5. Two points lie in different clusters with probability
      0.30, so the expected sample variance is 0.2 + 2.5 * 0.30 = 0.96: the prior's data look standardised.

    Args:
        dim: dimension of the points.

    References:
        Escobar & West (1995), Bayesian density estimation and inference using mixtures.
        https://doi.org/10.1080/01621459.1995.10476550
    """
    return Mixture(PRIORS["gamma-crp"].usual, FAMILIES["nig"](dim), name="nig_mixture")


_DISCOUNT = 0.25
_FEWEST_EXPECTED = 1.01
# Where the number that gives an expected number of clusters is looked for first, and how the search widens.
_FIRST_STEP, _STEP = 2.0, 5.0

FAMILIES: Mapping[str, Callable[[int], Component]] = {
    "normal": normals,
    "diagonal": diagonal_normals,
    "niw": lambda dim: NormalInverseWishart(dim, 0.08, dof=dim + 2.0, scale=0.2),
    "nig": lambda dim: NormalInverseGamma(dim, 0.08, shape=2.0, rate=0.2),
    "student-t": student_t,
}
"""Families of clusters for standardised columns, by name: each makes one for a number of columns."""

_INDEPENDENT = {"normal": "diagonal", "niw": "nig"}


def with_independent_columns(component: Component) -> Component | None:
    """Return the family of these with full covariances whose columns are independent; ``None`` of another."""
    names = (name for name in _INDEPENDENT if FAMILIES[name](component.dim) == component)
    return next((FAMILIES[_INDEPENDENT[name]](component.dim) for name in names), None)


@dataclass(frozen=True)
class NamedPrior:
    """A prior of partitions by name: its default, and the two ways to choose another.

    Attributes:
        usual: the prior where nothing is asked for.
        of_concentration: makes it with a concentration; ``None`` where that is random.
        of_position: makes it with the number that :func:`~pyroclust.distributions.elicit` looks for; the
            expected number of clusters rises with it.
        bounds: where to look for that number.
    """

    usual: PartitionPrior
    of_concentration: Callable[[float], PartitionPrior] | None
    of_position: Callable[[float], PartitionPrior]
    bounds: tuple[float, float] = (1e-6, 1e6)


PRIORS: Mapping[str, NamedPrior] = {
    "gamma-crp": NamedPrior(
        GammaConcentration(2.0, 4.0), None, lambda mean: GammaConcentration(2.0, 2.0 / mean)
    ),
    "crp": NamedPrior(ChineseRestaurantPrior(0.5), ChineseRestaurantPrior, ChineseRestaurantPrior),
    "py": NamedPrior(
        PitmanYorPrior(_DISCOUNT, 0.3),
        lambda concentration: PitmanYorPrior(_DISCOUNT, concentration),
        # The concentration may be negative, down to minus the discount.
        lambda above: PitmanYorPrior(_DISCOUNT, above - _DISCOUNT),
    ),
    "mfm": NamedPrior(
        FiniteMixturesPrior(WEIGHT, law_of_number()),
        lambda weight: FiniteMixturesPrior(weight, law_of_number()),
        lambda extra: FiniteMixturesPrior(WEIGHT, Geometric(1 / (1 + extra))),
        (1e-4, 1e3),
    ),
}
"""Priors of partitions by name."""


def standardised_mixture(
    dim: int,
    *,
    family: str | None = None,
    prior: str | None = None,
    concentration: float | None = None,
    expected_clusters: float | None = None,
    num_points: int | None = None,
) -> Mixture:
    r"""Return a mixture for columns of mean 0 and variance 1, by the names of its family and its prior.

    Families: ``"normal"`` (of :func:`normal_mixture`), ``"diagonal"`` (the same with independent columns,
    :math:`\sigma^2_{kd} \sim IG(2, s)`), ``"niw"`` and ``"nig"`` (of :func:`niw_mixture` and
    :func:`nig_mixture`), and ``"student-t"`` (``"nig"`` with tails of 4 degrees of freedom; not conjugate).

    Priors, with their defaults: ``"gamma-crp"``, a Chinese restaurant process with concentration
    :math:`\alpha \sim \text{Gamma}(2, 4)`; ``"crp"``, with :math:`\alpha = 1/2`; ``"py"``, a Pitman-Yor
    process with discount 1/4 and concentration 0.3; ``"mfm"``, a mixture of finite mixtures, :math:`M - 1
    \sim \text{Geometric}(0.4)`, weights from :math:`\text{Dirichlet}(1/2)`.

    Args:
        dim: number of columns.
        family: name of the family; ``"normal"`` by default.
        prior: name of the prior; ``"mfm"`` by default, ``"crp"`` where a concentration is set.
        concentration: of ``"crp"`` or ``"py"``; of the Dirichlet weights of ``"mfm"``.
        expected_clusters: prior mean of the number of clusters in ``num_points`` points. It sets the
            concentration of ``"crp"`` and ``"py"``, the mean of the concentration's Gamma law of shape 2, or
            the mean of the geometric law.
        num_points: N, for ``expected_clusters``.

    Raises:
        ValueError: if a name is unknown, a number is out of its range, the prior has no concentration to set,
            or ``concentration`` and ``expected_clusters`` are both set.

    Example:
        >>> model = standardised_mixture(3, family="nig", prior="crp", expected_clusters=5, num_points=100)
        >>> model.name, round(model.prior.concentration, 4)
        ('nig-crp', 0.9476)
    """
    dim = check_count("dim", dim)
    family = "normal" if family is None else _known("family", family, FAMILIES)
    prior = ("mfm" if concentration is None else "crp") if prior is None else prior
    law = named_prior(
        prior, concentration=concentration, expected_clusters=expected_clusters, num_points=num_points
    )
    model = Mixture(law, FAMILIES[family](dim), name=f"{family}-{prior}")
    known = normal_mixture(dim), nig_mixture(dim), niw_mixture(dim)
    return next((one for one in known if one == model), model)


def named_prior(
    prior: str,
    *,
    concentration: float | None = None,
    expected_clusters: float | None = None,
    num_points: int | None = None,
) -> PartitionPrior:
    """Return a prior of partitions by its name, with one number that is set; see the mixture's arguments."""
    named = PRIORS[_known("prior", prior, PRIORS)]
    if concentration is not None and expected_clusters is not None:
        raise ValueError(
            f"concentration is {concentration} and expected_clusters is {expected_clusters}, expected one of "
            "them: each sets the prior; leave one out"
        )
    if concentration is not None:
        return _of_concentration(named, prior, concentration)
    if expected_clusters is not None:
        return _of_expected(named, prior, expected_clusters, num_points)
    return named.usual


def _known(what: str, name: str, known: Mapping[str, object]) -> str:
    if not isinstance(name, str) or name not in known:
        raise ValueError(unknown_name(what, str(name), known))
    return name


def _of_concentration(named: NamedPrior, prior: str, concentration: float) -> PartitionPrior:
    if named.of_concentration is None:
        others = " or ".join(name for name, one in PRIORS.items() if one.of_concentration is not None)
        raise ValueError(
            f"concentration is {concentration}, but it is random under prior '{prior}': choose prior "
            f"{others}, or say how many clusters you expect"
        )
    return named.of_concentration(check_number("concentration", concentration, above=0))


def _of_expected(named: NamedPrior, prior: str, expected: float, num_points: int | None) -> PartitionPrior:
    if num_points is None:
        raise ValueError(
            f"expected_clusters is {expected} without num_points, expected both: say of how many points"
        )
    check_count("num_points", num_points, at_least=2)
    wanted = check_number("expected_clusters", expected, at_least=_FEWEST_EXPECTED)
    low, most = named.bounds
    # The mixture of finite mixtures has tables that grow with the number: it stays as small as it can.
    high = min(most, _FIRST_STEP * wanted)
    while (reached := float(named.of_position(high).expected_num_clusters(num_points))) < wanted:
        if high >= most:
            raise ValueError(
                f"expected_clusters is {wanted:g}, expected at most {reached:.6g}: prior '{prior}' reaches "
                f"no more in {num_points} points"
            )
        high = min(most, _STEP * high)
    return elicit(named.of_position, num_points=num_points, expected_clusters=wanted, bounds=(low, high))
