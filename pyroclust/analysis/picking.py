"""Which model and which guide a table is clustered with, and whether the guide fits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, prod
from os import PathLike
from typing import Any

import torch
from torch.distributions import constraints

from pyroclust.analysis.asked_model import AskedModel
from pyroclust.data.columns_of_table import ColumnsOfTable
from pyroclust.data.shapes import Graph, PointShape
from pyroclust.data.standardise import Standardised
from pyroclust.data.tables import Table
from pyroclust.distributions import ConjugateComponent
from pyroclust.distributions.components.column_groups import ColumnGroups
from pyroclust.guides.anchored_guide import AnchoredGuide
from pyroclust.guides.exact_filter import exact_filter
from pyroclust.large_tables import LARGE_TABLE
from pyroclust.models import Mixture
from pyroclust.protocols import is_of_graphs, takes_missing
from pyroclust.saving.cards import NO_GUIDE, GuideCard, find_guide, list_guides, read_card
from pyroclust.saving.guides import load_guide
from pyroclust.saving.models import build_model

# Of 50, 100 and 200 on tables of 1,000 rows these have the most effective draws (benchmarks/anchored.py).
_ANCHORS = 200
# Draws of a guide for any table are dear: of 200 rows and 10 columns `compare` takes three minutes
# on one core, and the filter's draws are refined on larger tables in the time that the guide takes to draw.
_ROWS_OF_ANY_TABLE = 200
_HOW_TO_TRAIN = " The command 'pyroclust recipe' writes how to train a guide of this model."
# What to do where no guide is for such points, by what one of these is called.
_REMEDIES = {
    "image": "scale the images to one of these sizes (a folder by --image-size)",
    "waveform": "cut the waveforms so, or if these are images divide them by their largest number",
}

__all__ = ["NoGuide", "PickedGuide", "pick_guide"]


@dataclass(frozen=True)
class NoGuide:
    """A model whose posterior MCMC alone has to find.

    Attributes:
        model: the model.
        about: what a report should say of the choice.
    """

    model: Mixture
    about: tuple[str, ...] = ()


@dataclass(frozen=True)
class PickedGuide:
    """A guide with what its card says.

    Attributes:
        name: on the shelf, of its folder, or of its class.
        module: the guide, told its conditions.
        max_points: most points in training; ``None`` where unknown.
        certificate: what was measured; empty without one.
        about: what a report should say of the choice.
        min_points: fewest points in training; 1 where unknown.
    """

    name: str
    module: Any
    max_points: int | None
    certificate: Mapping[str, Any]
    about: tuple[str, ...] = ()
    min_points: int = 1

    def notes_on(self, table: Table, points: Standardised) -> tuple[str, ...]:
        """Return what a report should say of the choice, and of the size of a table."""
        num_points, given = points.data.shape
        self._check_shape(table)
        self._check_columns(table)
        dim = prod(self.module.model.event_shape)
        if given != dim and not is_of_graphs(self.module.model):
            raise ValueError(
                f"{table.name} has {given} column(s) and guide '{self.name}' takes {dim}; "
                f"choose columns with --columns, reduce with --pca {dim}, or leave --guide out"
            )
        if num_points < self.min_points:
            beyond = f"on {self.min_points} points or more"
        elif self.max_points is not None and num_points > self.max_points:
            beyond = f"on up to {self.max_points} points"
        else:
            return self.about
        return (
            *self.about,
            f"The guide was trained {beyond} and is used on {num_points}: "
            "trust it only as far as a comparison goes.",
        )

    def _check_columns(self, table: Table) -> None:
        """Refuse columns of other kinds than the guide's, and missing cells that it cannot take."""
        model = self.module.model
        if table.has_missing and not takes_missing(model):
            raise ValueError(
                f"{table.name} has missing cells, which guide '{self.name}' cannot take: leave --guide out, "
                "or take the rows that have all cells"
            )
        if not table.are_numbers and _is_of_numbers(model):
            raise ValueError(
                f"{table.name} has columns that are no numbers, and guide '{self.name}' takes numbers alone: "
                "leave --guide out, choose columns with --columns, or say what they are with --kinds"
            )

    def _check_shape(self, table: Table) -> None:
        """Refuse points of another shape, where one of both is no row of columns."""
        wanted = tuple(self.module.model.event_shape)
        rows = table.shape is None and len(wanted) == 1 and not is_of_graphs(self.module.model)
        if not (rows or (table.shape is not None and table.shape.fits(wanted))):
            has = "rows of columns" if table.shape is None else str(table.shape)
            raise ValueError(
                f"{table.name} has {has} and guide '{self.name}' takes {_takes(wanted)}: choose "
                "another guide, or for a folder of images another size (--image-size)"
            )


def pick_guide(
    guide: str | PathLike[str] | torch.nn.Module | None,
    *,
    dim: int,
    num_points: int = 2,
    conditions: Mapping[str, float],
    asked: AskedModel | None = None,
    is_raw: bool = False,
    shape: PointShape | None = None,
    columns: ColumnsOfTable | None = None,
) -> PickedGuide | NoGuide:
    """Return a guide by name, folder or as it is; by default one of the model that was asked for.

    The default is the trained guide of this very model that passes its certificate. Of tables larger than it
    learnt from, and than 1,000 rows, it labels 200 rows, and the exact filter the others. Where no guide of
    the model passes, the default up to 200 rows is the guide of tables, if columns are independent in a
    cluster, and else the exact filter alone; where the model has none either, no guide.
    """
    asked = AskedModel() if asked is None else asked
    of_graphs = isinstance(shape, Graph)
    if shape is not None and not of_graphs and (guide == NO_GUIDE or asked.given):
        raise ValueError(
            f"the points are {shape}, for which there is no model by name and no MCMC: leave guide='none' "
            "and what names a model out, and take compare (pyroclust compare), where a guide stands alone"
        )
    if shape is not None and guide is None and not of_graphs:
        return pick_guide(_guide_for(shape), dim=dim, conditions=conditions)
    if guide is None or guide == NO_GUIDE:
        model = asked.build(dim, num_points, shape, columns=columns)
        found = _without(model, conditions) if guide is not None else _default(model, conditions, num_points)
        told = is_raw and shape is None
        return replace(found, about=(*found.about, *_about_scale(model))) if told else found
    if not isinstance(guide, torch.nn.Module) and (card := read_card(find_guide(guide))).fits_any_table:
        _conditions_of(card.name, (), conditions)
        return _of_any_table(guide, card, asked.for_columns(dim, num_points, columns))
    if asked.given:
        options = ", ".join(asked.given)
        raise ValueError(
            f"{options} given beside a guide, which has a model of its own: leave out --guide, or what names "
            "the model"
        )
    if isinstance(guide, torch.nn.Module):
        name = type(guide).__name__
        return PickedGuide(name, _conditioned(guide, name, conditions), None, {})
    card = read_card(find_guide(guide))
    module = _conditioned(load_guide(guide), card.name, conditions)
    about = f"Guide {card.name} {'is a reference: it ' if card.is_reference else ''}{card.verdict}."
    said = (about,) if card.is_reference or card.doubt else ()
    return PickedGuide(card.name, module, card.max_points, card.certificate, said, card.min_points)


def _takes(event_shape: tuple[int, ...]) -> str:
    return "nodes of a graph" if event_shape == (-1,) else f"points of shape {event_shape}"


def _guide_for(shape: PointShape) -> str:
    """Return the name of a guide on the shelf for such points: of several the one that fails fewest tests."""
    known = [
        (card, build_model({"name": card.model, "arguments": card.model_arguments}))
        for card in list_guides()
        if card.dim is None
    ]
    of_kind = [
        (card, tuple(model.event_shape))
        for card, model in known
        if getattr(model, "noun", None) == shape.noun
    ]
    found = [card for card, event_shape in of_kind if shape.fits(event_shape)]
    if not found:
        sizes = ", ".join(f"{card.name}: {' x '.join(map(str, one))}" for card, one in of_kind)
        raise ValueError(
            f"there is no guide on the shelf for {shape} ({sizes}): {_REMEDIES[shape.noun]}, or train a "
            "guide and name its folder (--guide)"
        )
    return min(found, key=lambda card: inf if card.num_failed is None else card.num_failed).name


def _default(model: Mixture, conditions: Mapping[str, float], num_points: int) -> PickedGuide | NoGuide:
    """Return the trained guide of a model that passes its certificate, the exact filter, or no guide.

    On large tables guides are slow, and have seen none such: there they label a few rows, and the filter the
    others.
    """
    trained = [card for card in list_guides() if card.weights_sha256 and _is_of(card, model)]
    passed = next((card for card in trained if card.passed), None)
    if passed is not None and (_is_for(passed, num_points) or not model.is_conjugate):
        return pick_guide(passed.name, dim=0, conditions=conditions)
    if not model.is_conjugate:
        return _without(
            model,
            conditions,
            f"There is no trained guide of the model {model.name}, and no exact filter: the parameters of "
            "its clusters do not integrate out. This is MCMC alone.",
        )
    if passed is not None and not is_of_graphs(model):
        return _anchored(passed, num_points, conditions)
    columns = "" if is_of_graphs(model) else f" for {model.component.dim} column(s)"
    what = f"of the model {model.name}{columns}"
    any_table = next((card for card in list_guides() if card.passed and card.fits_any_table), None)
    if any_table is not None and num_points <= _ROWS_OF_ANY_TABLE and _has_own_columns(model):
        _conditions_of(any_table.name, (), conditions)
        return _of_any_table(any_table.name, any_table, model)
    failed = "; ".join(f"{card.name} {card.verdict}" for card in trained)
    why = f"There is no trained guide {what}"
    if passed is not None:
        why = (
            f"Guide {passed.name} learnt from at most {passed.max_points} points, and here are {num_points:,}"
        )
    elif failed:
        why = f"No trained guide {what} passes its certificate ({failed})"
    note = (
        f"{why}. This is the exact filter of the same model, which needs no training: it labels points one "
        "after the other and looks at no later point, so its draws need the weights or the comparison with "
        f"MCMC.{_HOW_TO_TRAIN if _is_of_numbers(model) else ''}"
    )
    module = _conditioned(exact_filter(model).eval(), "exact filter", conditions)
    return PickedGuide("exact filter", module, None, {}, (note,))


def _of_any_table(guide: str | PathLike[str], card: GuideCard, model: Mixture) -> PickedGuide:
    """Return the guide of a table's own model, with weights that serve many."""
    loaded = load_guide(guide)
    about: tuple[str, ...] = (
        f"Guide {card.name} has one set of weights for tables of any columns; its certificate was measured "
        f"on {loaded.model.component.dim} columns.",
    )
    if card.is_reference or card.doubt:
        about += (f"Guide {card.name} {'is a reference: it ' if card.is_reference else ''}{card.verdict}.",)
    return PickedGuide(card.name, loaded.of(model), card.max_points, card.certificate, about, card.min_points)


def _has_own_columns(model: Mixture) -> bool:
    """Say whether the columns of a cluster are independent, as in all tables that such guides saw."""
    component = None if is_of_graphs(model) else model.component
    return isinstance(component, ConjugateComponent) and ColumnGroups(component).num_groups == component.dim


def _anchored(card: GuideCard, num_points: int, conditions: Mapping[str, float]) -> PickedGuide:
    """Return a guide that labels some rows of a table that is too large for it, and the filter the others."""
    guide = _conditioned(load_guide(card.name), card.name, conditions)
    note = (
        f"Guide {card.name} learnt from at most {card.max_points:,} points, and here are {num_points:,}. It "
        f"labels {_ANCHORS} of them, one of each part of the table, and the exact filter of the same model, "
        "which looks at no later point, the others: draws need the weights or the comparison with MCMC."
    )
    module = AnchoredGuide(guide, num_anchors=_ANCHORS).eval()
    return PickedGuide(f"{card.name} on {_ANCHORS} anchors", module, None, {}, (note,))


def _without(model: Mixture, conditions: Mapping[str, float], *about: str) -> NoGuide:
    _conditions_of(NO_GUIDE, (), conditions)
    return NoGuide(model, about)


def _about_scale(model: Mixture) -> tuple[str]:
    """Say which scale a model by name expects, where the columns were left as they are."""
    return (
        f"The columns are as they were given (--raw), but the model {model.name} expects columns of mean 0 "
        "and variance 1: its prior of the centres and the widths of clusters has that scale.",
    )


def _is_of_numbers(model: object) -> bool:
    """Say whether points are rows of numbers, all of them there."""
    return getattr(getattr(model, "component", None), "support", None) is constraints.real_vector


def _is_for(card: GuideCard, num_points: int) -> bool:
    return card.max_points is None or num_points <= max(LARGE_TABLE, card.max_points)


def _is_of(card: GuideCard, model: Mixture) -> bool:
    if not is_of_graphs(model) and card.dim != model.component.dim:
        return False
    return build_model({"name": card.model, "arguments": card.model_arguments}) == model


def _conditioned(guide: Any, name: str, values: Mapping[str, float]) -> Any:
    _conditions_of(name, guide.conditions, values)
    return guide.condition(**values) if guide.conditions else guide


def _conditions_of(name: str, wanted: Sequence[str], values: Mapping[str, float]) -> None:
    if set(wanted) != set(values):
        told = ", ".join(f"--condition {one}=..." for one in wanted) or "none"
        raise ValueError(f"conditions are {', '.join(sorted(values)) or 'none'}, guide '{name}' takes {told}")
