"""What the tables of a recipe make: each is a function whose arguments are the table's entries."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from pyroclust.core.messages import unknown_name
from pyroclust.core.numbers import check_count, check_number, check_seed
from pyroclust.core.registry import find, registered
from pyroclust.data.datasets import read_labelled_folder, read_table
from pyroclust.data.tables import ColumnsOfTable, Table, standardise
from pyroclust.distributions import PartitionPrior
from pyroclust.guides import (
    AmortizedGuide,
    DeepAmortizedClustering,
    NeuralClusteringProcess,
    ScaleAveragedProcess,
    SequentialGuide,
    retarget,
)
from pyroclust.guides.base import parts_of
from pyroclust.guides.scale_averaged_process import scale_name
from pyroclust.infer.simulation import Choice, HardSimulations, HardStandardised
from pyroclust.infer.training.posterior_laws import PosteriorPool, PosteriorTables
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
from pyroclust.nn.deep_parts import Deformation
from pyroclust.saving.codec import call
from pyroclust.saving.guides import load_guide
from pyroclust.saving.models import build_model


def labelled_tables(
    recipe: Path, *, folder: str, label: str, prior: PartitionPrior | None = None
) -> LabelledTables:
    """``[tables]``: the labelled tables of a folder beside the recipe, instead of ``[model]``.

    With a prior of partitions clusters get classes of their own; without it partitions have the proportions
    of the tables.
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
    """
    make: Callable[..., Any] = posterior_pool
    if "source" in entries:
        make = one_collection
    elif "most_columns" in entries:
        make = any_table
    data: PartiallyLabelled | PosteriorPool | PosteriorTables | AnyTable = call(
        make, entries, where="data", context={"model": model, "recipe": recipe}
    )
    return data


def any_table(
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

    ``prior``, ``noisy`` and ``tables`` are the shares of simulations, of simulations with columns that are
    noise, and of rows and columns of the real tables in ``folder``; ``most_lost`` is the largest share of
    cells that are lost. The chains are those of :class:`~pyroclust.infer.PosteriorTables`.
    """
    simulated = AnyTable(most_columns=most_columns, most_lost=most_lost)
    laws: dict[Any, float] = {}
    if check_number("noisy", noisy, at_least=0):
        laws[NoisyTables(simulated)] = noisy
    if check_number("tables", tables, at_least=0):
        laws[_whole_tables(_csv_files(recipe, folder, tables), most_columns=most_columns)] = tables
    if not laws:
        return simulated
    return PosteriorTables(
        simulated, laws, share=prior, **_set(partitions=partitions, sweeps=sweeps, burn_in=burn_in)
    )


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

    ``prior``, ``tables`` and ``distorted`` are the shares of the model's own simulations, of rows and columns
    of the real tables in ``folder``, and of simulations that are bent, skewed, heavy-tailed, contaminated or
    rounded. The chains are those of :class:`~pyroclust.infer.PosteriorPool`.
    """
    laws: dict[Any, float] = {}
    if check_number("tables", tables, at_least=0):
        points = [read_table(str(path)).data for path in _csv_files(recipe, folder, tables)]
        laws[UnlabelledTables(points, dim=model.component.dim)] = tables
    if check_number("distorted", distorted, at_least=0):
        laws[DistortedClusters(model)] = distorted
    if not laws:
        raise ValueError("tables and distorted are both 0, expected a share of one, or a source")
    chains = _set(partitions=partitions, sweeps=sweeps, visits=visits, burn_in=burn_in)
    return PosteriorPool(model, laws, prior=prior, **chains)


def _set(**entries: int | None) -> dict[str, Any]:
    return {name: one for name, one in entries.items() if one is not None}


def _whole_tables(paths: Sequence[Path], *, most_columns: int) -> RowsOfTables:
    """Read all columns of tables, of any kind; those that cannot be read are passed over."""
    tables = []
    for path in paths:
        with suppress(ValueError):
            table = read_table(str(path), kinds={})
            points = standardise(table)
            found = asdict(ColumnsOfTable.of(table, points))
            columns = {name: one for name, one in found.items() if one and name != "missing"}
            tables.append((torch.tensor(points.data), columns))
    return RowsOfTables(tables, most_columns=most_columns)


def _beside(recipe: Path, name: str) -> Path:
    """Return what a recipe names beside it; recipes of others are to read nothing else of this machine."""
    path = Path(name)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"'{name}' leads out of the folder of the recipe, expected a path relative to it")
    return recipe.parent / path


def _csv_files(recipe: Path, folder: str | None, share: float) -> list[Path]:
    if folder is None:
        raise ValueError(f"tables is {share:g}, expected a folder of tables beside it: set folder")
    paths = sorted(_beside(recipe, folder).glob("*.csv"))
    if not paths:
        raise ValueError(f"folder '{folder}' holds no file with the ending csv, expected tables to train on")
    return paths


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

    The source is a built-in name, or a file or a folder of images beside the recipe. Of each class
    ``labels_per_class`` points, chosen at random, keep their label; ``share`` of the points of a batch have
    one. ``deformation`` changes every point that is drawn; ``raw`` leaves columns as they are.
    """
    beside = _beside(recipe, source)
    is_name = not beside.exists() and not Path(source).suffix and len(Path(source).parts) == 1
    table = read_table(source if is_name else str(beside), label=label)
    values = table.data if table.shape is not None or raw else standardise(table).data
    shape = (table.data.shape[1],) if table.shape is None else table.shape.event_shape
    if shape != tuple(model.event_shape):
        raise ValueError(
            f"'{source}' has points of shape {shape}, expected {tuple(model.event_shape)} as the model: "
            "set its event_shape"
        )
    each = check_count("labels_per_class", labels_per_class, at_least=0)
    classes = _some_labels(table, each, seed) if each else None
    points = torch.as_tensor(values).view(-1, *shape)
    return PartiallyLabelled(points, classes, share=share, deformation=deformation, name=table.name)


def _some_labels(table: Table, each: int, seed: int) -> np.ndarray:
    """Return the class of some rows of every class, -1 of all others."""
    if table.labels is None:
        raise ValueError(f"{table.name} has no labels, expected some: name their column by label")
    names = sorted({one for one in table.labels if one is not None})
    classes = np.full(len(table.labels), -1)
    random = np.random.default_rng(check_seed(seed))
    for place, name in enumerate(names):
        rows = np.flatnonzero(table.labels == name)
        classes[random.permutation(rows)[:each]] = place
    return classes


def hard_simulations(model: Any, *, oversampling: int = 4, hardness: int | None = None) -> Choice:
    """``[choice]``: train on hard simulations, one of ``oversampling``.

    Of nearly standardised data sets ``hardness`` compete for each hard one; without it all compete.
    """
    if hardness is None:
        return HardSimulations(model.typical_scale, oversampling)
    return HardStandardised(oversampling, hardness=hardness)


def averaged_guide(
    guide: AmortizedGuide, *, model: Mapping[str, Any], num_scales: int = 3
) -> ScaleAveragedProcess:
    """``[averaged]``: the guide of a model with a random scale, by the trained one of a known scale."""
    random_scale, known_scale = build_model(model), cast(Any, guide.model)
    name = scale_name(random_scale)
    if not isinstance(guide, NeuralClusteringProcess) or name not in known_scale.component.hyper_names:
        raise ValueError(f"[averaged] is of a {type(guide).__name__}, expected a Neural Clustering Process")
    scorer = cast(NetworkScorer[Any], guide.scorer)
    reference = float(known_scale.component.value(name))
    averaged = ScaleAveragedProcess(
        random_scale, scorer=scorer, order=guide.order, reference=reference, num_scales=num_scales
    )
    if averaged.known != known_scale:
        raise ValueError(
            f"[averaged] has the model {random_scale.name}, which with scale {reference:g} is not the "
            "recipe's: expected the same prior and the same family"
        )
    return averaged.eval()


def started_guide(
    model: Any, *, guide: str, num_orders: int | None = None, num_values: int | None = None
) -> Any:
    """``[start]``: load an existing guide to train further, and carry it over to the model.

    Of one that averages over scales that is its network, for a known one. With ``num_orders`` its posteriors
    mix so many visiting orders from now on, all random. With ``num_values`` memberships of deep amortized
    clustering have a latent of so many values, and every round is trained.
    """
    if Path(guide).is_absolute() or ".." in Path(guide).parts:
        raise ValueError(f"guide is '{guide}', expected a name, or a folder below the working folder")
    start = load_guide(guide)
    if isinstance(start, ScaleAveragedProcess):
        scorer = cast(NetworkScorer[Any], start.scorer)
        start = NeuralClusteringProcess(start.known, scorer=scorer, order=start.order)
    if num_orders is not None:
        start.order = RandomOrder()
        start = start.mixed(num_orders)
    if num_values is not None:
        if not isinstance(start, DeepAmortizedClustering):
            raise ValueError(
                f"num_values is {num_values} for a {type(start).__name__}, expected a guide of deep "
                "amortized clustering"
            )
        start = start.with_latent(num_values)
    return retarget(start, model)


def network_tables() -> dict[str, tuple[type, Callable[..., Any]]]:
    """Return the tables that make a network, by name, each with the class of guides that it is for.

    A function of a model is such a table once it is registered under a class of guides.
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

    The class of the guide is that of the network's table, or stands in ``[guide]``. Without an order it has
    its own, which is random for guides that label points one after the other.
    """
    arguments = dict(guide)
    name = arguments.pop("class", None)
    kind: Any = NeuralClusteringProcess if name is None else find(AmortizedGuide, str(name), where="guide")
    if network is not None:
        table, entries = network
        kind, make = network_tables()[table]
        of_network = inspect.signature(make).parameters
        of_guide = inspect.signature(kind).parameters.keys() - {"order", "scorer", "network"}
        known = [f"{table}.{one}" for one in {*of_network, *of_guide} - {"model", "conditions"}]
        for key in entries:
            if f"{table}.{key}" not in known:
                raise ValueError(unknown_name("argument", f"{table}.{key}", known))
        arguments |= {key: one for key, one in entries.items() if key not in of_network}
        described = {key: one for key, one in entries.items() if key in of_network}
        if "conditions" in of_network and "conditions" in guide:
            described["conditions"] = guide["conditions"]
        if isinstance(described.get("future"), Mapping) and "arguments" not in described["future"]:
            # Contexts are as wide as the network.
            width = described.get("width", of_network["width"].default)
            described["future"] = {"width": width, **described["future"]}
        arguments[kind.network_argument] = call(make, described, where=table, context=parts_of(model))
    pointwise = isinstance(kind, type) and issubclass(kind, SequentialGuide)
    if "order" in inspect.signature(kind).parameters and (order is not None or pointwise):
        arguments["order"] = {"class": "RandomOrder"} if order is None else order
    return call(kind, arguments, where="guide", context=parts_of(model))
