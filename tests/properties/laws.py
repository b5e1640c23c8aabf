"""Properties of pyroclust.distributions: laws that sum to one, and families blind to the order of points."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from properties.calls import Call
from properties.hostile import any_labels, finite

from pyroclust import distributions as laws
from pyroclust.core.numbers import check_count
from pyroclust.partitions import canonical, enumerate_partitions, is_canonical
from pyroclust.partitions.constraints import Constraints

POSITIVE = st.floats(0.05, 20)
SIZES = st.integers(1, 5)
POISSON = torch.distributions.Poisson(torch.tensor(2.0))


def _drawn(process: laws.PartitionDistribution, num_draws: int) -> dict[str, torch.Tensor]:
    """Return the probabilities of all partitions, and some draws."""
    torch.manual_seed(0)
    every = enumerate_partitions(process.num_points)
    drawn = process.sample((num_draws,))
    return {"every": process.log_prob(every), "drawn": drawn, "of_drawn": process.log_prob(drawn)}


def a_law(found: dict[str, torch.Tensor], *, num_points: int, num_draws: int, **_: Any) -> None:
    """A law sums to one, and what it draws is possible."""
    torch.testing.assert_close(found["every"].logsumexp(-1).exp().double(), torch.ones(()).double())
    assert (found["drawn"].shape[0], found["drawn"].shape[-1]) == (num_draws, num_points)
    assert is_canonical(found["drawn"]).all()
    assert found["of_drawn"].isfinite().all()


def _prior(make: Callable[..., laws.PartitionPrior]) -> Callable[..., dict[str, torch.Tensor]]:
    def found(*, num_points: int, num_draws: int, **numbers: Any) -> dict[str, torch.Tensor]:
        prior = make(**numbers)
        return _drawn(prior.partition(num_points), num_draws) | {
            "number": prior.log_prob_num_clusters(num_points),
            "mean": prior.expected_num_clusters(num_points),
        }

    return found


def _process(make: Callable[..., laws.PartitionDistribution]) -> Callable[..., dict[str, torch.Tensor]]:
    def found(*, num_points: int, num_draws: int, **numbers: Any) -> dict[str, torch.Tensor]:
        return _drawn(make(num_points=num_points, **numbers), num_draws)

    return found


def _numbers(**numbers: SearchStrategy[Any]) -> SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"num_points": SIZES, "num_draws": st.integers(1, 4), **numbers})


CRP = _numbers(concentration=POSITIVE)
PY = _numbers(discount=st.floats(0, 0.9), concentration=POSITIVE)
DM = _numbers(num_components=st.integers(1, 6), weight_concentration=POSITIVE)
MFM = _numbers(weight_concentration=POSITIVE)
GAMMA = _numbers(shape=POSITIVE, rate=POSITIVE)

Blocks = dict[str, Any]


@st.composite
def clustered(
    draw: DrawFn, data: Callable[[int, int], SearchStrategy[Any]], *, least: int = 1, **more: Any
) -> Blocks:
    size, dim = draw(st.integers(1, 5)), draw(st.integers(least, 2))
    found = {"data": torch.from_numpy(draw(data(size, dim))), "dim": dim}
    found["assignments"] = canonical(torch.from_numpy(draw(any_labels(size))))
    return found | {name: draw(one) for name, one in more.items()}


def usual(size: int, dim: int) -> SearchStrategy[Any]:
    return finite(size, dim, extreme=False)


def counts(size: int, dim: int) -> SearchStrategy[Any]:
    return any_labels(size, dim, top=4).map(lambda one: one.astype(float))


def bits(size: int, dim: int) -> SearchStrategy[Any]:
    return any_labels(size, dim, top=1).map(lambda one: one.astype(float))


def product_of_two(size: int, dim: int) -> SearchStrategy[Any]:
    """A number and counts."""
    return st.tuples(usual(size, 1), counts(size, dim)).map(np.hstack)


def with_gaps(size: int, dim: int) -> SearchStrategy[Any]:
    """Numbers of which some are missing."""
    return st.tuples(usual(size, dim), any_labels(size, dim, top=2)).map(
        lambda both: np.where(both[1] == 2, np.nan, both[0])
    )


def categories(size: int, dim: int) -> SearchStrategy[Any]:
    """Categories of three, of which some are missing."""
    return any_labels(size, dim, top=3).map(lambda one: np.where(one == 3, np.nan, one))


def successes(size: int, dim: int) -> SearchStrategy[Any]:
    """Pairs of successes and trials."""
    return any_labels(size, dim, top=3).map(lambda one: np.repeat(one, 2, -1) + [0.0, 2.0] * dim)


def one_each(size: int, dim: int) -> SearchStrategy[Any]:
    """Counts of a total of one."""
    return any_labels(size, top=dim - 1).map(lambda one: np.eye(dim)[one])


def _family(make: Callable[..., laws.ConjugateComponent]) -> Callable[..., dict[str, torch.Tensor]]:
    def found(
        *, data: torch.Tensor, assignments: torch.Tensor, dim: int, **numbers: Any
    ) -> dict[str, torch.Tensor]:
        component = make(dim, **numbers)
        clusters = laws.ClusteredData(component, assignments)
        torch.manual_seed(0)
        drawn = clusters.sample()
        turned = laws.ClusteredData(component, canonical(assignments.flip(-1)))
        return {
            "log_prob": clusters.log_prob(data).detach(),
            "reversed": turned.log_prob(data.flip(-2)).detach(),
            "of_drawn": clusters.log_prob(drawn),
        }

    return found


def exchangeable(found: dict[str, torch.Tensor], **_: Any) -> None:
    """The order of the points says nothing, and what is drawn is possible."""
    assert not found["log_prob"].isnan().any()
    torch.testing.assert_close(found["log_prob"], found["reversed"], rtol=1e-6, atol=1e-6)
    assert found["of_drawn"].isfinite().all()


def _families() -> list[Call]:
    positive = {"shape": st.floats(2, 9), "rate": POSITIVE}
    _makers: dict[str, Any] = {
        "NormalIndependent": lambda dim, mean, variance, **more: laws.NormalIndependent(
            mean, variance, dim=dim, **more
        ),
        "Product": lambda dim, prior_scale, shape: laws.Product(
            [
                laws.NormalKnownVariance(1, prior_scale=prior_scale),
                laws.PoissonGamma(dim, shape=shape, rate=1.0),
            ]
        ),
        "PartlyObserved": lambda dim, kappa, **more: laws.PartlyObserved(
            laws.NormalInverseGamma(1, kappa, **more), dim
        ),
        "Categories": lambda dim, concentration: laws.Categories(
            [3] * check_count("dim", dim, at_most=99), concentration
        ),
        "OrderedLevels": lambda dim: laws.OrderedLevels([3] * check_count("dim", dim, at_most=99)),
        "CensoredNormal": lambda dim, kappa, **more: laws.PartlyObserved(
            laws.CensoredNormal(-0.5, 0.5, kappa=kappa, **more), dim
        ),
        "BinomialBeta": lambda dim, alpha, beta: laws.PartlyObserved(
            laws.BinomialBeta(alpha, beta=beta), dim
        ),
    }
    known: dict[str, tuple[Any, dict[str, Any]]] = {
        "NormalKnownVariance": (usual, {"prior_scale": POSITIVE, "scale": POSITIVE}),
        "NormalInverseGamma": (usual, {"kappa": POSITIVE, **positive}),
        "NormalInverseWishart": (usual, {"kappa": POSITIVE, "dof": st.floats(2.5, 9), "scale": POSITIVE}),
        "PoissonGamma": (counts, positive),
        "BernoulliBeta": (bits, {"alpha": POSITIVE, "beta": POSITIVE}),
        "Product": (product_of_two, {"prior_scale": POSITIVE, "shape": POSITIVE}),
        "PartlyObserved": (with_gaps, {"kappa": POSITIVE, **positive}),
        "Categories": (categories, {"concentration": POSITIVE}),
        "OrderedLevels": (categories, {}),
        "BinomialBeta": (successes, {"alpha": POSITIVE, "beta": POSITIVE}),
        "NegativeBinomialBeta": (counts, {"mean": POSITIVE}),
        "CensoredNormal": (usual, {"kappa": POSITIVE, **positive}),
        "Circular": (usual, {"period": POSITIVE}),
        "MultinomialDirichlet": (one_each, {"concentration": POSITIVE}),
        "NormalIndependent": (usual, {"mean": st.floats(-5, 5), "variance": POSITIVE, **positive}),
    }
    return [
        Call(
            f"distributions.{name}",
            _family(_makers.get(name, getattr(laws, name))),
            clustered(data, least=2 if name == "MultinomialDirichlet" else 1, **numbers),
            exchangeable,
        )
        for name, (data, numbers) in known.items()
    ]


@st.composite
def wanted(draw: DrawFn) -> dict[str, Any]:
    size = draw(st.integers(2, 50))
    return {"num_points": size, "expected_clusters": draw(st.floats(1.01, size - 0.01))}


def _elicited(*, num_points: int, expected_clusters: float) -> float:
    prior = laws.elicit(
        laws.ChineseRestaurantPrior, num_points=num_points, expected_clusters=expected_clusters
    )
    return float(prior.expected_num_clusters(num_points))


def _integrated(*, shape: float, rate: float, num_points: int) -> dict[str, torch.Tensor]:
    prior = laws.GammaConcentration(shape, rate)
    return {
        "of_prior": prior.log_prob(enumerate_partitions(num_points)),
        "number": prior.log_prob_num_clusters(num_points),
    }


GAMMA_PRIOR = st.fixed_dictionaries(
    {"shape": st.floats(0.5, 9), "rate": st.floats(0.5, 9), "num_points": SIZES}
)


def _weights_of_numbers(*, num_points: int, clusters: torch.Tensor) -> dict[str, torch.Tensor]:
    prior = laws.PitmanYorPrior(0.3, 0.7)
    return {
        "log_v": prior.log_v(num_points, clusters),
        "next": prior.log_v(num_points + 1, clusters),
        "more": prior.log_v(num_points + 1, clusters + 1),
    }


WEIGHTED = st.fixed_dictionaries(
    {"num_points": st.integers(1, 9), "clusters": any_labels(4, top=9).map(torch.from_numpy)}
)


def dims(numbers: dict[str, SearchStrategy[Any]]) -> SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"dim": st.integers(1, 3), **numbers})


def _of_prior(make: Callable[..., laws.PyroComponent]) -> Callable[..., torch.Tensor]:
    def found(*, dim: int, **numbers: Any) -> torch.Tensor:
        torch.manual_seed(0)
        return laws.ClusteredData(make(dim, **numbers), torch.tensor([0, 1, 0])).sample()

    return found


@st.composite
def known_pairs(draw: DrawFn) -> dict[str, Any]:
    """Points that are together, two of them apart from others: no contradictions."""
    labels = st.lists(st.integers(-1, 2), min_size=1, max_size=5).map(np.array)
    return {
        "num_draws": draw(st.integers(1, 4)),
        "concentration": draw(POSITIVE),
        "labels": draw(labels),
    }


def _constrained(*, num_draws: int, concentration: Any, labels: Any) -> dict[str, torch.Tensor]:
    known = Constraints.of(labels=labels)
    return _drawn(laws.ConstrainedPartition(laws.ChineseRestaurantPrior(concentration), known), num_draws)


def a_law_of_few(found: dict[str, torch.Tensor], *, num_draws: int, labels: Any, **_: Any) -> None:
    number = found["drawn"].shape[-1]
    a_law(found, num_points=number, num_draws=num_draws)
    known = Constraints.of(labels=labels)
    assert torch.equal(found["every"] > -torch.inf, known.allows(enumerate_partitions(number)))
    assert known.allows(found["drawn"]).all()


CIRCULAR = {"shape": st.floats(1, 9), "rate": POSITIVE}
HEAVY = {**CIRCULAR, "dof": st.floats(1, 9), "mean": st.floats(-5, 5), "prior_scale": POSITIVE}
CALLS = [
    Call("distributions.ChineseRestaurantPrior", _prior(laws.ChineseRestaurantPrior), CRP, a_law),
    Call("distributions.PitmanYorPrior", _prior(laws.PitmanYorPrior), PY, a_law),
    Call("distributions.DirichletMultinomialPrior", _prior(laws.DirichletMultinomialPrior), DM, a_law),
    Call(
        "distributions.FiniteMixturesPrior",
        _prior(lambda weight_concentration: laws.FiniteMixturesPrior(weight_concentration, POISSON)),
        MFM,
        a_law,
    ),
    Call(
        "distributions.DynamicMixturesPrior",
        _prior(lambda concentration: laws.DynamicMixturesPrior(concentration, POISSON)),
        CRP,
        a_law,
    ),
    Call("distributions.ChineseRestaurantProcess", _process(laws.ChineseRestaurantProcess), CRP, a_law),
    Call("distributions.PitmanYorProcess", _process(laws.PitmanYorProcess), PY, a_law),
    Call(
        "distributions.DirichletMultinomialPartition",
        _process(laws.DirichletMultinomialPartition),
        DM,
        a_law,
    ),
    Call(
        "distributions.MixtureOfFiniteMixtures",
        _process(
            lambda weight_concentration, num_points: laws.MixtureOfFiniteMixtures(
                weight_concentration, POISSON, num_points
            )
        ),
        MFM,
        a_law,
    ),
    Call("distributions.ConstrainedPartition", _constrained, known_pairs(), a_law_of_few),
    *_families(),
    Call("distributions.GammaConcentration", _integrated, GAMMA_PRIOR),
    Call("distributions.PartitionPrior", _weights_of_numbers, WEIGHTED),
    Call("distributions.student_t", _of_prior(laws.student_t), dims(HEAVY)),
    Call("distributions.von_mises", _of_prior(laws.von_mises), dims(CIRCULAR)),
    Call("distributions.elicit", _elicited, wanted()),
]
