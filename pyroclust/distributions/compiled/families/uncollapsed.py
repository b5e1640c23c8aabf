"""The compiled family of components whose parameters do not integrate out: it knows nothing of the data."""

import numpy as np

from pyroclust.distributions import PyroComponent
from pyroclust.distributions.compiled.protocol import Family, compile_family, join_families

__all__: list[str] = []


@compile_family.register
def _(component: PyroComponent, data: np.ndarray, num_slots: int, num_points: int) -> Family:
    """No likelihood: compiled moves beside an uncollapsed sampler may update the prior alone."""
    return join_families([], [])
