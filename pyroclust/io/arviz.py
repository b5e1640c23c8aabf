"""Draws of partitions as ArviZ data, in memory and as NetCDF files."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import xarray as xr

from pyroclust.diagnostics import SimulationBasedCalibration
from pyroclust.io.arviz_groups import (
    arviz_container,
    chosen_reference,
    draws_group,
    log_likelihood_group,
    observed_group,
    point_coordinate,
    prior_sbc_group,
    reference_group,
    sample_stats_group,
)
from pyroclust.io.draws import DrawsSource, draws_from
from pyroclust.partitions import Draws

__all__ = ["DrawsOnData", "to_arviz"]


class DrawsOnData(Protocol):
    """A data set and draws of its partition: what :func:`pyroclust.compare` found, as ``comparison``.

    Draws of the guide are its ``guide``, those of MCMC its ``mcmc``, and refined ones the ``draws`` of its
    ``refined``, where there are some.
    """

    @property
    def source(self) -> str:
        """Name of the data set."""

    @property
    def model_name(self) -> str:
        """Name of the model."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the D columns."""

    @property
    def data(self) -> np.ndarray:
        """The points, ``(N, D)``."""

    @property
    def location(self) -> np.ndarray:
        """Subtracted from each column, ``(D,)``."""

    @property
    def scale(self) -> np.ndarray:
        """Each column was divided by it, ``(D,)``."""

    @property
    def true_labels(self) -> np.ndarray | None:
        """Known labels, ``(N,)``."""

    @property
    def row_names(self) -> tuple[str, ...] | None:
        """Names of the points."""


def to_arviz(
    source: DrawsOnData | DrawsSource,
    *,
    model: Any = None,
    reference: np.ndarray | None = None,
    calibration: SimulationBasedCalibration | Mapping[str, np.ndarray] | None = None,
) -> Any:
    """Put draws of partitions into an ArviZ container.

    Groups, each where there is something to put in:

    * ``posterior``: of MCMC, or of the one source: ``num_clusters``, ``entropy``, ``largest_share``,
      ``distance_to_reference`` and ``log_joint``, whose summaries, traces and R-hat make sense; and
      ``assignments`` int64, a coordinate, so that ``az.summary`` passes over labels, whose mean says nothing.
    * ``guide``: the same of the guide's draws, with ``log_prob``. ``refined``: of the refined ones.
    * ``sample_stats``: ``lp``, the log joint, and ``log_prob``.
    * ``log_likelihood``: ``data``, of each point given the others and the partition, for ``az.loo``; with
      ``model`` only.
    * ``observed_data``: ``data``, ``location``, ``scale``, ``label``. ``constant_data``: ``reference``.
    * ``prior_sbc``: PIT values of ``calibration``, for ``az.plot_ecdf_pit`` of ArviZ 1.x.

    Labels and names stay as they are through ``to_netcdf(path, engine="h5netcdf")``.

    Args:
        source: what :func:`pyroclust.compare` returned, or draws: a file, an array, a tensor, what a kernel's
            ``run`` returned, a finished ``pyro.infer.MCMC`` (:func:`~pyroclust.io.pyro_results.from_pyro`
            keeps its other sites too). A weighted sample has to be resampled first.
        model: mixture of a conjugate family, to evaluate points.
        reference: partition to measure distances from; a central draw by default.
        calibration: of the sampler, from :func:`pyroclust.diagnostics.sbc`, or PIT values by functional.

    Returns:
        ``arviz.InferenceData`` with ArviZ 0.x, ``xarray.DataTree`` with ArviZ 1.x.

    Shape:
        assignments: ``(chain, draw, point)``; functionals: ``(chain, draw)``, log densities in nats; data:
        ``(point, column)``.

    Raises:
        ValueError: if there is a model and no data, the model cannot evaluate points, or shapes do not fit.

    Example:
        >>> from pyroclust import compare
        >>> result = compare("galaxies", guide="filter-nig1d", num_draws=50, mcmc_draws=50)
        >>> dict(to_arviz(result).posterior["assignments"].sizes)
        {'chain': 4, 'draw': 50, 'point': 82}
    """
    # What `compare` returns holds the draws as its comparison.
    drawn = _drawn(getattr(source, "comparison", source))
    draws = drawn.posterior.assignments
    reference = chosen_reference(reference, draws)
    points = point_coordinate(drawn.point_names, draws.shape[-1])
    found: dict[str, xr.Dataset | None] = {
        "posterior": _group(drawn.posterior, drawn, reference, points),
        "guide": None if drawn.guide is None else _group(drawn.guide, drawn, reference, points),
        "refined": None if drawn.refined is None else _group(drawn.refined, drawn, reference, points),
        "sample_stats": sample_stats_group(
            shape=draws.shape[:2], log_joint=drawn.posterior.log_joint, log_prob=drawn.posterior.log_prob
        ),
        "log_likelihood": None if model is None else _log_likelihood(model, drawn.on_data, draws, points),
        "observed_data": None if drawn.on_data is None else _observed(drawn.on_data, points),
        "constant_data": reference_group(reference, points=points),
        "prior_sbc": None if calibration is None else prior_sbc_group(calibration),
    }
    return arviz_container({name: group for name, group in found.items() if group is not None})


@dataclass(frozen=True)
class _Drawn:
    """Draws with one face, whatever they come from."""

    posterior: Draws
    guide: Draws | None
    attributes: Mapping[str, Any]
    point_names: Sequence[str] | None
    on_data: DrawsOnData | None
    refined: Draws | None = None


def _drawn(source: Any) -> _Drawn:
    guide, mcmc = getattr(source, "guide", None), getattr(source, "mcmc", None)
    drawn = guide if mcmc is None else mcmc
    if drawn is not None and hasattr(source, "data"):
        attributes = {"source": source.source, "model": source.model_name}
        refined = getattr(source, "refined", None)
        refined_draws = None if refined is None else refined.draws
        return _Drawn(drawn, guide, attributes, source.row_names, source, refined_draws)
    found = draws_from(source)
    attributes = {"source": found.name} | ({"notes": list(found.notes)} if found.notes else {})
    return _Drawn(found, None, attributes, found.point_names, None)


def _group(draws: Draws, drawn: _Drawn, reference: np.ndarray, points: Mapping[str, Any]) -> xr.Dataset:
    attributes = {**drawn.attributes, "sampler": draws.name, "seconds": float(draws.seconds)}
    values = {"log_joint": draws.log_joint, "log_prob": draws.log_prob, **draws.parameters}
    return draws_group(
        draws.assignments, reference=reference, points=points, values=values, attributes=attributes
    )


def _observed(source: DrawsOnData, points: Mapping[str, Any]) -> xr.Dataset:
    return observed_group(
        source.data,
        points=points,
        columns=source.columns,
        per_column={"location": source.location, "scale": source.scale},
        labels=source.true_labels,
        attributes={"source": source.source} | _model_of(source) | _kinds_of(source),
    )


def _model_of(source: DrawsOnData) -> dict[str, str]:
    """Return what builds the model again, as text."""
    described = getattr(source, "model_description", None)
    return {} if described is None else {"model": json.dumps(described)}


def _kinds_of(source: DrawsOnData) -> dict[str, str]:
    """Return kinds and categories of the columns, as text; nothing where all are numbers."""
    kinds, levels = getattr(source, "kinds", ()), getattr(source, "levels", ())
    if not any(levels) and len(set(kinds)) < 2:
        return {}
    return {"kinds": json.dumps(kinds), "levels": json.dumps(levels)}


def _log_likelihood(
    model: Any, source: DrawsOnData | None, draws: np.ndarray, points: Mapping[str, Any]
) -> xr.Dataset:
    if source is None:
        raise ValueError("model is given, but draws alone come without the points; leave model out")
    import torch

    from pyroclust.io.pointwise import pointwise_log_likelihood

    flat = torch.from_numpy(draws.reshape(-1, draws.shape[-1]))
    pointwise = pointwise_log_likelihood(model, torch.as_tensor(source.data), flat)
    return log_likelihood_group(pointwise.numpy().reshape(draws.shape), points=points)
