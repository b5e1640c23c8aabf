"""Recipes: TOML files that say how a guide is trained, as they are read, and written for a model."""

import json
import reprlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

import tomli_w

from pyroclust.core.files import parse_json, read_text
from pyroclust.core.messages import unknown_name, visible
from pyroclust.core.numbers import check_count, check_seed
from pyroclust.core.random_state import seeded
from pyroclust.data.datasets import Source, read_table
from pyroclust.data.tables import ColumnsOfTable, principal_components, standardise
from pyroclust.distributions import (
    Categories,
    NormalIndependent,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    PartlyObserved,
    Product,
)
from pyroclust.guides import ScaleAveragedProcess
from pyroclust.guides.exact_filters import integrated_names
from pyroclust.infer import FitSettings, Validation
from pyroclust.infer.simulation import Choice
from pyroclust.models import Mixture, default_mixture, in_words
from pyroclust.recipes.tables import (
    averaged_guide,
    hard_simulations,
    labelled_tables,
    network_tables,
    new_guide,
    started_guide,
    training_data,
)
from pyroclust.saving.cards import check_depth
from pyroclust.saving.codec import call
from pyroclust.saving.models import build_model, describe_model

# A card holds its recipe and must stay below what is read of a card, with every letter escaped too.
_LARGEST_FILE = 1 << 20
_TABLES = {
    "model",
    "tables",
    "data",
    "guide",
    "start",
    "order",
    "training",
    "choice",
    "validation",
    "averaged",
}


@dataclass(frozen=True)
class Recipe:
    """What a guide is made of."""

    about: str
    model: Any
    # Of the initial weights, of the guide and of a model that has some.
    seed: int
    training: FitSettings
    validation: Validation
    # Which simulations to train on; all of them without one.
    choice: Choice | None
    # What to train on in place of simulations.
    data: Any
    # The file as read, for the card.
    content: dict[str, Any]

    def __repr__(self) -> str:
        made_by = next((name for name in network_tables() if name in self.content), "")
        start = self.content.get("start", {}).get("guide")
        network = (
            f"from {start}" if start else (made_by or self.content.get("guide", {}).get("class", "light"))
        )
        return f"Recipe({self.model.name}, {network}, {self.training.steps} steps)"

    def build(self) -> Any:
        """Build the guide as it is before the training."""
        start = _table(self.content, "start")
        if start:
            with seeded(self.seed):
                return call(started_guide, start, where="start", context={"model": self.model})
        network = next((name for name in network_tables() if name in self.content), None)
        guide = _table(self.content, "guide")
        # A guide that is named by its class says itself what its network is.
        if network is None and "class" not in guide:
            network = "light"
        order = {"class": "RandomOrder", **_table(self.content, "order")} if "order" in self.content else None
        with seeded(self.seed):
            entries = None if network is None else (network, _table(self.content, network))
            return new_guide(self.model, guide, entries, order)

    def finished(self, guide: Any) -> Any:
        """Return the guide that is saved, by the one that was trained."""
        if "averaged" not in self.content:
            return guide
        return call(
            averaged_guide, _table(self.content, "averaged"), where="averaged", context={"guide": guide}
        )


def list_recipes() -> tuple[str, ...]:
    """List the names of the recipes that come with the package."""
    return tuple(sorted(path.stem for path in _shipped().glob("*.toml")))


def find_recipe(name_or_path: str | PathLike[str]) -> Path:
    """Return the file of a recipe, by its path or the name of one that comes with the package."""
    path = Path(name_or_path)
    if path.is_file():
        return path
    if str(name_or_path) in list_recipes():
        return _shipped() / f"{name_or_path}.toml"
    if path.suffix == ".toml":
        raise ValueError(f"there is no recipe '{path}'; give the path of a TOML file, or a name of a recipe")
    raise ValueError(f"{unknown_name('recipe', str(path), list_recipes())}; or give the path of a TOML file")


def _shipped() -> Path:
    """Return the folder of the recipes that come with the package."""
    return Path(str(files("pyroclust.recipes.shipped")))


def read_recipe(path: str | PathLike[str]) -> Recipe:
    """Read and check a recipe, by its path or its name.

    Raises:
        ValueError: if the file is missing or no TOML, or a key, name or value is unknown, missing or of
            another type.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "tiny.toml"
        >>> _ = path.write_text('''
        ... about = "a tiny guide"
        ... [model]
        ... name = "gaussian2d"
        ... dim = 2
        ... [light]
        ... width = 8
        ... [order]
        ... class = "RandomOrder"
        ... [training]
        ... steps = 10
        ... ''')
        >>> read_recipe(path).training.steps
        10
    """
    path = find_recipe(path)
    try:
        content = tomllib.loads(read_text(path, largest=_LARGEST_FILE))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"recipe '{path}' is not valid TOML ({error})") from None
    try:
        return _recipe(content, path)
    except ValueError as error:
        raise ValueError(f"recipe '{path}': {error}") from None


def _recipe(content: dict[str, Any], path: Path) -> Recipe:
    check_depth(content, where="it")
    _check_card_can_hold(content)
    known = {*_TABLES, *network_tables()}
    for key in sorted(content.keys() - known - {"about", "seed"}):
        raise ValueError(unknown_name("key", key, known | {"about", "seed"}))
    about = content.get("about", "")
    if not isinstance(about, str):
        raise ValueError(f"'about' is {reprlib.repr(about)}, expected text")
    tables = {name: _table(content, name) for name in known}
    seed = check_seed(content.get("seed", 0))
    _check_together(content)
    if "tables" in content:
        model: Any = call(labelled_tables, tables["tables"], where="tables", context={"recipe": path})
    else:
        # A model may have weights of its own.
        with seeded(seed):
            model = build_model(tables["model"])
    choice = call(hard_simulations, tables["choice"], where="choice", context={"model": model})
    data = None
    if "data" in content:
        data = training_data(model, path, tables["data"])
    training = call(FitSettings, tables["training"], where="training")
    validation = call(Validation, tables["validation"], where="validation")
    training.check_memory(model.event_shape)
    training.check_size_of(data)
    validation.up_to(training.max_points).check_memory()
    return Recipe(
        about=about,
        model=model,
        seed=seed,
        training=training,
        validation=validation,
        choice=choice if "choice" in content else None,
        data=data,
        content=content,
    )


def _check_card_can_hold(content: dict[str, Any]) -> None:
    """Refuse, before a training, what its card could not say: dates, nan, infinity and endless numbers."""
    try:
        parse_json(json.dumps(content, allow_nan=False))
    except TypeError:
        raise ValueError("it holds a date or a time, expected text, numbers, true or false") from None
    except ValueError as error:
        if "JSON compliant" in str(error):
            raise ValueError("it holds nan or inf, expected finite numbers") from None
        raise


def _check_together(content: dict[str, Any]) -> None:
    """Refuse tables that contradict one another."""
    if ("model" in content) == ("tables" in content):
        raise ValueError("expected either [model], to simulate, or [tables], to train on labelled tables")
    networks = sorted(network_tables())
    excluded = {"start": ("guide", *networks, "order")}
    excluded |= {one: tuple(networks[place + 1 :]) for place, one in enumerate(networks)}
    for table, others in excluded.items():
        for other in others:
            if table in content and other in content:
                raise ValueError(f"[{table}] and [{other}] exclude each other; remove one of them")
    if "class" in _table(content, "guide"):
        for other in networks:
            if other in content:
                raise ValueError(
                    f"[{other}] says which guide it makes, [guide] has a class; remove one of them"
                )


def _table(content: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the table of a name, empty if it is not there."""
    table = content.get(name, {})
    if not isinstance(table, dict):
        raise ValueError(f"'{name}' is {reprlib.repr(table)}, expected a table [{name}]")
    return dict(table)


_STEPS, _STEPS_WITH_FORESIGHT = 26_000, 3000
_FORESIGHT = 128
# Training is dear beyond the second; a guide labels larger data sets too.
_FEWEST_POINTS, _MOST_POINTS = 20, 1000
# In more dimensions second moments of neighbourhoods are many numbers that say little.
_MOST_DIMENSIONS_OF_MOMENTS = 2
_NORMAL = (NormalIndependent, NormalInverseGamma, NormalInverseWishart, NormalKnownVariance)


def recipe_for(
    source: Source,
    *,
    columns: Sequence[str] | None = None,
    label: str | None = None,
    pca: int | None = None,
    kinds: Mapping[str, str] | None = None,
    family: str | None = None,
    prior: str | None = None,
    concentration: float | None = None,
    expected_clusters: float | None = None,
) -> str:
    """Return the recipe (TOML) of a guide for the model that :func:`pyroclust.compare` takes for a table.

    Only the number of rows and the number and the kinds of columns matter, and the means of counts: a guide
    learns from simulations of the model.

    Args:
        source: built-in name, file, data frame, array, tensor or table.
        columns: columns to cluster.
        label: column of reference labels, never used.
        pca: number of principal components that are clustered.
        kinds: kinds of columns by name; those of other columns of a file or a data frame are found out.
        family: family of the clusters, see :func:`~pyroclust.models.standardised_mixture`.
        prior: prior of the partitions.
        concentration: of that prior.
        expected_clusters: prior mean of the number of clusters in the rows.

    Raises:
        ValueError: if the table or the model cannot be used; the sentence says what to do.

    Example:
        >>> print(recipe_for("galaxies", prior="py"))
        about = "normal-py in 1-D for data sets of up to 82 points, as galaxies"
        ...
        [model.prior]
        class = "PitmanYorPrior"
        discount = 0.25
        concentration = 0.3
        ...
    """
    table = read_table(source, columns=columns, label=label, kinds={} if kinds is None else kinds)
    if table.shape is not None:
        raise ValueError(
            f"{table.name} has {table.shape}, expected a table: recipes of guides for such points name a "
            "simulator and an encoder, as that of 'ncp-glyphs8' does"
        )
    points = standardise(table)
    points = points if pca is None else principal_components(points, pca)
    num_points = len(points.data)
    model = default_mixture(
        **asdict(ColumnsOfTable.of(table, points)),
        family=family,
        prior=prior,
        concentration=concentration,
        expected_clusters=expected_clusters,
        num_points=num_points,
    )
    return write_recipe(model, num_points=num_points, name=table.name)


def write_recipe(model: Mixture, *, num_points: int, name: str = "") -> str:
    """Return the recipe (TOML) of a guide for a mixture, as the guides of the shelf were trained.

    Args:
        model: the mixture.
        num_points: data sets have up to so many points, at least 20 and at most 1,000.
        name: of the data that the guide is meant for.

    Raises:
        ValueError: if the model cannot be described, or has random hyperparameters beside the scale of normal
            clusters.

    Example:
        >>> from pyroclust.models import niw_mixture
        >>> print(write_recipe(niw_mixture(2), num_points=300))
        about = "niw_mixture in 2-D for data sets of up to 300 points"
        ...
    """
    num_points = check_count("num_points", num_points, at_least=2)
    most = min(max(num_points, _FEWEST_POINTS), _MOST_POINTS)
    dim = model.component.dim
    meant = f", as {visible(name)}" if name else ""
    about = f"{model.name} in {dim}-D for data sets of up to {most:,} points{meant}"
    known, averaged = model, {}
    if integrated_names(model):
        known = ScaleAveragedProcess.model_of_network(model, {})
        averaged = {"averaged": {"model": _model_table(model)}}
    head = tomli_w.dumps({"about": about, "seed": 0})
    tables = {"model": _model_table(known), **_training_tables(known, most), **averaged}
    return f"{head}\n# {visible(in_words(model))}\n{tomli_w.dumps(tables)}"


def _training_tables(model: Mixture, most: int) -> dict[str, dict[str, Any]]:
    """Return what the guide is and how it is trained: as those of the shelf whose model has a filter too."""
    dim = model.component.dim
    if not model.is_conjugate:
        return {
            "light": {"width": 64, "num_bandwidths": 7 if dim == 1 else 5, "second_moments": True},
            "order": {"class": "RandomOrder"},
            "training": {"steps": _STEPS, "max_points": most},
            "choice": {"oversampling": 16, "hardness": 4},
        }
    if isinstance(model.component, Product | PartlyObserved | Categories):
        return {
            "columns": {"foresight": _FORESIGHT},
            "order": {"class": "FarthestLast"},
            "training": {"steps": _STEPS_WITH_FORESIGHT, "max_points": most, "points_per_step": 1200},
        }
    light: dict[str, Any] = {"width": 64, "num_bandwidths": 4}
    if dim <= _MOST_DIMENSIONS_OF_MOMENTS:
        light |= {"num_bandwidths": 5, "second_moments": True}
    tables = {
        "light": light | {"foresight": _FORESIGHT},
        "order": {"class": "FarthestLast"},
        "training": {"steps": _STEPS_WITH_FORESIGHT, "max_points": most, "points_per_step": 1800},
    }
    # Counts and yes or no stay what they are: they have no scale to be distorted on.
    distorted = {"data": {"prior": 0.5, "distorted": 0.5}}
    return tables | distorted if isinstance(model.component, _NORMAL) else tables


def _model_table(model: Mixture) -> dict[str, Any]:
    described = describe_model(model)
    return {"name": described["name"], **_flat(described["arguments"])}


def _flat(described: Any) -> Any:
    """Put the arguments of every class beside its name."""
    if isinstance(described, Mapping):
        if "class" in described:
            described = {"class": described["class"], **described.get("arguments", {})}
        return {key: _flat(one) for key, one in described.items()}
    return [_flat(one) for one in described] if isinstance(described, list) else described
