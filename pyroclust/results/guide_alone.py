"""A guide's draws where nothing can be put beside them: what is said of them, and how far to trust them."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pyroclust.arrays import plain
from pyroclust.attempts import Attempts
from pyroclust.calibration.certificate import Certificate
from pyroclust.calibration.judgement import calibration_findings
from pyroclust.calibration.result import LocalCalibration
from pyroclust.diagnostics import Answer, Familiarity, Finding, Verdict
from pyroclust.diagnostics.simulations.witnesses import Witnesses
from pyroclust.diagnostics.verdicts.findings import Question, witnesses_finding
from pyroclust.diagnostics.verdicts.judging import judge_alone, with_untold
from pyroclust.results.baseline_rows import BaselineRow, FailedRow, baseline_rows
from pyroclust.results.comparison import GuideOnData, no_formula
from pyroclust.results.constraints import ConstraintSummary, summarise_constraints
from pyroclust.results.contents import Contents, Refining, Source, posteriors_of_k
from pyroclust.results.draws_summary import DrawsSummary, Estimate, summarise_draws
from pyroclust.results.orders import ORDERS, Orders, orders_findings, orders_of
from pyroclust.results.partition_draws import GUIDE, REFINED

__all__ = ["AloneSummary", "GuideAlone", "summarise_alone"]


@dataclass(frozen=True, kw_only=True, repr=False)
class GuideAlone(GuideOnData):
    """One data set, and draws of its partition from a guide alone.

    The guide's model can only be simulated, or MCMC failed. Attributes besides those of
    :class:`~pyroclust.results.comparison.GuideOnData`:
        certificate: what the guide's card says was measured; empty without one.
        why_no_mcmc: why there is no MCMC, without a full stop; ``None`` where the model can only be
            simulated.

    Raises:
        ValueError: if the shapes do not fit.
    """

    certificate: Mapping[str, Any]
    why_no_mcmc: str | None = None

    @property
    def missing(self) -> str:
        """What a comparison has and this has not, and why, in one sentence."""
        why = no_formula(self.model_name)
        if self.why_no_mcmc is not None:
            return (
                f"There is no MCMC to compare with: {self.why_no_mcmc}, so these are the guide's draws alone."
            )
        return (
            f"There is no MCMC and there are no importance weights to compare with: {why}, so these are the "
            "guide's draws alone."
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
        familiarity: where the data lie among simulations of the model; ``None`` where that failed.
        calibration: of the guide on simulations near the data; ``None`` if not asked for, or failed.
        calibration_tests: calibration tests in the guide's certificate.
        calibration_passed: of these, how many it passed.
        baselines: classical clusterings, seen from the posterior that is shown.
        refined: what the refined draws say; ``None`` without them.
        orders: figures by each visiting order; ``None`` where the guide has one.
        witnesses: what the guide's weights say beside those on simulations; ``None`` without weights.
        failures: why parts are missing, a sentence each.
        constraints: what is known of the rows, and what that changed; ``None`` without any.
    """

    comparison: GuideAlone
    seed: int
    verdict: Verdict
    draws: DrawsSummary
    familiarity: Familiarity | None
    calibration: LocalCalibration | None
    calibration_tests: int
    calibration_passed: int
    baselines: tuple[BaselineRow | FailedRow, ...]
    refined: DrawsSummary | None = None
    orders: Orders | None = None
    witnesses: Witnesses | None = None
    failures: tuple[str, ...] = ()
    constraints: ConstraintSummary | None = None

    def __repr__(self) -> str:
        """Return the data set and the verdict."""
        return f"AloneSummary({self.comparison.source}: {self.verdict.level.value})"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every question that was asked: those of the verdict first."""
        return (
            *self.verdict.findings,
            *(() if self.constraints is None else self.constraints.findings),
            *(() if self.witnesses is None else (witnesses_finding(self.witnesses),)),
            *orders_findings(self.orders),
            *self.reference.findings,
        )

    @property
    def answer(self) -> Answer | None:
        """Whose posterior is the answer; ``None`` where none passed."""
        return self.verdict.answer

    @property
    def reference(self) -> DrawsSummary:
        """What the draws say whose clusters are shown: the refined ones where they are the answer."""
        if self.answer is Answer.REFINED and self.refined is not None:
            return self.refined
        return self.draws

    @property
    def guide_seconds(self) -> float:
        """Seconds a draw; all draws are independent."""
        return self._source().seconds_each

    @property
    def estimates(self) -> dict[str, Estimate]:
        """Point estimates by the names that files have for their sources, that of the answer first."""
        every = {
            "answer": None if self.answer is None else self.reference.estimate,
            "guide": self.estimate,
            "refined": None if self.refined is None else self.refined.estimate,
        }
        return {name: one for name, one in every.items() if one is not None}

    @property
    def estimate(self) -> Estimate | None:
        """Point estimate of the draws; ``None`` where it failed."""
        return self.draws.estimate

    def contents(self) -> Contents:
        """Return what there is to show."""
        found, source = self.comparison, self._source()
        refined, sources = None, [source]
        if found.refined is not None and self.refined is not None:
            worth = found.refined.effective_draws
            sources.append(found.source_of(REFINED, found.refined.draws, self.refined, effective_draws=worth))
            refined = Refining(found.refined, {}, {}, None)
        counts_from, counts = posteriors_of_k(sources)
        return Contents(
            title=f"{found.source}: {found.guide_name}",
            command="pyroclust compare",
            heading=found.source,
            introduction=(
                f"{found.size_in_words}. The guide {found.guide_name} of the "
                f"model {found.model_name} drew {source.num_draws:,} partitions. {found.missing} "
                f"{found.model_in_words}".rstrip()
            ),
            footer=(
                "Uncertainty of a row: the probability that it is apart from its companions in the "
                "estimate. Familiarity: distances between the rows, beside those of data sets that the model "
                "simulates; labels play no part."
            ),
            notes=(*found.notes, *self.failures),
            verdict=self.verdict,
            findings=self.findings,
            sources=tuple(sources),
            reference=next(one for one in sources if one.summary is self.reference),
            counts=counts,
            counts_from=counts_from,
            rows=found.rows,
            seed=self.seed,
            refined=refined,
            orders=self.orders,
            familiarity=self.familiarity,
            witnesses=self.witnesses,
            calibration=self.calibration,
            baselines=self.baselines,
            constraints=self.constraints,
            shape=found.shape,
        )

    def _source(self) -> Source:
        drawn = self.comparison.guide
        number = float(math.prod(drawn.assignments.shape[:2]))
        return self.comparison.source_of(GUIDE, drawn, self.draws, effective_draws=number)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures without matrices and draws, fit for JSON."""
        figures = {
            "verdict": {"level": self.verdict.level.value, "sentence": self.verdict.sentence},
            "answer": None if self.answer is None else self.answer.value,
            "refined": None if self.comparison.refined is None else self.comparison.refined.figures(),
            "orders": None if self.orders is None else self.orders.figures(),
            "findings": [one.to_dict() for one in self.findings],
            "num_clusters": {"values": self.draws.values, "guide": self.draws.probabilities},
            "familiarity": None if self.familiarity is None else asdict(self.familiarity),
            "witnesses": None if self.witnesses is None else asdict(self.witnesses),
            "calibration_near_data": None if self.calibration is None else self.calibration.figures(),
            "calibration": {"tests": self.calibration_tests, "passed": self.calibration_passed},
            "seconds_per_effective_draw": {"guide": self.guide_seconds},
            "point_estimates": {name: one.figures() for name, one in self.estimates.items()},
            "sources": {"guide": self.draws.figures()}
            | ({} if self.refined is None else {"refined": self.refined.figures()}),
            "constraints": None if self.constraints is None else self.constraints.figures(),
            "baselines": [one.figures() for one in self.baselines],
            "notes": [*self.comparison.notes, *self.failures],
            "failures": list(self.failures),
        }
        found: dict[str, Any] = plain(figures)
        return found


def summarise_alone(alone: GuideAlone, *, seed: int = 0) -> AloneSummary:
    """Compute every figure of a guide's draws alone.

    A part that fails is left out, with a sentence in ``failures``; what it would have answered is "cannot
    tell".

    Args:
        alone: the draws.
        seed: of the random subsets that the diagnostics use.
    """
    draws, near, tries = alone.guide, alone.calibration, Attempts()
    found = summarise_draws(
        draws.assignments,
        name=draws.name,
        seed=seed,
        data=alone.profiled,
        true_labels=alone.true_labels,
        allowed=alone.allowed,
    )
    refined = alone.refined
    of_refined = None
    if refined is not None:
        of_refined = summarise_draws(
            refined.draws.assignments,
            name=refined.draws.name,
            seed=seed,
            data=alone.profiled,
            true_labels=alone.true_labels,
            allowed=alone.allowed,
        )
    familiar = tries.make("The familiarity of the data", lambda: _familiarity(alone, seed))
    tests = tries.make("The judgement of the certificate", lambda: _calibration(alone.certificate))
    failed = {one.question: one for one in alone.untold}.get(Question.NEAR.value)
    verdict = judge_alone(
        familiar,
        tests,
        near=None if near is None else near.verdict,
        near_finding=failed if near is None else near.finding,
        why_no_mcmc=alone.why_no_mcmc or "the likelihood has no formula",
        refined=None if refined is None else refined.verdict_figures(None),
    )
    shown, of_shown = draws, found
    if verdict.answer is Answer.REFINED and refined is not None and of_refined is not None:
        shown, of_shown = refined.draws, of_refined
    baselines = tries.make(
        "The classical methods",
        lambda: baseline_rows(
            alone.vectors,
            shown.assignments,
            summary=of_shown,
            true_labels=alone.true_labels,
            seed=seed,
            methods=alone.classical,
        ),
    )
    constraints = tries.make(
        "What the constraints say", lambda: summarise_constraints(alone.knowledge, of_shown.marginals, ())
    )
    return AloneSummary(
        comparison=alone,
        seed=seed,
        verdict=with_untold(verdict, (*_not_refined(alone), *of_shown.untold)),
        draws=found,
        familiarity=familiar,
        calibration=near,
        calibration_tests=len(tests or ()),
        calibration_passed=sum(tests or ()),
        baselines=baselines or (),
        refined=of_refined,
        orders=tries.make(ORDERS, lambda: orders_of(alone.proposals, seed=seed)),
        witnesses=tries.make("The witnesses of the guide", lambda: alone.witnesses),
        failures=(
            *alone.failures,
            *found.failures,
            *(() if of_refined is None else of_refined.failures),
            *(() if constraints is None else constraints.failures),
            *tries.failures,
        ),
        constraints=constraints,
    )


def _not_refined(alone: GuideAlone) -> tuple[Finding, ...]:
    return tuple(one for one in alone.untold if one.question == Question.SETTLED.value)


def _familiarity(alone: GuideAlone, seed: int) -> Familiarity:
    if alone.world is None:
        raise ValueError("there are no simulations")
    return alone.world.familiarity(alone.summarised, seed=seed)


def _calibration(certificate: Mapping[str, Any]) -> list[bool]:
    if not certificate:
        return []
    return [one.passed is True for one in calibration_findings(Certificate.from_dict(certificate))]
