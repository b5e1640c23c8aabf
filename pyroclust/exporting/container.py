"""Groups of arrays as the container that the installed ArviZ works with."""

from collections.abc import Mapping
from typing import Any

import xarray as xr

__all__ = ["arviz_container"]


def arviz_container(groups: Mapping[str, xr.Dataset]) -> Any:
    """Put datasets into an ArviZ container, whose ``to_netcdf(path, engine="h5netcdf")`` writes them.

    Returns:
        ``arviz.InferenceData`` with ArviZ 0.x, ``xarray.DataTree`` with ArviZ 1.x.

    Example:
        >>> posterior = xr.Dataset({"num_clusters": (("chain", "draw"), [[1.0, 2.0]])})
        >>> arviz_container({"posterior": posterior})["posterior"]["num_clusters"].shape
        (1, 2)
    """
    import arviz

    if int(arviz.__version__.split(".")[0]) < 1:
        return arviz.InferenceData(**groups, warn_on_custom_groups=False)
    return xr.DataTree.from_dict(dict(groups))
