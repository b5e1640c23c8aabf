"""Calibration as the group of an ArviZ container."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from pyroclust.diagnostics import SimulationBasedCalibration
from pyroclust.suggestions import unknown_name

__all__ = ["prior_sbc_group"]

_DRAWS = ("chain", "draw")


def prior_sbc_group(
    calibration: SimulationBasedCalibration | Mapping[str, np.ndarray],
    *,
    seed: int = 0,
    names: Sequence[str] | None = None,
) -> xr.Dataset:
    r"""Return simulation-based calibration as ArviZ's group ``prior_sbc``: PIT values, one a data set.

    .. math:: u_b = \frac{r_b + v_b}{S + 1}, \qquad v_b \sim U(0, 1)

    Ranks r among S draws become exactly uniform numbers if the draws are from the posterior; without the
    random part they would lie on a grid, which tests of uniformity find.

    Args:
        calibration: what :func:`pyroclust.diagnostics.sbc` returns, or PIT values by functional.
        seed: of the random part.
        names: functionals to keep; all by default.

    Shape:
        calibration: ``(B,)`` by functional; output variables: ``(chain, draw)``, one chain of B data sets.

    Raises:
        ValueError: if a name is unknown, values lie outside [0, 1], or functionals have different lengths.

    References:
        Säilynoja, Bürkner and Vehtari (2022), Graphical test for discrete uniformity.
        https://doi.org/10.1007/s11222-022-10090-6

    Example:
        >>> prior_sbc_group({"num_clusters": np.array([0.2, 0.9])})["num_clusters"].dims
        ('chain', 'draw')
    """
    pits = _pits(calibration, seed)
    if not pits:
        raise ValueError("calibration is empty, expected PIT values of at least one functional")
    for name in names or ():
        if name not in pits:
            raise ValueError(unknown_name("functional", name, pits))
    kept = {name: pits[name] for name in names or pits}
    if len({array.shape for array in kept.values()}) != 1 or next(iter(kept.values())).ndim != 1:
        shapes = {name: array.shape for name, array in kept.items()}
        raise ValueError(f"calibration has the shapes {shapes}, expected one (B,) for all functionals")
    for name, array in kept.items():
        if not ((array >= 0) & (array <= 1)).all():
            raise ValueError(
                f"calibration has values of '{name}' from {array.min():g} to {array.max():g}, expected PIT "
                "values in [0, 1]: divide ranks by the number of draws plus one"
            )
    variables = {name: (_DRAWS, array[None]) for name, array in kept.items()}
    size = len(next(iter(kept.values())))
    return xr.Dataset(variables, coords={"chain": np.arange(1), "draw": np.arange(size)})


def _pits(
    calibration: SimulationBasedCalibration | Mapping[str, np.ndarray], seed: int
) -> dict[str, np.ndarray]:
    if not isinstance(calibration, SimulationBasedCalibration):
        return {name: np.asarray(values, dtype=np.float64) for name, values in calibration.items()}
    rng = np.random.default_rng(seed)
    return {
        name: (np.asarray(ranks) + rng.uniform(size=np.shape(ranks))) / (calibration.num_draws + 1)
        for name, ranks in calibration.ranks.items()
    }
