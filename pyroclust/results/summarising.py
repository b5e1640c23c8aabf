"""From the draws of a comparison to its figures."""

import math
from typing import Any

import numpy as np

from pyroclust import diagnostics
from pyroclust.baselines.scores import partition_scores
from pyroclust.diagnostics import Agreement, GuideFigures, LogEvidence, SourceComparison
from pyroclust.diagnostics.agreement import Marginals, distances, marginals
from pyroclust.results.baseline_rows import baseline_rows
from pyroclust.results.comparison import Comparison, PartitionDraws
from pyroclust.results.comparison_summary import ComparisonSummary, NumClusters, Weighting
from pyroclust.results.draws_summary import DrawsSummary, summarise_draws

__all__ = ["summarise"]


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
        guide.assignments, mcmc.assignments, seed=seed, names=("The guide", "MCMC")
    )
    weighted = marginals(guide.assignments, weights=weighting.weights)
    corrected = _corrected(weighted, of_mcmc, sources)
    world, estimates = comparison.world, (of_guide.estimate.assignments, of_mcmc.estimate.assignments)
    return ComparisonSummary(
        verdict=diagnostics.judge(_guide_figures(sources, corrected, of_mcmc, weighting)),
        num_clusters=_num_clusters(weighted, of_guide.marginals, of_mcmc.marginals),
        guide=of_guide,
        mcmc=of_mcmc,
        co_assignment_corrected=weighted.together,
        agreement_corrected=corrected,
        sources=sources,
        weighting=weighting,
        evidences=_evidences(comparison, weighting),
        baselines=baseline_rows(comparison.data, mcmc.assignments, summary=of_mcmc, **labels),
        familiarity=None if world is None else world.familiarity(comparison.data, seed=seed),
        calibration=comparison.calibration,
        estimates_rand=partition_scores(*estimates).adjusted_rand,
        guide_seconds=guide.seconds / (len(weighting.weights) * weighting.efficiency),
        mcmc_seconds=mcmc.seconds / of_mcmc.min_ess if math.isfinite(of_mcmc.min_ess) else math.nan,
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
        figures = weighting.log_evidence, weighting.log_evidence_error, weighting.pareto_k
        return (LogEvidence("importance sampling", *figures),)
    return diagnostics.log_evidences(
        cross.log_joint, cross.log_prob, guide_log_joint=_log_joint(guide), guide_log_prob=guide.log_prob
    )


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
