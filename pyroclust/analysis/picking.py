"""Which model and which guide a table is clustered with, and whether the guide fits."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from math import inf, prod
from os import PathLike
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.distributions import constraints

from pyroclust.core.large_tables import LARGE_TABLE
from pyroclust.core.machine import single_precision
from pyroclust.data import Standardised, Table
from pyroclust.data.tables import ColumnsOfTable, Graph, PointShape
from pyroclust.distributions import (
    BernoulliBeta,
    BinomialBeta,
    Categories,
    Circular,
    ConjugateComponent,
    NormalIndependent,
    NormalInverseGamma,
    NormalKnownVariance,
    OrderedLevels,
    PoissonGamma,
)
from pyroclust.distributions.families.partly_observed import ColumnGroups
from pyroclust.distributions.protocols import is_of_graphs, takes_missing
from pyroclust.guides import AnchoredGuide, PredictiveFilter, ScaleAveragedProcess
from pyroclust.guides.exact_filters import exact_filter, integrated_names
from pyroclust.models import StochasticBlockModel, default_mixture, table_mixture
from pyroclust.models.standardised import named_prior
from pyroclust.partitions import canonical
from pyroclust.results.data import AnalysedData
from pyroclust.saving.cards import NO_GUIDE, GuideCard, find_guide, list_guides, read_card
from pyroclust.saving.guides import load_guide
from pyroclust.saving.models import build_model

# Of 50, 100 and 200 on tables of 1,000 rows these have the most effective draws (benchmarks/anchored.py).
_ANCHORS = 200
# Draws of a guide for any table are dear: of 200 rows and 10 columns `compare` takes three minutes
# on one core, and the filter's draws are refined on larger tables in the time that the guide takes to draw.
_ROWS_OF_ANY_TABLE = 200
# Rows that equal one, on average, from which it is asked whether a cluster for each value is likeliest.
_LEAST_TIED = 4
_TIED = (
    "There are only {number:,} different rows, and clusters of a random scale would shrink onto each of "
    "them: here the scale is fixed. --family normal takes a random one all the same."
)
_HOW_TO_TRAIN = " The command 'pyroclust recipe' writes how to train a guide of this model."
# What to do where no guide is for such points, by what one of these is called.
_REMEDIES = {
    "image": "scale the images to one of these sizes (a folder by --image-size)",
    "waveform": "cut the waveforms so, or if these are images divide them by their largest number",
}


@dataclass(frozen=True, kw_only=True)
class ModelAndGuide:
    """A model, and the guide of it that draws beside MCMC, if any, with what its card says."""

    model: Any
    guide: Any = None
    name: str = NO_GUIDE  # on the shelf, of a folder or of a class
    certificate: Mapping[str, Any] = field(default_factory=dict)
    min_points: int = 1  # of the training, as far as it is known
    max_points: int | None = None
    notes: tuple[str, ...] = ()

    def notes_on(self, table: Table, points: Standardised) -> tuple[str, ...]:
        """Return what a report should say of the choice for a table, and refuse a table that does not fit."""
        if self.guide is None:
            return self.notes
        num_points, num_columns = points.data.shape
        wanted, dim = tuple(self.model.event_shape), prod(self.model.event_shape)
        of_graphs = is_of_graphs(self.model)
        are_rows = table.shape is None and len(wanted) == 1 and not of_graphs
        has = "rows of columns" if table.shape is None else str(table.shape)
        takes = "nodes of a graph" if wanted == (-1,) else f"points of shape {wanted}"
        fits = are_rows or (table.shape is not None and table.shape.fits(wanted))
        misfits = (
            (
                not fits,
                f"{has} and guide '{self.name}' takes {takes}: choose another guide, or for a folder of "
                "images another size (--image-size)",
            ),
            (
                table.has_missing and not takes_missing(self.model),
                f"missing cells, which guide '{self.name}' cannot take: leave --guide out, or take the rows "
                "that have all cells",
            ),
            (
                not table.are_numbers and _is_of_numbers(self.model),
                f"columns that are no numbers, and guide '{self.name}' takes numbers alone: leave --guide "
                "out, choose columns with --columns, or say what they are with --kinds",
            ),
            (
                num_columns != dim and not of_graphs,
                f"{num_columns} column(s) and guide '{self.name}' takes {dim}; choose columns with "
                f"--columns, reduce with --pca {dim}, or leave --guide out",
            ),
        )
        for is_there, what in misfits:
            if is_there:
                raise ValueError(f"{table.name} has {what}")
        if num_points < self.min_points:
            beyond = f"on {self.min_points} points or more"
        elif self.max_points is not None and num_points > self.max_points:
            beyond = f"on up to {self.max_points} points"
        else:
            return self.notes
        return (
            *self.notes,
            f"The guide was trained {beyond} and is used on {num_points}: "
            "trust it only as far as a comparison goes.",
        )


def model_by_name(
    dim: int,
    num_points: int,
    shape: PointShape | None = None,
    *,
    columns: ColumnsOfTable | None = None,
    mixture: Callable[..., Any] = default_mixture,
    **names: Any,
) -> Any:
    """Return the model for such columns and points by the words of :func:`pyroclust.compare`."""
    words = {name: one for name, one in names.items() if one is not None}
    rates = {name: words.pop(name) for name in ("within", "between") if name in words}
    if isinstance(shape, Graph):
        if "family" in words:
            raise ValueError(
                f"family is '{words['family']}', but the points are nodes of a graph, whose blocks have "
                "rates of edges: leave it out"
            )
        if not words:
            return StochasticBlockModel(**rates)
        return StochasticBlockModel(named_prior(**{"prior": "crp"} | words, num_points=num_points), **rates)
    if rates:
        raise ValueError(f"{' and '.join(rates)} given for rows of columns, expected a graph: leave it out")
    columns = ColumnsOfTable(numbers=dim) if columns is None else columns
    return mixture(**asdict(columns), **words, num_points=num_points)


@single_precision()
def pick_guide(
    guide: str | PathLike[str] | torch.nn.Module | None,
    data: AnalysedData,
    *,
    conditions: Mapping[str, float],
    names: Mapping[str, Any] | None = None,
) -> ModelAndGuide:
    """Return a guide by name, folder or as it is; by default one of the model that ``names`` says."""
    words = {name: one for name, one in (names or {}).items() if one is not None}
    shape, (num_points, dim) = data.shape, data.values.shape
    columns = ColumnsOfTable.of(data.table, data.points) if shape is None else None
    if shape is not None and not isinstance(shape, Graph):
        if guide == NO_GUIDE or words:
            raise ValueError(
                f"the points are {shape}, for which there is no model by name and no MCMC: leave "
                "guide='none' and what names a model out, and take compare (pyroclust compare), where a "
                "guide stands alone"
            )
        guide = _guide_for(shape) if guide is None else guide
    times = data.table.weights
    # What is expected of clusters is expected of all rows, equal ones too.
    model_of = partial(model_by_name, dim, num_points if times is None else int(times.sum()), columns=columns)
    # The model that such columns had before scales were random, and that guides know.
    earlier_of = partial(model_of, mixture=table_mixture)
    if guide is None or guide == NO_GUIDE:
        model, before, after = model_of(shape=shape, **words), [], []
        if "family" not in words:
            number = tied_values(model, data.values, times)
            if number:
                model, before = earlier_of(**words), [_TIED.format(number=number)]
        picked = ModelAndGuide(model=model) if guide == NO_GUIDE else _default(model, num_points)
        if isinstance(picked.guide, PredictiveFilter) and not before and not {"family", "prior"} & set(words):
            earlier = _default(earlier_of(**words), num_points)
            if not isinstance(earlier.guide, PredictiveFilter):
                picked = earlier
                after.append(
                    f"There is no guide of the model {model.name} for such columns yet, which pyroclust "
                    f"cluster takes: guide and MCMC are those of the default of 0.1, {picked.model.name}."
                )
        if data.points.is_raw and shape is None:
            after.append(
                f"The columns are as they were given (--raw), but the model {model.name} expects columns of "
                "mean 0 and variance 1: its prior of the centres and the widths of clusters has that scale."
            )
        picked = replace(picked, notes=(*before, *picked.notes, *after))
    elif not isinstance(guide, torch.nn.Module) and read_card(find_guide(guide)).fits_any_table:
        # Columns are independent in a cluster, numbers too unless another family was asked for.
        is_random = _has_random_scale(_model_of(read_card(find_guide(guide))))
        of_table, family = (model_of, "diagonal") if is_random else (earlier_of, "nig")
        picked = _of_any_table(guide, of_table(**{"family": family} | words))
    elif words:
        raise ValueError(
            f"{', '.join(words)} given beside a guide, which has a model of its own: leave out --guide, or "
            "what names the model"
        )
    elif isinstance(guide, torch.nn.Module):
        picked = ModelAndGuide(model=guide.model, guide=guide, name=type(guide).__name__)
    else:
        picked = _of_card(read_card(find_guide(guide)), load_guide(guide))
    return _conditioned(picked, conditions)


def exact_filter_of(model: Any, *notes: str) -> ModelAndGuide:
    """Return the exact filter of a model."""
    return ModelAndGuide(model=model, guide=exact_filter(model).eval(), name="exact filter", notes=notes)


def _of_card(card: GuideCard, guide: Any, *notes: str) -> ModelAndGuide:
    if card.is_reference or card.claims_mixture or card.doubt:
        notes += (f"Guide {card.name} {'is a reference: it ' if card.is_reference else ''}{card.verdict}.",)
    return ModelAndGuide(
        model=guide.model,
        guide=guide,
        name=card.name,
        certificate=card.certificate,
        min_points=card.min_points,
        max_points=card.max_points,
        notes=notes,
    )


def _of_any_table(name: str | PathLike[str], model: Any) -> ModelAndGuide:
    """Return the guide of a table's own model, with weights that serve many."""
    card, loaded = read_card(find_guide(name)), load_guide(name)
    about = (
        f"Guide {card.name} has one set of weights for tables of any columns; its certificate was measured "
        f"on {loaded.model.component.dim} columns."
    )
    return _of_card(card, loaded.of(model), about)


def _conditioned(picked: ModelAndGuide, conditions: Mapping[str, float]) -> ModelAndGuide:
    wanted = () if picked.guide is None else picked.guide.conditions
    if set(wanted) != set(conditions):
        takes = ", ".join(f"--condition {one}=..." for one in wanted) or "none"
        has = ", ".join(sorted(conditions)) or "none"
        raise ValueError(f"conditions are {has}, guide '{picked.name}' takes {takes}")
    if not wanted:
        return picked
    guide = picked.guide.condition(**conditions)
    return replace(picked, guide=guide, model=guide.model)


def _guide_for(shape: PointShape) -> str:
    """Return the name of a guide on the shelf for such points: of several the one that fails fewest tests."""
    known = [(card, _model_of(card)) for card in list_guides() if card.dim is None]
    of_kind = [
        (card, tuple(model.event_shape))
        for card, model in known
        if getattr(model, "noun", None) == shape.noun
    ]
    fitting = [card for card, event_shape in of_kind if shape.fits(event_shape)]
    if not fitting:
        sizes = ", ".join(f"{card.name}: {' x '.join(map(str, one))}" for card, one in of_kind)
        raise ValueError(
            f"there is no guide on the shelf for {shape} ({sizes}): {_REMEDIES[shape.noun]}, or train a "
            "guide and name its folder (--guide)"
        )
    return min(fitting, key=lambda card: inf if card.num_failed is None else card.num_failed).name


def _default(model: Any, num_points: int) -> ModelAndGuide:
    """Return the trained guide of a model that passes its certificate, the exact filter, or no guide."""
    # Guides are slow on large tables, and have seen none such: they label a few rows, the filter the others.
    trained = [card for card in list_guides() if card.weights_sha256 and _is_of(card, model)]
    passed = next((card for card in trained if card.passed and not card.claims_mixture), None)
    if passed is not None:
        learnt = passed.max_points
        fits = learnt is None or num_points <= max(LARGE_TABLE, learnt)
        if fits or not model.is_conjugate:
            return _of_card(passed, load_guide(passed.name))
        if not is_of_graphs(model):
            return _anchored(passed, num_points)
    if not model.is_conjugate:
        note = (
            f"There is no trained guide of the model {model.name}, and no exact filter: the parameters of "
            "its clusters do not integrate out. This is MCMC alone."
        )
        return ModelAndGuide(model=model, notes=(note,))
    if num_points <= _ROWS_OF_ANY_TABLE and (any_table := _guide_of_any_table(model)) is not None:
        return _of_any_table(any_table.name, model)
    columns = "" if is_of_graphs(model) else f" for {model.component.dim} column(s)"
    what = f"of the model {model.name}{columns}"
    failed = "; ".join(f"{card.name} {card.verdict}" for card in trained)
    why = f"There is no trained guide {what}"
    if passed is not None:
        why = (
            f"Guide {passed.name} learnt from at most {passed.max_points} points, and here are {num_points:,}"
        )
    elif failed:
        why = f"No trained guide {what} passes its certificate ({failed})"
    return exact_filter_of(
        model,
        f"{why}. This is the exact filter of the same model, which needs no training: it labels points one "
        "after the other and looks at no later point, so its draws need the weights or the comparison with "
        f"MCMC.{_HOW_TO_TRAIN if _is_of_numbers(model) else ''}",
    )


# Families of the columns on which guides of any table were measured, docs/tables.md. Of overdispersed counts
# they draw some hundred times as slowly, and of too few tables to tell how well.
_MEASURED = {
    BernoulliBeta,
    BinomialBeta,
    Categories,
    Circular,
    NormalIndependent,
    NormalInverseGamma,
    NormalKnownVariance,
    OrderedLevels,
    PoissonGamma,
}


def _guide_of_any_table(model: Any) -> GuideCard | None:
    """Return the card of a guide for tables of any columns that serves a model."""
    if is_of_graphs(model) or not isinstance(model.component, ConjugateComponent):
        return None
    random = _has_random_scale(model)
    known = (ScaleAveragedProcess.model_of_network(model, {}) if random else model).component
    groups = ColumnGroups(known)
    # Columns of a cluster are independent in all tables that such guides were measured on, but for successes
    # and their trials.
    is_independent = groups.num_groups == known.dim or BinomialBeta in groups.families
    if not is_independent or not groups.families <= _MEASURED:
        return None
    cards = (card for card in list_guides() if card.passed and card.fits_any_table)
    return next((card for card in cards if _has_random_scale(_model_of(card)) == random), None)


def tied_values(model: Any, rows: NDArray[np.float64], weights: NDArray[np.int64] | None) -> int:
    """Return the number of different rows where a cluster for each is likelier than one for all, else 0.

    It is 0 of models whose clusters have a known scale.
    """
    if not _has_random_scale(model):
        return 0
    _, labels = np.unique(rows, axis=0, return_inverse=True)
    number = int(labels.max()) + 1
    total = len(rows) if weights is None else int(weights.sum())
    if number == 1 or _LEAST_TIED * number > total:
        return 0
    each = canonical(torch.from_numpy(labels.reshape(1, -1)))
    model = model if weights is None else model.weighted(weights)
    joint = model.log_joint(torch.from_numpy(rows), torch.cat([each, torch.zeros_like(each)]))
    # Without bound where the equal rows are many: the scale shrinks below any number.
    return number if joint[0] > joint[1] or not joint.isfinite().all() else 0


def _has_random_scale(model: Any) -> bool:
    return bool(integrated_names(model))


def _anchored(card: GuideCard, num_points: int) -> ModelAndGuide:
    """Return a guide that labels some rows of a table that is too large for it, and the filter the others."""
    guide = AnchoredGuide(load_guide(card.name), num_anchors=_ANCHORS).eval()
    note = (
        f"Guide {card.name} learnt from at most {card.max_points:,} points, and here are {num_points:,}. It "
        f"labels {_ANCHORS} of them, one of each part of the table, and the exact filter of the same model, "
        "which looks at no later point, the others: draws need the weights or the comparison with MCMC."
    )
    name = f"{card.name} on {_ANCHORS} anchors"
    return ModelAndGuide(model=guide.model, guide=guide, name=name, notes=(note,))


def _is_of_numbers(model: object) -> bool:
    """Say whether points are rows of numbers, all of them there."""
    return getattr(getattr(model, "component", None), "support", None) is constraints.real_vector


def _is_of(card: GuideCard, model: Any) -> bool:
    if not is_of_graphs(model) and card.dim != model.component.dim:
        return False
    return bool(_model_of(card) == model)


def _model_of(card: GuideCard) -> Any:
    return build_model({"name": card.model, "arguments": card.model_arguments})
