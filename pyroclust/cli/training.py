"""The command ``pyroclust train``."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyroclust.cli.console import print_plainly, standard_output
from pyroclust.cli.options import OPTIONS, Option, argument, options, takes
from pyroclust.core.progress import stages

__all__ = ["train"]


@takes(
    {"recipe": argument("RECIPE", "TOML file, or the name of a shipped guide, as ncp-overlap2d.", kind=Path)}
    | options(
        "out overwrite quick as_json",
        out=replace(OPTIONS["out"], says="Folder of the guide, its logs and its checkpoint.", default=...),
        overwrite="Start anew where an earlier guide or training is; no other files are replaced.",
        quick="Measure a rough certificate only.",
        resume=Option("", "Go on from the folder's checkpoint.", bool, default=False),
        max_steps=Option("N", "Stop earlier; --resume goes on.", int, least=1),
        accelerator=Option("NAME", "cpu, gpu or auto.", default="cpu"),
        precision=Option("NAME", "32-true or bf16-mixed.", default="32-true"),
    )
)
def train(
    *,
    recipe: Path,
    out: Path,
    accelerator: str,
    precision: str,
    quick: bool,
    as_json: bool,
    **typed: Any,
) -> None:
    """Train a guide from a recipe, save it, and measure its certificate on fresh data.

    Ctrl-C and SIGTERM keep the guide as it is then; a killed training loses at
    most 20 seconds, and goes on with --resume to the same weights. Several
    processes: torchrun --nproc-per-node 2 -m pyroclust train ...
    """
    from pyroclust.calibration.settings import CertificateSettings
    from pyroclust.infer import Devices
    from pyroclust.recipes import read_recipe
    from pyroclust.recipes.training_runs import train_recipe
    from pyroclust.results.files import prepare_folder

    if typed["resume"] and typed["overwrite"]:
        raise ValueError("--resume goes on and --overwrite starts anew, expected one of them; leave one out")
    read_recipe(recipe)
    folder = prepare_folder(out)
    devices = Devices(accelerator=accelerator, precision=precision)
    settings = CertificateSettings.quick() if quick else CertificateSettings()
    with stages() as tell:
        trained = train_recipe(recipe, folder, devices=devices, certificate=settings, say=tell, **typed)
    result, certificate = trained.result, trained.certificate
    if as_json:
        figures = ("steps", "loss", "num_datasets", "seconds", "interrupted", "validation")
        content = {name: getattr(result, name) for name in figures}
        content["certificate"] = None if certificate is None else certificate.to_dict()
        print(json.dumps(content, indent=2))
    elif not result.interrupted:
        from pyroclust.cli.cards import guide_list
        from pyroclust.saving.cards import read_card

        console = standard_output()
        console.print(guide_list([read_card(folder)]))
        print_plainly(console, f"Written: {folder} (card.json, weights.safetensors, training.png)")
    if result.interrupted:
        raise KeyboardInterrupt(
            f"after step {result.steps}; the guide in '{folder}' is usable, --resume goes on"
        )
