"""The command ``pyroclust check``."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from pyroclust.cli.console import end_strictly, print_plainly
from pyroclust.cli.options import OPTIONS, Option, argument, options, takes
from pyroclust.core.files import check_file, write_file
from pyroclust.core.long_runs import raise_if_interrupted, stages
from pyroclust.core.messages import Attempts, listed
from pyroclust.saving.cards import CARD_FILE, find_guide

if TYPE_CHECKING:
    from pyroclust.calibration import CertificateSettings, CheckResult
from typing import Any

from pyroclust.cli.console import standard_output

_PICTURE, _CONTENT = "certificate.png", "certificate.json"


@takes(
    {"guide": argument("GUIDE", "Guide by name or folder; see 'pyroclust guides'.")}
    | options(
        "seed quick out overwrite strict as_json",
        seed=replace(OPTIONS["seed"], says="Same seed, same data sets.", default=1),
        out="Folder for certificate.json and certificate.png.",
        datasets=Option("N", "Data sets of the calibration.", int, least=1),
        points=Option("A,B", "Sizes of data sets, separated by commas, such as 20,50,1000."),
        save=Option(
            "FOLDER", "Store the guide with this certificate there; the guide's own folder is fine.", Path
        ),
    )
)
def check(
    *,
    guide: str,
    seed: int,
    datasets: int | None,
    points: str | None,
    quick: bool,
    save: Path | None,
    out: Path | None,
    overwrite: bool,
    strict: bool,
    as_json: bool,
) -> None:
    """Measure a guide on fresh data of its model, judge it, and compare it with its card.

    One to three minutes on one core. Nothing is written without --save or
    --out, and never into the installed package.
    """
    try:
        sizes = None if points is None else tuple(sorted({int(one) for one in points.split(",")}))
    except ValueError:
        raise ValueError(
            f"--points is '{points}', expected whole numbers separated by commas, such as 20,50,100"
        ) from None
    folder = find_guide(guide)
    if save is not None:
        _check_place(folder, save, overwrite=overwrite, quick=quick)
    with stages(first="loading") as tell:
        from pyroclust.calibration import check_guide
        from pyroclust.calibration.certificate import certificate_content
        from pyroclust.calibration.checking import store_certificate
        from pyroclust.plots import plot_certificate, png_bytes
        from pyroclust.results.files import name_of_run, results_folder, write_files, write_json

        settings = replace(_effort(quick=quick), seed=seed)
        if datasets is not None:
            settings = replace(settings, num_calibrated=datasets)
        card = (folder / CARD_FILE).read_bytes() if (folder / CARD_FILE).is_file() else b""
        run = name_of_run("check", card=card, settings=repr(settings), sizes=sizes)
        with results_folder(out, run=run, overwrite=overwrite, record=_CONTENT) as results:
            result = check_guide(guide, settings=settings, sampled_points=sizes, progress=tell)
            raise_if_interrupted()
            tries, picture = Attempts(), None
            if results is not None or save is not None:
                picture = tries.value_or_none(
                    f"The picture {_PICTURE}",
                    lambda: png_bytes(plot_certificate(result.certificate.to_dict(), name=result.card.name)),
                )
            content = {
                "guide": result.card.name,
                "certificate": certificate_content(result.certificate),
                "answers_changed": list(result.changed),
                "failures": [*result.failures, *tries.failures],
            }
            if results is not None:
                with write_files(results) as part:
                    write_json(part / _CONTENT, content | {"run": run})
                    if picture is not None:
                        (part / _PICTURE).write_bytes(picture)
        note = "Not stored: --save FOLDER stores the guide with this certificate."
        failure: OSError | None = None
        if save is not None:
            try:
                store_certificate(result.folder, result.certificate, into=save)
                note = f"Stored: {save / CARD_FILE}"
                if picture is not None:
                    write_file(save / _PICTURE, picture, overwrite=True)
                    note += f", {_PICTURE}"
            except OSError as error:
                # What was measured for minutes is shown first.
                note, failure = f"Not stored: '{save}' cannot be written.", error
    if as_json:
        print(json.dumps(content | {"note": note}, indent=2, allow_nan=False))
    else:
        _show(result, " ".join((note, *tries.failures)))
    if failure is not None:
        raise failure
    end_strictly(result.verdict, strict=strict)


def _show(result: "CheckResult", note: str) -> None:
    from pyroclust.cli.cards import certificate_view

    # Its tables fit into the 80 columns of a pipe.
    console = Console()
    console.print(certificate_view(result), highlight=False)
    print_plainly(console, note)


def _effort(*, quick: bool) -> "CertificateSettings":
    from pyroclust.calibration import CertificateSettings

    return CertificateSettings.quick() if quick else CertificateSettings()


def _check_place(guide: Path, save: Path, *, overwrite: bool, quick: bool) -> None:
    """Refuse, before anything is measured, a folder that must not be changed or cannot be."""
    from pyroclust.calibration.checking import same_but_for_the_certificate
    from pyroclust.results.files import prepare_folder
    from pyroclust.saving.cards import read_card
    from pyroclust.saving.guides import check_guide_files

    folder = prepare_folder(save)
    held = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    own = folder.resolve() == guide.resolve() or same_but_for_the_certificate(guide, folder)
    if held and not own and not overwrite:
        raise ValueError(
            f"folder '{folder}' holds other files ({listed(held, 3)}); choose another with --save, or "
            "--overwrite"
        )
    check_guide_files(folder)
    check_file(folder / _PICTURE, overwrite=True)
    if quick and not overwrite and CARD_FILE in held and read_card(folder).certificate:
        raise ValueError(
            f"'{folder / CARD_FILE}' has a certificate, which a quick look does not replace; leave out "
            "--quick, or --overwrite"
        )


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
    from pyroclust.calibration.certifying import CertificateSettings
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
