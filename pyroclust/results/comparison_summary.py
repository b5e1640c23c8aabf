"""A comparison of a guide with MCMC: from the draws to everything that is said of them."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pyroclust import diagnostics
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
from pyroclust.diagnostics.verdicts.findings import familiarity_findings
from pyroclust.results.attempts import Attempts
from pyroclust.results.baseline_rows import BaselineRow, FailedRow, baseline_rows
from pyroclust.results.comparison import Comparison, PartitionDraws
from pyroclust.results.contents import Contents, Source, Weighting, plain
from pyroclust.results.draws_summary import DrawsSummary, Estimate, summarise_draws
from pyroclust.text import listed

__all__ = ["ComparisonSummary", "NumClusters", "summarise"]


@dataclass(frozen=True)
class NumClusters:
    """Posteriors of the number of clusters on one support.

    Attributes:
        values: numbers of clusters, ``(V,)``, without gaps.
        guide: probabilities by the guide's draws, ``(V,)``.
        corrected: by the same draws with their importance weights, ``(V,)``.
        mcmc: by MCMC, ``(V,)``.
    """

    values: np.ndarray
    guide: np.ndarray
    corrected: np.ndarray
    mcmc: np.ndarray


@dataclass(frozen=True)
class ComparisonSummary:
    """Everything that a report, a terminal table or a JSON file says of a comparison.

    Attributes:
        comparison: the draws.
        seed: of the random subsets and starts.
        verdict: whether to trust the guide here, in a sentence.
        num_clusters: posteriors of the number of clusters on one support.
        guide: what the guide's draws say.
        mcmc: what the draws of MCMC say.
        co_assignment_corrected: ``(N, N)``, from the guide's weighted draws.
        agreement_corrected: of the weighted draws with MCMC.
        sources: the guide's draws beside those of MCMC: distances and two-sample tests.
        weighting: the guide's importance weights.
        evidences: estimates of log p(x): from the guide's draws, and where the guide scores draws of MCMC
            exactly, from those and from both.
        baselines: classical clusterings, seen from the posterior by MCMC.
        familiarity: where the data lie among simulations of the model; ``None`` without simulations.
        calibration: of the guide on simulations near the data; ``None`` where it was not asked for.
        estimates_rand: adjusted Rand index between the two point estimates.
        failures: why parts are missing, a sentence each.
    """

    comparison: Comparison
    seed: int
    verdict: Verdict
    num_clusters: NumClusters
    guide: DrawsSummary
    mcmc: DrawsSummary
    co_assignment_corrected: np.ndarray
    agreement_corrected: Agreement
    sources: SourceComparison
    weighting: Weighting
    evidences: tuple[LogEvidence, ...]
    baselines: tuple[BaselineRow | FailedRow, ...]
    familiarity: Familiarity | None
    calibration: LocalCalibration | None
    estimates_rand: float
    failures: tuple[str, ...] = ()

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
            *self.estimate_mcmc.findings,
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
    def agreement(self) -> Agreement:
        """Agreement of the guide's draws, as drawn, with MCMC."""
        return self.sources.agreement

    @property
    def estimate_guide(self) -> Estimate:
        """Point estimate of the guide's draws."""
        return self.guide.estimate

    @property
    def estimate_mcmc(self) -> Estimate:
        """Point estimate of MCMC."""
        return self.mcmc.estimate

    @property
    def estimates(self) -> dict[str, Estimate]:
        """Point estimates by the names that files have for their sources."""
        return {"guide": self.estimate_guide, "mcmc": self.estimate_mcmc}

    @property
    def convergence(self) -> tuple[Convergence, ...]:
        """Convergence of MCMC, one row a functional."""
        return self.mcmc.convergence

    def contents(self) -> Contents:
        """Return what there is to show."""
        found, guide, mcmc = self.comparison, self._of_guide(), self._of_mcmc()
        counts = self.num_clusters
        return Contents(
            title=f"{found.source}: {found.guide_name} against MCMC",
            command="pyroclust compare",
            heading=found.source,
            introduction=(
                f"{len(found.data):,} rows of {listed(found.columns)}. The guide {found.guide_name} drew "
                f"{guide.num_draws:,} partitions; MCMC on the same model, {found.model_name}, kept "
                f"{mcmc.num_draws:,} in {mcmc.draws.shape[0]} chains."
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
            counts={"guide": counts.guide, "guide, weighted": counts.corrected, "MCMC": counts.mcmc},
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
            effective_draws=self.weighting.effective_draws,
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
        weighting = self.weighting
        figures = {
            "verdict": {"level": self.verdict.level.value, "sentence": self.verdict.sentence},
            "findings": [one.to_dict() for one in self.findings],
            "num_clusters": asdict(self.num_clusters),
            "agreement": asdict(self.agreement),
            "agreement_corrected": asdict(self.agreement_corrected),
            "two_samples": self.sources.to_dict(),
            "convergence": [asdict(row) for row in self.convergence],
            "importance": {
                "draws": len(weighting.weights),
                "efficiency": weighting.efficiency,
                "effective_draws": weighting.effective_draws,
                "pareto_k": weighting.pareto_k,
                "log_evidence": weighting.log_evidence,
                "log_evidence_error": weighting.log_evidence_error,
            },
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
            "failures": list(self.failures),
        }
        found: dict[str, Any] = plain(figures)
        return found


def summarise(comparison: Comparison, *, seed: int = 0) -> ComparisonSummary:
    """Compute every figure of a comparison.

    Cost: seven co-assignment matrices, two searches for point estimates and three two-sample tests; some
    seconds at N = 300 with 4000 draws of MCMC.

    Args:
        comparison: the draws of both sources.
        seed: of the random subsets, starts and pairs that the diagnostics use.

    Raises:
        ValueError: if the draws are not labels 0 to N - 1, or a log-probability is not finite.
    """
    guide, mcmc = comparison.guide, comparison.mcmc
    weighting = _weigh(guide)
    labels: dict[str, Any] = {"true_labels": comparison.true_labels, "seed": seed}
    of_guide, of_mcmc = (
        summarise_draws(
            one.assignments, name=one.name, log_joint=_log_joint(one), data=comparison.data, **labels
        )
        for one in (guide, mcmc)
    )
    sources = diagnostics.compare_sources(
        guide.assignments, mcmc.assignments, seed=seed, names=("the guide", "MCMC")
    )
    weighted = marginals(guide.assignments, weights=weighting.weights)
    corrected = _corrected(weighted, of_mcmc, sources)
    world, estimates = comparison.world, (of_guide.estimate.assignments, of_mcmc.estimate.assignments)
    tries = Attempts()
    evidences = tries.make("The evidence by bridge sampling", lambda: _evidences(comparison, weighting))
    baselines = baseline_rows(comparison.data, mcmc.assignments, summary=of_mcmc, **labels)
    familiarity = None
    if world is not None:
        familiarity = tries.make(
            "The familiarity of the data", lambda: world.familiarity(comparison.data, seed=seed)
        )
    return ComparisonSummary(
        comparison=comparison,
        seed=seed,
        verdict=diagnostics.judge(_guide_figures(sources, corrected, of_mcmc, weighting)),
        num_clusters=_num_clusters(weighted, of_guide.marginals, of_mcmc.marginals),
        guide=of_guide,
        mcmc=of_mcmc,
        co_assignment_corrected=weighted.together,
        agreement_corrected=corrected,
        sources=sources,
        weighting=weighting,
        evidences=evidences or _own_evidence(weighting),
        baselines=baselines,
        familiarity=familiarity,
        calibration=comparison.calibration,
        estimates_rand=partition_scores(*estimates).adjusted_rand,
        failures=tries.failures,
    )


def _guide_figures(
    sources: SourceComparison, corrected: Agreement, of_mcmc: DrawsSummary, weighting: Weighting
) -> GuideFigures:
    """Gather what the verdict rests on."""
    return GuideFigures(
        guide=sources.agreement,
        corrected=corrected,
        max_rhat=of_mcmc.max_rhat,
        min_ess=of_mcmc.min_ess,
        pareto_k=weighting.pareto_k,
        effective_draws=weighting.effective_draws,
    )


def _evidences(comparison: Comparison, weighting: Weighting) -> tuple[LogEvidence, ...]:
    cross, guide = comparison.cross, comparison.guide
    if cross is None or guide.log_prob is None:
        return _own_evidence(weighting)
    return diagnostics.log_evidences(
        cross.log_joint, cross.log_prob, guide_log_joint=_log_joint(guide), guide_log_prob=guide.log_prob
    )


def _own_evidence(weighting: Weighting) -> tuple[LogEvidence, ...]:
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


def _corrected(weighted: Marginals, of_mcmc: DrawsSummary, sources: SourceComparison) -> Agreement:
    noise = sources.agreement
    return Agreement(
        *distances(weighted, of_mcmc.marginals),
        noise.noise_total_variation,
        noise.noise_largest_difference,
        noise.noise_mean_difference,
    )


def _num_clusters(*sources: Marginals) -> NumClusters:
    columns = np.stack([one.counts for one in sources])
    found = np.flatnonzero(columns.any(0))
    support = np.arange(found[0], found[-1] + 1)
    return NumClusters(support, *columns[:, support])
