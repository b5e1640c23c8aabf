"""Recipes: TOML files from which a guide is trained, measured and saved."""

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from pyroclust.guides import NeuralClusteringProcess
from pyroclust.guides.arguments import build_order
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.infer.certificate import Certificate, certify
from pyroclust.infer.choices import Choice, HardStandardised
from pyroclust.infer.fit import FitResult, FitSettings, fit
from pyroclust.nn import SummedScorer
from pyroclust.pretrained import save_guide
from pyroclust.registry import MODELS
from pyroclust.suggestions import unknown_name

__all__ = ["Recipe", "read_recipe", "train_recipe"]


_LIGHT = {
    "width",
    "num_bandwidths",
    "bandwidth_ratio",
    "second_moments",
    "num_attention",
    "use_filter",
}
_TABLES = {"model", "order", "training", "choice"}


@dataclass(frozen=True)
class Recipe:
    """What a guide is made of.

    Attributes:
        about: one line for lists.
        model: name of the model.
        dim: dimension of the points.
        light: arguments of the light scorer; ``None`` where the published one is wanted.
        published: arguments of the published scorer.
        order: class and arguments of the visiting order.
        seed: of the initial weights.
        training: the training settings.
        choice: which simulations to train on; ``None`` for all.
        content: the file as read, for the card.
    """

    about: str
    model: str
    dim: int
    light: dict[str, Any] | None
    published: dict[str, Any]
    order: dict[str, Any]
    seed: int
    training: FitSettings
    choice: Choice | None
    content: dict[str, Any]

    def build(self) -> NeuralClusteringProcess:
        """Build the untrained guide."""
        torch.manual_seed(self.seed)
        model = MODELS[self.model](self.dim)
        light = self.light
        scorer = (
            SummedScorer(self.dim, **self.published) if light is None else light_scorer_for(model, **light)
        )
        return NeuralClusteringProcess(model, scorer=scorer, order=build_order(self.order))


def read_recipe(path: Path | str) -> Recipe:
    """Read and check a recipe.

    Raises:
        ValueError: if the file is missing or no TOML, or a key or name is unknown or missing.

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
    except ValueError as error:
        raise ValueError(f"recipe '{path}' is not valid TOML ({error})") from None
    _check_keys(path, "", content, _TABLES | {"about", "seed", "light", "published"})
    choice, model, order, training = (_table(path, content, name) for name in sorted(_TABLES))
    _check_keys(path, "choice.", choice, {"oversampling", "hardness"})
    _check_keys(path, "model.", model, {"name", "dim"})
    _check_keys(path, "training.", training, set(FitSettings.__dataclass_fields__))
    if model.get("name") not in MODELS:
        raise ValueError(f"recipe '{path}': {unknown_name('model', str(model.get('name')), MODELS)}")
    light = content.get("light", None if "published" in content else {})
    _check_keys(path, "light.", light or {}, _LIGHT)
    try:
        return Recipe(
            about=str(content.get("about", "")),
            model=model["name"],
            dim=int(model.get("dim", 2)),
            light=light,
            published=content.get("published", {}),
            order={"class": order["class"], "arguments": {k: v for k, v in order.items() if k != "class"}},
            seed=int(content.get("seed", 0)),
            training=FitSettings(**training),
            choice=HardStandardised(**choice) if choice else None,
            content=content,
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"recipe '{path}' lacks or garbles an entry ({error})") from None


def train_recipe(
    path: Path | str, out: Path | str, *, max_steps: int | None = None, progress: bool = True
) -> tuple[FitResult, Certificate]:
    """Train the guide of a recipe, measure it on fresh data, and save it with card and certificate.

    Args:
        path: TOML file.
        out: folder of the guide; the training log goes there too.
        max_steps: stop the schedule earlier, for a trial.
        progress: show a progress bar.
    """
    recipe = read_recipe(path)
    settings = recipe.training
    if max_steps is not None:
        settings = replace(settings, steps=min(settings.steps, max_steps))
    guide = recipe.build()
    folder = Path(out)
    result = fit(
        guide.model,
        guide,
        settings=settings,
        choice=recipe.choice,
        event_shape=(recipe.dim,),
        log=folder / "log.csv",
        progress=progress,
    )
    save_trained(guide, folder, recipe=recipe, result=result, certificate=None)
    certificate = certify(guide.model, guide)
    save_trained(guide, folder, recipe=recipe, result=result, certificate=certificate)
    return result, certificate


def save_trained(
    guide: NeuralClusteringProcess,
    folder: Path,
    *,
    recipe: Recipe,
    result: FitResult,
    certificate: Certificate | None,
) -> None:
    """Save a trained guide; without a certificate first, so that a failing measurement loses nothing."""
    card = {
        "about": recipe.about,
        "max_points": recipe.training.max_points,
        "recipe": recipe.content
        | {"trained": {"seconds": round(result.seconds, 1), "datasets": result.num_datasets}},
        "seeds": {"weights": recipe.seed, "training": recipe.training.seed},
        "certificate": {} if certificate is None else certificate.to_dict(),
    }
    save_guide(guide, folder, card=card)


def _table(path: Path, content: dict[str, Any], name: str) -> dict[str, Any]:
    table = content.get(name, {})
    if not isinstance(table, dict):
        raise ValueError(f"recipe '{path}': '{name}' is {table!r}, expected a table [{name}]")
    return table


def _check_keys(path: Path, prefix: str, content: dict[str, Any], known: set[str]) -> None:
    for key in sorted(set(content) - known):
        raise ValueError(f"recipe '{path}': {unknown_name('key', prefix + key, [prefix + k for k in known])}")
