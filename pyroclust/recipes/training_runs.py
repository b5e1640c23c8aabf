"""From a recipe to a guide with its certificate: the work behind ``pyroclust train``."""

import os
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pyroclust.calibration import Certificate, CertificateSettings, certify
from pyroclust.calibration.checking import store_certificate
from pyroclust.files import replace_file
from pyroclust.infer import Devices, FitResult, fit
from pyroclust.infer.training import LOG_FILE, VALIDATION_FILE
from pyroclust.recipes.recipe import Recipe, find_recipe, read_recipe
from pyroclust.saving.guides import save_guide

__all__ = ["PICTURE_FILE", "RECIPE_FILE", "TrainedGuide", "train_recipe"]

RECIPE_FILE, PICTURE_FILE = "recipe.toml", "training.png"


@dataclass(frozen=True)
class TrainedGuide:
    """A guide that has just been trained.

    Attributes:
        guide: with the averaged weights, in evaluation mode.
        result: what the training did.
        certificate: what was measured; ``None`` after an interrupt, or in a process that only helps.
    """

    guide: Any
    result: FitResult
    certificate: Certificate | None


def train_recipe(
    path: str | PathLike[str],
    out: Path | str,
    *,
    resume: bool = False,
    max_steps: int | None = None,
    devices: Devices | None = None,
    certificate: CertificateSettings | None = None,
    progress: bool = True,
    say: Callable[[str], None] | None = None,
) -> TrainedGuide:
    """Train the guide of a recipe, save it, and measure its certificate on fresh data.

    The folder then holds the guide (``weights.safetensors``, ``card.json``), the recipe, the logs, a picture
    of the training and the last checkpoint. Whatever stops the work, what is done so far can be resumed.

    Args:
        path: TOML file, or the name of a recipe that comes with the package.
        out: folder of the guide.
        resume: go on from the folder's checkpoint, or start if there is none yet.
        max_steps: stop after so many steps; resume later, or keep the guide as it is.
        devices: one process on the CPU, or those of ``torchrun``, by default.
        certificate: how much is measured; nothing with zeros.
        progress: show a line on standard error.
        say: told what is measured after the training.

    Raises:
        ValueError: if the recipe is wrong, the folder belongs to another recipe, or the training fails.
    """
    path = find_recipe(path)
    recipe, folder = read_recipe(path), Path(out)
    helps = int(os.environ.get("RANK", "0")) > 0
    if not helps:
        _keep_recipe(path, folder)
    guide = recipe.build()
    result = fit(
        recipe.model,
        guide,
        settings=recipe.training,
        choice=recipe.choice,
        folder=folder,
        resume=resume,
        max_steps=max_steps,
        validation=recipe.validation,
        devices=devices,
        progress=progress,
    )
    if helps:
        return TrainedGuide(guide, result, None)
    guide = guide.cpu()
    save_guide(guide, folder, card=_card(recipe, result))
    draw_training(folder)
    if result.interrupted:
        return TrainedGuide(guide, result, None)
    settings = (certificate or CertificateSettings()).up_to(recipe.training.max_points)
    measured = certify(guide, settings=settings, progress=say)
    store_certificate(folder, measured)
    return TrainedGuide(guide, result, measured)


def draw_training(folder: Path) -> None:
    """Draw ``training.png`` from the logs in a folder."""
    from pyroclust.plots import plot_training, png_bytes

    log = _columns(folder / LOG_FILE)
    if len(log.get("step", ())):
        figure = plot_training(log, _columns(folder / VALIDATION_FILE), name=folder.name)
        replace_file(folder / PICTURE_FILE, png_bytes(figure))


def _columns(path: Path) -> dict[str, np.ndarray]:
    if not path.is_file() or not path.stat().st_size:
        return {}
    table = pd.read_csv(path)
    return {name: table[name].to_numpy() for name in table.columns}


def _keep_recipe(path: Path, folder: Path) -> None:
    """Put the recipe beside the guide, or check that it is the one that is there."""
    folder.mkdir(parents=True, exist_ok=True)
    content, kept = path.read_bytes(), folder / RECIPE_FILE
    if kept.is_file() and kept.resolve() != path.resolve():
        before = tomllib.loads(kept.read_text(encoding="utf-8"))
        if before != tomllib.loads(content.decode()):
            raise ValueError(
                f"folder '{folder}' holds a training of another recipe ('{kept}'); choose another folder"
            )
    elif not kept.is_file():
        replace_file(kept, content)


def _card(recipe: Recipe, result: FitResult) -> dict[str, Any]:
    trained = {"seconds": round(result.seconds, 1), "datasets": result.num_datasets, "steps": result.steps}
    return {
        "about": recipe.about,
        "max_points": recipe.training.max_points,
        "recipe": recipe.content | {"trained": trained},
        "seeds": {"weights": recipe.seed, "training": recipe.training.seed},
    }
