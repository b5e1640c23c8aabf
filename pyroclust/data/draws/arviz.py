"""Draws of partitions as ArviZ data, in the form that the installed ArviZ works with."""

import json
import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import xarray as xr

from pyroclust.core.messages import visible
from pyroclust.data.draws.reading import draws_from
from pyroclust.diagnostics import SimulationBasedCalibration, functionals
from pyroclust.diagnostics.differences import central_draw
from pyroclust.partitions import Draws
from pyroclust.partitions.raw_labels import DrawsLike, raw_labels

if TYPE_CHECKING:
    from pyro.infer import MCMC
    from torch import Tensor

_DRAWS = ("chain", "draw")
_lock = Lock()


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
      ``distance_to_reference`` and ``log_joint``; and ``assignments`` int64, a coordinate, so that
      ``az.summary`` passes over labels, whose mean says nothing.
    * ``guide``, ``refined``, and ``second`` of :func:`pyroclust.diagnose`: the same of other draws.
    * ``sample_stats``: ``lp``, the log joint, and ``log_prob``.
    * ``log_likelihood``: ``data``, of each point given the others and the partition, for ``az.loo``; with
      ``model`` only.
    * ``observed_data``: ``data``, ``location``, ``scale``, ``label``. ``constant_data``: ``reference``.
    * ``prior_sbc``: PIT values of ``calibration``, for ``az.plot_ecdf_pit`` of ArviZ 1.x.

    Every group has ArviZ's attributes: ``created_at``, ``creation_library`` and, unless the draws came from
    elsewhere, ``inference_library``. Write it by ``to_netcdf(path, engine="h5netcdf")``.

    Args:
        source: an analysis, or draws of equal weight: a file, an array, a tensor, what a kernel's ``run``
            returned, a finished ``pyro.infer.MCMC`` (:func:`from_pyro` keeps its other sites too).
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
    data = None if analysis is None else analysis.data
    further = ("guide", "proposals", "refined", "weighted", "second")
    groups = groups_of_draws(
        {"posterior": main} | {name: draws[name] for name in further if name in draws},
        _about(main, analysis),
        reference=reference,
        point_names=main.point_names if data is None else data.table.row_names,
        data=None if data is None else data.values,
        row_weights=None if data is None else data.table.weights,
        model=model,
    )
    if data is not None:
        groups["observed_data"] = _observed(analysis, groups["observed_data"])
    if calibration is not None:
        groups["prior_sbc"] = prior_sbc_group(calibration)
    # Files, arrays and what was diagnosed are draws of any software.
    is_ours = isinstance(source, Draws) if analysis is None else analysis.command != "diagnose"
    return stamped(groups, is_ours=is_ours)


def _about(draws: Draws, analysis: Any) -> dict[str, Any]:
    if analysis is None:
        return {"source": draws.name} | ({"notes": list(draws.notes)} if draws.notes else {})
    attributes = {"source": analysis.name}
    return attributes if analysis.model is None else attributes | {"model": analysis.model.name}


def _observed(analysis: Any, group: xr.Dataset) -> xr.Dataset:
    data, described = analysis.data, None if analysis.model is None else analysis.model.description
    table, attributes = data.clustered, {"source": data.table.name}
    # What builds the model again, and kinds and categories where not all columns are numbers.
    attributes |= {} if described is None else {"model": json.dumps(described)}
    names = [name for name in ("units", "codes", "arguments") if any(getattr(table, name))]
    if not table.are_numbers:
        names += ["kinds", "levels", "parts"]
    attributes |= {name: json.dumps(getattr(table, name)) for name in names}
    observed = group.assign_coords(column=list(data.points.columns))
    observed["location"], observed["scale"] = ("column", data.points.location), ("column", data.points.scale)
    if data.table.labels is not None:
        # HDF5 has no NUL.
        texts = ["" if one is None else visible(str(one)) for one in data.table.labels]
        observed["label"] = "point", np.array(texts)
    if data.table.weights is not None:
        observed["weight"] = "point", data.table.weights
    return observed.assign_attrs(attributes)


def groups_of_draws(
    draws: Mapping[str, Draws],
    attributes: Mapping[str, Any],
    *,
    reference: np.ndarray | None = None,
    point_names: Sequence[str] | None = None,
    data: np.ndarray | None = None,
    row_weights: np.ndarray | None = None,
    model: Any = None,
) -> dict[str, xr.Dataset]:
    """Return draws by the names of their groups, and the groups that go with ``posterior``."""
    main = draws["posterior"]
    labels, size = main.assignments, main.num_points
    if point_names is not None and len(point_names) != size:
        raise ValueError(f"there are {len(point_names)} names of points, expected {size}, one a point")
    if model is not None and data is None:
        raise ValueError("model is given without data, expected the points that it is to evaluate")
    reference = central_draw(labels, row_weights=row_weights) if reference is None else np.asarray(reference)
    if reference.shape != (size,):
        raise ValueError(f"reference has shape {reference.shape}, expected ({size},), one label a point")
    points = {"point": np.arange(size) if point_names is None else [str(name) for name in point_names]}
    groups = {name: _draws_group(one, attributes, reference, row_weights) for name, one in draws.items()}
    stats = {"lp": main.log_joint, "log_prob": main.log_prob}
    if known_stats := {name: (_DRAWS, one) for name, one in stats.items() if one is not None}:
        groups["sample_stats"] = xr.Dataset(known_stats)
    if model is not None:
        pointwise = {"data": ((*_DRAWS, "point"), _log_likelihood(model, data, main))}
        groups["log_likelihood"] = xr.Dataset(pointwise)
    if data is not None:
        groups["observed_data"] = xr.Dataset({"data": (("point", "column"), data)})
    groups["constant_data"] = xr.Dataset({"reference": (("point",), reference.astype(np.int64))})
    for name, group in groups.items():
        if "point" in group.sizes:
            groups[name] = group.assign_coords(points)
    return groups


def _draws_group(
    draws: Draws, attributes: Mapping[str, Any], reference: np.ndarray, row_weights: np.ndarray | None
) -> xr.Dataset:
    labels = draws.assignments
    of_partitions = functionals(labels, reference=reference, num_pairs=0, row_weights=row_weights)
    # All are float64: ArviZ cannot draw a constant integer.
    variables: dict[str, Any] = {name: (_DRAWS, array) for name, array in of_partitions.items()}
    for name, array in _values(draws).items():
        dims = tuple(f"{name}_dim_{place}" for place in range(np.ndim(array) - 2))
        variables[name] = ((*_DRAWS, *dims), np.asarray(array, dtype=np.float64))
    # Summaries and traces pass over a coordinate: the mean of a label says nothing.
    coordinates = {"assignments": ((*_DRAWS, "point"), labels)}
    about = {**attributes, "sampler": draws.name, "seconds": float(draws.seconds)}
    return xr.Dataset(variables, coords=coordinates, attrs=about)


def _values(draws: Draws) -> dict[str, np.ndarray]:
    """Return all numbers that are known of each draw."""
    numbers = {"log_joint": draws.log_joint, "log_prob": draws.log_prob, **draws.parameters}
    return {name: one for name, one in numbers.items() if one is not None}


def _log_likelihood(model: Any, data: Any, draws: Draws) -> np.ndarray:
    import torch

    from pyroclust.data.draws.pointwise import pointwise_log_likelihood

    known = {name: torch.from_numpy(one).reshape(-1) for name, one in _values(draws).items() if one.ndim == 2}
    flat = torch.from_numpy(draws.flat)
    densities = pointwise_log_likelihood(model, torch.as_tensor(data), flat, values=known)
    return densities.numpy().reshape(draws.assignments.shape)


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


def stamped(groups: Mapping[str, xr.Dataset], *, is_ours: bool = True) -> dict[str, xr.Dataset]:
    """Return the groups that there are, numbered from 0, with the attributes that ArviZ gives to its own."""
    ours = "pyroclust", version("pyroclust")
    attributes = dict(zip(("creation_library", "creation_library_version"), ours, strict=True))
    if is_ours:
        attributes |= zip(("inference_library", "inference_library_version"), ours, strict=True)
    attributes["created_at"] = datetime.now(UTC).isoformat()
    return {name: _numbered(one).assign_attrs(attributes) for name, one in groups.items()}


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


_OURS = ("assignments", "num_clusters")


def from_pyro(
    mcmc: "MCMC",
    *,
    data: "Tensor | np.ndarray | None" = None,
    model: Any = None,
    reference: np.ndarray | None = None,
    point_names: Sequence[str] | None = None,
) -> Any:
    """Put a finished run of ``pyro.infer.MCMC`` with a kernel over partitions into an ArviZ container.

    Groups: those of :func:`to_arviz`, with every other site as float64 in ``posterior``, and ``diverging``
    and the kernel's numbers of whole chains, such as ``splits_accepted``, in ``sample_stats``.

    Args:
        mcmc: a run with a kernel that has the site ``"assignments"``.
        data: the points that it ran on.
        model: mixture of a conjugate family, to evaluate points; its random hyperparameters are taken from
            the draws.
        reference: partition to measure distances from; a central draw by default.
        point_names: names of the points.

    Shape:
        data: ``(N, D)``; reference: ``(N,)``.

    Raises:
        ValueError: if nothing was run, the kernel has no partitions, ``data`` has other points, or there is a
            model and no data.

    Example:
        >>> import torch
        >>> from pyro.infer import MCMC
        >>> from pyroclust.infer.mcmc import CollapsedGibbs
        >>> from pyroclust.models import gaussian2d
        >>> data = torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]])
        >>> mcmc = MCMC(CollapsedGibbs(gaussian2d()), num_samples=4, warmup_steps=1, disable_progbar=True)
        >>> mcmc.run(data)
        >>> tree = from_pyro(mcmc, data=data)
        >>> tree["posterior"]["assignments"].dtype, tree["posterior"]["log_joint"].dtype
        (dtype('int64'), dtype('float64'))
    """
    import torch

    from pyroclust.infer.mcmc import assignments

    labels = assignments(mcmc).numpy()
    data = None if data is None else torch.as_tensor(data)
    num_points = labels.shape[-1]
    if data is not None and (data.dim() != 2 or len(data) != num_points):
        raise ValueError(f"data has shape {tuple(data.shape)}, expected ({num_points}, D) as the draws")
    sites = {
        name: values.double().numpy()
        for name, values in mcmc.get_samples(group_by_chain=True).items()
        if name not in _OURS
    }
    draws = Draws(
        name=type(mcmc.kernel).__name__,
        assignments=labels,
        log_joint=sites.pop("log_joint", None),
        parameters=sites,
    )
    groups = groups_of_draws(
        {"posterior": draws},
        {"warmup": mcmc.warmup_steps},
        reference=reference,
        point_names=point_names,
        data=None if data is None else data.numpy(),
        model=model,
    )
    stats = _sample_stats(mcmc, labels.shape[:2])
    groups["sample_stats"] = groups.get("sample_stats", xr.Dataset()).assign(stats)
    return arviz_container(stamped(groups))


def _sample_stats(mcmc: "MCMC", shape: tuple[int, int]) -> dict[str, tuple[Sequence[str], np.ndarray]]:
    chains = [mcmc._diagnostics[chain] or {} for chain in range(shape[0])]
    diverging = np.zeros(shape, dtype=bool)
    for row, diagnostics in zip(diverging, chains, strict=True):
        row[np.asarray(diagnostics.get("divergences", []), dtype=np.int64)] = True
    names = sorted({name for diagnostics in chains for name in diagnostics} - {"divergences"})
    per_chain = {
        name.replace(" ", "_"): (
            _DRAWS[:1],
            np.array([float(diagnostics.get(name, np.nan)) for diagnostics in chains]),
        )
        for name in names
    }
    return {"diverging": (_DRAWS, diverging), **per_chain}
