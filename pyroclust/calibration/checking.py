"""Measure the certificate of a saved guide anew, compare it with the one in its card, and store it there."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from msgspec import structs

from pyroclust.calibration.certificate import Certificate, certificate_content, judge_certificate
from pyroclust.calibration.certifying import CertificateSettings, certify
from pyroclust.core.messages import left_out
from pyroclust.diagnostics import Verdict
from pyroclust.saving.cards import GuideCard, find_guide, read_card
from pyroclust.saving.guides import load_guide, read_weights, write_card, write_guide_files


@dataclass(frozen=True)
class CheckResult:
    """A guide of a folder with its measured certificate.

    Attributes:
        folder: of the guide.
        card: as it was read, before anything is stored.
        certificate: what was measured.
        verdict: what follows.
        stored: the certificate in the card; ``None`` without one.
    """

    folder: Path
    card: GuideCard
    certificate: Certificate
    verdict: Verdict
    stored: Certificate | None = None

    @property
    def compared(self) -> tuple[str, ...]:
        """Questions that the stored certificate answers too."""
        before = self._before()
        return tuple(one.question for one in self.verdict.findings if one.question in before)

    @property
    def changed(self) -> tuple[str, ...]:
        """Questions that the stored certificate answers otherwise."""
        before = self._before()
        return tuple(
            one.question
            for one in self.verdict.findings
            if before.get(one.question, one.passed) != one.passed
        )

    @property
    def failures(self) -> tuple[str, ...]:
        """Which parts could not be measured, and why, a sentence each."""
        return tuple(
            left_out(f"The measuring of {what}", why) for what, why in self.certificate.failures.items()
        )

    def _before(self) -> dict[str, bool | None]:
        if self.stored is None:
            return {}
        return {one.question: one.passed for one in judge_certificate(self.stored).findings}

    def __repr__(self) -> str:
        return f"CheckResult({self.card.name}: {self.verdict.sentence})"


def check_guide(
    name_or_folder: str | PathLike[str],
    *,
    settings: CertificateSettings | None = None,
    sampled_points: tuple[int, ...] | None = None,
    progress: Callable[[str], None] | None = None,
    client: Any = None,
) -> CheckResult:
    """Load a guide, measure its certificate anew, judge it and compare it with the one in its card.

    Nothing is stored.

    Args:
        name_or_folder: as for :func:`~pyroclust.load_guide`.
        settings: how much is measured, at sizes up to those the guide was trained for.
        sampled_points: larger sizes of data sets, beyond those of training if wanted.
        progress: called with what is measured next, in words.
        client: a client of ``dask.distributed``, whose workers measure, as in
            :func:`~pyroclust.calibration.certify`.

    Raises:
        ValueError: if the guide is unknown, damaged, or a setting is not possible.

    Example:
        >>> from dataclasses import replace
        >>> settings = replace(CertificateSettings.nothing(), num_exact=2, exact_points=4)
        >>> check_guide("filter-nig1d", settings=settings)
        CheckResult(filter-nig1d: Nothing was tested.)
    """
    folder = find_guide(name_or_folder)
    card = read_card(folder)
    wanted = (settings or CertificateSettings()).within(card.min_points, card.max_points)
    if sampled_points is not None:
        wanted = replace(wanted, sampled_points=sampled_points)
    # A shelf name comes before a folder of that name; here it is the folder.
    measured = certify(load_guide(folder.resolve()), settings=wanted, progress=progress, client=client)
    stored = Certificate.from_dict(card.certificate) if card.certificate else None
    # The tables are not at hand: the row measured on them, with these weights, stands.
    real_tables = None if stored is None else stored.real_tables
    certificate = replace(measured, made_for=card.made_for, real_tables=real_tables)
    return CheckResult(folder, card, certificate, judge_certificate(certificate), stored)


def store_certificate(folder: Path, certificate: Certificate, *, into: Path | None = None) -> None:
    """Write a certificate into the card of a guide, or into that of a copy in another folder."""
    card = read_card(folder)
    doubt = card.doubt_of(certificate.to_dict())
    if doubt:
        raise ValueError(f"'{folder}' {doubt}: the guide was changed meanwhile; measure it again")
    text = structs.replace(card, certificate=certificate_content(certificate)).to_json()
    if into is None or into.resolve() == folder.resolve():
        write_card(folder, text)
        return
    sha256 = card.weights_sha256
    write_guide_files(into, text, None if sha256 is None else read_weights(folder, sha256))


def same_but_for_the_certificate(folder: Path, other: Path) -> bool:
    """Return whether two folders hold the same guide, whatever their certificates."""
    try:
        cards = [read_card(one) for one in (folder, other)]
    except (OSError, ValueError):
        return False
    first, second = (structs.replace(one, name="", certificate={}, doubt="") for one in cards)
    return first == second
