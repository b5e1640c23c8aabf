"""Everything that is said of a comparison of a guide with MCMC: figures, contents of a page, JSON."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from pyroclust.arrays import plain
from pyroclust.calibration.result import LocalCalibration
from pyroclust.diagnostics import (
    Agreement,
    Answer,
    Convergence,
    Familiarity,
    Finding,
    LogEvidence,
    SourceComparison,
    Verdict,
)
from pyroclust.diagnostics.limits import tolerance_of
from pyroclust.diagnostics.simulations.witnesses import Witnesses
from pyroclust.diagnostics.verdicts.findings import familiarity_findings, witnesses_finding
from pyroclust.diagnostics.weights.importance import stratified_draws
from pyroclust.results.baseline_rows import BaselineRow, FailedRow
from pyroclust.results.comparison import Comparison, PartitionDraws
from pyroclust.results.constraints import ConstraintSummary
from pyroclust.results.contents import Contents, Refining, Source, Weighting
from pyroclust.results.draws_summary import DrawsSummary, Estimate
from pyroclust.results.evidence import evidence_figures
from pyroclust.results.orders import Orders, orders_findings
from pyroclust.results.partition_draws import GUIDE, MCMC, REFINED, WEIGHTED

__all__ = ["ComparisonSummary", "NumClusters", "reference_of", "resampled"]


@dataclass(frozen=True)
class NumClusters:
    """Posteriors of the number of clusters on one support.

    Attributes:
        values: numbers of clusters, ``(V,)``, without gaps.
        guide: probabilities by the guide's draws, ``(V,)``.
        corrected: by the same draws with their importance weights, ``(V,)``; ``None`` without weights.
        mcmc: by MCMC, ``(V,)``.
        refined: by the refined draws, ``(V,)``; ``None`` without them.
    """

    values: np.ndarray
    guide: np.ndarray
    corrected: np.ndarray | None
    mcmc: np.ndarray
    refined: np.ndarray | None = None


@dataclass(frozen=True)
class ComparisonSummary:
    """Everything that a report, a terminal table or a JSON file says of a comparison.

    A part that failed is ``None``.

    Attributes:
        comparison: the draws.
        seed: of the random subsets and starts.
        verdict: what to trust here, in a sentence, and whose posterior is the answer.
        num_clusters: posteriors of the number of clusters on one support.
        guide: what the guide's draws say.
        mcmc: what the draws of MCMC say.
        co_assignment_corrected: ``(N, N)``, from the guide's weighted draws.
        agreement_corrected: of the weighted draws with MCMC.
        agreement: of the guide's draws, as drawn, with MCMC.
        sources: the guide's draws beside those of MCMC: distances and two-sample tests.
        weighting: the guide's importance weights.
        evidences: estimates of log p(x): from the guide's draws, and where the guide scores refined draws
            or draws of MCMC exactly, from those and from both; by annealing where these cannot be relied on.
        baselines: classical clusterings, seen from the posterior that is the answer.
        familiarity: where the data lie among simulations of the model; ``None`` without simulations.
        witnesses: what the guide's weights say beside those on the simulations; ``None`` without them.
        calibration: of the guide on simulations near the data; ``None`` where it was not asked for.
        estimates_rand: adjusted Rand index between the point estimates of the guide and of MCMC.
        refined: what the refined draws say; ``None`` without them.
        agreement_refined: of the refined draws with MCMC.
        sources_refined: the refined draws beside those of MCMC.
        weighted: what the weighted draws say, resampled; ``None`` where they are not the answer.
        orders: figures by each visiting order; ``None`` where the guide has one.
        rand_to_answer: adjusted Rand index of the other point estimates to that of the answer, by source.
        failures: why parts are missing, a sentence each.
        untold: questions that parts which failed leave open, besides those of the verdict.
        constraints: what is known of the rows, and what that changed; ``None`` without any.
    """

    comparison: Comparison
    seed: int
    verdict: Verdict
    num_clusters: NumClusters
    guide: DrawsSummary
    mcmc: DrawsSummary
    co_assignment_corrected: np.ndarray | None
    agreement_corrected: Agreement | None
    agreement: Agreement | None
    sources: SourceComparison | None
    weighting: Weighting | None
    evidences: tuple[LogEvidence, ...]
    baselines: tuple[BaselineRow | FailedRow, ...]
    familiarity: Familiarity | None
    witnesses: Witnesses | None
    calibration: LocalCalibration | None
    estimates_rand: float | None
    refined: DrawsSummary | None = None
    agreement_refined: Agreement | None = None
    sources_refined: SourceComparison | None = None
    weighted: DrawsSummary | None = None
    orders: Orders | None = None
    rand_to_answer: Mapping[str, float] = field(default_factory=dict)
    failures: tuple[str, ...] = ()
    untold: tuple[Finding, ...] = ()
    constraints: ConstraintSummary | None = None

    def __repr__(self) -> str:
        """Return the data set and the verdict."""
        return f"ComparisonSummary({self.comparison.source}: {self.verdict.level.value})"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every question that was asked: those of the verdict first."""
        return (
            *self.verdict.findings,
            *(() if self.constraints is None else self.constraints.findings),
            *(() if self.witnesses is None else (witnesses_finding(self.witnesses),)),
            *(() if self.familiarity is None else familiarity_findings(self.familiarity)),
            *(() if self.calibration is None else (self.calibration.finding,)),
            *orders_findings(self.orders),
            *self.untold,
            *self.reference.findings,
        )

    @property
    def answer(self) -> Answer | None:
        """Whose posterior is the answer; ``None`` where none passed."""
        return self.verdict.answer

    @property
    def reference(self) -> DrawsSummary:
        """What the draws say whose clusters are shown: those of the answer, of MCMC where there is none."""
        return reference_of(self.answer, self.guide, self.mcmc, self.refined, self.weighted)

    @property
    def guide_seconds(self) -> float:
        """Seconds per effective draw of the guide."""
        return self._of_guide().seconds_each

    @property
    def mcmc_seconds(self) -> float:
        """Seconds per effective draw of MCMC, by its slowest functional; nan where all are constant."""
        return self._of_mcmc().seconds_each

    @property
    def speed_ratio(self) -> float:
        """How many times more seconds MCMC needs per effective draw than the guide."""
        return self.mcmc_seconds / self.guide_seconds if self.guide_seconds > 0 else math.nan

    @property
    def estimate_guide(self) -> Estimate | None:
        """Point estimate of the guide's draws."""
        return self.guide.estimate

    @property
    def estimate_mcmc(self) -> Estimate | None:
        """Point estimate of MCMC."""
        return self.mcmc.estimate

    @property
    def estimates(self) -> dict[str, Estimate]:
        """Point estimates by the names that files have for their sources, that of the answer first."""
        every = {
            "answer": None if self.answer is None else self.reference.estimate,
            "guide": self.estimate_guide,
            "refined": None if self.refined is None else self.refined.estimate,
            "mcmc": self.estimate_mcmc,
        }
        return {name: one for name, one in every.items() if one is not None}

    @property
    def convergence(self) -> tuple[Convergence, ...] | None:
        """Convergence of MCMC, one row a functional."""
        return self.mcmc.convergence

    def contents(self) -> Contents:
        """Return what there is to show."""
        found, guide, mcmc = self.comparison, self._of_guide(), self._of_mcmc()
        counts = self.num_clusters
        weighted = {} if counts.corrected is None else {"weighted draws": counts.corrected}
        weighted |= {} if counts.refined is None else {"refined draws": counts.refined}
        sources = tuple(
            one for one in (guide, self._of_weighted(), self._of_refined(), mcmc) if one is not None
        )
        some = guide.num_draws < guide.num_made
        kept = f", of which {guide.num_draws:,} are shown as drawn" if some else ""
        drawn = (
            f"{found.size_in_words}. The guide {found.guide_name} drew "
            f"{guide.num_made:,} partitions{kept}; MCMC on the same model, {found.model_name}, kept "
            f"{mcmc.num_draws:,} in {mcmc.draws.shape[0]} chains."
        )
        return Contents(
            title=f"{found.source}: {found.guide_name} against MCMC",
            command="pyroclust compare",
            heading=found.source,
            introduction=" ".join(one for one in (drawn, found.missing, found.model_in_words) if one),
            footer=(
                "Uncertainty of a row: the probability that it is apart from its companions in the "
                f"estimate. Effective draws: {_of_the_guide(found)}, for MCMC and refined draws those of the "
                "slowest functional."
            ),
            shape=found.shape,
            notes=(*found.notes, *self.failures),
            verdict=self.verdict,
            findings=self.findings,
            sources=sources,
            reference=next(one for one in sources if one.summary is self.reference),
            counts={"guide": counts.guide, **weighted, "MCMC": counts.mcmc},
            counts_from=int(counts.values[0]),
            rows=found.rows,
            seed=self.seed,
            between=self.sources,
            weighting=self.weighting,
            corrected=self.agreement_corrected,
            estimates_rand=self.rand_to_answer,
            evidences=self.evidences,
            refined=self._refining(),
            orders=self.orders,
            familiarity=self.familiarity,
            witnesses=self.witnesses,
            calibration=self.calibration,
            baselines=self.baselines,
            constraints=self.constraints,
        )

    def _of_guide(self) -> Source:
        worth = math.nan if self.weighting is None else self.weighting.effective_draws
        found, made = self.comparison, self.comparison.proposals
        return found.source_of(GUIDE, found.guide, self.guide, effective_draws=worth, made=made)

    def _of_weighted(self) -> Source | None:
        if self.weighted is None or self.weighting is None:
            return None
        found, made = self.comparison, self.comparison.proposals
        drawn = resampled(made, self.weighting, found.guide.assignments.shape[1], self.seed)
        worth = self.weighting.effective_draws
        return found.source_of(
            WEIGHTED,
            PartitionDraws(made.name, drawn, None, made.seconds),
            self.weighted,
            effective_draws=worth,
            made=made,
        )

    def _of_refined(self) -> Source | None:
        found = self.comparison
        if found.refined is None or self.refined is None:
            return None
        worth = found.refined.effective_draws
        return found.source_of(REFINED, found.refined.draws, self.refined, effective_draws=worth)

    def _refining(self) -> Refining | None:
        found = self.comparison.refined
        if found is None:
            return None
        distances = {
            "the guide, as drawn": self.agreement,
            WEIGHTED: self.agreement_corrected,
            REFINED: self.agreement_refined,
        }
        limits = {
            name: tolerance_of(self.comparison.tolerance, refined=name == REFINED) for name in distances
        }
        known = {name: one for name, one in distances.items() if one is not None}
        return Refining(found, known, limits, self.sources_refined)

    def _of_mcmc(self) -> Source:
        return self.comparison.source_of(MCMC, self.comparison.mcmc, self.mcmc)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures without matrices and draws, fit for JSON: not finite becomes ``None``."""
        rows = self.convergence
        figures = {
            "verdict": {"level": self.verdict.level.value, "sentence": self.verdict.sentence},
            "answer": None if self.answer is None else self.answer.value,
            "tolerance": {
                "guide": tolerance_of(self.comparison.tolerance, refined=False),
                "refined": tolerance_of(self.comparison.tolerance, refined=True),
            },
            "findings": [one.to_dict() for one in self.findings],
            "num_clusters": asdict(self.num_clusters),
            "agreement": None if self.agreement is None else asdict(self.agreement),
            "agreement_corrected": None
            if self.agreement_corrected is None
            else asdict(self.agreement_corrected),
            "agreement_refined": None if self.agreement_refined is None else asdict(self.agreement_refined),
            "two_samples": None if self.sources is None else self.sources.to_dict(),
            "two_samples_refined": None if self.sources_refined is None else self.sources_refined.to_dict(),
            "refined": None if self.comparison.refined is None else self.comparison.refined.figures(),
            "orders": None if self.orders is None else self.orders.figures(),
            "convergence": None if rows is None else [asdict(row) for row in rows],
            "importance": None if self.weighting is None else _of_weights(self.weighting),
            "log_evidence": evidence_figures(self.evidences),
            "seconds_per_effective_draw": {
                "guide": self.guide_seconds,
                "mcmc": self.mcmc_seconds,
                "ratio": self.speed_ratio,
            }
            | ({} if (refined := self._of_refined()) is None else {"refined": refined.seconds_each}),
            "point_estimates": {name: found.figures() for name, found in self.estimates.items()},
            "familiarity": None if self.familiarity is None else asdict(self.familiarity),
            "witnesses": None if self.witnesses is None else asdict(self.witnesses),
            "calibration_near_data": None if self.calibration is None else self.calibration.figures(),
            "adjusted_rand_between_estimates": self.estimates_rand,
            "sources": {"guide": self.guide.figures(), "mcmc": self.mcmc.figures()}
            | ({} if self.refined is None else {"refined": self.refined.figures()}),
            "constraints": None if self.constraints is None else self.constraints.figures(),
            "baselines": [one.figures() for one in self.baselines],
            "notes": [*self.comparison.notes, *self.failures],
            "failures": list(self.failures),
        }
        found: dict[str, Any] = plain(figures)
        return found


def _of_the_guide(found: Comparison) -> str:
    if found.has_weights:
        return "for the guide one over the sum of its squared smoothed importance weights"
    return "for the guide unknown without importance weights"


def _of_weights(weighting: Weighting) -> dict[str, Any]:
    return {
        "draws": len(weighting.weights),
        "efficiency": weighting.efficiency,
        "effective_draws": weighting.effective_draws,
        "pareto_k": weighting.pareto_k,
    }


def reference_of(
    answer: Answer | None,
    guide: DrawsSummary,
    mcmc: DrawsSummary,
    refined: DrawsSummary | None,
    weighted: DrawsSummary | None,
) -> DrawsSummary:
    """Return the summary of the draws that are the answer; of MCMC where none passed.

    Args:
        answer: whose draws.
        guide: of the guide's draws as drawn.
        mcmc: of MCMC.
        refined: of the refined draws.
        weighted: of the weighted draws, resampled.
    """
    found = {Answer.GUIDE: guide, Answer.REFINED: refined, Answer.WEIGHTED: weighted}
    chosen = None if answer is None else found.get(answer)
    return mcmc if chosen is None else chosen


def resampled(draws: PartitionDraws, weighting: Weighting, number: int, seed: int) -> np.ndarray:
    """Return so many draws of a guide that have equal weights, ``(1, number, N)``.

    Args:
        draws: of the guide.
        weighting: their weights.
        number: how many.
        seed: same seed, same draws.
    """
    flat = draws.assignments.reshape(-1, draws.assignments.shape[-1])
    # One number for all: draws that are to be shown lie closest to their weights so.
    uniform = np.full(number, np.random.default_rng(seed).random())
    return flat[stratified_draws(weighting.weights, uniform)][None]
