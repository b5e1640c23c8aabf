"""Draws of partitions as ArviZ data, in memory and as NetCDF files."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from pyroclust.diagnostics import SimulationBasedCalibration
from pyroclust.io.arviz_groups import (
    DrawsOfGroup,
    arviz_container,
    groups_of_draws,
    prior_sbc_group,
    stamped,
)
from pyroclust.io.draws import draws_from
from pyroclust.partitions import Draws
from pyroclust.partitions.raw_labels import DrawsLike, raw_labels
from pyroclust.text import visible

__all__ = ["groups_of", "to_arviz"]


def to_arviz(
    source: DrawsLike | Any,
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
      ``second``: of the other source of :func:`pyroclust.diagnose`.
    * ``sample_stats``: ``lp``, the log joint, and ``log_prob``.
    * ``log_likelihood``: ``data``, of each point given the others and the partition, for ``az.loo``; with
      ``model`` only.
    * ``observed_data``: ``data``, ``location``, ``scale``, ``label``. ``constant_data``: ``reference``.
    * ``prior_sbc``: PIT values of ``calibration``, for ``az.plot_ecdf_pit`` of ArviZ 1.x.

    Every group has ArviZ's attributes: ``created_at``, ``creation_library`` and, unless the draws came from
    elsewhere, ``inference_library``, each with its version.

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
    return arviz_container(groups_of(source, model=model, reference=reference, calibration=calibration))


def groups_of(
    source: DrawsLike | Any,
    *,
    model: Any = None,
    reference: np.ndarray | None = None,
    calibration: SimulationBasedCalibration | Mapping[str, np.ndarray] | None = None,
) -> dict[str, xr.Dataset]:
    """Return what :func:`to_arviz` puts into a container, which files can do without."""
    analysis: Any = source if isinstance(getattr(source, "draws", None), Mapping) else None
    if analysis is not None:
        draws: dict[str, Draws] = dict(analysis.draws)
    else:
        draws = {"posterior": draws_from(source)}  # type: ignore[arg-type]
        # Weighted draws are refused.
        raw_labels(draws["posterior"].name, draws["posterior"])
    main = draws.get("mcmc") or draws.get("guide") or next(iter(draws.values()))
    data, about = None if analysis is None else analysis.data, _about(main, analysis)
    others = ("guide", "proposals", "refined", "weighted", "second")
    every = {
        name: DrawsOfGroup(
            one.assignments,
            {"log_joint": one.log_joint, "log_prob": one.log_prob, **one.parameters},
            {**about, "sampler": one.name, "seconds": float(one.seconds)},
        )
        for name, one in {
            "posterior": main,
            **{name: draws[name] for name in others if name in draws},
        }.items()
    }
    found = groups_of_draws(
        every,
        stats={"lp": main.log_joint, "log_prob": main.log_prob},
        reference=reference,
        point_names=main.point_names if data is None else data.table.row_names,
        data=None if data is None else data.values,
        row_weights=None if data is None else data.table.weights,
        model=model,
    )
    if found["observed_data"] is not None:
        found["observed_data"] = _observed(analysis, found["observed_data"])
    found["prior_sbc"] = None if calibration is None else prior_sbc_group(calibration)
    # Files, arrays and what was diagnosed are draws of any software.
    is_ours = isinstance(source, Draws) if analysis is None else analysis.command != "diagnose"
    return stamped(found, is_ours=is_ours)


def _about(draws: Draws, analysis: Any) -> dict[str, Any]:
    if analysis is None:
        return {"source": draws.name} | ({"notes": list(draws.notes)} if draws.notes else {})
    found = {"source": analysis.name}
    return found if analysis.model is None else found | {"model": analysis.model.name}


def _observed(analysis: Any, group: xr.Dataset) -> xr.Dataset:
    data, described = analysis.data, None if analysis.model is None else analysis.model.description
    table, attributes = data.clustered, {"source": data.table.name}
    # What builds the model again, and kinds and categories where not all columns are numbers.
    attributes |= {} if described is None else {"model": json.dumps(described)}
    names = [name for name in ("units", "codes") if any(getattr(table, name))]
    if any(table.levels) or len(set(table.kinds)) > 1:
        names += ["kinds", "levels", "parts"]
    attributes |= {name: json.dumps(getattr(table, name)) for name in names}
    found = group.assign_coords(column=list(data.points.columns))
    found["location"], found["scale"] = ("column", data.points.location), ("column", data.points.scale)
    if data.table.labels is not None:
        # HDF5 has no NUL.
        texts = ["" if one is None else visible(str(one)) for one in data.table.labels]
        found["label"] = "point", np.array(texts)
    if data.table.weights is not None:
        found["weight"] = "point", data.table.weights
    return found.assign_attrs(attributes)
