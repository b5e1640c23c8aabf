"""What a user knows of the rows of a table: constraints of a comparison, and the posterior without them."""

import math
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pyroclust.analysis.chains import draw_mcmc
from pyroclust.analysis.picking import NoGuide, PickedGuide
from pyroclust.analysis.populations import MOST_ANNEALED, can_be_annealed
from pyroclust.attempts import Attempts
from pyroclust.constraints import Constraints
from pyroclust.data.tables import Table
from pyroclust.diagnostics import (
    LogEvidence,
    convergence,
    ess,
    functionals,
    importance_evidence,
    max_rhat,
    min_ess,
)
from pyroclust.diagnostics.verdicts.findings import Question, convergence_findings, settled_finding, untold
from pyroclust.guides.exact_filter import exact_filter
from pyroclust.infer import annealed_log_evidence, refine
from pyroclust.infer.mcmc.defaults import has_kernel
from pyroclust.infer.refining.clock import Clock
from pyroclust.infer.refining.proposals import draw_proposals, most_at_once, posterior_of
from pyroclust.partitions import Draws
from pyroclust.protocols import is_of_graphs
from pyroclust.results.constraints import FreePosterior, Knowledge, KnownRows

__all__ = ["ABOUT_SIMULATIONS", "Known", "free_posterior", "held", "knowledge_of", "known_of"]

ABOUT_SIMULATIONS = (
    "The guide's certificate, and all that is said here of simulations of its model, are of data sets of "
    "whose partitions nothing is known; how good the guide is under constraints its weights and MCMC say."
)
_FREE = "The convergence without the constraints"
_PAIR = re.compile(r"\((\d+), (\d+)\)")
_POINTS = re.compile(r"different labels for (\d+) and (\d+)")


@dataclass(frozen=True)
class Known:
    """Constraints on the rows of a table.

    Attributes:
        constraints: on the points.
        rows: the same in the words of the table.
    """

    constraints: Constraints
    rows: KnownRows

    @property
    def content(self) -> tuple[Any, ...]:
        """What tells these from other constraints, for the name of a run."""
        return self.constraints.groups.numpy(), self.constraints.apart.numpy()


def known_of(
    table: Table,
    *,
    must_link: NDArray[np.int64] | None,
    cannot_link: NDArray[np.int64] | None,
    by_name: bool,
) -> Known | None:
    """Return what is known of the rows of a table; ``None`` where nothing is given."""
    labels = table.partial_labels
    given = {"must_link": must_link, "cannot_link": cannot_link, "partial_labels": labels}
    if all(one is None for one in given.values()):
        return None
    try:
        found = Constraints.of(
            len(table.data), must_link=must_link, cannot_link=cannot_link, labels=_codes(labels)
        )
    except ValueError as error:
        text = str(error).replace("labels has", "partial_labels has")
        raise ValueError(_in_names(text, table.row_names) if by_name else text) from None
    if not len(found.bound):
        names = " and ".join(name for name, one in given.items() if one is not None)
        raise ValueError(
            f"{names} given, but nothing is said of any two rows, expected a pair of different rows, or two "
            "rows with labels: leave it out"
        )
    return Known(found, _rows_of(found, table, must_link, cannot_link))


def _codes(labels: NDArray[np.object_] | None) -> NDArray[np.int64] | None:
    if labels is None:
        return None
    code = {
        label: place for place, label in enumerate(dict.fromkeys(one for one in labels if one is not None))
    }
    return np.array([-1 if one is None else code[one] for one in labels], dtype=np.int64)


def _in_names(text: str, names: tuple[str, ...]) -> str:
    """Write the points of an error as rows of the table."""

    def pair(found: re.Match[str]) -> str:
        return f"({names[int(found[1])]}, {names[int(found[2])]})"

    def both(found: re.Match[str]) -> str:
        return f"different labels for the rows {names[int(found[1])]} and {names[int(found[2])]}"

    text = _POINTS.sub(both, _PAIR.sub(pair, text))
    return text.replace("the pair (", "the pair of rows (").replace("points", "rows")


def _rows_of(
    found: Constraints,
    table: Table,
    must_link: NDArray[np.int64] | None,
    cannot_link: NDArray[np.int64] | None,
) -> KnownRows:
    nothing = np.empty((0, 2), dtype=np.int64)
    order = found.groups.argsort(stable=True)
    groups = order.split(found.sizes.tolist())
    return KnownRows(
        row_names=table.row_names,
        groups=tuple(tuple(one.tolist()) for one in groups if len(one) > 1),
        must_link=nothing if must_link is None else must_link,
        cannot_link=nothing if cannot_link is None else cannot_link,
        labels=table.partial_labels,
        apart=found.first[found.apart].numpy(),
        bound=found.bound_points.numpy(),
    )


def held(
    picked: PickedGuide | NoGuide, constraints: Constraints, *, is_default: bool
) -> tuple[PickedGuide | NoGuide, PickedGuide | NoGuide]:
    """Return a guide, or a model without one, as it is and held to constraints.

    A default guide that cannot be held gives way to the exact filter.
    """
    model = picked.model if isinstance(picked, NoGuide) else picked.module.model
    _check_model(model)
    if isinstance(picked, NoGuide):
        return picked, replace(picked, model=model.under(constraints))
    why = picked.module.why_no_constraints
    if why and is_default:
        said = f"Guide {picked.name} cannot be held to constraints, the exact filter of its model can."
        picked = PickedGuide("exact filter", exact_filter(model).eval(), None, {}, (*picked.about, said))
    elif why:
        raise ValueError(
            f"guide '{picked.name}' cannot be held to constraints ({why}): leave --guide out for one that "
            "can, or take --guide none for MCMC alone"
        )
    return picked, replace(picked, module=picked.module.under(constraints))


def _check_model(model: Any) -> None:
    if is_of_graphs(model):
        raise ValueError(
            f"the model '{model.name}' is one of graphs, which take no constraints: leave them out, or "
            "choose another guide"
        )
    if not hasattr(model, "under") or not has_kernel(model):
        raise ValueError(
            f"the model '{model.name}' can only be simulated, and nothing can hold its posterior to "
            "constraints: leave them out, or choose another guide"
        )
    if not model.is_conjugate:
        raise ValueError(
            f"the parameters of the clusters of the model '{model.name}' do not integrate out, and its "
            "kernel cannot keep to constraints: take --family niw or nig, or leave the constraints out"
        )


def knowledge_of(known: Known, model: Any, free: FreePosterior | None) -> Knowledge:
    """Return what a result keeps of constraints."""
    try:
        log_prior, why = float(model.log_prob_constraints()), ""
    except ValueError as error:
        log_prior, why = math.nan, str(error)
    return Knowledge(known.rows, log_prior, why, free)


def free_posterior(work: Any) -> FreePosterior:
    """Draw from the posterior without constraints, by the same means as with them.

    With a guide whose refined draws are those that are shown these are its refined draws; else it is the
    chains, to which the guide's draws are added for the evidence.
    """
    free, settings, data, known = work.free, work.settings, work.data, work.known.constraints
    model = free.model if isinstance(free, NoGuide) else free.module.model
    estimates: tuple[LogEvidence, ...] = ()
    work.tell("drawing without the constraints")
    if work.has("refined") and isinstance(free, PickedGuide):
        draws, record = refine(model, free.module, data, num_draws=settings.mcmc_draws, seed=settings.seed)
        last = record.rounds[-1] if record.rounds else None
        settled = replace(settled_finding(last), question=Question.FREE.value)
        kept = _kept(draws, known)
        return FreePosterior(draws, kept, record.effective_draws, tuple(record.evidences), (settled,))
    if isinstance(free, PickedGuide) and model.has_likelihood:
        draws, *_ = draw_proposals(
            model,
            lambda: posterior_of(free.module, data),
            data,
            number=work.analysis.draws["guide"].num_draws,
            at_once=most_at_once(data),
            clock=Clock(),
        )
        if draws.log_joint is not None and draws.log_prob is not None:
            estimates = (importance_evidence(np.ravel(draws.log_joint - draws.log_prob)),)
    chains = draw_mcmc(
        model,
        data,
        num_draws=settings.mcmc_draws,
        num_chains=settings.num_chains,
        seed=settings.seed,
        kernel=settings.kernel,
        warmup=settings.warmup,
        is_thorough=settings.thorough,
        tell=lambda stage: work.tell(f"without the constraints: {stage}"),
    )
    estimates += chains.evidences
    if work.asks("evidence") and can_be_annealed(model) and len(data) <= MOST_ANNEALED:
        estimates += (annealed_log_evidence(model, data, seed=settings.seed),)
    return _of_chains(chains.draws, known, estimates, settings.seed)


def _kept(draws: Draws, constraints: Constraints) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = constraints.allows(torch.from_numpy(draws.assignments)).numpy()
    return found


def _of_chains(
    draws: Draws, constraints: Constraints, evidences: tuple[LogEvidence, ...], seed: int
) -> FreePosterior:
    kept = _kept(draws, constraints)
    values = functionals(draws.assignments, seed=seed, reference=draws.assignments[0, -1])
    tries = Attempts()
    rows = tries.make(_FREE, lambda: convergence(values))
    if rows is None:
        return FreePosterior(draws, kept, math.nan, evidences, (untold(Question.FREE, tries.reason(_FREE)),))
    asked = convergence_findings("MCMC without constraints", max_rhat=max_rhat(rows), min_ess=min_ess(rows))
    own = ess(kept.astype(np.float64))
    worth = own if math.isfinite(own) else min(min_ess(rows), float(kept.size))
    return FreePosterior(draws, kept, worth, evidences, asked)
