"""What the tables of a recipe make: each is a function whose arguments are the table's entries."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from pyroclust.core.counts import check_count, check_number, check_seed
from pyroclust.core.errors import unknown_name
from pyroclust.core.registry import find, registered
from pyroclust.data.datasets import read_labelled_folder, read_table
from pyroclust.data.standardise import ColumnsOfTable, standardise
from pyroclust.data.tables import Table
from pyroclust.distributions import PartitionPrior
from pyroclust.guides import (
    AmortizedGuide,
    NeuralClusteringProcess,
    ScaleAveragedProcess,
    SequentialGuide,
    retarget,
)
from pyroclust.guides.retarget import parts_of
from pyroclust.guides.scale_averaged_process import scale_name
from pyroclust.infer.choices import Choice, HardSimulations, HardStandardised
from pyroclust.infer.refining import PosteriorPool, PosteriorTables
from pyroclust.models import (
    AnyTable,
    DistortedClusters,
    LabelledTables,
    NoisyTables,
    PartiallyLabelled,
    RowsOfTables,
    UnlabelledTables,
)
from pyroclust.nn import NetworkScorer, RandomOrder
from pyroclust.nn.deep.deformations import Deformation
from pyroclust.saving.codec import call
from pyroclust.saving.guides import load_guide
from pyroclust.saving.models import build_model

__all__ = [
    "averaged_guide",
    "hard_simulations",
    "labelled_tables",
    "network_tables",
    "new_guide",
    "started_guide",
    "training_data",
]


def labelled_tables(
    recipe: Path, *, folder: str, label: str, prior: PartitionPrior | None = None
) -> LabelledTables:
    """``[tables]``: read labelled tables to train on, instead of ``[model]``.

    Args:
        recipe: the file of the recipe.
        folder: holds the tables; relative to the recipe.
        label: column of the labels.
        prior: a partition prior, whose clusters get classes of their own; without it partitions have the
            proportions of the tables.
    """
    tables = read_labelled_folder(_beside(recipe, folder), label=label)
    pairs = [(one.data, one.labels) for one in tables if one.labels is not None]
    return LabelledTables(pairs, prior=prior)


def training_data(
    model: Any, recipe: Path, entries: Mapping[str, Any]
) -> PartiallyLabelled | PosteriorPool | PosteriorTables | AnyTable:
    """``[data]``: what a guide is trained on in place of simulations, or beside them.

    With a ``source`` one collection of data, for guides that learn their model from it; with
    ``most_columns`` simulated tables of any columns, for a guide that fits all of them; else data sets of
    other laws than the model, with partitions of its posterior.

    Args:
        model: the recipe's model.
        recipe: the file of the recipe.
        entries: of the table.

    Raises:
        ValueError: if an entry is unknown or missing, or what it names cannot be read.
    """
    make: Callable[..., Any] = posterior_pool
    if "source" in entries:
        make = one_collection
    elif "most_columns" in entries:
        make = any_table
    found: PartiallyLabelled | PosteriorPool | PosteriorTables | AnyTable = call(
        make, entries, where="data", context={"model": model, "recipe": recipe}
    )
    return found


def any_table(
    model: Any,
    recipe: Path,
    *,
    most_columns: int,
    most_lost: float = 0.3,
    prior: float = 1.0,
    noisy: float = 0.0,
    tables: float = 0.0,
    folder: str | None = None,
    partitions: int | None = None,
    sweeps: int | None = None,
    burn_in: int | None = None,
) -> AnyTable | PosteriorTables:
    """``[data]`` with ``most_columns``: tables of any columns, each batch with a model of its own.

    Args:
        model: the recipe's model, one of many that the guide is trained for.
        recipe: the file of the recipe.
        most_columns: columns of the widest.
        most_lost: largest share of cells that are lost.
        prior: share of simulations.
        noisy: share of simulations with columns that are noise.
        tables: share of rows and columns of real tables.
        folder: holds these, files with the ending csv; relative to the recipe. Those that cannot be read, or
            are too small, are passed over.
        partitions: draws of a chain for each data set that is no simulation; this and what follows as
            :class:`~pyroclust.infer.PosteriorTables` has it by default.
        sweeps: draws of the kernel between two of these.
        burn_in: draws of the kernel before the first.

    Raises:
        ValueError: if the tables cannot be read.
    """
    simulated = AnyTable(most_columns=most_columns, most_lost=most_lost)
    laws: dict[Any, float] = {}
    if check_number("noisy", noisy, at_least=0):
        laws[NoisyTables(simulated)] = noisy
    if check_number("tables", tables, at_least=0):
        if folder is None:
            raise ValueError(f"tables is {tables:g}, expected a folder of tables beside it: set folder")
        laws[_whole_tables(_beside(recipe, folder), most_columns=most_columns)] = tables
    if not laws:
        return simulated
    asked = {"partitions": partitions, "sweeps": sweeps, "burn_in": burn_in}
    chains = {name: one for name, one in asked.items() if one is not None}
    return PosteriorTables(simulated, laws, share=prior, **chains)


def _whole_tables(folder: Path, *, most_columns: int) -> RowsOfTables:
    """Read all columns of the tables of a folder, of any kind."""
    found = []
    for path in _csv_files(folder):
        with suppress(ValueError):
            table = read_table(str(path), kinds={})
            points = standardise(table)
            columns = asdict(ColumnsOfTable.of(table, points))
            columns.pop("missing")
            found.append((torch.tensor(points.data), columns))
    return RowsOfTables(found, most_columns=most_columns)


def _beside(recipe: Path, name: str) -> Path:
    """Return what a recipe names beside it; recipes of others are to read nothing else of this machine."""
    path = Path(name)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"'{name}' leads out of the folder of the recipe, expected a path relative to it")
    return recipe.parent / path


def _csv_files(folder: Path) -> list[Path]:
    paths = sorted(folder.glob("*.csv"))
    if not paths:
        raise ValueError(f"folder '{folder}' holds no file with the ending csv, expected tables to train on")
    return paths


def posterior_pool(
    model: Any,
    recipe: Path,
    *,
    prior: float = 0.5,
    tables: float = 0.0,
    folder: str | None = None,
    distorted: float = 0.0,
    partitions: int | None = None,
    sweeps: int | None = None,
    visits: int | None = None,
    burn_in: int | None = None,
) -> PosteriorPool:
    """``[data]`` without a source: real tables and distorted simulations beside those of the model.

    Args:
        model: the recipe's model, a mixture of a conjugate family.
        recipe: the file of the recipe.
        prior: share of the model's own simulations.
        tables: share of rows and columns of real tables.
        folder: holds these, files with the ending csv; relative to the recipe.
        distorted: share of simulations that are bent, skewed, heavy-tailed, contaminated or rounded.
        partitions: draws of a chain that a visit gives; this and what follows as a
            :class:`~pyroclust.infer.PosteriorPool` has it by default.
        sweeps: draws of the kernel between two of these.
        visits: how often a data set is used.
        burn_in: draws of the kernel before the first visit.

    Raises:
        ValueError: if there is neither share, or the tables cannot be read.
    """
    tables = check_number("tables", tables, at_least=0)
    distorted = check_number("distorted", distorted, at_least=0)
    laws: dict[Any, float] = {}
    if tables > 0:
        if folder is None:
            raise ValueError(f"tables is {tables:g}, expected a folder of tables beside it: set folder")
        laws[_unlabelled_tables(_beside(recipe, folder), dim=model.component.dim)] = tables
    if distorted > 0:
        laws[DistortedClusters(model)] = distorted
    if not laws:
        raise ValueError("tables and distorted are both 0, expected a share of one, or a source")
    asked = {"partitions": partitions, "sweeps": sweeps, "visits": visits, "burn_in": burn_in}
    chains = {name: one for name, one in asked.items() if one is not None}
    return PosteriorPool(model, laws, prior=prior, **chains)


def _unlabelled_tables(folder: Path, *, dim: int) -> UnlabelledTables:
    return UnlabelledTables([read_table(str(path)).data for path in _csv_files(folder)], dim=dim)


def one_collection(
    model: Any,
    recipe: Path,
    *,
    source: str,
    label: str | None = None,
    labels_per_class: int = 0,
    share: float = 0.5,
    deformation: Deformation | None = None,
    raw: bool = False,
    seed: int = 0,
) -> PartiallyLabelled:
    """``[data]`` with a source: what a guide is trained on that learns its model from data.

    Args:
        model: the recipe's model.
        recipe: the file of the recipe.
        source: a built-in name, or a file or a folder of images, relative to the recipe.
        label: column of the classes; images have theirs.
        labels_per_class: how many points of each class keep their label, chosen at random, all of a class
            that has fewer; classes are numbered in the order of their sorted names.
        share: of the points of a batch, those with a label.
        deformation: what changes every point that is drawn.
        raw: leave columns as they are; images always stay.
        seed: of the choice of labels.

    Raises:
        ValueError: if the source cannot be read, its points are not those of the model, or labels are asked
            for and there are none.
    """
    beside = _beside(recipe, source)
    is_name = not beside.exists() and not Path(source).suffix and len(Path(source).parts) == 1
    table = read_table(source if is_name else str(beside), label=label)
    kept = table.data if table.shape is not None or raw else standardise(table).data
    shape = (table.data.shape[1],) if table.shape is None else table.shape.event_shape
    if shape != tuple(model.event_shape):
        raise ValueError(
            f"'{source}' has points of shape {shape}, expected {tuple(model.event_shape)} as the model: "
            "set its event_shape"
        )
    each = check_count("labels_per_class", labels_per_class, at_least=0)
    known = _some_labels(table, each, seed) if each else None
    points = torch.as_tensor(kept).view(-1, *shape)
    return PartiallyLabelled(points, known, share=share, deformation=deformation, name=table.name)


def _some_labels(table: Table, each: int, seed: int) -> np.ndarray:
    """Return the class of some rows of every class, -1 of all others."""
    if table.labels is None:
        raise ValueError(f"{table.name} has no labels, expected some: name their column by label")
    names = sorted({one for one in table.labels if one is not None})
    known = np.full(len(table.labels), -1)
    random = np.random.default_rng(check_seed(seed))
    for place, name in enumerate(names):
        rows = np.flatnonzero(table.labels == name)
        known[random.permutation(rows)[:each]] = place
    return known


def hard_simulations(model: Any, *, oversampling: int = 4, hardness: int | None = None) -> Choice:
    """``[choice]``: train on hard simulations.

    Args:
        model: the model that is simulated.
        oversampling: simulations for each data set that is kept.
        hardness: how many nearly standardised data sets compete for each hard one; without it all compete.
    """
    if hardness is None:
        return HardSimulations(model.typical_scale, oversampling)
    return HardStandardised(oversampling, hardness=hardness)


def averaged_guide(
    guide: AmortizedGuide, *, model: Mapping[str, Any], num_scales: int = 3
) -> ScaleAveragedProcess:
    """``[averaged]``: the guide of a model with a random scale, by the trained one of a known scale.

    Args:
        guide: of the recipe's model.
        model: the other model, as in ``[model]``.
        num_scales: how many scales are averaged over.

    Raises:
        ValueError: if the model, its scale known, is not the recipe's.
    """
    other, known = build_model(model), cast(Any, guide.model)
    name = scale_name(other)
    if not isinstance(guide, NeuralClusteringProcess) or name not in known.component.hyper_names:
        raise ValueError(f"[averaged] is of a {type(guide).__name__}, expected a Neural Clustering Process")
    scorer = cast(NetworkScorer[Any], guide.scorer)
    reference = float(known.component.value(name))
    found = ScaleAveragedProcess(
        other, scorer=scorer, order=guide.order, reference=reference, num_scales=num_scales
    )
    if found.known != known:
        raise ValueError(
            f"[averaged] has the model {other.name}, which with scale {reference:g} is not the recipe's: "
            "expected the same prior and the same family"
        )
    return found.eval()


def started_guide(model: Any, *, guide: str, num_orders: int | None = None) -> Any:
    """``[start]``: load an existing guide to train further, and carry it over to the model.

    Args:
        model: the recipe's model.
        guide: its name or folder.
        num_orders: visiting orders that its posteriors mix from now on, then visited in random order whatever
            its rule was; it stays as it is without this.

    Raises:
        ValueError: if the guide is not known or does not fit the model, or ``num_orders`` is below 1.
    """
    if Path(guide).is_absolute() or ".." in Path(guide).parts:
        raise ValueError(f"guide is '{guide}', expected a name, or a folder below the working folder")
    found = load_guide(guide)
    if num_orders is not None:
        found.order = RandomOrder()
        found = found.mixed(num_orders)
    return retarget(found, model)


def network_tables() -> dict[str, tuple[type, Callable[..., Any]]]:
    """Return the tables that make a network, by name, each with the class of guides that it is for.

    A function of a model is such a table once it is registered under a class of guides.

    Example:
        >>> "light" in network_tables()
        True
    """
    return {
        name: (kind, one)
        for kind in registered(AmortizedGuide).values()
        if isinstance(kind, type)
        for name, one in registered(kind).items()
    }


def new_guide(
    model: Any, guide: Mapping[str, Any], network: tuple[str, Mapping[str, Any]] | None, order: Any
) -> Any:
    """``[guide]``, ``[order]`` and the table of the network: build an untrained guide.

    Args:
        model: the recipe's model.
        guide: arguments of the guide, and its class where there is no table of a network.
        network: name and entries of the network's table; entries that are the guide's arguments are passed
            on to the guide.
        order: class and arguments of the visiting order; ``None`` for the guide's own, which is random for
            guides that label points one after the other.

    Raises:
        ValueError: if an entry is unknown, missing, or of another kind than expected.
    """
    arguments = dict(guide)
    name = arguments.pop("class", None)
    kind: Any = NeuralClusteringProcess if name is None else find(AmortizedGuide, str(name), where="guide")
    if network is not None:
        table, entries = network
        kind, make = network_tables()[table]
        own = _entries_of_guide(table, entries, kind, make)
        made = call(
            make, _entries_of_network(entries, own, arguments, make), where=table, context=parts_of(model)
        )
        arguments |= own | {kind.network_argument: made}
    pointwise = isinstance(kind, type) and issubclass(kind, SequentialGuide)
    if "order" in inspect.signature(kind).parameters and (order is not None or pointwise):
        arguments["order"] = {"class": "RandomOrder"} if order is None else order
    return call(kind, arguments, where="guide", context=parts_of(model))


def _entries_of_guide(
    table: str, entries: Mapping[str, Any], kind: type, make: Callable[..., Any]
) -> dict[str, Any]:
    """Return the entries of the network's table that are arguments of the guide."""
    of_network = set(inspect.signature(make).parameters) - {"model", "conditions"}
    of_guide = set(inspect.signature(kind).parameters) - {"model", "conditions", "order", "scorer", "network"}
    known = [f"{table}.{one}" for one in of_network | of_guide]
    for key in entries:
        if key not in of_network | of_guide:
            raise ValueError(unknown_name("argument", f"{table}.{key}", known))
    return {key: one for key, one in entries.items() if key not in of_network}


def _entries_of_network(
    entries: Mapping[str, Any],
    of_guide: Mapping[str, Any],
    guide: Mapping[str, Any],
    make: Callable[..., Any],
) -> dict[str, Any]:
    """Return the entries of the network, with the guide's conditions, and contexts of the network's width."""
    parameters = inspect.signature(make).parameters
    found = {key: one for key, one in entries.items() if key not in of_guide}
    if "conditions" in parameters and "conditions" in guide:
        found["conditions"] = guide["conditions"]
    if isinstance(found.get("future"), Mapping) and "arguments" not in found["future"]:
        width = found.get("width", parameters["width"].default)
        found["future"] = {"width": width, **found["future"]}
    return found
