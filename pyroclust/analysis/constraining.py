"""Constraints on the rows of a table: which they are, what keeps them, and the posterior without them."""

import math
import re
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pandas import factorize

from pyroclust import diagnostics
from pyroclust.analysis.chains import annealed, draw_mcmc
from pyroclust.analysis.picking import ModelAndGuide, exact_filter_of
from pyroclust.analysis.steps import Work
from pyroclust.core.messages import Attempts
from pyroclust.core.random_state import seeded
from pyroclust.data import Table
from pyroclust.data.delimited_text import PairsLike, read_pairs
from pyroclust.diagnostics.findings import (
    Question,
    convergence_findings,
    settled_finding,
    unavailable,
)
from pyroclust.distributions.protocols import is_of_graphs
from pyroclust.infer import refine
from pyroclust.infer.importance import Clock, draw_proposals, most_at_once
from pyroclust.infer.mcmc.named_kernels import has_kernel
from pyroclust.partitions import Draws
from pyroclust.partitions.constraints import Constraints
from pyroclust.results.step_results import FreePosterior, RowConstraints

_CONVERGENCE = "The convergence without the constraints"
_POINTS = re.compile(r"\(\d+, \d+\)|different labels for \d+ and \d+")


def constraints_of(
    table: Table,
    *,
    must_link: PairsLike | None,
    cannot_link: PairsLike | None,
    clusters: int | tuple[int, int] | None = None,
) -> tuple[Constraints | None, RowConstraints | None]:
    """Return the constraints on the rows of a table, and what a result keeps of them."""
    named = {"must_link": must_link, "cannot_link": cannot_link}
    linked = {name: one for name, one in named.items() if one is not None}
    for name in (*(() if clusters is None else ("clusters",)), *linked):
        if table.shape is not None:
            raise ValueError(
                f"{name} is given, but {table.name} has {table.shape}, expected rows of columns: leave it out"
            )
    pairs = {name: read_pairs(one, name=name, row_names=table.row_names) for name, one in linked.items()}
    labels = table.partial_labels
    names = [*linked, *(() if labels is None else ("partial_labels",))]
    if not names and clusters is None:
        return None, None
    codes = None if labels is None else factorize(labels)[0]
    try:
        constraints = Constraints.of(len(table.data), **pairs, labels=codes, clusters=clusters)
    except ValueError as error:
        text = str(error).replace("labels has", "partial_labels has")
        by_name = any(isinstance(one, str | PathLike) for one in linked.values()) or "clusters" in text
        raise ValueError(_in_names(text, table.row_names) if by_name else text) from None
    if names and not len(constraints.bound):
        raise ValueError(
            f"{' and '.join(names)} given, but nothing is said of any two rows, expected a pair of different "
            "rows, or two rows with labels: leave it out"
        )
    nothing = np.empty((0, 2), dtype=np.int64)
    groups = constraints.groups.argsort(stable=True).split(constraints.sizes.tolist())
    return constraints, RowConstraints(
        row_names=table.row_names,
        groups=tuple(tuple(one.tolist()) for one in groups if len(one) > 1),
        must_link=pairs.get("must_link", nothing),
        cannot_link=pairs.get("cannot_link", nothing),
        labels=labels,
        apart=constraints.first[constraints.apart].numpy(),
        bound=constraints.bound_points.numpy(),
        row_weights=table.weights,
        clusters=constraints.clusters,
    )


def content_of(constraints: Constraints | None) -> dict[str, Any]:
    """Return what tells constraints from others, for the name of a run."""
    if constraints is None:
        return {}
    limits = {} if constraints.clusters is None else {"clusters": constraints.clusters}
    return {"known": (constraints.groups.numpy(), constraints.apart.numpy())} | limits


def _in_names(text: str, names: tuple[str, ...]) -> str:
    """Write the points of an error as rows of the table."""
    text = _POINTS.sub(lambda match: re.sub(r"\d+", lambda one: names[int(one[0])], match[0]), text)
    text = text.replace("different labels for", "different labels for the rows")
    return text.replace("the pair (", "the pair of rows (").replace("points", "rows")


def constrained(
    picked: ModelAndGuide, constraints: Constraints, *, is_default: bool
) -> tuple[ModelAndGuide, ModelAndGuide]:
    """Return model and guide without constraints and under them."""
    model, guide = picked.model, picked.guide
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
    if not model.is_conjugate and constraints.of_points is not None:
        raise ValueError(
            f"the parameters of the clusters of the model '{model.name}' do not integrate out, and its "
            "kernel cannot keep to constraints: take --family niw or nig, or leave the constraints out"
        )
    if guide is None:
        return picked, replace(picked, model=model.under(constraints))
    why = "" if constraints.of_points is None else guide.why_no_constraints
    if why and not is_default:
        raise ValueError(
            f"guide '{picked.name}' cannot be held to constraints ({why}): leave --guide out for one that "
            "can, or take --guide none for MCMC alone"
        )
    if why:
        said = f"Guide {picked.name} cannot be held to constraints, the exact filter of its model can."
        picked = exact_filter_of(model, *picked.notes, said)
    under = picked.guide.under(constraints)
    return picked, replace(picked, guide=under, model=under.model)


def unconstrained_posterior(work: Work) -> FreePosterior:
    """Draw from the posterior without constraints, by the same means as with them."""
    analysis, settings, data, constraints = work.analysis, work.settings, work.data, work.model.constraints
    model, guide = work.unconstrained.model, None if work.guide is None else work.unconstrained.guide
    if guide is not None and work.has("refined"):
        draws, record = refine(model, guide, data, num_draws=settings.mcmc_draws, seed=analysis.seed)
        settled = settled_finding(record.rounds[-1] if record.rounds else None)
        return FreePosterior(
            draws,
            _keep(draws, constraints),
            record.effective_draws,
            tuple(record.evidences),
            (replace(settled, question=Question.FREE),),
        )
    evidences: tuple[diagnostics.LogEvidence, ...] = ()
    if guide is not None and model.has_likelihood:
        with seeded(analysis.seed), torch.no_grad():
            draws, _ = draw_proposals(
                model,
                lambda: guide.posterior(data),
                data,
                number=analysis.draws["guide"].num_draws,
                at_once=most_at_once(data),
                clock=Clock(),
            )
        if draws.log_ratios is not None:
            evidences = (diagnostics.importance_evidence(np.ravel(draws.log_ratios)),)
    chains = draw_mcmc(
        model,
        data,
        settings,
        seed=analysis.seed,
        tell=lambda stage: work.tell(f"without the constraints: {stage}"),
    )
    evidences += chains.evidences
    if work.asks("evidence"):
        evidences += annealed(model, data, seed=analysis.seed)
    kept = _keep(chains.draws, constraints)
    effective_draws, findings = _worth(work, chains.draws, kept)
    return FreePosterior(chains.draws, kept, effective_draws, evidences, findings)


def _keep(draws: Draws, constraints: Constraints) -> NDArray[np.bool_]:
    """Return which draws keep the constraints."""
    return constraints.allows(torch.from_numpy(draws.assignments)).numpy()


def _worth(work: Work, draws: Draws, kept: NDArray[np.bool_]) -> tuple[float, tuple[Any, ...]]:
    """Return how many effective draws say how often constraints are kept, and whether chains converged."""
    known = work.analysis.constraints
    values = diagnostics.functionals(
        draws.assignments,
        seed=work.analysis.seed,
        reference=draws.assignments[0, -1],
        row_weights=None if known is None else known.row_weights,
    )
    tries = Attempts()
    rows = tries.value_or_none(_CONVERGENCE, lambda: diagnostics.convergence(values))
    if rows is None:
        return math.nan, (unavailable(Question.FREE, tries.reasons.get(_CONVERGENCE)),)
    worth = diagnostics.ess(kept.astype(np.float64))
    if not math.isfinite(worth):
        worth = min(diagnostics.min_ess(rows), float(kept.size))
    return worth, convergence_findings(
        "MCMC without constraints", max_rhat=diagnostics.max_rhat(rows), min_ess=diagnostics.min_ess(rows)
    )
