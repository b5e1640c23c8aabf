from collections.abc import Callable

import pytest
import torch
from pyro.distributions import Geometric, Poisson

from pyroclust.distributions import (
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    FiniteMixturesPrior,
    GammaConcentration,
    PartitionPrior,
    PitmanYorPrior,
    elicit,
)

POISSON = Poisson(torch.tensor(8.0, dtype=torch.float64))
FAMILIES: dict[str, tuple[Callable[[float], PartitionPrior], tuple[float, float]]] = {
    "concentration": (ChineseRestaurantPrior, (1e-6, 1e6)),
    "rate": (lambda rate: GammaConcentration(2.0, rate), (1e-6, 1e6)),
    "discount": (lambda discount: PitmanYorPrior(discount, 0.2), (0, 1)),
    "concentration_of_two": (lambda concentration: PitmanYorPrior(0.1, concentration), (1e-6, 1e6)),
    "negative_concentration": (lambda concentration: PitmanYorPrior(0.6, concentration), (-0.6, 10.0)),
    "weights": (lambda gamma: DirichletMultinomialPrior(10, gamma), (1e-6, 1e6)),
    "weights_of_random": (lambda gamma: FiniteMixturesPrior(gamma, POISSON), (1e-6, 1e6)),
    "mean_of_components": (lambda mean: FiniteMixturesPrior(1.0, Poisson(mean)), (1e-6, 1e4)),
    "success": (lambda success: FiniteMixturesPrior(1.0, Geometric(success)), (0.01, 1 - 1e-6)),
}


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("wanted", [3.0, 6.5])
def test_prior_has_the_wanted_mean(name: str, wanted: float) -> None:
    family, bounds = FAMILIES[name]
    prior = elicit(family, num_points=200, expected_clusters=wanted, bounds=bounds)
    found = (prior.log_prob_num_clusters(200).exp() * torch.arange(1, 201)).sum()
    # Where a distribution rounds its parameter to single precision, so does the mean.
    assert found.item() == pytest.approx(
        wanted, rel=1e-6 if name in ("mean_of_components", "success") else 1e-9
    )


@pytest.mark.parametrize("name", ["concentration", "discount", "success"])
def test_unreachable_means_name_the_range(name: str) -> None:
    family, bounds = FAMILIES[name]
    with pytest.raises(ValueError, match=r"expected_clusters is 0.5, expected .* to .* at 200 points"):
        elicit(family, num_points=200, expected_clusters=0.5, bounds=bounds)
    with pytest.raises(ValueError, match="expected_clusters is 201, expected"):
        elicit(family, num_points=200, expected_clusters=201, bounds=bounds)


def test_the_range_is_what_the_bounds_reach() -> None:
    with pytest.raises(ValueError, match=r"expected 1.00013 to 10: .* between 1e-06 and 1e\+06"):
        elicit(FAMILIES["weights"][0], num_points=10**6, expected_clusters=10.5)
