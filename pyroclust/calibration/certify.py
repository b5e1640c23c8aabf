"""Certificates of pretrained guides: measured, and stored in the guide's card."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from torch import Tensor

from pyroclust.calibration.certificate import Certificate, full_certificate
from pyroclust.calibration.judgement import Judgement, judge_certificate
from pyroclust.calibration.rows import CoverageRow, ReliabilityRow
from pyroclust.calibration.settings import CertificateSettings
from pyroclust.diagnostics import ball_coverage, pair_reliability
from pyroclust.files import replace_file
from pyroclust.guides import PredictiveFilter
from pyroclust.saving.cards import CARD_FILE, GuideCard, find_guide, read_card
from pyroclust.saving.guides import load_guide

__all__ = [
    "CheckResult",
    "certificate_content",
    "certify_guide",
    "check_guide",
    "store_certificate",
]


@dataclass(frozen=True)
class CheckResult:
    """A guide with its measured certificate.

    Attributes:
        folder: of the guide.
        card: as it was read, before anything is stored.
        certificate: what was measured.
        judgement: what follows.
    """

    folder: Path
    card: GuideCard
    certificate: Certificate
    judgement: Judgement


def certify_guide(
    guide: Any,
    *,
    settings: CertificateSettings | None = None,
    progress: Callable[[str], None] | None = None,
) -> Certificate:
    """Measure everything about a guide, with the exact filter of its model as the baseline if there is one.

    Coverage of credible balls and reliability of pair probabilities come from the draws of the calibration.

    Args:
        guide: a guide with its ``model``.
        settings: how much is measured; ``CertificateSettings().up_to(max_points)`` fits a trained guide.
        progress: told what is measured next.
    """
    wanted = settings or CertificateSettings()
    return full_certificate(
        guide.model,
        guide,
        settings=wanted,
        baseline=_baseline(guide),
        progress=progress,
        checks=partial(_partition_checks, seed=wanted.seed),
    )


def check_guide(
    name_or_folder: str | PathLike[str],
    *,
    settings: CertificateSettings | None = None,
    sampled_points: tuple[int, ...] | None = None,
    progress: Callable[[str], None] | None = None,
) -> CheckResult:
    """Load a guide, measure its certificate and judge it; nothing is stored.

    Args:
        name_or_folder: as for :func:`~pyroclust.load_guide`.
        settings: how much is measured, at sizes up to those the guide was trained for.
        sampled_points: larger sizes of data sets, beyond those of training if wanted.
        progress: told what is measured next.

    Raises:
        ValueError: if the guide is unknown, damaged, or a setting is not possible.

    Example:
        >>> sizes = {"num_sampled": 0, "num_truths": 0, "num_ordered": 0, "num_timed": 0}
        >>> settings = CertificateSettings(num_exact=2, exact_points=4, num_calibrated=0, **sizes)
        >>> check_guide("filter-nig1d", settings=settings).certificate.exact[0].num_datasets
        2
    """
    folder = find_guide(name_or_folder)
    card = read_card(folder)
    wanted = (settings or CertificateSettings()).up_to(card.max_points)
    if sampled_points is not None:
        wanted = replace(wanted, sampled_points=sampled_points)
    # A shelf name comes before a folder of that name; the folder found is meant.
    certificate = certify_guide(load_guide(folder.resolve()), settings=wanted, progress=progress)
    return CheckResult(folder, card, certificate, judge_certificate(certificate))


def certificate_content(certificate: Certificate) -> dict[str, Any]:
    """Return what a card stores: the certificate and its verdict."""
    return certificate.to_dict() | {"verdict": judge_certificate(certificate).to_dict()}


def store_certificate(folder: Path, certificate: Certificate) -> None:
    """Write a certificate into the card of a guide's folder; other entries and the weights stay as they are.

    Raises:
        OSError: if the card cannot be written; it then stays as it was.
    """
    path = folder / CARD_FILE
    content: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    new = {**content, "certificate": certificate_content(certificate)}
    replace_file(path, (json.dumps(new, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode())


def _baseline(guide: Any) -> PredictiveFilter | None:
    """Return the exact filter of a guide's model; ``None`` for the filter itself and implicit models."""
    if isinstance(guide, PredictiveFilter):
        return None
    if not guide.model.is_conjugate:
        return None
    try:
        return PredictiveFilter(guide.model, conditions=guide.conditions)
    except ValueError:
        # Random hyperparameters that the guide is not told have no filter.
        return None


def _partition_checks(every: Tensor, *, seed: int) -> tuple[CoverageRow, ReliabilityRow | None]:
    """Return coverage and reliability of draws below the truth, ``(S + 1, B, N)``, as a card stores them."""
    truth, draws = every[0].cpu().numpy(), every[1:].cpu().numpy()
    num_draws, num_datasets, num_points = draws.shape
    size = {"num_points": num_points, "num_datasets": num_datasets, "num_draws": num_draws}
    balls = ball_coverage(truth, draws, seed=seed)
    coverage = CoverageRow(
        **size,
        levels=tuple(balls.levels.tolist()),
        observed=tuple(balls.observed.tolist()),
        low=tuple(balls.low.tolist()),
        high=tuple(balls.high.tolist()),
        p_value=balls.p_value,
    )
    if num_points < 2:
        return coverage, None
    pairs = pair_reliability(truth, draws, seed=seed)
    reliability = ReliabilityRow(
        **size,
        predicted=tuple(pairs.predicted.tolist()),
        observed=tuple(pairs.observed.tolist()),
        low=tuple(pairs.low.tolist()),
        high=tuple(pairs.high.tolist()),
        counts=tuple(pairs.counts.tolist()),
        brier=pairs.brier,
        brier_prior=pairs.brier_prior,
        ece=pairs.ece,
        ece_noise=pairs.ece_noise,
        p_value=pairs.p_value,
    )
    return coverage, reliability
