"""Models of compiled families, and points for them."""

import torch
from torch import Tensor

from pyroclust.distributions import (
    BernoulliBeta,
    ChineseRestaurantPrior,
    DirichletMultinomialPrior,
    NormalIndependent,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    PitmanYorPrior,
    PoissonGamma,
    Product,
)
from pyroclust.models import Mixture

MODELS = [
    Mixture(ChineseRestaurantPrior(0.7), NormalKnownVariance(2, prior_scale=3.0), name="known"),
    Mixture(PitmanYorPrior(0.3, 0.5), NormalInverseGamma(2, 0.2, shape=2.0, rate=0.4), name="gamma"),
    Mixture(
        DirichletMultinomialPrior(3, 0.5), NormalInverseWishart(3, 0.1, dof=5.0, scale=0.3), name="wishart"
    ),
    Mixture(
        ChineseRestaurantPrior(0.7),
        Product(
            [
                PoissonGamma(1, 2.0, rate=0.5),
                BernoulliBeta(2, 0.6),
                NormalIndependent(0.0, 4.0, shape=2.0, rate=0.3),
            ]
        ),
        name="mixed",
    ),
]


def points_of(model: Mixture, number: int) -> Tensor:
    if model.name == "mixed":
        counts, flags = torch.randint(6, (number, 1)), torch.randint(2, (number, 2))
        return torch.cat([counts, flags, torch.randn(number, 1)], -1).double()
    return 2 * torch.randn(number, *model.event_shape, dtype=torch.float64)
