"""The groups of an ArviZ container, from arrays, in the form that the installed ArviZ works with."""

import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import xarray as xr

from pyroclust.diagnostics import SimulationBasedCalibration, functionals
from pyroclust.diagnostics.chains.thinning import central_draw

__all__ = ["DrawsOfGroup", "arviz_container", "groups_of_draws", "prior_sbc_group", "stamped"]

_DRAWS = ("chain", "draw")
_lock = Lock()


class DrawsOfGroup(NamedTuple):
    """Draws of partitions, the numbers of each draw, and what is said of them all."""

    labels: np.ndarray
    values: Mapping[str, np.ndarray | None]
    attributes: Mapping[str, Any]


def groups_of_draws(
    draws: Mapping[str, DrawsOfGroup],
    *,
    stats: Mapping[str, np.ndarray | None],
    reference: np.ndarray | None = None,
    point_names: Sequence[str] | None = None,
    data: np.ndarray | None = None,
    row_weights: np.ndarray | None = None,
    model: Any = None,
) -> dict[str, xr.Dataset | None]:
    """Return draws by the names of their groups, and the groups that go with ``posterior``."""
    labels, values, _ = draws["posterior"]
    size = labels.shape[-1]
    if point_names is not None and len(point_names) != size:
        raise ValueError(f"there are {len(point_names)} names of points, expected {size}, one a point")
    if model is not None and data is None:
        raise ValueError("model is given without data, expected the points that it is to evaluate")
    reference = central_draw(labels, row_weights=row_weights) if reference is None else np.asarray(reference)
    if reference.shape != (size,):
        raise ValueError(f"reference has shape {reference.shape}, expected ({size},), one label a point")
    points = {"point": np.arange(size) if point_names is None else [str(name) for name in point_names]}
    found: dict[str, Any] = {name: _draws_group(one, reference, row_weights) for name, one in draws.items()}
    kept = {name: (_DRAWS[: np.ndim(one)], one) for name, one in stats.items() if one is not None}
    found |= {
        "sample_stats": xr.Dataset(kept) if kept else None,
        "log_likelihood": None,
        "observed_data": None,
    }
    if model is not None:
        pointwise = {"data": ((*_DRAWS, "point"), _log_likelihood(model, data, labels, values))}
        found["log_likelihood"] = xr.Dataset(pointwise)
    if data is not None:
        found["observed_data"] = xr.Dataset({"data": (("point", "column"), data)})
    found["constant_data"] = xr.Dataset({"reference": (("point",), reference.astype(np.int64))})
    for name, group in found.items():
        if group is not None and "point" in group.sizes:
            found[name] = group.assign_coords(points)
    return found


def _draws_group(draws: DrawsOfGroup, reference: np.ndarray, row_weights: np.ndarray | None) -> xr.Dataset:
    labels = np.asarray(draws.labels, dtype=np.int64)
    found = functionals(labels, reference=reference, num_pairs=0, row_weights=row_weights)
    # All are float64: ArviZ cannot draw a constant integer.
    variables: dict[str, Any] = {name: (_DRAWS, array) for name, array in found.items()}
    for name, array in draws.values.items():
        if array is not None:
            own = tuple(f"{name}_dim_{place}" for place in range(np.ndim(array) - 2))
            variables[name] = ((*_DRAWS, *own), np.asarray(array, dtype=np.float64))
    # Summaries and traces pass over a coordinate: the mean of a label says nothing.
    coordinates = {"assignments": ((*_DRAWS, "point"), labels)}
    return xr.Dataset(variables, coords=coordinates, attrs=dict(draws.attributes))


def _log_likelihood(
    model: Any, data: Any, labels: np.ndarray, values: Mapping[str, np.ndarray | None]
) -> np.ndarray:
    import torch

    from pyroclust.io.pointwise import pointwise_log_likelihood

    flat = torch.from_numpy(labels.reshape(-1, labels.shape[-1]))
    known = {
        name: torch.from_numpy(one).reshape(-1)
        for name, one in values.items()
        if one is not None and one.ndim == 2
    }
    found = pointwise_log_likelihood(model, torch.as_tensor(data), flat, values=known)
    return found.numpy().reshape(labels.shape)


def prior_sbc_group(calibration: SimulationBasedCalibration | Mapping[str, np.ndarray]) -> xr.Dataset:
    r"""Return simulation-based calibration as ArviZ's group ``prior_sbc``: PIT values, one a data set.

    .. math:: u_b = \frac{r_b + v_b}{S + 1}, \qquad v_b \sim U(0, 1)

    Ranks r among S draws become exactly uniform numbers if the draws are from the posterior; without the
    random part they would lie on a grid, which tests of uniformity find.

    References:
        Säilynoja, Bürkner and Vehtari (2022), Graphical test for discrete uniformity.
        https://doi.org/10.1007/s11222-022-10090-6
    """
    if isinstance(calibration, SimulationBasedCalibration):
        rng, number = np.random.default_rng(0), calibration.num_draws + 1
        pits = {
            name: (np.asarray(ranks) + rng.uniform(size=np.shape(ranks))) / number
            for name, ranks in calibration.ranks.items()
        }
    else:
        pits = {name: np.asarray(values, dtype=np.float64) for name, values in calibration.items()}
    if not pits:
        raise ValueError("calibration is empty, expected PIT values of at least one functional")
    shapes = {name: array.shape for name, array in pits.items()}
    if len({*shapes.values()}) != 1 or any(len(shape) != 1 for shape in shapes.values()):
        raise ValueError(f"calibration has the shapes {shapes}, expected one (B,) for all functionals")
    for name, array in pits.items():
        if not ((array >= 0) & (array <= 1)).all():
            raise ValueError(
                f"calibration has values of '{name}' from {array.min():g} to {array.max():g}, expected PIT "
                "values in [0, 1]: divide ranks by the number of draws plus one"
            )
    return xr.Dataset({name: (_DRAWS, array[None]) for name, array in pits.items()})


def stamped(groups: Mapping[str, xr.Dataset | None], *, is_ours: bool = True) -> dict[str, xr.Dataset]:
    """Return the groups that there are, numbered from 0, with the attributes that ArviZ gives to its own."""
    ours = "pyroclust", version("pyroclust")
    about = dict(zip(("creation_library", "creation_library_version"), ours, strict=True))
    if is_ours:
        about |= zip(("inference_library", "inference_library_version"), ours, strict=True)
    about["created_at"] = datetime.now(UTC).isoformat()
    return {name: _numbered(one).assign_attrs(about) for name, one in groups.items() if one is not None}


def _numbered(group: xr.Dataset) -> xr.Dataset:
    names = {*_DRAWS, "column"} & {*group.sizes} - {*group.coords}
    return group.assign_coords({name: np.arange(group.sizes[name]) for name in sorted(names, key=str)})


def arviz_container(groups: Mapping[str, xr.Dataset]) -> Any:
    """Put datasets into an ArviZ container, whose ``to_netcdf(path, engine="h5netcdf")`` writes them."""
    arviz = _arviz()
    if int(arviz.__version__.split(".")[0]) < 1:
        return arviz.InferenceData(**groups, warn_on_custom_groups=False)
    return xr.DataTree.from_dict(dict(groups))


def _arviz() -> Any:
    """Import ArviZ, of which 0.23 writes into the user's cache folder to announce its next version."""
    with _lock, warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        try:
            import arviz
        except OSError:
            with (
                TemporaryDirectory() as folder,
                mock.patch("platformdirs.user_cache_dir", return_value=folder),
            ):
                import arviz
    return arviz
