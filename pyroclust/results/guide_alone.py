"""A guide's draws where nothing can be put beside them: what is said of them, and how far to trust them."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pyroclust.calibration.certificate import Certificate
from pyroclust.calibration.judgement import calibration_findings
from pyroclust.calibration.result import LocalCalibration
from pyroclust.calibration.training_world import TrainingWorld
from pyroclust.diagnostics import Familiarity, Finding, Verdict
from pyroclust.diagnostics.verdicts.judging import judge_alone
from pyroclust.results.baseline_rows import BaselineRow, FailedRow, baseline_rows
from pyroclust.results.comparison import GuideOnData
from pyroclust.results.contents import Contents, Source, plain, posteriors_of_k
from pyroclust.results.draws_summary import DrawsSummary, Estimate, summarise_draws
from pyroclust.text import listed

__all__ = ["AloneSummary", "GuideAlone", "summarise_alone"]


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

    def about(self) -> dict[str, Any]:
        """Return what ``summary.json`` says of the data and of what drew."""
        return super().about() | {"missing": self.missing}


@dataclass(frozen=True)
class AloneSummary:
    """Everything that a report, a terminal table or a JSON file says of a guide's draws alone.

    Attributes:
        comparison: the draws.
        seed: of the random subsets.
        verdict: how far to trust the guide here, in a sentence.
        draws: what the draws say.
        familiarity: where the data lie among simulations of the model.
        calibration: of the guide on simulations near the data; ``None`` where it was not asked for.
        calibration_tests: calibration tests in the guide's certificate.
        calibration_passed: of these, how many it passed.
        baselines: classical clusterings, seen from the guide's posterior.
    """

    comparison: GuideAlone
    seed: int
    verdict: Verdict
    draws: DrawsSummary
    familiarity: Familiarity
    calibration: LocalCalibration | None
    calibration_tests: int
    calibration_passed: int
    baselines: tuple[BaselineRow | FailedRow, ...]

    def __repr__(self) -> str:
        """Return the data set and the verdict."""
        return f"AloneSummary({self.comparison.source}: {self.verdict.level.value})"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every question that was asked: those of the verdict first."""
        return (*self.verdict.findings, *self.estimate.findings)

    @property
    def guide_seconds(self) -> float:
        """Seconds a draw; all draws are independent."""
        return self._source().seconds_each

    @property
    def estimates(self) -> dict[str, Estimate]:
        """Point estimates by the names that files have for their sources."""
        return {"guide": self.estimate}

    @property
    def estimate(self) -> Estimate:
        """Point estimate of the draws."""
        return self.draws.estimate

    def contents(self) -> Contents:
        """Return what there is to show."""
        found, source = self.comparison, self._source()
        counts_from, counts = posteriors_of_k([source])
        return Contents(
            title=f"{found.source}: {found.guide_name}",
            command="pyroclust compare",
            heading=found.source,
            introduction=(
                f"{len(found.data):,} rows of {listed(found.columns)}. The guide {found.guide_name} of the "
                f"model {found.model_name} drew {source.num_draws:,} partitions. {found.missing}"
            ),
            footer=(
                "Uncertainty of a row: the probability that it is apart from its companions in the "
                "estimate. Familiarity: distances between the rows, beside those of data sets that the model "
                "simulates; labels play no part."
            ),
            notes=found.notes,
            verdict=self.verdict,
            findings=self.findings,
            sources=(source,),
            reference=source,
            counts=counts,
            counts_from=counts_from,
            rows=found.rows,
            seed=self.seed,
            familiarity=self.familiarity,
            calibration=self.calibration,
            baselines=self.baselines,
        )

    def _source(self) -> Source:
        found = self.comparison
        return Source(
            "the guide",
            found.guide.assignments,
            self.draws,
            found.shown,
            found.columns,
            is_independent=True,
            seconds=found.guide.seconds,
            effective_draws=float(math.prod(found.guide.assignments.shape[:2])),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the figures without matrices and draws, fit for JSON."""
        figures = {
            "verdict": {"level": self.verdict.level.value, "sentence": self.verdict.sentence},
            "findings": [one.to_dict() for one in self.findings],
            "num_clusters": {"values": self.draws.values, "guide": self.draws.probabilities},
            "familiarity": asdict(self.familiarity),
            "calibration_near_data": None if self.calibration is None else self.calibration.figures(),
            "calibration": {"tests": self.calibration_tests, "passed": self.calibration_passed},
            "seconds_per_effective_draw": {"guide": self.guide_seconds},
            "point_estimates": {"guide": self.estimate.figures()},
            "sources": {"guide": self.draws.figures()},
            "baselines": [one.figures() for one in self.baselines],
        }
        found: dict[str, Any] = plain(figures)
        return found


def summarise_alone(alone: GuideAlone, *, seed: int = 0) -> AloneSummary:
    """Compute every figure of a guide's draws alone.

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
    near = alone.calibration
    return AloneSummary(
        comparison=alone,
        seed=seed,
        verdict=judge_alone(
            familiar,
            tests,
            near=None if near is None else near.verdict,
            near_finding=None if near is None else near.finding,
        ),
        draws=found,
        familiarity=familiar,
        calibration=near,
        calibration_tests=len(tests),
        calibration_passed=sum(tests),
        baselines=baseline_rows(
            alone.data, draws.assignments, summary=found, true_labels=alone.true_labels, seed=seed
        ),
    )


def _calibration(certificate: Mapping[str, Any]) -> list[bool]:
    if not certificate:
        return []
    return [one.passed is True for one in calibration_findings(Certificate.from_dict(certificate))]
