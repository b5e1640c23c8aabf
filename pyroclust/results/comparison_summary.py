"""A comparison of a guide with MCMC: from the draws to everything that is said of them."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pyroclust import diagnostics
from pyroclust.attempts import Attempts
from pyroclust.baselines.scores import partition_scores
from pyroclust.calibration.result import LocalCalibration
from pyroclust.diagnostics import (
    Agreement,
    Convergence,
    Familiarity,
    Finding,
    GuideFigures,
    LogEvidence,
    SourceComparison,
    Verdict,
)
from pyroclust.diagnostics.differences.agreement import Marginals, distances, marginals
from pyroclust.diagnostics.verdicts.findings import Question, familiarity_findings, untold
from pyroclust.diagnostics.verdicts.judging import with_untold
from pyroclust.results.baseline_rows import BaselineRow, FailedRow, baseline_rows
from pyroclust.results.comparison import Comparison, PartitionDraws
from pyroclust.results.contents import Contents, Source, Weighting, plain
from pyroclust.results.draws_summary import DrawsSummary, Estimate, summarise_draws
from pyroclust.text import listed

__all__ = ["ComparisonSummary", "NumClusters", "summarise"]

_SOURCES = "The tests of two samples"
_AGREEMENT = "The agreement of the guide with MCMC"
_FAMILIARITY = "The familiarity of the data"


@dataclass(frozen=True)
class NumClusters:
    """Posteriors of the number of clusters on one support.

    Attributes:
        values: numbers of clusters, ``(V,)``, without gaps.
        guide: probabilities by the guide's draws, ``(V,)``.
        corrected: by the same draws with their importance weights, ``(V,)``; ``None`` without weights.
        mcmc: by MCMC, ``(V,)``.
    """

    values: np.ndarray
    guide: np.ndarray
    corrected: np.ndarray | None
    mcmc: np.ndarray


@dataclass(frozen=True)
class ComparisonSummary:
    """Everything that a report, a terminal table or a JSON file says of a comparison.

    A part that failed is ``None``.

    Attributes:
        comparison: the draws.
        seed: of the random subsets and starts.
        verdict: whether to trust the guide here, in a sentence.
        num_clusters: posteriors of the number of clusters on one support.
        guide: what the guide's draws say.
        mcmc: what the draws of MCMC say.
        co_assignment_corrected: ``(N, N)``, from the guide's weighted draws.
        agreement_corrected: of the weighted draws with MCMC.
        agreement: of the guide's draws, as drawn, with MCMC.
        sources: the guide's draws beside those of MCMC: distances and two-sample tests.
        weighting: the guide's importance weights.
        evidences: estimates of log p(x): from the guide's draws, and where the guide scores draws of MCMC
            exactly, from those and from both.
        baselines: classical clusterings, seen from the posterior by MCMC.
        familiarity: where the data lie among simulations of the model; ``None`` without simulations.
        calibration: of the guide on simulations near the data; ``None`` where it was not asked for.
        estimates_rand: adjusted Rand index between the two point estimates.
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
            *self.untold,
            *self.mcmc.findings,
        )

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
        """Point estimates by the names that files have for their sources."""
        every = {"guide": self.estimate_guide, "mcmc": self.estimate_mcmc}
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
        return Contents(
            title=f"{found.source}: {found.guide_name} against MCMC",
            command="pyroclust compare",
            heading=found.source,
            introduction=(
                f"{len(found.data):,} rows of {listed(found.columns)}. The guide {found.guide_name} drew "
                f"{guide.num_draws:,} partitions; MCMC on the same model, {found.model_name}, kept "
                f"{mcmc.num_draws:,} in {mcmc.draws.shape[0]} chains. {found.model_in_words}".rstrip()
            ),
            footer=(
                "Uncertainty of a row: the probability that it is apart from its companions in the "
                "estimate. Effective draws: for the guide one over the sum of its squared smoothed "
                "importance weights, for MCMC those of its slowest functional."
            ),
            notes=(*found.notes, *self.failures),
            verdict=self.verdict,
            findings=self.findings,
            sources=(guide, mcmc),
            reference=mcmc,
            counts={"guide": counts.guide, **weighted, "MCMC": counts.mcmc},
            counts_from=int(counts.values[0]),
            rows=found.rows,
            seed=self.seed,
            between=self.sources,
            weighting=self.weighting,
            corrected=self.agreement_corrected,
            estimates_rand=self.estimates_rand,
            evidences=self.evidences,
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
            seconds=found.guide.seconds,
            effective_draws=math.nan if self.weighting is None else self.weighting.effective_draws,
        )

    def _of_mcmc(self) -> Source:
        found, ess = self.comparison, self.mcmc.min_ess
        return Source(
            "MCMC",
            found.mcmc.assignments,
            self.mcmc,
            found.shown,
            found.columns,
            seconds=found.mcmc.seconds,
            effective_draws=ess if math.isfinite(ess) else math.nan,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the figures without matrices and draws, fit for JSON: not finite becomes ``None``."""
        rows = self.convergence
        figures = {
            "verdict": {"level": self.verdict.level.value, "sentence": self.verdict.sentence},
            "findings": [one.to_dict() for one in self.findings],
            "num_clusters": asdict(self.num_clusters),
            "agreement": None if self.agreement is None else asdict(self.agreement),
            "agreement_corrected": None
            if self.agreement_corrected is None
            else asdict(self.agreement_corrected),
            "two_samples": None if self.sources is None else self.sources.to_dict(),
            "convergence": None if rows is None else [asdict(row) for row in rows],
            "importance": None if self.weighting is None else _of_weights(self.weighting),
            "log_evidence": [asdict(one) for one in self.evidences],
            "seconds_per_effective_draw": {
                "guide": self.guide_seconds,
                "mcmc": self.mcmc_seconds,
                "ratio": self.speed_ratio,
            },
            "point_estimates": {name: found.figures() for name, found in self.estimates.items()},
            "familiarity": None if self.familiarity is None else asdict(self.familiarity),
            "calibration_near_data": None if self.calibration is None else self.calibration.figures(),
            "adjusted_rand_between_estimates": self.estimates_rand,
            "sources": {"guide": self.guide.figures(), "mcmc": self.mcmc.figures()},
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

    Cost: seven co-assignment matrices, two searches for point estimates and three two-sample tests; some
    seconds at N = 300 with 4000 draws of MCMC.

    Args:
        comparison: the draws of both sources.
        seed: of the random subsets, starts and pairs that the diagnostics use.

    Raises:
        ValueError: if the draws are not labels 0 to N - 1.
    """
    guide, mcmc, tries = comparison.guide, comparison.mcmc, Attempts()
    labels: dict[str, Any] = {"true_labels": comparison.true_labels, "seed": seed}
    of_guide, of_mcmc = (
        summarise_draws(
            one.assignments, name=one.name, log_joint=_log_joint(one), data=comparison.data, **labels
        )
        for one in (guide, mcmc)
    )
    sources = tries.make(
        _SOURCES,
        lambda: diagnostics.compare_sources(
            guide.assignments, mcmc.assignments, seed=seed, names=("the guide", "MCMC")
        ),
    )
    agreement = _agreement(comparison, sources, tries)
    weighting = tries.make("The importance weights", lambda: _weigh(guide))
    weighted = _weighted(guide, weighting, tries)
    corrected = None
    if weighted is not None and agreement is not None:
        corrected = _corrected(weighted, of_mcmc, agreement)
    evidences = tries.make("The evidence by bridge sampling", lambda: _evidences(comparison, weighting))
    baselines = tries.make(
        "The classical methods",
        lambda: baseline_rows(comparison.data, mcmc.assignments, summary=of_mcmc, **labels),
    )
    familiarity = _familiarity(comparison, tries, seed)
    open_ones = _untold(comparison, tries, has_sources=sources is not None)
    figures = _guide_figures(agreement, corrected, of_mcmc, weighting)
    return ComparisonSummary(
        comparison=comparison,
        seed=seed,
        verdict=with_untold(diagnostics.judge(figures), (*open_ones, *of_mcmc.untold)),
        num_clusters=_num_clusters(of_guide.marginals, weighted, of_mcmc.marginals),
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
        estimates_rand=tries.make(
            "The comparison of the point estimates", lambda: _estimates_rand(of_guide, of_mcmc)
        ),
        failures=(*comparison.failures, *of_guide.failures, *of_mcmc.failures, *tries.failures),
        untold=open_ones,
    )


def _agreement(comparison: Comparison, sources: SourceComparison | None, tries: Attempts) -> Agreement | None:
    """Take the agreement from the comparison of the sources, or compute it where the tests failed."""
    if sources is not None:
        return sources.agreement
    guide, mcmc = comparison.guide.assignments, comparison.mcmc.assignments
    return tries.make(_AGREEMENT, lambda: diagnostics.agreement(guide, mcmc))


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


def _untold(comparison: Comparison, tries: Attempts, *, has_sources: bool) -> tuple[Finding, ...]:
    """Return the questions that parts which failed leave open."""
    found = comparison.untold
    if not has_sources:
        found += (untold(Question.SOURCES, tries.reason(_SOURCES)),)
    why = tries.reason(_FAMILIARITY)
    return found if why is None else (*found, untold(Question.FAMILIAR, why))


def _estimates_rand(of_guide: DrawsSummary, of_mcmc: DrawsSummary) -> float | None:
    first, second = of_guide.estimate, of_mcmc.estimate
    if first is None or second is None:
        return None
    return partition_scores(first.assignments, second.assignments).adjusted_rand


def _guide_figures(
    agreement: Agreement | None,
    corrected: Agreement | None,
    of_mcmc: DrawsSummary,
    weighting: Weighting | None,
) -> GuideFigures:
    """Gather what the verdict rests on."""
    return GuideFigures(
        guide=agreement,
        corrected=corrected,
        max_rhat=of_mcmc.max_rhat,
        min_ess=of_mcmc.min_ess,
        pareto_k=None if weighting is None else weighting.pareto_k,
        effective_draws=None if weighting is None else weighting.effective_draws,
    )


def _evidences(comparison: Comparison, weighting: Weighting | None) -> tuple[LogEvidence, ...]:
    cross, guide = comparison.cross, comparison.guide
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


def _num_clusters(guide: Marginals, weighted: Marginals | None, mcmc: Marginals) -> NumClusters:
    known = [one.counts for one in (guide, mcmc, weighted) if one is not None]
    found = np.flatnonzero(np.any(known, axis=0))
    support = np.arange(found[0], found[-1] + 1)
    corrected = None if weighted is None else weighted.counts[support]
    return NumClusters(support, guide.counts[support], corrected, mcmc.counts[support])
