"""The command ``pyroclust train``."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyroclust.cli.console import print_plainly, standard_output
from pyroclust.cli.errors import one_sentence_errors
from pyroclust.cli.options import folder_named
from pyroclust.progress import stages

if TYPE_CHECKING:
    from pyroclust.recipes.training_runs import TrainedGuide

__all__ = ["train"]


@one_sentence_errors
def train(
    recipe: Annotated[
        Path, typer.Argument(help="TOML file, or the name of a shipped guide, as ncp-overlap2d.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER", parser=folder_named, help="Folder of the guide, its logs and its checkpoint."
        ),
    ],
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the folder's checkpoint.")] = False,  # noqa: FBT002
    overwrite: Annotated[  # noqa: FBT002
        bool, typer.Option("--overwrite", help="Start anew where a guide or a training is already.")
    ] = False,
    max_steps: Annotated[int | None, typer.Option(help="Stop earlier; --resume goes on.", min=1)] = None,
    accelerator: Annotated[str, typer.Option(help="cpu, gpu or auto.")] = "cpu",
    precision: Annotated[str, typer.Option(help="32-true or bf16-mixed.")] = "32-true",
    quick: Annotated[bool, typer.Option("--quick", help="Measure a rough certificate only.")] = False,  # noqa: FBT002
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,  # noqa: FBT002
) -> None:
    """Train a guide from a recipe, save it, and measure its certificate on fresh data.

    Ctrl-C and SIGTERM keep the guide as it is then; a killed training loses at most 20 seconds, and goes on
    with --resume to the same weights. Several processes: torchrun --nproc-per-node 2 -m pyroclust train ...
    """
    from pyroclust.calibration.settings import CertificateSettings
    from pyroclust.infer import Devices
    from pyroclust.recipes import read_recipe
    from pyroclust.recipes.training_runs import train_recipe
    from pyroclust.results.files import prepare_folder

    if resume and overwrite:
        raise ValueError("--resume goes on and --overwrite starts anew, expected one of them; leave one out")
    read_recipe(recipe)
    folder = prepare_folder(out)
    devices = Devices(accelerator=accelerator, precision=precision)
    settings = CertificateSettings.quick() if quick else CertificateSettings()
    with stages() as tell:
        trained = train_recipe(
            recipe,
            folder,
            resume=resume,
            overwrite=overwrite,
            max_steps=max_steps,
            devices=devices,
            certificate=settings,
            say=tell,
        )
    if as_json:
        print(json.dumps(_content(trained), indent=2))
    elif not trained.result.interrupted:
        _show(folder)
    if trained.result.interrupted:
        raise KeyboardInterrupt(
            f"after step {trained.result.steps}; the guide in '{folder}' is usable, --resume goes on"
        )


def _content(trained: "TrainedGuide") -> dict[str, Any]:
    result, certificate = trained.result, trained.certificate
    return {
        "steps": result.steps,
        "loss": result.loss,
        "num_datasets": result.num_datasets,
        "seconds": result.seconds,
        "interrupted": result.interrupted,
        "validation": result.validation,
        "certificate": None if certificate is None else certificate.to_dict(),
    }


def _show(folder: Path) -> None:
    from pyroclust.cli.guide_list import guide_list
    from pyroclust.saving.cards import read_card

    console = standard_output()
    console.print(guide_list([read_card(folder)]))
    print_plainly(console, f"Written: {folder} (card.json, weights.safetensors, training.png)")
