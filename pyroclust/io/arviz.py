"""Draws of partitions as ArviZ data, in memory and as NetCDF files."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
from pyroclust.results.comparison import Comparison, PartitionDraws
from pyroclust.results.guide_alone import GuideAlone

if TYPE_CHECKING:
    # It brings torch, which a container of draws does without.
    from pyroclust.io.draws import DrawsFile

__all__ = ["to_arviz"]


def to_arviz(
    source: "Comparison | GuideAlone | DrawsFile",
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
    * ``guide``: the same of the guide's draws, with ``log_prob``.
    * ``sample_stats``: ``lp``, the log joint, and ``log_prob``.
    * ``log_likelihood``: ``data``, of each point given the others and the partition, for ``az.loo``; with
      ``model`` only.
    * ``observed_data``: ``data``, ``location``, ``scale``, ``label``. ``constant_data``: ``reference``.
    * ``prior_sbc``: PIT values of ``calibration``, for ``az.plot_ecdf_pit`` of ArviZ 1.x.

    Labels and names stay as they are through ``to_netcdf(path, engine="h5netcdf")``.

    Args:
        source: a comparison, a guide's draws alone, or draws that were read from a file.
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
        >>> dict(to_arviz(result.comparison).posterior["assignments"].sizes)
        {'chain': 4, 'draw': 50, 'point': 82}
    """
    drawn = _drawn(source)
    draws = drawn.posterior.assignments
    reference = chosen_reference(reference, draws)
    points = point_coordinate(drawn.point_names, draws.shape[-1])
    found: dict[str, xr.Dataset | None] = {
        "posterior": _group(drawn.posterior, drawn, reference, points),
        "guide": None if drawn.guide is None else _group(drawn.guide, drawn, reference, points),
        "sample_stats": sample_stats_group(
            shape=draws.shape[:2], log_joint=drawn.posterior.log_joint, log_prob=drawn.posterior.log_prob
        ),
        "log_likelihood": None if model is None else _log_likelihood(model, source, draws, points),
        "observed_data": None if drawn.points is None else _observed(drawn.points, points),
        "constant_data": reference_group(reference, points=points),
        "prior_sbc": None if calibration is None else prior_sbc_group(calibration),
    }
    return arviz_container({name: group for name, group in found.items() if group is not None})


@dataclass(frozen=True)
class _Drawn:
    """Draws of any source as arrays with chains first."""

    posterior: PartitionDraws
    guide: PartitionDraws | None
    attributes: Mapping[str, Any]
    point_names: tuple[str, ...] | None
    points: Comparison | GuideAlone | None


def _drawn(source: "Comparison | GuideAlone | DrawsFile") -> _Drawn:
    if isinstance(source, Comparison | GuideAlone):
        posterior = source.mcmc if isinstance(source, Comparison) else source.guide
        attributes = {"source": source.source, "model": source.model_name}
        return _Drawn(posterior, source.guide, attributes, source.row_names, source)
    draws = PartitionDraws(
        source.name, source.assignments, source.log_joint, np.nan, log_prob=source.log_prob
    )
    return _Drawn(draws, None, {"source": source.name}, source.point_names, None)


def _group(
    draws: PartitionDraws, drawn: _Drawn, reference: np.ndarray, points: Mapping[str, Any]
) -> xr.Dataset:
    attributes = {**drawn.attributes, "sampler": draws.name, "seconds": float(draws.seconds)}
    values = {"log_joint": draws.log_joint, "log_prob": draws.log_prob}
    return draws_group(
        draws.assignments, reference=reference, points=points, values=values, attributes=attributes
    )


def _observed(source: Comparison | GuideAlone, points: Mapping[str, Any]) -> xr.Dataset:
    return observed_group(
        source.data,
        points=points,
        columns=source.columns,
        per_column={"location": source.location, "scale": source.scale},
        labels=source.true_labels,
        attributes={"source": source.source},
    )


def _log_likelihood(
    model: Any, source: "Comparison | GuideAlone | DrawsFile", draws: np.ndarray, points: Mapping[str, Any]
) -> xr.Dataset:
    import torch

    from pyroclust.io.pointwise import pointwise_log_likelihood

    if not isinstance(source, Comparison | GuideAlone):
        raise ValueError("model is given, but draws from a file come without the points; leave model out")
    flat = torch.from_numpy(draws.reshape(-1, draws.shape[-1]))
    pointwise = pointwise_log_likelihood(model, torch.as_tensor(source.data), flat)
    return log_likelihood_group(pointwise.numpy().reshape(draws.shape), points=points)
