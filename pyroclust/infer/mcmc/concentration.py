"""The compiled draw of a Gamma-distributed concentration given the number of clusters."""

import math
from typing import Any

from pyroclust.infer.mcmc.compiling import lean
from pyroclust.infer.mcmc.prior_tables import CONCENTRATION

__all__ = ["draw_concentration"]

_TINY = 1e-300


@lean
def draw_concentration(state: Any, prior: Any, generator: Any) -> None:
    """Draw the concentration of a Chinese restaurant process; nothing happens where it has no Gamma prior.

    References:
        Escobar and West (1995), section 6. https://doi.org/10.1080/01621459.1995.10476550
    """
    if prior.gamma_shape <= 0.0:
        return
    shape = prior.gamma_shape + state.counters[0]
    num_points = float(len(state.slot_of))
    eta = generator.beta(prior.hyper[CONCENTRATION] + 1.0, num_points)
    rate = prior.gamma_rate - math.log(max(eta, _TINY))
    if generator.random() * (shape - 1.0 + num_points * rate) >= shape - 1.0:
        shape -= 1.0
    prior.hyper[CONCENTRATION] = max(generator.standard_gamma(shape) / rate, _TINY)
    prior.filled[0] = 0
