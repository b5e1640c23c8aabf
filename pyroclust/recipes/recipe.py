"""Recipes: TOML files that say how a guide is trained."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyroclust.infer import FitSettings, Validation
from pyroclust.infer.choices import Choice
from pyroclust.random_state import seeded
from pyroclust.recipes.clusterwise_parts import AttentivePart, ClusterwisePart
from pyroclust.recipes.parts import (
    ChoicePart,
    GuidePart,
    LightPart,
    NeighboursPart,
    PointwisePart,
    PublishedPart,
    StartPart,
    TablesPart,
)
from pyroclust.recipes.typed_tables import check_keys, part_of, read_typed
from pyroclust.saving import build_model

__all__ = ["Recipe", "read_recipe"]

_NETWORKS: dict[str, Any] = {
    "attentive": AttentivePart,
    "clusterwise": ClusterwisePart,
    "light": LightPart,
    "neighbours": NeighboursPart,
    "published": PublishedPart,
}
_TABLES = {"model", "tables", "guide", "start", "order", "training", "choice", "validation", *_NETWORKS}


@dataclass(frozen=True)
class Recipe:
    """What a guide is made of.

    Attributes:
        about: one line for lists.
        model: the Pyro model.
        seed: of the initial weights.
        training: the training settings.
        validation: measurements during the training.
        content: the file as read, for the card.
        guide: inputs of the network.
        network: the network.
        order: class and arguments of the visiting order; ``None`` for the network's own.
        start: an existing guide to start from, instead of guide, network and order.
        choice: which simulations to train on; ``None`` for all.
    """

    about: str
    model: Any
    seed: int
    training: FitSettings
    validation: Validation
    content: dict[str, Any]
    guide: GuidePart
    network: PointwisePart | ClusterwisePart
    order: dict[str, Any] | None
    start: StartPart | None
    choice: Choice | None

    def build(self) -> Any:
        """Build the guide as it is before the training."""
        if self.start is not None:
            return self.start.build(self.model)
        with seeded(self.seed):
            return self.network.make(self.model, self.guide, self.order)


def read_recipe(path: Path | str) -> Recipe:
    """Read and check a recipe.

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
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"there is no recipe '{path}'; give the path of a TOML file, see recipes/")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"recipe '{path}' is not valid TOML ({error})") from None
    try:
        return _recipe(content, path)
    except ValueError as error:
        raise ValueError(f"recipe '{path}': {error}") from None


def _recipe(content: dict[str, Any], path: Path) -> Recipe:
    check_keys(content, _TABLES | {"about", "seed"})
    seed = content.get("seed", 0)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"'seed' is {seed!r}, expected a whole number of at least 0")
    _check_together(content)
    model = _model(content, path)
    start = part_of(content, "start")
    choice = read_typed(ChoicePart, part_of(content, "choice"), where="choice")
    return Recipe(
        about=str(content.get("about", "")),
        model=model,
        seed=seed,
        training=read_typed(FitSettings, part_of(content, "training"), where="training"),
        validation=read_typed(Validation, part_of(content, "validation"), where="validation"),
        content=content,
        guide=read_typed(GuidePart, part_of(content, "guide"), where="guide"),
        network=_network(content),
        order=_order(content),
        start=read_typed(StartPart, start, where="start") if start else None,
        choice=choice.build(model) if "choice" in content else None,
    )


def _check_together(content: dict[str, Any]) -> None:
    """Refuse tables that contradict one another."""
    if ("model" in content) == ("tables" in content):
        raise ValueError("expected either [model], to simulate, or [tables], to train on labelled tables")
    networks = sorted(_NETWORKS)
    excluded = {"start": ("guide", *networks, "order")}
    excluded |= {one: tuple(networks[place + 1 :]) for place, one in enumerate(networks)}
    for table, others in excluded.items():
        for other in others:
            if table in content and other in content:
                raise ValueError(f"[{table}] and [{other}] exclude each other; remove one of them")


def _model(content: dict[str, Any], path: Path) -> Any:
    if "tables" in content:
        return read_typed(TablesPart, part_of(content, "tables"), where="tables").build(path)
    return build_model(part_of(content, "model"))


def _network(content: dict[str, Any]) -> PointwisePart | ClusterwisePart:
    """Read the table of the network, the light one where there is none."""
    name = next((one for one in _NETWORKS if one in content), "light")
    part: PointwisePart | ClusterwisePart = read_typed(_NETWORKS[name], part_of(content, name), where=name)
    return part


def _order(content: dict[str, Any]) -> dict[str, Any] | None:
    if "order" not in content:
        return None
    order = part_of(content, "order")
    name = order.pop("class", "RandomOrder")
    return {"class": name, "arguments": order}
