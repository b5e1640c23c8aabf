"""A comparison of a guide with MCMC: from the draws to every figure."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pyroclust import diagnostics
from pyroclust.attempts import Attempts
from pyroclust.baselines.scores import partition_scores
from pyroclust.diagnostics import (
    Agreement,
    Answer,
    Familiarity,
    Finding,
    GuideFigures,
    SourceComparison,
)
from pyroclust.diagnostics.differences.agreement import Marginals, distances, marginals
from pyroclust.diagnostics.limits import tolerance_of
from pyroclust.diagnostics.verdicts.findings import Question, untold
from pyroclust.diagnostics.verdicts.judging import with_untold
from pyroclust.progress import progress_bar
from pyroclust.results.baseline_rows import baseline_rows
from pyroclust.results.comparison import Comparison, PartitionDraws
from pyroclust.results.comparison_summary import ComparisonSummary, NumClusters, reference_of, resampled
from pyroclust.results.constraints import summarise_constraints
from pyroclust.results.contents import Weighting
from pyroclust.results.draws_summary import DrawsSummary, summarise_draws
from pyroclust.results.evidence import own_evidences
from pyroclust.results.orders import ORDERS, orders_of
from pyroclust.results.partition_draws import GUIDE, MCMC, REFINED, WEIGHTED

__all__ = ["summarise"]

_SOURCES = "The tests of two samples"
_AGREEMENT = "The agreement of the guide with MCMC"
_REFINED_SOURCES = "The tests of the refined draws and MCMC"
_REFINED_AGREEMENT = "The agreement of the refined draws with MCMC"
_FAMILIARITY = "The familiarity of the data"
_WITNESSES = "The witnesses of the guide"


_PARTS = 6


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
    with progress_bar("comparing, part", _PARTS, shown=False) as tell:
        return _summarise(comparison, seed, tell)


def _summarise(comparison: Comparison, seed: int, tell: Callable[[int, str], None]) -> ComparisonSummary:
    guide, mcmc, refined, tries = comparison.guide, comparison.mcmc, comparison.refined, Attempts()
    proposals = comparison.proposals
    labels: dict[str, Any] = {"true_labels": comparison.true_labels, "seed": seed}
    of_guide = _summary(guide, comparison, seed)
    tell(1, "")
    of_mcmc = _summary(mcmc, comparison, seed)
    tell(2, "")
    of_refined = None if refined is None else _summary(refined.draws, comparison, seed)
    tell(3, "")
    sources, agreement = _beside_mcmc(comparison, guide, seed, tries, refined=False)
    tell(4, "")
    with_mcmc = agreement_refined = None
    if refined is not None:
        with_mcmc, agreement_refined = _beside_mcmc(comparison, refined.draws, seed, tries, refined=True)
    tell(5, "")
    weighting = None
    if comparison.has_weights:
        weighting = tries.make("The importance weights", lambda: Weighting.of(proposals))
    weighted = _weighted(proposals, weighting, tries)
    corrected = None
    if weighted is not None and agreement is not None:
        corrected = _corrected(weighted, of_mcmc, agreement)
    evidences = tries.make("The evidence by bridge sampling", lambda: own_evidences(comparison))
    if evidences is None:
        evidences = () if weighting is None else (diagnostics.importance_evidence(weighting.log_weights),)
    familiarity = _familiarity(comparison, tries, seed)
    witnesses = tries.make(_WITNESSES, lambda: comparison.witnesses)
    open_ones = _untold(
        comparison,
        tries,
        has_sources=sources is not None,
        has_refined=refined is None or with_mcmc is not None,
    )
    figures = GuideFigures(
        guide=agreement,
        corrected=corrected,
        max_rhat=of_mcmc.max_rhat,
        min_ess=of_mcmc.min_ess,
        pareto_k=None if weighting is None else weighting.pareto_k,
        effective_draws=None if weighting is None else weighting.effective_draws,
        refined=None if refined is None else refined.verdict_figures(agreement_refined),
        tolerance=comparison.tolerance,
        has_weights=comparison.has_weights,
    )
    verdict, drawn, of_weighted = diagnostics.judge(figures), None, None
    if verdict.answer is Answer.WEIGHTED and weighting is not None:
        drawn = resampled(proposals, weighting, guide.assignments.shape[1], seed)
        of_weighted = summarise_draws(
            drawn, name=WEIGHTED, data=comparison.profiled, allowed=comparison.allowed, **labels
        )
    shown = reference_of(verdict.answer, of_guide, of_mcmc, of_refined, of_weighted)
    shown_draws = _draws_of(verdict.answer, comparison, drawn)
    baselines = tries.make(
        "The classical methods",
        lambda: baseline_rows(
            comparison.vectors, shown_draws, summary=shown, methods=comparison.classical, **labels
        ),
    )
    every = (*evidences, *comparison.annealed)
    constraints = tries.make(
        "What the constraints say",
        lambda: summarise_constraints(comparison.knowledge, shown.marginals, every),
    )
    others = {GUIDE: of_guide, REFINED: of_refined, MCMC: of_mcmc}
    between, rands = tries.make(
        "The comparison of the point estimates",
        lambda: (_rand(of_guide, of_mcmc), {name: _rand(one, shown) for name, one in others.items()}),
    ) or (None, {})
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
        evidences=every,
        baselines=baselines or (),
        familiarity=familiarity,
        witnesses=witnesses,
        calibration=comparison.calibration,
        estimates_rand=between,
        refined=of_refined,
        agreement_refined=agreement_refined,
        sources_refined=with_mcmc,
        weighted=of_weighted,
        orders=tries.make(ORDERS, lambda: orders_of(proposals, seed=seed)),
        rand_to_answer={name: one for name, one in rands.items() if one is not None},
        failures=(
            *comparison.failures,
            *_failures(of_guide, of_refined, of_mcmc, of_weighted),
            *(() if constraints is None else constraints.failures),
            *tries.failures,
        ),
        untold=open_ones,
        constraints=constraints,
    )


def _summary(draws: PartitionDraws, comparison: Comparison, seed: int) -> DrawsSummary:
    return summarise_draws(
        draws.assignments,
        name=draws.name,
        log_joint=draws.log_joint,
        data=comparison.profiled,
        true_labels=comparison.true_labels,
        allowed=comparison.allowed,
        seed=seed,
    )


def _beside_mcmc(
    comparison: Comparison, draws: PartitionDraws, seed: int, tries: Attempts, *, refined: bool
) -> tuple[SourceComparison | None, Agreement | None]:
    """Test draws against those of MCMC; where the tests fail, their marginals may still be compared."""
    mcmc = comparison.mcmc.assignments
    tested = tries.make(
        _REFINED_SOURCES if refined else _SOURCES,
        lambda: diagnostics.compare_sources(
            draws.assignments,
            mcmc,
            seed=seed,
            names=(REFINED if refined else GUIDE, MCMC),
            tolerance=tolerance_of(comparison.tolerance, refined=refined),
        ),
    )
    if tested is not None:
        return tested, tested.agreement
    what = _REFINED_AGREEMENT if refined else _AGREEMENT
    return None, tries.make(what, lambda: diagnostics.agreement(draws.assignments, mcmc))


def _draws_of(answer: Answer | None, comparison: Comparison, weighted: np.ndarray | None) -> np.ndarray:
    """Return the draws that are the answer; of MCMC where none passed."""
    if answer is Answer.REFINED and comparison.refined is not None:
        return comparison.refined.draws.assignments
    if answer is Answer.WEIGHTED and weighted is not None:
        return weighted
    return (comparison.guide if answer is Answer.GUIDE else comparison.mcmc).assignments


def _failures(*summaries: DrawsSummary | None) -> tuple[str, ...]:
    return tuple(sentence for one in summaries if one is not None for sentence in one.failures)


def _rand(one: DrawsSummary | None, other: DrawsSummary) -> float | None:
    first, second = None if one is None else one.estimate, other.estimate
    if first is None or second is None:
        return None
    return partition_scores(first.assignments, second.assignments).adjusted_rand


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
    return tries.make(_FAMILIARITY, lambda: world.familiarity(comparison.summarised, seed=seed))


def _untold(
    comparison: Comparison, tries: Attempts, *, has_sources: bool, has_refined: bool
) -> tuple[Finding, ...]:
    """Return the questions that parts which failed leave open."""
    found = comparison.untold
    if not has_sources:
        found += (untold(Question.SOURCES, tries.reason(_SOURCES)),)
    if not has_refined:
        found += (untold(Question.REFINED_SOURCES, tries.reason(_REFINED_SOURCES)),)
    for what, question in ((_FAMILIARITY, Question.FAMILIAR), (_WITNESSES, Question.WITNESSED)):
        if (why := tries.reason(what)) is not None:
            found += (untold(question, why),)
    return found


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
