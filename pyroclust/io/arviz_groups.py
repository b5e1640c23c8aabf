"""The groups of an ArviZ container, from arrays, in the form that the installed ArviZ works with."""

import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any
from unittest import mock

import numpy as np
import xarray as xr

from pyroclust.diagnostics import SimulationBasedCalibration, functionals
from pyroclust.diagnostics.chains.thinning import central_draw

__all__ = [
    "arviz_container",
    "chosen_reference",
    "draws_group",
    "log_likelihood_group",
    "observed_group",
    "point_coordinate",
    "prior_sbc_group",
    "reference_group",
    "sample_stats_group",
    "stamped",
]

_DRAWS = ("chain", "draw")
_lock = Lock()


def point_coordinate(names: Sequence[str] | None, num_points: int) -> dict[str, Any]:
    """Name the points, or number them from 0."""
    if names is not None and len(names) != num_points:
        raise ValueError(f"there are {len(names)} names of points, expected {num_points}, one a point")
    return {"point": np.arange(num_points) if names is None else [str(name) for name in names]}


def chosen_reference(reference: np.ndarray | None, draws: np.ndarray) -> np.ndarray:
    """Return the partition to measure distances from, a central draw where none is given."""
    if reference is None:
        return central_draw(draws)
    labels = np.asarray(reference)
    if labels.shape != draws.shape[-1:]:
        raise ValueError(
            f"reference has shape {labels.shape}, expected {draws.shape[-1:]}, one label a point"
        )
    return labels


def draws_group(
    draws: np.ndarray,
    *,
    reference: np.ndarray,
    points: Mapping[str, Any],
    values: Mapping[str, np.ndarray | None],
    attributes: Mapping[str, Any],
) -> xr.Dataset:
    """Return draws of partitions, and the numbers of each that renaming clusters leaves alone.

    Labels are a coordinate of the draws, not a variable: ``posterior["assignments"]`` and the file have them,
    and summaries and traces pass over them, for the mean of a label says nothing.
    """
    labels = np.asarray(draws, dtype=np.int64)
    found = functionals(labels, reference=reference, num_pairs=0)
    # All are float64: ArviZ cannot draw a constant integer.
    variables: dict[str, Any] = {name: (_DRAWS, array) for name, array in found.items()}
    for name, array in values.items():
        if array is not None:
            own = tuple(f"{name}_dim_{place}" for place in range(np.ndim(array) - 2))
            variables[name] = ((*_DRAWS, *own), np.asarray(array, dtype=np.float64))
    coordinates = {"assignments": ((*_DRAWS, "point"), labels), **points}
    return _numbered(xr.Dataset(variables, coords=coordinates, attrs=dict(attributes)))


def sample_stats_group(
    values: Mapping[str, np.ndarray | None], *, per_chain: Mapping[str, np.ndarray] | None = None
) -> xr.Dataset | None:
    """Return what samplers say of draws, under ArviZ's names; ``None`` where they say nothing."""
    found: dict[str, Any] = {name: (_DRAWS, one) for name, one in values.items() if one is not None}
    found |= {name: (_DRAWS[:1], one) for name, one in (per_chain or {}).items()}
    return _numbered(xr.Dataset(found)) if found else None


def log_likelihood_group(
    model: Any,
    data: Any,
    draws: np.ndarray,
    *,
    points: Mapping[str, Any],
    values: Mapping[str, np.ndarray] | None = None,
) -> xr.Dataset:
    """Return the log-likelihood of each point in each draw, the variable ``data``."""
    import torch

    from pyroclust.io.pointwise import pointwise_log_likelihood

    flat = torch.from_numpy(draws.reshape(-1, draws.shape[-1]))
    known = {name: torch.from_numpy(one).reshape(-1) for name, one in (values or {}).items() if one.ndim == 2}
    pointwise = pointwise_log_likelihood(model, torch.as_tensor(data), flat, values=known).numpy()
    variable = (*_DRAWS, "point"), pointwise.reshape(draws.shape)
    return _numbered(xr.Dataset({"data": variable}, coords=dict(points)))


def reference_group(reference: np.ndarray, *, points: Mapping[str, Any]) -> xr.Dataset:
    """Return the partition that distances are measured from."""
    labels = np.asarray(reference, dtype=np.int64)
    return xr.Dataset({"reference": (("point",), labels)}, coords=dict(points))


def observed_group(data: np.ndarray, *, points: Mapping[str, Any]) -> xr.Dataset:
    """Return the points."""
    return _numbered(xr.Dataset({"data": (("point", "column"), data)}, coords=dict(points)))


def _numbered(group: xr.Dataset) -> xr.Dataset:
    """Return a group whose chains, draws and columns are numbered from 0."""
    names = [name for name in (*_DRAWS, "column") if name in group.sizes]
    return group.assign_coords({name: np.arange(group.sizes[name]) for name in names})


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
    return _numbered(xr.Dataset({name: (_DRAWS, array[None]) for name, array in pits.items()}))


def stamped(groups: Mapping[str, xr.Dataset | None], *, is_ours: bool = True) -> dict[str, xr.Dataset]:
    """Return the groups that there are, with the attributes that ArviZ gives to each of its own."""
    ours = "pyroclust", version("pyroclust")
    about = dict(zip(("creation_library", "creation_library_version"), ours, strict=True))
    if is_ours:
        about |= zip(("inference_library", "inference_library_version"), ours, strict=True)
    about["created_at"] = datetime.now(UTC).isoformat()
    return {name: one.assign_attrs(about) for name, one in groups.items() if one is not None}


def arviz_container(groups: Mapping[str, xr.Dataset]) -> Any:
    """Put datasets into an ArviZ container, whose ``to_netcdf(path, engine="h5netcdf")`` writes them."""
    arviz = _arviz()
    if int(arviz.__version__.split(".")[0]) < 1:
        return arviz.InferenceData(**groups, warn_on_custom_groups=False)
    return xr.DataTree.from_dict(dict(groups))


def _arviz() -> Any:
    """Import ArviZ, whatever the user's folders are like.

    ArviZ 0.23 writes into the user's cache folder when it is imported, to announce its next version once a
    day. Where it cannot write there, it gets another folder for that; the announcement is not shown, since
    users of this library can do nothing about it.
    """
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
