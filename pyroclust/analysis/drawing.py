"""The steps that draw: chains of MCMC first, then the guide, its weights, and refined draws where needed."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from pyroclust.analysis.chains import draw_mcmc
from pyroclust.analysis.steps import Step, Work
from pyroclust.diagnostics import Agreement, Finding
from pyroclust.diagnostics.differences.agreement import distances, marginals
from pyroclust.diagnostics.verdicts.findings import (
    Question,
    agreement_findings,
    settled_finding,
    weighted_finding,
)
from pyroclust.diagnostics.verdicts.verdict import all_passed
from pyroclust.distributions.sequential.partition import num_orders_of
from pyroclust.errors import first_line, lacks_memory
from pyroclust.infer import refine
from pyroclust.infer.mcmc.defaults import default_kernel_name, has_kernel
from pyroclust.infer.refining.clock import Clock
from pyroclust.infer.refining.proposals import (
    NUM_ORDERS,
    PROPOSALS,
    draw_proposals,
    most_at_once,
    posterior_of,
    warm_up,
)
from pyroclust.large_tables import draws_of
from pyroclust.partitions import Draws
from pyroclust.random_state import seeded
from pyroclust.results.weights import Weighting
from pyroclust.text import duration

__all__ = ["DRAWING_STEPS", "draw_guide"]

# Seconds that a guide may draw for, draws of one visiting order, and the fewest of these in any case.
_GUIDE_SECONDS, _DRAWS_OF_AN_ORDER, _FEWEST_ORDERS = 3.0, 100, 2
# Draws of tables with so many columns, where the state of a cluster has D^2 numbers, come in blocks.
_WIDE = 5
# Without being asked, so many draws are refined, from so many proposals each, if that takes so many seconds.
_REFINED_DRAWS, _FEW_PROPOSALS, _REFINING_SECONDS, _FEWEST_SWEEPS = 400, 2, 4.0, 20


def _mcmc(work: Work) -> None:
    settings, found = work.settings, work.analysis
    assert work.data is not None
    drawn = draw_mcmc(
        work.model,
        work.data,
        num_draws=settings.mcmc_draws,
        num_chains=settings.num_chains,
        seed=settings.seed,
        kernel=settings.kernel,
        warmup=settings.warmup,
        is_thorough=settings.thorough,
        tell=work.tell,
    )
    found.draws["mcmc"], work.sweep_seconds = drawn.draws, drawn.sweep_seconds
    found.notes += drawn.notes
    work.kept |= {"evidences": drawn.evidences, "more_seconds": drawn.more_seconds}
    chains, draws, _ = drawn.draws.assignments.shape
    found.about |= {
        "mcmc_kernel": drawn.draws.name,
        "mcmc_chains": chains,
        "mcmc_draws": draws,
        "mcmc_seconds": drawn.draws.seconds,
        "mcmc_seconds_warmup": drawn.draws.seconds_warmup,
    }
    if drawn.draws.interrupted:
        # What comes next is left out, and what there is is kept.
        raise KeyboardInterrupt


def _mcmc_or_why(work: Work) -> None:
    """Draw by MCMC; where a guide can stand alone, a failure is a sentence.

    Points that MCMC of a model with a likelihood refuses are refused. Where cluster parameters are kept, what
    it refuses may be no more than a start.
    """
    try:
        _mcmc(work)
    except Exception as error:
        refused = isinstance(error, ValueError) and work.model.has_likelihood
        if work.picked is None or refused or lacks_memory(error):
            raise
        work.kept["why_no_mcmc"] = f"MCMC failed ({first_line(error)})"
        raise


def draw_guide(work: Work) -> None:
    """Draw from several posteriors of the guide, each with a visiting order of its own where it has one.

    Where nobody says how many draws, posteriors with 100 draws each follow one another until three seconds
    are over: two at least, ten at most. Seconds exclude one draw to warm up.
    """
    picked, settings, data = work.picked, work.settings, work.data
    assert picked is not None
    assert data is not None
    guide, clock = picked.module, Clock()
    most = draws_of(len(data)) if settings.num_draws is None else settings.num_draws

    def part(number: int, num_orders: int) -> tuple[Draws, tuple[Any, ...]]:
        return draw_proposals(
            guide.model,
            lambda: posterior_of(guide, data),
            data,
            number=number,
            at_once=most_at_once(data) if data.shape[-1] >= _WIDE else number,
            num_orders=num_orders,
            clock=clock,
        )

    with seeded(settings.seed), torch.no_grad():
        warm_up(guide, data)
        if settings.num_draws is not None:
            draws, posteriors = part(most, NUM_ORDERS)
        else:
            draws, posteriors = part(_DRAWS_OF_AN_ORDER, 1)
            while len(posteriors) < _FEWEST_ORDERS or (
                clock.seconds["draw"] < _GUIDE_SECONDS and draws.num_draws + _DRAWS_OF_AN_ORDER <= most
            ):
                more, others = part(_DRAWS_OF_AN_ORDER, 1)
                draws, posteriors = _joined(draws, more), (*posteriors, *others)
    work.posteriors, is_exact = posteriors, all(one.is_exact for one in posteriors)
    draws = replace(draws, name=picked.name, seconds=clock.seconds["draw"])
    found = work.analysis
    found.draws["guide"] = draws
    assert found.guide is not None
    found.guide = replace(found.guide, is_exact=is_exact, num_orders=num_orders_of(posteriors))
    found.about |= {
        "guide": picked.name,
        "guide_draws": draws.num_draws,
        "guide_seconds": draws.seconds,
    }
    if not is_exact and work.model.has_likelihood:
        found.notes.append(
            "The guide's log q is estimated by simulation: its importance weights stay right on average, "
            "and are more uneven for it."
        )


def _joined(first: Draws, second: Draws) -> Draws:
    """Return draws of one chain after those of another."""

    def both(one: np.ndarray | None, other: np.ndarray | None) -> np.ndarray | None:
        return None if one is None or other is None else np.concatenate([one, other], axis=1)

    return replace(
        first,
        assignments=np.concatenate([first.assignments, second.assignments], axis=1),
        log_joint=both(first.log_joint, second.log_joint),
        log_prob=both(first.log_prob, second.log_prob),
    )


def _guide_or_why(work: Work) -> None:
    try:
        draw_guide(work)
    except Exception as error:
        assert work.picked is not None
        if isinstance(error, ValueError | OSError) or lacks_memory(error):
            raise
        raise ValueError(
            f"guide '{work.picked.name}' could not draw partitions of these points ({first_line(error)}); "
            "use another guide with --guide"
        ) from error


def _weights(work: Work) -> Weighting:
    return Weighting.of(work.analysis.proposals)


def _has_weights(work: Work) -> bool:
    draws = work.analysis.draws.get("guide")
    return draws is not None and draws.log_joint is not None and draws.log_prob is not None


def _agreement(work: Work) -> dict[str, Agreement]:
    """Set the guide's draws, as drawn and weighted, beside those of MCMC."""
    found = work.analysis
    result = {"guide": _beside_mcmc(work, found.summary("guide").marginals)}
    found.checks["agreement"] = agreement_findings(result["guide"], found.tolerance_for("guide"))
    weights = found.results.get("weights")
    if weights is not None:
        weighted = marginals(found.proposals.assignments, weights=weights.weights)
        result["weighted"] = _beside_mcmc(work, weighted)
        found.checks["weighted"] = (_beside_check(result["weighted"], Question.WEIGHTED, work, "guide"),)
    return result


def _beside_mcmc(work: Work, other: Any) -> Agreement:
    """Return how far marginals are from those of MCMC, and the noise of MCMC itself."""
    mcmc = work.analysis.summary("mcmc")
    noise = mcmc.noise
    return Agreement(
        *distances(other, mcmc.marginals),
        noise.total_variation,
        noise.largest_difference,
        noise.mean_difference,
    )


def _beside_check(one: Agreement, question: Question, work: Work, name: str) -> Finding:
    return weighted_finding(
        one.total_variation,
        one.largest_difference,
        noise=one.noise_largest_difference,
        tolerance=work.analysis.tolerance_for(name),
        question=question,
    )


def _refining(work: Work) -> Any:
    """Refine the guide's draws, and set them beside MCMC."""
    picked, settings, data, found = work.picked, work.settings, work.data, work.analysis
    assert picked is not None
    assert data is not None
    asked = settings.refine or work.asks("refining")
    usual = settings.num_draws or draws_of(len(found.row_names))
    draws, record = refine(
        work.model,
        picked.module,
        data,
        num_draws=usual if asked else _REFINED_DRAWS,
        proposals=PROPOSALS if asked else _FEW_PROPOSALS,
        most_seconds=math.inf if asked else _REFINING_SECONDS,
        seed=settings.seed,
    )
    record = replace(record, kernel=default_kernel_name(work.model))
    has_weights = work.model.has_likelihood
    # Elsewhere it is a density of the parameters that the kernel keeps, too.
    found.draws["refined"] = replace(
        draws, name=f"{picked.name}, refined", log_joint=draws.log_joint if has_weights else None
    )
    found.about |= {"refined_draws": draws.num_draws, "refined_seconds": draws.seconds}
    found.checks["settled"] = (settled_finding(record.rounds[-1] if record.rounds else None),)
    if "mcmc" in found.draws:
        agree_refined(work)
    return record


def agree_refined(work: Work) -> None:
    """Ask whether refined draws agree with MCMC."""
    found = work.analysis
    one = _beside_mcmc(work, found.summary("refined").marginals)
    found.results.setdefault("agreement", {})["refined"] = one
    found.checks["refined"] = (_beside_check(one, Question.REFINED, work, "refined"),)


def _needs_refining(work: Work) -> bool:
    """Whether refined draws are asked for, or chains have not converged and sweeps take few seconds."""
    if work.settings.refine:
        return True
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


def _beside_guide(work: Work) -> None:
    """Say that nothing stands beside the guide."""
    why = work.kept.get("why_no_mcmc") or _why_no_mcmc(work)
    work.analysis.checks["agreement"] = (Finding(Question.BESIDE.value, None, None, None, f"no MCMC: {why}"),)


def _why_no_mcmc(work: Work) -> str:
    if work.model.has_likelihood:
        return f"no kernel can run on the model '{work.model.name}'"
    return f"the likelihood of a partition under '{work.model.name}' has no formula"


DRAWING_STEPS = (
    Step(
        name="mcmc",
        compute=_mcmc_or_why,
        applies=lambda work: work.model is not None and has_kernel(work.model),
        says=lambda work: (
            f"running {work.settings.num_chains} chains of "
            f"{work.settings.kernel or default_kernel_name(work.model)}"
        ),
        what="MCMC",
    ),
    Step(
        name="guide",
        compute=_guide_or_why,
        applies=lambda work: work.picked is not None,
        says=lambda work: f"drawing partitions from {work.picked.name}" if work.picked else "",
        what="The guide's draws",
        is_essential=True,
    ),
    Step(
        name="weights",
        compute=_weights,
        applies=_has_weights,
        what="The importance weights",
        opens=(Question.TAIL, Question.WORTH, Question.WEIGHTED),
    ),
    Step(
        name="agreement",
        compute=_agreement,
        applies=lambda work: work.has("guide", "mcmc"),
        what="The agreement of the guide with MCMC",
        opens=(Question.COUNTS, Question.PAIRS),
    ),
    Step(
        name="beside",
        compute=_beside_guide,
        applies=lambda work: work.has("guide") and not work.has("mcmc"),
    ),
    Step(
        name="refining",
        compute=_refining,
        applies=lambda work: work.picked is not None and has_kernel(work.model),
        by_default=_needs_refining,
        says=lambda work: "refining draws of the guide",
        what="The refining of the guide's draws",
        opens=(Question.SETTLED,),
    ),
)
