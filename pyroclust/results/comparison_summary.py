"""A comparison of a guide with MCMC: from the draws to everything that is said of them."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from pyroclust import diagnostics
from pyroclust.attempts import Attempts
from pyroclust.baselines.scores import partition_scores
from pyroclust.calibration.result import LocalCalibration
from pyroclust.diagnostics import (
    Agreement,
    Answer,
    Convergence,
    Familiarity,
    Finding,
    GuideFigures,
    LogEvidence,
    SourceComparison,
    Verdict,
)
from pyroclust.diagnostics.differences.agreement import Marginals, distances, marginals
from pyroclust.diagnostics.limits import tolerance_of
from pyroclust.diagnostics.verdicts.findings import Question, familiarity_findings, untold
from pyroclust.diagnostics.verdicts.judging import with_untold
from pyroclust.diagnostics.weights.importance import stratified_draws
from pyroclust.diagnostics.weights.orders import OrderSpread
from pyroclust.results.baseline_rows import BaselineRow, FailedRow, baseline_rows
from pyroclust.results.comparison import Comparison, PartitionDraws
from pyroclust.results.contents import (
    Contents,
    Refining,
    Source,
    Weighting,
    mcmc_source,
    plain,
    refined_source,
)
from pyroclust.results.draws_summary import DrawsSummary, Estimate, summarise_draws
from pyroclust.results.refinement import ORDERS, orders_findings
from pyroclust.text import listed

__all__ = ["ComparisonSummary", "NumClusters", "summarise"]

_SOURCES = "The tests of two samples"
_AGREEMENT = "The agreement of the guide with MCMC"
_REFINED_SOURCES = "The tests of the refined draws and MCMC"
_REFINED_AGREEMENT = "The agreement of the refined draws with MCMC"
_FAMILIARITY = "The familiarity of the data"


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
            or draws of MCMC exactly, from those and from both.
        baselines: classical clusterings, seen from the posterior that is the answer.
        familiarity: where the data lie among simulations of the model; ``None`` without simulations.
        calibration: of the guide on simulations near the data; ``None`` where it was not asked for.
        estimates_rand: adjusted Rand index between the point estimates of the guide and of MCMC.
        refined: what the refined draws say; ``None`` without them.
        agreement_refined: of the refined draws with MCMC.
        sources_refined: the refined draws beside those of MCMC.
        weighted: what the weighted draws say, resampled; ``None`` where they are not the answer.
        orders: the evidence by each visiting order; ``None`` without refined draws.
        rand_to_answer: adjusted Rand index of the other point estimates to that of the answer, by source.
        failures: why parts are missing, a sentence each.
        untold: questions that parts which failed leave open, besides those of the verdict.
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
    calibration: LocalCalibration | None
    estimates_rand: float | None
    refined: DrawsSummary | None = None
    agreement_refined: Agreement | None = None
    sources_refined: SourceComparison | None = None
    weighted: DrawsSummary | None = None
    orders: OrderSpread | None = None
    rand_to_answer: Mapping[str, float] = field(default_factory=dict)
    failures: tuple[str, ...] = ()
    untold: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        """Return the data set and the verdict."""
        return f"ComparisonSummary({self.comparison.source}: {self.verdict.level.value})"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every question that was asked: those of the verdict first."""
        return (
            *self.verdict.findings,
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
        return _reference(self.answer, self.guide, self.mcmc, self.refined, self.weighted)

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
        weighted = {} if counts.corrected is None else {"guide, weighted": counts.corrected}
        weighted |= {} if counts.refined is None else {"guide, refined": counts.refined}
        sources = tuple(
            one for one in (guide, self._of_weighted(), self._of_refined(), mcmc) if one is not None
        )
        kept = "" if found.refined is None else f", of which {guide.num_draws:,} are shown as drawn"
        return Contents(
            title=f"{found.source}: {found.guide_name} against MCMC",
            command="pyroclust compare",
            heading=found.source,
            introduction=(
                f"{len(found.data):,} rows of {listed(found.columns)}. The guide {found.guide_name} drew "
                f"{guide.num_made:,} partitions{kept}; MCMC on the same model, {found.model_name}, kept "
                f"{mcmc.num_draws:,} in {mcmc.draws.shape[0]} chains. {found.model_in_words}".rstrip()
            ),
            footer=(
                "Uncertainty of a row: the probability that it is apart from its companions in the "
                "estimate. Effective draws: for the guide one over the sum of its squared smoothed "
                "importance weights, for MCMC and refined draws those of the slowest functional."
            ),
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
            familiarity=self.familiarity,
            calibration=self.calibration,
            baselines=self.baselines,
        )

    def _of_guide(self) -> Source:
        found = self.comparison
        return Source(
            "the guide",
            found.guide.assignments,
            self.guide,
            found.shown,
            found.columns,
            is_independent=True,
            seconds=self._proposals.seconds,
            effective_draws=math.nan if self.weighting is None else self.weighting.effective_draws,
            made=math.prod(self._proposals.assignments.shape[:2]),
        )

    @property
    def _proposals(self) -> PartitionDraws:
        """All draws of the guide, which have the weights."""
        found = self.comparison
        return found.guide if found.refined is None else found.refined.proposals

    def _of_weighted(self) -> Source | None:
        if self.weighted is None or self.weighting is None:
            return None
        found = self.comparison
        return Source(
            "the guide, weighted",
            _resampled(self._proposals, self.weighting, found.guide.assignments.shape[1], self.seed),
            self.weighted,
            found.shown,
            found.columns,
            is_independent=True,
            seconds=self._proposals.seconds,
            effective_draws=self.weighting.effective_draws,
            made=math.prod(self._proposals.assignments.shape[:2]),
        )

    def _of_refined(self) -> Source | None:
        found = self.comparison
        if found.refined is None or self.refined is None:
            return None
        return refined_source(found.refined, self.refined, shown=found.shown, columns=found.columns)

    def _refining(self) -> Refining | None:
        found = self.comparison.refined
        if found is None:
            return None
        distances = {
            "the guide, as drawn": self.agreement,
            "the guide, weighted": self.agreement_corrected,
            "the guide, refined": self.agreement_refined,
        }
        limits = {
            name: tolerance_of(self.comparison.tolerance, refined=name == "the guide, refined")
            for name in distances
        }
        known = {name: one for name, one in distances.items() if one is not None}
        return Refining(found, self.orders, known, limits, self.sources_refined)

    def _of_mcmc(self) -> Source:
        found = self.comparison
        return mcmc_source(found.mcmc, self.mcmc, shown=found.shown, columns=found.columns)

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
            "refined": None
            if self.comparison.refined is None
            else self.comparison.refined.figures(self.orders),
            "convergence": None if rows is None else [asdict(row) for row in rows],
            "importance": None if self.weighting is None else _of_weights(self.weighting),
            "log_evidence": [asdict(one) for one in self.evidences],
            "seconds_per_effective_draw": {
                "guide": self.guide_seconds,
                "mcmc": self.mcmc_seconds,
                "ratio": self.speed_ratio,
            }
            | ({} if (refined := self._of_refined()) is None else {"refined": refined.seconds_each}),
            "point_estimates": {name: found.figures() for name, found in self.estimates.items()},
            "familiarity": None if self.familiarity is None else asdict(self.familiarity),
            "calibration_near_data": None if self.calibration is None else self.calibration.figures(),
            "adjusted_rand_between_estimates": self.estimates_rand,
            "sources": {"guide": self.guide.figures(), "mcmc": self.mcmc.figures()}
            | ({} if self.refined is None else {"refined": self.refined.figures()}),
            "baselines": [one.figures() for one in self.baselines],
            "notes": [*self.comparison.notes, *self.failures],
            "failures": list(self.failures),
        }
        found: dict[str, Any] = plain(figures)
        return found


def _of_weights(weighting: Weighting) -> dict[str, Any]:
    return {
        "draws": len(weighting.weights),
        "efficiency": weighting.efficiency,
        "effective_draws": weighting.effective_draws,
        "pareto_k": weighting.pareto_k,
        "log_evidence": weighting.log_evidence,
        "log_evidence_error": weighting.log_evidence_error,
    }


def summarise(comparison: Comparison, *, seed: int = 0) -> ComparisonSummary:
    """Compute every figure of a comparison.

    A part that fails is left out, with a sentence in ``failures``; what it would have answered is "cannot
    tell".

    Cost: about ten co-assignment matrices, a search for the point estimate of each source and three
    two-sample tests of each with MCMC; some seconds at N = 300 with 4000 draws of MCMC.

    Args:
        comparison: the draws of both sources.
        seed: of the random subsets, starts and pairs that the diagnostics use.

    Raises:
        ValueError: if the draws are not labels 0 to N - 1.
    """
    guide, mcmc, refined, tries = comparison.guide, comparison.mcmc, comparison.refined, Attempts()
    proposals = guide if refined is None else refined.proposals
    labels: dict[str, Any] = {"true_labels": comparison.true_labels, "seed": seed}
    of_guide, of_mcmc = (_summary(one, comparison, seed) for one in (guide, mcmc))
    of_refined = None if refined is None else _summary(refined.draws, comparison, seed)
    sources = tries.make(_SOURCES, lambda: _compared(comparison, guide, seed, refined=False))
    agreement = _agreement(guide, mcmc, sources, tries, _AGREEMENT)
    with_mcmc = agreement_refined = None
    if refined is not None:
        draws = refined.draws
        with_mcmc = tries.make(_REFINED_SOURCES, lambda: _compared(comparison, draws, seed, refined=True))
        agreement_refined = _agreement(draws, mcmc, with_mcmc, tries, _REFINED_AGREEMENT)
    weighting = tries.make("The importance weights", lambda: _weigh(proposals))
    weighted = _weighted(proposals, weighting, tries)
    corrected = None
    if weighted is not None and agreement is not None:
        corrected = _corrected(weighted, of_mcmc, agreement)
    evidences = tries.make("The evidence by bridge sampling", lambda: _evidences(comparison, weighting))
    familiarity = _familiarity(comparison, tries, seed)
    open_ones = _untold(
        comparison,
        tries,
        has_sources=sources is not None,
        has_refined=refined is None or with_mcmc is not None,
    )
    verdict = diagnostics.judge(
        GuideFigures(
            guide=agreement,
            corrected=corrected,
            max_rhat=of_mcmc.max_rhat,
            min_ess=of_mcmc.min_ess,
            pareto_k=None if weighting is None else weighting.pareto_k,
            effective_draws=None if weighting is None else weighting.effective_draws,
            refined=None if refined is None else refined.verdict_figures(agreement_refined),
            tolerance=comparison.tolerance,
        )
    )
    resampled, of_weighted = None, None
    if verdict.answer is Answer.WEIGHTED and weighting is not None:
        resampled = _resampled(proposals, weighting, guide.assignments.shape[1], seed)
        of_weighted = summarise_draws(resampled, name="the guide, weighted", data=comparison.data, **labels)
    shown = _reference(verdict.answer, of_guide, of_mcmc, of_refined, of_weighted)
    shown_draws = _draws_of(verdict.answer, comparison, resampled)
    baselines = tries.make(
        "The classical methods",
        lambda: baseline_rows(comparison.data, shown_draws, summary=shown, **labels),
    )
    others = {"the guide": of_guide, "the guide, refined": of_refined, "MCMC": of_mcmc}
    rands = tries.make(
        "The comparison of the point estimates",
        lambda: (_rand(of_guide, of_mcmc), {name: _rand(one, shown) for name, one in others.items()}),
    )
    return ComparisonSummary(
        comparison=comparison,
        seed=seed,
        verdict=with_untold(verdict, (*open_ones, *shown.untold)),
        num_clusters=_num_clusters(of_guide.marginals, weighted, of_mcmc.marginals, of_refined),
        guide=of_guide,
        mcmc=of_mcmc,
        co_assignment_corrected=None if weighted is None else weighted.together,
        agreement_corrected=corrected,
        agreement=agreement,
        sources=sources,
        weighting=weighting,
        evidences=evidences or _own_evidence(weighting),
        baselines=baselines or (),
        familiarity=familiarity,
        calibration=comparison.calibration,
        estimates_rand=None if rands is None else rands[0],
        refined=of_refined,
        agreement_refined=agreement_refined,
        sources_refined=with_mcmc,
        weighted=of_weighted,
        orders=None if refined is None else tries.make(ORDERS, lambda: refined.order_spread(seed=seed)),
        rand_to_answer={}
        if rands is None
        else {name: one for name, one in rands[1].items() if one is not None},
        failures=(
            *comparison.failures,
            *(
                sentence
                for one in (of_guide, of_refined, of_mcmc, of_weighted)
                if one is not None
                for sentence in one.failures
            ),
            *tries.failures,
        ),
        untold=open_ones,
    )


def _summary(draws: PartitionDraws, comparison: Comparison, seed: int) -> DrawsSummary:
    return summarise_draws(
        draws.assignments,
        name=draws.name,
        log_joint=_log_joint(draws),
        data=comparison.data,
        true_labels=comparison.true_labels,
        seed=seed,
    )


def _compared(comparison: Comparison, draws: PartitionDraws, seed: int, *, refined: bool) -> SourceComparison:
    return diagnostics.compare_sources(
        draws.assignments,
        comparison.mcmc.assignments,
        seed=seed,
        names=("the guide, refined" if refined else "the guide", "MCMC"),
        tolerance=tolerance_of(comparison.tolerance, refined=refined),
    )


def _reference(
    answer: Answer | None,
    guide: DrawsSummary,
    mcmc: DrawsSummary,
    refined: DrawsSummary | None,
    weighted: DrawsSummary | None,
) -> DrawsSummary:
    """Return the summary of the draws that are the answer; of MCMC where none passed."""
    found = {Answer.GUIDE: guide, Answer.REFINED: refined, Answer.WEIGHTED: weighted}
    chosen = None if answer is None else found.get(answer)
    return mcmc if chosen is None else chosen


def _draws_of(answer: Answer | None, comparison: Comparison, resampled: np.ndarray | None) -> np.ndarray:
    """Return the draws that are the answer; of MCMC where none passed."""
    if answer is Answer.REFINED and comparison.refined is not None:
        return comparison.refined.draws.assignments
    if answer is Answer.WEIGHTED and resampled is not None:
        return resampled
    return (comparison.guide if answer is Answer.GUIDE else comparison.mcmc).assignments


def _resampled(draws: PartitionDraws, weighting: Weighting, number: int, seed: int) -> np.ndarray:
    flat = draws.assignments.reshape(-1, draws.assignments.shape[-1])
    # One number for all: draws that are to be shown lie closest to their weights so.
    uniform = np.full(number, np.random.default_rng(seed).random())
    return flat[stratified_draws(weighting.weights, uniform)][None]


def _rand(one: DrawsSummary | None, other: DrawsSummary) -> float | None:
    first, second = None if one is None else one.estimate, other.estimate
    if first is None or second is None:
        return None
    return partition_scores(first.assignments, second.assignments).adjusted_rand


def _agreement(
    draws: PartitionDraws, mcmc: PartitionDraws, sources: SourceComparison | None, tries: Attempts, what: str
) -> Agreement | None:
    """Take the agreement from the comparison of the sources, or compute it where the tests failed."""
    if sources is not None:
        return sources.agreement
    return tries.make(what, lambda: diagnostics.agreement(draws.assignments, mcmc.assignments))


def _weighted(guide: PartitionDraws, weighting: Weighting | None, tries: Attempts) -> Marginals | None:
    if weighting is None:
        return None
    return tries.make(
        "The marginals of the weighted draws",
        lambda: marginals(guide.assignments, weights=weighting.weights),
    )


def _familiarity(comparison: Comparison, tries: Attempts, seed: int) -> Familiarity | None:
    world = comparison.world
    if world is None:
        return None
    return tries.make(_FAMILIARITY, lambda: world.familiarity(comparison.data, seed=seed))


def _untold(
    comparison: Comparison, tries: Attempts, *, has_sources: bool, has_refined: bool
) -> tuple[Finding, ...]:
    """Return the questions that parts which failed leave open."""
    found = comparison.untold
    if not has_sources:
        found += (untold(Question.SOURCES, tries.reason(_SOURCES)),)
    if not has_refined:
        found += (untold(Question.REFINED_SOURCES, tries.reason(_REFINED_SOURCES)),)
    why = tries.reason(_FAMILIARITY)
    return found if why is None else (*found, untold(Question.FAMILIAR, why))


def _evidences(comparison: Comparison, weighting: Weighting | None) -> tuple[LogEvidence, ...]:
    cross, guide = comparison.cross, comparison.guide
    if comparison.refined is not None:
        return comparison.refined.evidences
    if cross is None or guide.log_prob is None:
        return _own_evidence(weighting)
    return diagnostics.log_evidences(
        cross.log_joint, cross.log_prob, guide_log_joint=_log_joint(guide), guide_log_prob=guide.log_prob
    )


def _own_evidence(weighting: Weighting | None) -> tuple[LogEvidence, ...]:
    if weighting is None:
        return ()
    figures = weighting.log_evidence, weighting.log_evidence_error, weighting.pareto_k
    return (LogEvidence("importance sampling", *figures),)


def _log_joint(draws: PartitionDraws) -> np.ndarray:
    if draws.log_joint is None:
        raise ValueError(f"{draws.name} has no log_joint, expected log p of each draw: weights need it")
    return draws.log_joint


def _weigh(guide: PartitionDraws) -> Weighting:
    log_weights = np.ravel(_log_joint(guide) - guide.log_prob).astype(np.float64)
    weights = diagnostics.importance_weights(log_weights)
    return Weighting(
        log_weights,
        weights,
        diagnostics.pareto_k(log_weights),
        diagnostics.importance_efficiency(log_weights),
        diagnostics.effective_draws(weights),
        *diagnostics.importance_log_evidence(log_weights),
    )


def _corrected(weighted: Marginals, of_mcmc: DrawsSummary, noise: Agreement) -> Agreement:
    return Agreement(
        *distances(weighted, of_mcmc.marginals),
        noise.noise_total_variation,
        noise.noise_largest_difference,
        noise.noise_mean_difference,
    )


def _num_clusters(
    guide: Marginals, weighted: Marginals | None, mcmc: Marginals, of_refined: DrawsSummary | None
) -> NumClusters:
    refined = None if of_refined is None else of_refined.marginals
    known = [one.counts for one in (guide, mcmc, weighted, refined) if one is not None]
    found = np.flatnonzero(np.any(known, axis=0))
    support = np.arange(found[0], found[-1] + 1)
    corrected = None if weighted is None else weighted.counts[support]
    of_all = None if refined is None else refined.counts[support]
    return NumClusters(support, guide.counts[support], corrected, mcmc.counts[support], of_all)
