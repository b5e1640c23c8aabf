"""Which guide a table is compared with, and whether it fits."""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import torch

from pyroclust.data.standardise import Standardised
from pyroclust.data.tables import MAX_POINTS, Table
from pyroclust.saving.cards import find_guide, list_guides, read_card
from pyroclust.saving.guides import load_guide

__all__ = ["DEFAULT_GUIDES", "PickedGuide", "pick_guide"]

DEFAULT_GUIDES = {1: "ncp-nig1d", 2: "ncp-niw2d", 3: "ncp-niw3d", 4: "ncp-niw4d"}
"""Guides for standardised real data, by dimension."""


@dataclass(frozen=True)
class PickedGuide:
    """A guide with what its card says.

    Attributes:
        name: on the shelf, of its folder, or of its class.
        module: the guide, told its conditions.
        max_points: most points in training; ``None`` where unknown.
        certificate: what was measured; empty without one.
    """

    name: str
    module: Any
    max_points: int | None
    certificate: Mapping[str, Any]

    def notes_on(self, table: Table, points: Standardised) -> tuple[str, ...]:
        """Return what a report should say of the size of a table.

        Raises:
            ValueError: if the guide takes another dimension, or the table has too many points.
        """
        num_points, given = points.data.shape
        dim = self.module.model.component.dim
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
                f"The guide was trained on up to {self.max_points} points and is used on {num_points}: "
                "trust it only as far as a comparison goes.",
            )
        return ()


def pick_guide(
    guide: str | PathLike[str] | torch.nn.Module | None, *, dim: int, conditions: Mapping[str, float]
) -> PickedGuide:
    """Return a guide by name, folder or as it is; the one for as many columns by default.

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
    if guide is None and dim not in DEFAULT_GUIDES:
        known = ", ".join(f"{card.name} ({card.dim}-D)" for card in list_guides())
        raise ValueError(
            f"no guide for {dim} columns, there are {known}; "
            "choose columns with --columns, or reduce with --pca 2"
        )
    chosen = DEFAULT_GUIDES[dim] if guide is None else guide
    card = read_card(find_guide(chosen))
    module = _conditioned(load_guide(chosen), card.name, conditions)
    return PickedGuide(card.name, module, card.max_points, card.certificate)


def _conditioned(guide: Any, name: str, values: Mapping[str, float]) -> Any:
    wanted = guide.conditions
    if set(wanted) != set(values):
        told = ", ".join(f"--condition {one}=..." for one in wanted) or "none"
        raise ValueError(f"conditions are {', '.join(sorted(values)) or 'none'}, guide '{name}' takes {told}")
    return guide.condition(**values) if wanted else guide
