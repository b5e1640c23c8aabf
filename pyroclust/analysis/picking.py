"""Which guide a table is compared with, and whether it fits."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from os import PathLike
from typing import Any

import torch

from pyroclust.data.standardise import Standardised
from pyroclust.data.tables import MAX_POINTS, Table
from pyroclust.guides import PredictiveFilter
from pyroclust.models import nig_mixture, niw_mixture
from pyroclust.saving.cards import find_guide, list_guides, read_card
from pyroclust.saving.guides import load_guide
from pyroclust.saving.models import describe_model

__all__ = ["PickedGuide", "pick_guide"]

_MOST_COLUMNS = 4


@dataclass(frozen=True)
class PickedGuide:
    """A guide with what its card says.

    Attributes:
        name: on the shelf, of its folder, or of its class.
        module: the guide, told its conditions.
        max_points: most points in training; ``None`` where unknown.
        certificate: what was measured; empty without one.
        about: what a report should say of the choice.
    """

    name: str
    module: Any
    max_points: int | None
    certificate: Mapping[str, Any]
    about: tuple[str, ...] = ()

    def notes_on(self, table: Table, points: Standardised) -> tuple[str, ...]:
        """Return what a report should say of the choice, and of the size of a table.

        Raises:
            ValueError: if the guide takes another dimension, or the table has too many points.
        """
        num_points, given = points.data.shape
        dim = prod(self.module.model.event_shape)
        if given != dim:
            raise ValueError(
                f"{table.name} has {given} column(s) and guide '{self.name}' takes {dim}; "
                f"choose columns with --columns, reduce with --pca {dim}, or leave --guide out"
            )
        if num_points > MAX_POINTS:
            raise ValueError(
                f"{table.name} has {num_points} points, expected at most {MAX_POINTS}: "
                "memory grows with the pairs of points; cluster a random sample of the rows"
            )
        if self.max_points is not None and num_points > self.max_points:
            return (
                *self.about,
                f"The guide was trained on up to {self.max_points} points and is used on {num_points}: "
                "trust it only as far as a comparison goes.",
            )
        return self.about


def pick_guide(
    guide: str | PathLike[str] | torch.nn.Module | None, *, dim: int, conditions: Mapping[str, float]
) -> PickedGuide:
    """Return a guide by name, folder or as it is; the one for as many columns by default.

    The default is the trained guide of standardised data that passes its certificate, and where none does
    the exact filter of the same model.

    Args:
        guide: name on the shelf, folder, or a guide; ``None`` for the default.
        dim: number of columns.
        conditions: hyperparameters that a guide amortized over them is told.

    Raises:
        ValueError: if there is none, or its conditions are others.

    Example:
        >>> pick_guide(None, dim=1, conditions={}).name
        'ncp-nig1d'
    """
    if isinstance(guide, torch.nn.Module):
        name = type(guide).__name__
        return PickedGuide(name, _conditioned(guide, name, conditions), None, {})
    if guide is None:
        return _default(dim, conditions)
    card = read_card(find_guide(guide))
    module = _conditioned(load_guide(guide), card.name, conditions)
    about = f"Guide {card.name} {'is a reference: it ' if card.is_reference else ''}{card.verdict}."
    said = (about,) if card.is_reference or card.doubt else ()
    return PickedGuide(card.name, module, card.max_points, card.certificate, said)


def _default(dim: int, conditions: Mapping[str, float]) -> PickedGuide:
    """Return the trained guide of standardised real data that passes its certificate, or the exact filter."""
    if dim > _MOST_COLUMNS:
        known = ", ".join(f"{card.name} ({card.dim}-D)" for card in list_guides() if not card.is_reference)
        raise ValueError(
            f"no guide for {dim} columns, there are {known}; "
            "choose columns with --columns, or reduce with --pca 2"
        )
    model = nig_mixture(1) if dim == 1 else niw_mixture(dim)
    described = describe_model(model)
    trained = [
        card
        for card in list_guides()
        if card.weights_sha256 and {"name": card.model, "arguments": card.model_arguments} == described
    ]
    for card in trained:
        if card.passed:
            return pick_guide(card.name, dim=dim, conditions=conditions)
    why = "; ".join(f"{card.name} {card.verdict}" for card in trained) or "there is none"
    note = (
        f"No trained guide for {dim} columns passes its certificate ({why}). This is the exact filter of the "
        "same model, which needs no training: it labels points one after the other and looks at no later "
        "point, so its draws need the weights or the comparison with MCMC."
    )
    module = _conditioned(PredictiveFilter(model).eval(), "exact filter", conditions)
    return PickedGuide("exact filter", module, None, {}, (note,))


def _conditioned(guide: Any, name: str, values: Mapping[str, float]) -> Any:
    wanted = guide.conditions
    if set(wanted) != set(values):
        told = ", ".join(f"--condition {one}=..." for one in wanted) or "none"
        raise ValueError(f"conditions are {', '.join(sorted(values)) or 'none'}, guide '{name}' takes {told}")
    return guide.condition(**values) if wanted else guide
