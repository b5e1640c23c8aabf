"""What a comparison begins with, its model and its guide, and what it ends with: verdict and first words."""

import shlex
from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pyroclust.analysis.constraining import constrained, content_of
from pyroclust.analysis.diagnose import DRAWS_STEPS
from pyroclust.analysis.drawing import DRAWING_STEPS
from pyroclust.analysis.of_the_model import MODEL_STEPS
from pyroclust.analysis.picking import ModelAndGuide
from pyroclust.analysis.steps import Work, check_names
from pyroclust.core.large_tables import large_table_notes
from pyroclust.core.messages import duration, range_in_words
from pyroclust.diagnostics import Answer, Trust, Verdict, judge
from pyroclust.diagnostics.frequencies import about_pairs
from pyroclust.diagnostics.limits import is_large_gain
from pyroclust.distributions import NormalInverseWishart
from pyroclust.infer.mcmc.named_kernels import named_kernel
from pyroclust.models import in_words
from pyroclust.partitions.constraints import Constraints
from pyroclust.results.answer import likeliest_of
from pyroclust.results.files import name_of_run, table_content
from pyroclust.results.records import GuideRecord, ModelRecord, Repeat
from pyroclust.saving.cards import NO_GUIDE
from pyroclust.saving.models import describe_model

STEPS = (*DRAWING_STEPS, *DRAWS_STEPS, *MODEL_STEPS)

_ABOUT_SIMULATIONS = (
    "The guide's certificate, and all that is said here of simulations of its model, are of data sets of "
    "whose partitions nothing is known; how good the guide is under constraints its weights and MCMC say."
)
_ABOUT_VECTORS = (
    "Pictures and classical methods need complete vectors: they have a column of 0 and 1 for each "
    "category, and missing cells at the mean of their column. The posterior has neither."
)
_FEW_ROWS = (
    "{number:,} rows are few for covariances of {dim} columns, which have {entries:,} entries each: how many "
    "clusters there are depends on their prior. Compare with --family diagonal, or take fewer columns."
)
_INDEPENDENT = (
    "{number:,} rows are few for covariances of {dim} columns: with columns that are independent in a "
    "cluster there would be {found}, and the rows would be likelier. Compare with --family diagonal."
)
_OF_THE_VERDICT = (
    *("agreement", "weights", "weighted", "settled", "refined"),
    *("familiarity", "certificate", "calibration"),
)
# Options that may keep chains from converging.
_LENGTHS = ("num_chains", "mcmc_draws", "warmup", "also", "refine")


def begin(work: Work, picked: ModelAndGuide, constraints: Constraints | None, *, is_default: bool) -> None:
    """Set the model and the guide that were picked, under the constraints, and what a report says of them."""
    analysis = work.analysis
    assert analysis.data is not None
    table, points = analysis.data.table, analysis.data.points
    data = torch.tensor(points.data)
    picked = replace(picked, notes=picked.notes_on(table, points))
    work.unconstrained = picked
    if constraints is not None:
        work.unconstrained, picked = constrained(picked, constraints, is_default=is_default)
    if table.weights is not None:
        work.unconstrained, picked = (
            _weighted(one, table.weights, is_default=is_default) for one in (work.unconstrained, picked)
        )
        analysis.notes.append(
            f"Rows are weighted: {len(data):,} rows stand for {table.weights.sum():,}, and equal ones stay "
            "together. Every figure counts a row as often; pictures, lists of rows, pairs that are looked at "
            "and classical methods have it once."
        )
    work.model, work.guide = picked.model, picked.guide
    work.data = data if table.shape is None else data.unflatten(-1, table.shape.event_shape)
    if work.settings.kernel is not None:
        # A wrong name is refused before anything is drawn.
        named_kernel(work.settings.kernel, work.model)
    check_names(work, STEPS)
    name, words = work.model.name, in_words(work.model)
    analysis.model = ModelRecord(name, words, _described(work.model), bool(work.model.has_likelihood))
    if picked.guide is not None:
        analysis.guide = GuideRecord(picked.name, certificate=picked.certificate, is_asked_for=not is_default)
    analysis.about = {
        "source": table.name,
        "columns": list(points.columns if table.shape is None else ()),
        "points": "rows" if table.shape is None else str(table.shape),
        "num_points": len(points.data),
        "model": name,
        "model_in_words": words,
        "guide": None if analysis.guide is None else analysis.guide.name,
    }
    if analysis.constraints is not None and analysis.constraints.clusters is not None:
        analysis.about["clusters"] = list(analysis.constraints.clusters)
    analysis.notes += [*table.notes, *points.notes]
    if not table.are_numbers or table.has_missing:
        analysis.notes.append(_ABOUT_VECTORS)
    analysis.notes += [*large_table_notes(len(data)), *about_pairs(len(data)), *picked.notes]


def _weighted(picked: ModelAndGuide, weights: NDArray[np.int64], *, is_default: bool) -> ModelAndGuide:
    """Return a model whose rows have weights; no guide counts by them."""
    if not hasattr(picked.model, "weighted"):
        raise ValueError(
            f"weight given, which the model '{picked.model.name}' does not count by: leave it out"
        )
    if picked.guide is not None and not is_default:
        raise ValueError(
            f"weight given, which guide '{picked.name}' does not count by: leave the guide out (--guide)"
        )
    alone = () if picked.guide is None else ("No guide counts rows by their weights: MCMC stands alone.",)
    return ModelAndGuide(model=picked.model.weighted(weights), notes=(*picked.notes, *alone))


def _described(model: Any) -> dict[str, Any] | None:
    """Return what builds a model again; ``None`` for programs that nothing describes."""
    try:
        if getattr(model, "constraints", None) is not None:
            model = model.under(None)
        return describe_model(model if getattr(model, "row_weights", None) is None else model.weighted(None))
    except ValueError:
        return None


def checksums(work: Work) -> dict[str, str]:
    """Return the name of the run, which is a checksum of all that was given, and those of table and guide."""
    # A run is named before anything is drawn: how many draws come in their seconds is no part of its name.
    analysis = work.analysis
    assert analysis.data is not None
    table = table_content(analysis.data.table)
    guide: tuple[Any, ...] = (NO_GUIDE, repr(work.model))
    if analysis.guide is not None:
        weights = [
            (name, value.detach().cpu().to(torch.float64).numpy())
            for name, value in sorted(work.guide.state_dict().items())
        ]
        guide = analysis.guide.name, repr(work.model), weights
    run = name_of_run(
        analysis.command,
        table=table,
        points=(analysis.data.values, analysis.data.points.columns),
        guide=guide,
        settings=repr((work.settings, analysis.seed, analysis.tolerance)),
        **content_of(getattr(work.model, "constraints", None)),
    )
    return {
        "run": run,
        "table": name_of_run("table", content=table),
        "guide": name_of_run("guide", content=guide),
    }


def judged(work: Work) -> None:
    """Give the verdict, and the draws that it names the answer."""
    analysis, has_mcmc = work.analysis, work.has("mcmc")
    if not analysis.draws:
        why = analysis.failures[0] if analysis.failures else "nothing was drawn"
        raise ValueError(f"{why} There is no guide that could stand in its place.")
    if analysis.constraints is not None and work.guide is not None:
        analysis.notes.append(_ABOUT_SIMULATIONS)
    chains = analysis.summary("mcmc").verdict if has_mcmc else None
    asked_for = analysis.guide is not None and analysis.guide.is_asked_for
    checks = {name: group for name, group in analysis.checks.items() if name in _OF_THE_VERDICT}
    verdict = judge(checks, chains=chains, prefers_guide=asked_for)
    weights = analysis.results.get("weights")
    if verdict.answer is Answer.WEIGHTED and weights is not None:
        analysis.draws["weighted"] = weights.resampled(
            analysis.proposals, analysis.draws["guide"], seed=analysis.seed
        )
    few = _few_rows(work)
    analysis.notes += few
    doubts = () if analysis.data is None else analysis.data.table.doubts
    analysis.conclude(verdict, chains=chains, doubts=(*few, *doubts))
    analysis.introduction = _introduction(work)
    analysis.next = _next(work, chains)


def _few_rows(work: Work) -> tuple[str, ...]:
    """Say where rows are few for full covariances: independent columns tell better, or entries are more."""
    component = getattr(work.model, "component", None)
    if work.analysis.data is None or not isinstance(component, NormalInverseWishart):
        return ()
    number, dim = work.num_rows, component.dim
    other = work.analysis.results.get("independent_columns")
    if other is not None and is_large_gain(other["gain"]):
        usual = likeliest_of(work.analysis.summary("mcmc").marginals.counts)
        pairs = ((usual, other), (other, usual))
        if not any(a["interval"][0] <= b["num_clusters"] <= a["interval"][1] for a, b in pairs):
            found = f"{other['num_clusters']} cluster{'s' * (other['num_clusters'] != 1)}"
            return (_INDEPENDENT.format(number=number, dim=dim, found=found),)
    entries = dim * (dim + 1) // 2
    return (_FEW_ROWS.format(number=number, dim=dim, entries=entries),) if number < entries else ()


def _introduction(work: Work) -> str:
    analysis, model = work.analysis, work.analysis.model
    assert analysis.data is not None
    assert model is not None
    known = ""
    if analysis.constraints is not None and (number := len(analysis.constraints.bound)):
        known = f", {number:,} of them constrained"
    if analysis.constraints is not None and analysis.constraints.clusters is not None:
        known += f", given {range_in_words(analysis.constraints.clusters)}"
    weights = analysis.data.table.weights
    stand_for = "" if weights is None else f", which stand for {weights.sum():,}"
    said = [f"{analysis.data.size_in_words}{stand_for}{known}."]
    if "mcmc" in analysis.draws:
        mcmc = analysis.draws["mcmc"]
        chains = mcmc.assignments.shape[0]
        said.append(
            f"MCMC on the model {model.name} ({mcmc.name}) kept {mcmc.num_draws:,} partitions in {chains} "
            f"chain{'s' * (chains != 1)}."
        )
    if analysis.guide is not None and "guide" in analysis.draws:
        said.append(f"The guide {analysis.guide.name} drew {analysis.draws['guide'].num_draws:,} partitions.")
    if not model.has_likelihood:
        said.append(
            "There are no importance weights, no log joint and no log evidence: the likelihood of a "
            f"partition under '{model.name}' has no formula."
        )
    return " ".join([*said, model.in_words]).rstrip()


def _next(work: Work, chains: Verdict | None) -> str:
    """Return the command to go on with; where it takes long, add that to whether to rely on the answer."""
    analysis = work.analysis
    repeat = analysis.repeat or Repeat()
    if chains is not None and chains.level is not Trust.TRUST:
        if work.settings.thorough or not repeat.name:
            return ""
        more = work.kept.get("more_seconds", 0.0)
        if more and isfinite(more):
            analysis.about["rely"] += f" --thorough may take {duration(more)} of processor time."
        longer = repeat.as_command(repeat.name, without=_LENGTHS, thorough=True)
        # The folder holds the results of this run, which is another one.
        place = (
            f" --out {shlex.quote(str(analysis.folder))} --overwrite" if analysis.folder is not None else ""
        )
        return f"{longer}{place}"
    is_of_rows = analysis.data is not None and analysis.data.shape is None
    if (
        analysis.folder is not None
        and is_of_rows
        and analysis.model
        and analysis.model.description is not None
    ):
        return f"pyroclust predict {shlex.quote(str(analysis.folder))} new.csv"
    return repeat.as_command("compare") if analysis.command == "cluster" else ""
