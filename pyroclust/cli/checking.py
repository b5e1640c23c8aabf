"""The command ``pyroclust check``."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from pyroclust.cli.errors import one_sentence_errors
from pyroclust.progress import stages
from pyroclust.saving.cards import find_guide

if TYPE_CHECKING:
    from pyroclust.calibration import CertificateSettings, CheckResult

__all__ = ["check"]

_PICTURE, _CONTENT = "certificate.png", "certificate.json"


@one_sentence_errors
def check(
    guide: Annotated[str, typer.Argument(help="Guide by name or folder; see 'pyroclust guides'.")],
    seed: Annotated[int, typer.Option(help="Same seed, same data sets.", min=0)] = 1,
    datasets: Annotated[int | None, typer.Option(help="Data sets of the calibration.", min=1)] = None,
    points: Annotated[
        str | None, typer.Option(help="Sizes of data sets, separated by commas, such as 20,50,1000.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A rough look of some seconds.")] = False,  # noqa: FBT002
    save: Annotated[bool, typer.Option("--save", help="Store the certificate in the guide's card.")] = False,  # noqa: FBT002
    out: Annotated[Path | None, typer.Option(help="Folder for certificate.json and certificate.png.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,  # noqa: FBT002
) -> None:
    """Measure a guide on fresh data of its model, judge it, and compare it with the certificate in its card.

    One to three minutes on one core. Nothing is written without --save or --out.
    """
    sizes = None if points is None else _sizes(points)
    find_guide(guide)
    with stages(first="loading") as tell:
        from pyroclust.analysis.outputs import prepare_folder
        from pyroclust.calibration import check_guide

        folder = None if out is None else prepare_folder(out)
        settings = _settings(seed, datasets, quick=quick)
        result = check_guide(guide, settings=settings, sampled_points=sizes, progress=tell)
        if folder is not None:
            _write(result, folder)
        note = _store(result, quick=quick) if save else "Not stored: --save writes it into the card."
    if as_json:
        print(json.dumps(_content(result) | {"note": note}, indent=2, allow_nan=False))
        return
    from pyroclust.cli.certificate_table import certificate_view

    # Its tables fit into the 80 columns of a pipe.
    console = Console()
    console.print(certificate_view(result), highlight=False)
    console.print(note, highlight=False, soft_wrap=True)


def _sizes(text: str) -> tuple[int, ...]:
    try:
        return tuple(sorted({int(one) for one in text.split(",")}))
    except ValueError:
        raise ValueError(
            f"--points is '{text}', expected whole numbers separated by commas, such as 20,50,100"
        ) from None


def _settings(seed: int, datasets: int | None, *, quick: bool) -> "CertificateSettings":
    settings = replace(_effort(quick=quick), seed=seed)
    return settings if datasets is None else replace(settings, num_calibrated=datasets)


def _effort(*, quick: bool) -> "CertificateSettings":
    from pyroclust.calibration import CertificateSettings

    return CertificateSettings.quick() if quick else CertificateSettings()


def _store(result: "CheckResult", *, quick: bool) -> str:
    """Store card and picture; say what was written, or why nothing was."""
    from pyroclust.calibration.checking import store_certificate
    from pyroclust.saving.cards import CARD_FILE, shelf

    card = result.folder / CARD_FILE
    if quick and result.card.certificate:
        return f"Not stored: '{card}' has a certificate already, which a quick look does not replace."
    try:
        store_certificate(result.folder, result.certificate)
        if result.folder.resolve().parent == shelf().resolve():
            return f"Stored: {card}"
        _picture(result, result.folder)
    except OSError as error:
        return f"Not stored: '{card}' cannot be written ({error.strerror or error})."
    return f"Stored: {card}, {_PICTURE}"


def _write(result: "CheckResult", folder: Path) -> None:
    from pyroclust.files import replace_file

    text = json.dumps(_content(result), indent=2, allow_nan=False)
    replace_file(folder / _CONTENT, (text + "\n").encode())
    _picture(result, folder)


def _picture(result: "CheckResult", folder: Path) -> None:
    from pyroclust.files import replace_file
    from pyroclust.plots import plot_certificate, png_bytes

    figure = plot_certificate(result.certificate.to_dict(), name=result.card.name)
    replace_file(folder / _PICTURE, png_bytes(figure))


def _content(result: "CheckResult") -> dict[str, Any]:
    from pyroclust.calibration.checking import certificate_content

    return {
        "guide": result.card.name,
        "certificate": certificate_content(result.certificate),
        "answers_changed": list(result.changed),
    }
