"""The steps that draw: chains of MCMC first, then the guide, its weights, and refined draws where needed."""

import math
import time
from copy import copy
from dataclasses import astuple, replace
from typing import Any

import numpy as np
import torch

from pyroclust.analysis.chains import draw_mcmc
from pyroclust.analysis.steps import Settings, Step, Work, as_step
from pyroclust.core.large_tables import default_num_draws
from pyroclust.core.messages import duration, first_line, lacks_memory, range_in_words
from pyroclust.core.random_state import seeded
from pyroclust.diagnostics import Agreement, Finding
from pyroclust.diagnostics.differences import distances, marginals
from pyroclust.diagnostics.findings import (
    Question,
    agreement_findings,
    settled_finding,
    weighted_finding,
)
from pyroclust.diagnostics.limits import MIN_ESS, are_few
from pyroclust.diagnostics.verdict import all_passed
from pyroclust.distributions import NormalInverseWishart
from pyroclust.distributions.sequential.partition import num_orders_of
from pyroclust.guides import AmortizedGuide
from pyroclust.infer import importance, refine
from pyroclust.infer.importance import Clock
from pyroclust.infer.mcmc.named_kernels import default_kernel_name, has_kernel
from pyroclust.models.standardised import with_independent_columns
from pyroclust.partitions import Draws
from pyroclust.results.answer import likeliest_of
from pyroclust.results.step_results import Weighting

DRAWING_STEPS: list[Step] = []

# Processor seconds that a guide may draw for, draws of a visiting order, and the fewest of these in any case.
_GUIDE_SECONDS, _DRAWS_OF_AN_ORDER, _FEWEST_ORDERS = 3.0, 100, 2
# Draws of tables with so many columns, where the state of a cluster has D^2 numbers, come in blocks.
_WIDE = 5
# Without being asked, so many draws are refined, from so many proposals each, if that takes so many seconds.
_REFINED_DRAWS, _FEW_PROPOSALS, _REFINING_SECONDS, _FEWEST_SWEEPS = 400, 2, 4.0, 20
# Below so many rows for each entry of a covariance chains of such length ask what independent columns say.
_ROWS_AN_ENTRY, _SHORT = 4, Settings(mcmc_draws=50, warmup=50, num_chains=2)


@as_step(DRAWING_STEPS, applies=lambda work: work.model is not None and has_kernel(work.model), what="MCMC")
def mcmc(work: Work) -> None:
    settings, analysis = work.settings, work.analysis
    chains = f"{settings.num_chains} chain{'s' * (settings.num_chains != 1)}"
    kernel = settings.kernel or default_kernel_name(work.model, num_points=len(work.data))
    work.tell(f"running {chains} of {kernel}")
    try:
        drawn = draw_mcmc(work.model, work.data, settings, seed=analysis.seed, tell=work.tell)
    except Exception as error:
        work.kept["why_no_mcmc"] = f"MCMC failed ({first_line(error)})"
        raise
    draws = analysis.draws["mcmc"] = drawn.draws
    analysis.notes += drawn.notes
    work.sweep_seconds = drawn.sweep_seconds
    work.kept |= {"evidences": drawn.evidences, "more_seconds": drawn.more_seconds}
    analysis.about |= {
        "mcmc_kernel": draws.name,
        "mcmc_chains": draws.assignments.shape[0],
        "mcmc_draws": draws.assignments.shape[1],
        "mcmc_seconds": draws.seconds,
        "mcmc_seconds_warmup": draws.seconds_warmup,
    }
    if draws.interrupted:
        # What comes next is left out, and what there is is kept.
        raise KeyboardInterrupt


def _has_full_covariances(work: Work) -> bool:
    component = getattr(work.model, "component", None)
    return isinstance(component, NormalInverseWishart) and with_independent_columns(component) is not None


def _has_few_rows(work: Work) -> bool:
    """Whether rows are so few that full covariances may join clusters, or divide them."""
    dim = work.model.component.dim
    entries = dim * (dim + 1) // 2
    return work.has("mcmc") and work.num_rows < _ROWS_AN_ENTRY * entries


@as_step(
    DRAWING_STEPS,
    applies=_has_full_covariances,
    by_default=_has_few_rows,
    what="The number of clusters of independent columns",
)
def independent_columns(work: Work) -> dict[str, Any] | None:
    """Ask short chains how many clusters of independent columns there are, and what these gain."""
    # Both have the same prior of partitions, and densities of the same points: the highest log joints differ
    # as the log evidences do, but for how many partitions are about as probable as the best one.
    if not work.has("mcmc"):
        return None
    model = copy(work.model)
    model.component = with_independent_columns(model.component)
    drawn = draw_mcmc(model, work.data, _SHORT, seed=work.analysis.seed, tell=work.tell).draws
    best, usual = (np.asarray(one.log_joint).max() for one in (drawn, work.analysis.draws["mcmc"]))
    counts = np.bincount(drawn.num_clusters.ravel()) / drawn.num_draws
    return {**likeliest_of(counts), "gain": float(best - usual)}


def draw_guide(work: Work) -> str:
    """Draw from posteriors of the guide, one a visiting order; return why the draws are of no use, if so."""
    guide, analysis, data, clock = work.guide, work.analysis, work.data, Clock()
    assert analysis.guide is not None
    number = work.settings.num_draws

    def part(number: int, num_orders: int) -> tuple[Draws, tuple[Any, ...]]:
        return importance.draw_proposals(
            guide.model,
            lambda: known_guide.posterior(data),
            data,
            number=number,
            at_once=importance.most_at_once(data) if data.shape[-1] >= _WIDE else number,
            num_orders=num_orders,
            clock=clock,
        )

    with seeded(analysis.seed), torch.no_grad():
        known_guide = guide.with_hyperparameters_of(data) if isinstance(guide, AmortizedGuide) else guide
        importance.warm_up(known_guide, data)
        if number is not None:
            draws, posteriors = part(number, importance.NUM_ORDERS)
        else:
            began = time.process_time()
            parts = [part(_DRAWS_OF_AN_ORDER, 1) for _ in range(_FEWEST_ORDERS)]
            a_part = (time.process_time() - began) / len(parts)
            in_time = min(default_num_draws(len(data)) // _DRAWS_OF_AN_ORDER, int(_GUIDE_SECONDS / a_part))
            parts += [part(_DRAWS_OF_AN_ORDER, 1) for _ in range(len(parts), in_time)]
            draws = Draws.joined([one for one, _ in parts])
            log_joint, log_prob = (
                None if one is None else one.reshape(1, -1) for one in (draws.log_joint, draws.log_prob)
            )
            draws = replace(draws, assignments=draws.flat[None], log_joint=log_joint, log_prob=log_prob)
            posteriors = tuple(one for _, (one,) in parts)
    known, made = getattr(work.model, "constraints", None), draws.num_draws
    draws, posteriors, share = importance.inside(draws, posteriors, known)
    if known is not None and share < 1:
        analysis.about["share_of_guide_draws_inside"] = share
        words = (
            f"Of {made:,} draws of the guide {analysis.guide.name} {draws.num_draws:,} ({100 * share:.3g} %) "
            f"have {range_in_words(known.clusters)}"
        )
        if are_few(draws.num_draws):
            return f"{words}, fewer than {MIN_ESS:.0f}: the guide is of no use here, and MCMC stands alone."
        analysis.notes.append(
            f"{words}; the others were left out. Its log q is that given this, by the share, which the log "
            "evidence counts too."
        )
    work.posteriors = posteriors
    draws = analysis.draws["guide"] = replace(draws, name=analysis.guide.name, seconds=clock.seconds["draw"])
    # Of draws that are left there are no equal parts.
    orders = num_orders_of(posteriors) if share == 1 else 1
    analysis.guide = replace(analysis.guide, num_orders=orders)
    analysis.about |= {
        "guide": analysis.guide.name,
        "guide_draws": draws.num_draws,
        "guide_seconds": draws.seconds,
    }
    if work.model.has_likelihood and not all(one.is_exact for one in posteriors):
        analysis.notes.append(
            "The guide's log q is estimated by simulation: its importance weights stay right on average, "
            "and are more uneven for it."
        )
    return ""


@as_step(
    DRAWING_STEPS,
    applies=lambda work: work.guide is not None,
    what="The guide's draws",
    is_essential=True,
)
def guide(work: Work) -> None:
    """Draw from the guide, and name it where it cannot."""
    assert work.analysis.guide is not None
    work.tell(f"drawing partitions from {work.analysis.guide.name}")
    try:
        why = draw_guide(work)
    except Exception as error:
        if isinstance(error, ValueError | OSError) or lacks_memory(error):
            raise
        raise ValueError(
            f"guide '{work.analysis.guide.name}' could not draw partitions of these points "
            f"({first_line(error)}); use another guide with --guide"
        ) from error
    if why:
        work.guide = work.analysis.guide = work.analysis.about["guide"] = None
        work.analysis.notes.append(why)


@as_step(
    DRAWING_STEPS,
    applies=lambda work: work.has("guide") and work.analysis.draws["guide"].log_ratios is not None,
    what="The importance weights",
    opens=(Question.TAIL, Question.WORTH, Question.WEIGHTED),
)
def weights(work: Work) -> Weighting:
    return Weighting.of(work.analysis.proposals)


@as_step(
    DRAWING_STEPS,
    applies=lambda work: work.has("guide"),
    what="The agreement of the guide with MCMC",
    opens=(Question.COUNTS, Question.PAIRS),
)
def agreement(work: Work) -> dict[str, Agreement] | None:
    """Set the guide's draws, as drawn and weighted, beside those of MCMC, or say why there are none."""
    analysis = work.analysis
    if not work.has("mcmc"):
        why = f"no kernel can run on the model '{work.model.name}'"
        if not work.model.has_likelihood:
            why = f"the likelihood of a partition under '{work.model.name}' has no formula"
        analysis.checks["agreement"] = guide_alone(work.kept.get("why_no_mcmc") or why)
        return None
    result = {"guide": _beside_mcmc(work, analysis.summary("guide").marginals)}
    analysis.checks["agreement"] = agreement_findings(result["guide"], analysis.tolerance_for("guide"))
    if (weighting := analysis.results.get("weights")) is not None:
        weighted = marginals(analysis.proposals.assignments, weights=weighting.weights)
        result["weighted"] = _beside_mcmc(work, weighted)
        analysis.checks["weighted"] = (_agree(work, "guide", result["weighted"], Question.WEIGHTED),)
    return result


def guide_alone(why: str) -> tuple[Finding, ...]:
    """Say that nothing stands beside the guide."""
    return (Finding(Question.BESIDE, None, None, None, f"no MCMC: {why}"),)


def _beside_mcmc(work: Work, other: Any) -> Agreement:
    """Return how far marginals are from those of MCMC, and the noise of MCMC itself."""
    chains = work.analysis.summary("mcmc")
    return Agreement(*distances(other, chains.marginals), *astuple(chains.noise))


def _agree(work: Work, name: str, beside: Agreement, question: Question) -> Finding:
    return weighted_finding(
        beside.total_variation,
        beside.largest_difference,
        noise=beside.noise_largest_difference,
        tolerance=work.analysis.tolerance_for(name),
        question=question,
    )


def _needs_refining(work: Work) -> bool:
    """Whether chains have not converged, or there are none, and sweeps take few seconds."""
    if not work.has("mcmc"):
        return has_kernel(work.model)
    if all_passed(work.analysis.summary("mcmc").verdict.findings):
        return False
    seconds = _REFINED_DRAWS * _FEWEST_SWEEPS * work.sweep_seconds
    if seconds <= _REFINING_SECONDS:
        return True
    work.analysis.notes.append(
        "The guide's draws were not refined: that would take more than "
        f"{duration(seconds)} of sweeps; --refine does it."
    )
    return False


@as_step(
    DRAWING_STEPS,
    applies=lambda work: work.guide is not None and has_kernel(work.model),
    by_default=_needs_refining,
    says="refining draws of the guide",
    what="The refining of the guide's draws",
    opens=(Question.SETTLED,),
)
def refining(work: Work) -> Any:
    """Refine the guide's draws, and set them beside MCMC."""
    analysis = work.analysis
    assert analysis.guide is not None
    asked = work.asks("refining")
    usual = work.settings.num_draws or default_num_draws(len(analysis.row_names))
    draws, record = refine(
        work.model,
        work.guide,
        work.data,
        num_draws=usual if asked else _REFINED_DRAWS,
        proposals=importance.PROPOSALS if asked else _FEW_PROPOSALS,
        most_seconds=math.inf if asked else _REFINING_SECONDS,
        seed=analysis.seed,
    )
    analysis.draws["refined"] = replace(
        draws,
        name=f"{analysis.guide.name}, refined",
        # Elsewhere it is a density of the parameters that the kernel keeps, too.
        log_joint=draws.log_joint if work.model.has_likelihood else None,
    )
    analysis.about |= {"refined_draws": draws.num_draws, "refined_seconds": draws.seconds}
    analysis.checks["settled"] = (settled_finding(record.rounds[-1] if record.rounds else None),)
    if work.has("mcmc"):
        agree_refined(work)
    return replace(record, kernel=default_kernel_name(work.model))


def agree_refined(work: Work) -> None:
    """Ask whether refined draws agree with MCMC."""
    analysis = work.analysis
    beside = _beside_mcmc(work, analysis.summary("refined").marginals)
    analysis.results.setdefault("agreement", {})["refined"] = beside
    analysis.checks["refined"] = (_agree(work, "refined", beside, Question.REFINED),)
