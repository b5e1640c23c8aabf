"""From a recipe to a guide with its certificate: the work behind ``pyroclust train``."""

import os
import sys
import tomllib
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pyroclust.calibration import Certificate, CertificateSettings, certify
from pyroclust.calibration.checking import store_certificate
from pyroclust.core.files import (
    check_file,
    check_outside_the_package,
    check_replaceable,
    checksum,
    locked_folder,
    write_file,
    written_file,
)
from pyroclust.core.long_runs import interrupt_between_steps, raise_if_interrupted
from pyroclust.core.messages import Attempts
from pyroclust.infer import Devices, FitResult, fit
from pyroclust.infer.losses import require_data
from pyroclust.infer.training.files import (
    CHECKPOINT_FILE,
    EVENTS_FOLDER,
    LOG_FILE,
    VALIDATION_FILE,
    check_table,
    failure_of,
    read_checkpoint,
)
from pyroclust.recipes.recipe import Recipe, find_recipe, read_recipe
from pyroclust.saving.cards import CARD_FILE
from pyroclust.saving.guides import check_guide_files, save_guide

_NOT_CERTIFIED = (
    "The guide has learned its model from data, not from simulations: there is no certificate; judge it by "
    "labels, as pyroclust.baselines.feature_scores does"
)

RECIPE_FILE, PICTURE_FILE = "recipe.toml", "training.png"


@dataclass(frozen=True)
class TrainedGuide:
    """A guide that has just been trained, in evaluation mode, with the averaged weights.

    It has no certificate after an interrupt, in a process that only helps, and where it learns its model from
    data.
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
    overwrite: bool = False,
) -> TrainedGuide:
    """Train the guide of a recipe, save it, and measure its certificate on fresh data.

    A guide that learns its model from data has no certificate. The folder then holds the
    guide (``weights.safetensors``, ``card.json``), the recipe, the logs, a picture of the training and the
    last checkpoint. Whatever stops the work, what is done so far can be resumed.

    With ``resume`` it goes on from the folder's checkpoint, or starts if there is none yet. With
    ``overwrite`` it starts anew in a folder that holds another training or a guide, which stays until the new
    one takes its place. ``devices`` are one process on the CPU, or those of ``torchrun``, by default.

    Raises:
        ValueError: if the recipe is wrong, the folder holds a guide, a checkpoint or another recipe and
            nobody said what to do with it, another training writes into it, or the training fails.
    """
    note = say or _on_standard_error
    path = find_recipe(path)
    recipe, folder = read_recipe(path), Path(out)
    check_outside_the_package(folder)
    guide = recipe.build()
    recipe.finished(guide)
    require_data(guide, recipe.data)
    helps = int(os.environ.get("RANK", "0")) > 0
    with ExitStack() as stack:
        interrupt = stack.enter_context(interrupt_between_steps())
        if not helps:
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked_folder(folder))
            _prepare_folder(path, folder, resume=resume, overwrite=overwrite, note=note)
        result = fit(
            recipe.model,
            guide,
            settings=recipe.training,
            choice=recipe.choice,
            data=recipe.data,
            folder=folder,
            resume=resume,
            max_steps=max_steps,
            validation=recipe.validation,
            devices=devices,
            progress=progress,
        )
        if helps:
            return TrainedGuide(guide, result, None)
        guide = recipe.finished(guide.cpu())
        save_guide(guide, folder, card=_card(recipe, result))
        tries = Attempts()
        tries.value_or_none(f"The picture {PICTURE_FILE}", lambda: draw_training(folder))
        for sentence in tries.failures:
            note(sentence)
        if interrupt.requested:
            return TrainedGuide(guide, replace(result, interrupted=True), None)
    if getattr(recipe.model, "is_trained_with_guide", False):
        note(_NOT_CERTIFIED)
        return TrainedGuide(guide, result, None)
    settings = (certificate or CertificateSettings()).within(
        recipe.training.min_points, recipe.training.max_points
    )
    try:
        measured = certify(guide, settings=settings, progress=say)
        raise_if_interrupted()
    except KeyboardInterrupt:
        return TrainedGuide(guide, replace(result, interrupted=True), None)
    store_certificate(folder, measured)
    return TrainedGuide(guide, result, measured)


def _on_standard_error(sentence: str) -> None:
    print(sentence, file=sys.stderr)


def draw_training(folder: Path) -> None:
    """Draw ``training.png`` from the logs in a folder."""
    from pyroclust.plots import plot_training, png_bytes

    log = _columns(folder / LOG_FILE)
    if len(log.get("step", ())):
        figure = plot_training(log, _columns(folder / VALIDATION_FILE), name=folder.name)
        write_file(folder / PICTURE_FILE, png_bytes(figure), overwrite=True)


def _columns(path: Path) -> dict[str, np.ndarray]:
    if not path.is_file() or not path.stat().st_size:
        return {}
    table = pd.read_csv(path)
    return {name: table[name].to_numpy() for name in table.columns}


def _prepare_folder(
    path: Path, folder: Path, *, resume: bool, overwrite: bool, note: Callable[[str], None]
) -> None:
    """Put the recipe into the folder, or refuse a folder that holds anything else than a start of it.

    A recipe binds a folder once there is a guide, or a checkpoint to go on from: a recipe whose training
    failed may be corrected, also where it failed after some steps. It would fail there again.
    """
    kept, content = folder / RECIPE_FILE, path.read_bytes()
    if not kept.is_file() or kept.read_bytes() != content:
        check_file(kept, overwrite=True)
    check_guide_files(folder)
    has_checkpoint, has_guide = (folder / CHECKPOINT_FILE).exists(), (folder / CARD_FILE).exists()
    if not has_checkpoint and not has_guide and not written_file(kept):
        for name in (LOG_FILE, VALIDATION_FILE, PICTURE_FILE, EVENTS_FOLDER):
            check_replaceable(folder / name, {})
    other = f" of another recipe ('{kept}')" if kept.is_file() and not _same_recipe(kept, path) else ""
    if overwrite and not resume:
        _clear_training(folder)
    elif has_checkpoint and resume and other:
        failed = "a failed training" if failure_of(folder / CHECKPOINT_FILE) else "a training"
        raise ValueError(
            f"folder '{folder}' holds {failed}{other}; choose another folder, or start anew with --overwrite "
            "(overwrite=True) and without --resume"
        )
    elif has_checkpoint and not resume:
        failure = failure_of(folder / CHECKPOINT_FILE) if other and not has_guide else None
        if not failure:
            raise ValueError(
                f"folder '{folder}' holds a checkpoint already{other}; go on with --resume (resume=True), "
                "choose another folder, or start anew with --overwrite (overwrite=True)"
            )
        note(f"The training of another recipe that failed here ({failure}) is replaced.")
        _clear_training(folder)
    elif has_guide and not has_checkpoint:
        raise ValueError(
            f"folder '{folder}' holds a guide and no checkpoint to go on from; choose another folder, or "
            "replace the guide with --overwrite (overwrite=True)"
        )
    write_file(kept, content, overwrite=True)


def _clear_training(folder: Path) -> None:
    """Remove checkpoint and logs, if a training wrote them; a guide stays until there is a new one."""
    checkpoint, picture = folder / CHECKPOINT_FILE, folder / PICTURE_FILE
    if checkpoint.exists():
        read_checkpoint(checkpoint)
    for name in (LOG_FILE, VALIDATION_FILE):
        check_table(folder / name)
    for name in (CHECKPOINT_FILE, LOG_FILE, VALIDATION_FILE):
        (folder / name).unlink(missing_ok=True)
    if checksum(picture) in written_file(picture).values():
        picture.unlink()
    for path in (folder / EVENTS_FOLDER).glob("events.out.tfevents.*"):
        path.unlink()
    with suppress(OSError):
        (folder / EVENTS_FOLDER).rmdir()


def _same_recipe(first: Path, second: Path) -> bool:
    """Return whether two recipes say the same; a file that is no recipe is like no other."""
    try:
        one, other = (tomllib.loads(path.read_text(encoding="utf-8")) for path in (first, second))
    except ValueError:
        return False
    return one == other


def _card(recipe: Recipe, result: FitResult) -> dict[str, Any]:
    trained = {"seconds": round(result.seconds, 1), "datasets": result.num_datasets, "steps": result.steps}
    trained |= {"interrupted": True} if result.interrupted else {}
    return {
        "about": recipe.about,
        "min_points": recipe.training.min_points,
        "max_points": recipe.training.max_points,
        "recipe": recipe.content | {"trained": trained},
        "seeds": {"weights": recipe.seed, "training": recipe.training.seed},
    }
