"""A guide's draws where nothing can be put beside them: what is said of them, and how far to trust them."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pyroclust.calibration.result import LocalCalibration
from pyroclust.calibration.training_world import TrainingWorld
from pyroclust.diagnostics import Familiarity, Trust, Verdict
from pyroclust.results.baseline_rows import BaselineRow, baseline_rows
from pyroclust.results.comparison import GuideOnData
from pyroclust.results.draws_summary import DrawsSummary, Estimate, summarise_draws
from pyroclust.results.json_figures import plain

__all__ = ["AloneSummary", "GuideAlone", "summarise_alone"]


_UNFAMILIAR = 0.01


@dataclass(frozen=True, kw_only=True)
class GuideAlone(GuideOnData):
    """One data set, and draws of its partition from a guide whose model has no likelihood.

    Attributes besides those of :class:`~pyroclust.results.comparison.GuideOnData`, whose draws have no
    ``log_joint``:
        certificate: what the guide's card says was measured; empty without one.

    Raises:
        ValueError: if the shapes do not fit.
    """

    world: TrainingWorld
    certificate: Mapping[str, Any]

    @property
    def missing(self) -> str:
        """What a comparison has and this has not, and why, in one sentence."""
        return (
            f"There is no MCMC and there are no importance weights to compare with: the likelihood of a "
            f"partition under '{self.model_name}' has no formula, so these are the guide's draws alone."
        )


@dataclass(frozen=True)
class AloneSummary:
    """Everything that a report, a terminal table or a JSON file says of a guide's draws alone.

    Attributes:
        verdict: how far to trust the guide here, in a sentence.
        draws: what the draws say.
        familiarity: where the data lie among simulations of the model.
        calibration: of the guide on simulations near the data; ``None`` where it was not asked for.
        calibration_tests: calibration tests in the guide's certificate.
        calibration_passed: of these, how many it passed.
        baselines: classical clusterings, seen from the guide's posterior.
        guide_seconds: seconds a draw; all draws are independent.
    """

    verdict: Verdict
    draws: DrawsSummary
    familiarity: Familiarity
    calibration: LocalCalibration | None
    calibration_tests: int
    calibration_passed: int
    baselines: tuple[BaselineRow, ...]
    guide_seconds: float

    @property
    def estimate(self) -> Estimate:
        """Point estimate of the draws."""
        return self.draws.estimate

    def to_dict(self) -> dict[str, object]:
        """Return the figures without matrices and draws, fit for JSON."""
        figures = {
            "verdict": {"level": self.verdict.level.value, "sentence": self.verdict.sentence},
            "num_clusters": {"values": self.draws.values, "guide": self.draws.probabilities},
            "familiarity": asdict(self.familiarity),
            "calibration_near_data": None if self.calibration is None else self.calibration.figures(),
            "calibration": {"tests": self.calibration_tests, "passed": self.calibration_passed},
            "seconds_per_effective_draw": {"guide": self.guide_seconds},
            "point_estimates": {"guide": self.estimate.figures()},
            "sources": {"guide": self.draws.figures()},
            "baselines": [one.figures() for one in self.baselines],
        }
        found: dict[str, object] = plain(figures)
        return found


def summarise_alone(alone: GuideAlone, *, seed: int = 0) -> AloneSummary:
    """Compute every figure of a guide's draws alone.

    The verdict is "trust on average" where the data look like the model's simulations and the certificate
    passed its calibration tests: over such data sets the guide's probabilities are right on average, which
    is no statement about this one. It is "do not trust" where fewer than one simulation in a hundred is as
    unusual as the data, or the guide is not calibrated on those near the data, and "cannot tell" without a
    certificate, with one that failed, or for more points than in training.

    Args:
        alone: the draws.
        seed: of the random subsets that the diagnostics use.
    """
    draws = alone.guide
    found = summarise_draws(
        draws.assignments, name=draws.name, seed=seed, data=alone.data, true_labels=alone.true_labels
    )
    familiar = alone.world.familiarity(alone.data, seed=seed)
    tests = _calibration(alone.certificate)
    return AloneSummary(
        verdict=_judge(familiar, tests, alone.calibration),
        draws=found,
        familiarity=familiar,
        calibration=alone.calibration,
        calibration_tests=len(tests),
        calibration_passed=sum(tests),
        baselines=baseline_rows(
            alone.data, draws.assignments, summary=found, true_labels=alone.true_labels, seed=seed
        ),
        guide_seconds=draws.seconds / math.prod(draws.assignments.shape[:2]),
    )


def _calibration(certificate: Mapping[str, Any]) -> list[bool]:
    findings = (certificate.get("verdict") or {}).get("findings", ())
    return [
        bool(one["passed"])
        for one in findings
        if one["what"].startswith(("calibration", "averaged posterior"))
    ]


def _judge(found: Familiarity, tests: list[bool], near: LocalCalibration | None) -> Verdict:
    among = f"p = {found.overall:.3f} among {found.num_simulations} simulations"
    if found.overall <= _UNFAMILIAR:
        return Verdict(
            Trust.DISTRUST,
            f"Do not trust the guide here: the data are unlike those it was trained on ({among}), and it "
            "cannot be checked by MCMC; see whether the scale of the data is the model's (--raw).",
        )
    if near is not None and not near.calibration.passed:
        return Verdict(
            Trust.DISTRUST,
            f"Do not trust the guide here: among simulations it is {_lower(near.verdict.sentence)} They were "
            "chosen for being near this table, which cannot be checked by MCMC.",
        )
    if not tests or not all(tests):
        why = f"passed {sum(tests)} of {len(tests)} calibration tests" if tests else "has no certificate"
        return Verdict(
            Trust.UNKNOWN,
            f"No verdict: the guide {why}, and it cannot be checked by MCMC; run pyroclust check.",
        )
    if found.warning is not None:
        return Verdict(Trust.UNKNOWN, f"No verdict: {found.warning} It cannot be checked by MCMC.")
    return Verdict(
        Trust.AVERAGE,
        f"The guide can be trusted on average over data like these: they look like its model's ({among}), on "
        f"which it passed all {len(tests)} calibration tests; on this very table nothing can check it.",
    )


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
