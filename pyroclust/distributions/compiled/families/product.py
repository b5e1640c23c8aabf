"""Products of families over different columns."""

from typing import Any

import numpy as np

from pyroclust.distributions import Product
from pyroclust.distributions.compiled.protocol import Family, compile_family, family_of, join_families

__all__: list[str] = []


@compile_family.register
def _(component: Product, data: np.ndarray, num_slots: int, num_points: int) -> Family:
    columns = np.split(data, np.cumsum([part.dim for part in component.parts])[:-1], axis=1)
    families: list[Any] = [
        family_of(part, np.ascontiguousarray(own), num_slots, num_points)
        for part, own in zip(component.parts, columns, strict=True)
    ]
    return join_families(families, [part.support.is_discrete for part in component.parts])
