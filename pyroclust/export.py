"""Comparisons as ArviZ data, in memory and as NetCDF files."""

from typing import Any

import numpy as np
import xarray as xr

from pyroclust.comparison import Comparison, PartitionDraws
from pyroclust.guide_alone import GuideAlone

__all__ = ["to_arviz"]


def to_arviz(comparison: Comparison | GuideAlone) -> Any:
    """Put the draws of a comparison into an ArviZ container.

    Groups: ``posterior`` (MCMC: ``assignments``, ``num_clusters``, ``log_joint``), ``guide`` (the same of the
    guide's draws, and their ``log_prob``), ``observed_data`` (``data``, ``location``, ``scale``).
    A guide's draws alone have no MCMC beside them: they are the ``posterior``, without ``log_joint``.
    Labels stay int64, also through ``to_netcdf(path, engine="h5netcdf")``.

    Returns:
        ``arviz.InferenceData`` with ArviZ 0.x, ``xarray.DataTree`` with ArviZ 1.x.

    Shape:
        assignments: ``(chain, draw, point)``; log_joint, log_prob: ``(chain, draw)`` nats; data:
        ``(point, column)``.

    Example:
        >>> from pyroclust import compare
        >>> result = compare("galaxies", guide="filter-nig1d", num_draws=50, mcmc_draws=50)
        >>> dict(to_arviz(result.comparison).posterior["assignments"].sizes)
        {'chain': 4, 'draw': 50, 'point': 82}
    """
    import arviz

    beside = comparison.guide if isinstance(comparison, GuideAlone) else comparison.mcmc
    groups = {
        "posterior": _draws(beside, comparison),
        "guide": _draws(comparison.guide, comparison),
        "observed_data": _observed(comparison),
    }
    if int(arviz.__version__.split(".")[0]) < 1:
        return arviz.InferenceData(**groups, warn_on_custom_groups=False)
    return xr.DataTree.from_dict(groups)


def _draws(draws: PartitionDraws, comparison: Comparison | GuideAlone) -> xr.Dataset:
    labels = np.asarray(draws.assignments, dtype=np.int64)
    variables = {
        "assignments": (("chain", "draw", "point"), labels),
        "num_clusters": (("chain", "draw"), labels.max(-1) + 1),
    }
    for name, values in (("log_joint", draws.log_joint), ("log_prob", draws.log_prob)):
        if values is not None:
            variables[name] = (("chain", "draw"), np.asarray(values, dtype=np.float64))
    coordinates = {"chain": np.arange(labels.shape[0]), "draw": np.arange(labels.shape[1])}
    attributes = {
        "source": comparison.source,
        "sampler": draws.name,
        "model": comparison.model_name,
        "seconds": float(draws.seconds),
    }
    return xr.Dataset(variables, coords=coordinates | _points(comparison), attrs=attributes)


def _observed(comparison: Comparison | GuideAlone) -> xr.Dataset:
    variables: dict[str, Any] = {
        "data": (("point", "column"), comparison.data),
        "location": (("column",), comparison.location),
        "scale": (("column",), comparison.scale),
    }
    if comparison.true_labels is not None:
        variables["label"] = (("point",), np.asarray(comparison.true_labels).astype(str))
    coordinates = _points(comparison) | {"column": list(comparison.columns)}
    return xr.Dataset(variables, coords=coordinates, attrs={"source": comparison.source})


def _points(comparison: Comparison | GuideAlone) -> dict[str, Any]:
    names = comparison.row_names
    return {"point": np.arange(len(comparison.data)) if names is None else list(names)}
