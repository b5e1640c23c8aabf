"""The recipe of a guide for a model, or for the model that a table is clustered with."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import tomli_w

from pyroclust.core.messages import visible
from pyroclust.core.numbers import check_count
from pyroclust.data.datasets import Source, read_table
from pyroclust.data.standardise import ColumnsOfTable, principal_components, standardise
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
from pyroclust.guides.hyperparameters import integrated_names
from pyroclust.models import Mixture, default_mixture, in_words
from pyroclust.saving.models import describe_model

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
