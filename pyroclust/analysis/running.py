"""From a table to its analysis: the guide or the model, the steps, the verdict, the files."""

import os
import shlex
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, replace
from math import isfinite
from typing import Any

import torch

from pyroclust.analysis.asked_model import AskedModel
from pyroclust.analysis.constraining import ABOUT_SIMULATIONS, Known, held
from pyroclust.analysis.drawing import DRAWING_STEPS
from pyroclust.analysis.finishing import finished
from pyroclust.analysis.of_draws import DRAWS_STEPS
from pyroclust.analysis.of_the_model import MODEL_STEPS
from pyroclust.analysis.picking import NoGuide, PickedGuide, pick_guide
from pyroclust.analysis.repeating import arguments_of, command_line
from pyroclust.analysis.steps import Settings, Work, check_names, run_steps
from pyroclust.data.columns_of_table import ColumnsOfTable
from pyroclust.data.standardise import Standardised
from pyroclust.data.tables import Table
from pyroclust.diagnostics import Answer, Trust, Verdict
from pyroclust.diagnostics.draws.pairs import about_pairs
from pyroclust.diagnostics.verdicts.judging import judge
from pyroclust.infer.mcmc.named_kernels import named_kernel
from pyroclust.large_tables import about_draws, chain_seconds, takes_long
from pyroclust.models import in_words
from pyroclust.progress import lines_instead_of_bars
from pyroclust.results.analysis import NO_VERDICT, Analysis
from pyroclust.results.answer import reliance
from pyroclust.results.data import AnalysedData
from pyroclust.results.files import name_of_run, results_folder, table_content
from pyroclust.results.records import GuideRecord, ModelRecord, Repeat
from pyroclust.saving.cards import NO_GUIDE
from pyroclust.saving.models import describe_model
from pyroclust.text import duration
from pyroclust.threads import one_torch_thread, single_precision

__all__ = ["analyse_table", "judged"]

_LENGTHS = ("num_chains", "mcmc_draws", "warmup", "also", "refine")


@single_precision()
def analyse_table(
    command: str,
    table: Table,
    points: Standardised,
    *,
    guide: str | os.PathLike[str] | torch.nn.Module | None,
    asked: Mapping[str, Any],
    conditions: Mapping[str, float],
    known: Known | None,
    settings: Settings,
    typed: tuple[str, Mapping[str, Any]],
    out: str | os.PathLike[str] | None,
    overwrite: bool,
    tell: Callable[[str], None],
) -> Analysis:
    """Do what :func:`pyroclust.compare` says, with a table that was read and put on its scale.

    ``typed`` is the source and the options of the table as they were given, for the command that repeats it.
    """
    steps = (*DRAWING_STEPS, *DRAWS_STEPS, *MODEL_STEPS)
    check_names(sorted(settings.also), steps)
    num_points, dim = points.data.shape
    model_asked = AskedModel(**asked)
    picked = pick_guide(
        guide,
        dim=dim,
        num_points=num_points,
        conditions=conditions,
        asked=model_asked,
        is_raw=points.is_raw,
        shape=table.shape,
        columns=None if table.shape is not None else ColumnsOfTable.of(table, points),
    )
    if isinstance(picked, PickedGuide):
        picked = replace(picked, about=picked.notes_on(table, points))
    free = picked
    if known is not None:
        free, picked = held(picked, known.constraints, is_default=guide is None)
    model = picked.model if isinstance(picked, NoGuide) else picked.module.model
    if settings.kernel is not None:
        # A wrong name is refused before anything is drawn.
        named_kernel(settings.kernel, model)
    typed = (typed[0], _options(command, settings, model_asked, guide, conditions, typed[1]))
    repeat = _repeat(command, table, points, picked, known, settings, typed)
    # Networks on images and graphs are large enough to gain from threads.
    threads = one_torch_thread() if table.shape is None else nullcontext()
    with (
        threads,
        results_folder(out, run=repeat.run, overwrite=overwrite) as folder,
        lines_instead_of_bars(tell),
    ):
        work = _work(command, table, points, picked, model, settings, tell)
        work.free, work.known, work.kept["typed"] = free, known, typed
        work.analysis.repeat, work.analysis.folder = repeat, folder
        if guide is not None and work.analysis.guide is not None:
            work.analysis.guide = replace(work.analysis.guide, is_asked_for=True)
        _say_how_long(work, tell)
        run_steps(work, steps, of_the_answer=False)
        if not work.analysis.draws:
            why = work.analysis.failures[0] if work.analysis.failures else "nothing was drawn"
            raise ValueError(f"{why} There is no guide that could stand in its place.")
        judged(work)
        run_steps(work, steps, of_the_answer=True)
        return finished(work.analysis, tell)


def _work(
    command: str,
    table: Table,
    points: Standardised,
    picked: PickedGuide | NoGuide,
    model: Any,
    settings: Settings,
    tell: Callable[[str], None],
) -> Work:
    guide = picked if isinstance(picked, PickedGuide) else None
    data = AnalysedData(table, points)
    notes = [*table.notes, *points.notes, *_about_vectors(table), *about_draws(len(points.data))]
    notes += [*about_pairs(len(points.data)), *picked.about]
    analysis = Analysis(
        command=command,
        data=data,
        model=ModelRecord(model.name, in_words(model), _described(model), bool(model.has_likelihood)),
        guide=None if guide is None else GuideRecord(guide.name, certificate=guide.certificate),
        verdict=NO_VERDICT,
        seed=settings.seed,
        tolerance=settings.tolerance,
        about={
            "source": table.name,
            "columns": list(points.columns if table.shape is None else ()),
            "points": "rows" if table.shape is None else str(table.shape),
            "num_points": len(points.data),
            "model": model.name,
            "model_in_words": in_words(model),
            "guide": None if guide is None else guide.name,
        },
        notes=notes,
    )
    tensor = torch.tensor(points.data)
    return Work(
        analysis=analysis,
        settings=settings,
        tell=tell,
        model=model,
        data=tensor if table.shape is None else tensor.unflatten(-1, table.shape.event_shape),
        picked=guide,
    )


def _say_how_long(work: Work, tell: Callable[[str], None]) -> None:
    """Say so where a run may take more than a minute, and what is quicker."""
    assert work.data is not None
    seconds = chain_seconds(len(work.data), work.data.shape[-1]) * (25 if work.settings.thorough else 1)
    if takes_long(seconds):
        quicker = "leave --thorough out" if work.settings.thorough else "take --warmup 500"
        tell(f"this may take {duration(seconds)} of processor time; quicker: {quicker}")


def judged(work: Work) -> None:
    """Give the verdict, and the draws that it names the answer."""
    found, has_mcmc = work.analysis, work.has("mcmc")
    if work.known is not None and work.picked is not None:
        found.notes.append(ABOUT_SIMULATIONS)
    chains = found.summary("mcmc").verdict if has_mcmc else None
    asked_for = found.guide is not None and found.guide.is_asked_for
    checks = {name: group for name, group in found.checks.items() if name in _OF_THE_VERDICT}
    verdict = judge(checks, chains=chains, prefers_guide=asked_for)
    weights = found.results.get("weights")
    if verdict.answer is Answer.WEIGHTED and weights is not None:
        shown = found.draws["guide"]
        found.draws["weighted"] = replace(
            shown,
            assignments=weights.resampled(found.proposals, shown.num_draws, seed=found.seed),
            log_joint=None,
            log_prob=None,
        )
    found.complete_verdict(verdict)
    found.about["rely"] = reliance(verdict, chains, has_guide="agreement" in found.results)
    found.introduction = _introduction(work)
    found.next = _next(work, chains)


_OF_THE_VERDICT = (
    "agreement",
    "weights",
    "weighted",
    "settled",
    "refined",
    "familiarity",
    "certificate",
    "calibration",
)


def _introduction(work: Work) -> str:
    found, model = work.analysis, work.analysis.model
    assert found.data is not None
    assert model is not None
    known = "" if found.knowledge is None else f", {len(found.knowledge.rows.bound):,} of them constrained"
    said = [f"{found.data.size_in_words}{known}."]
    if "mcmc" in found.draws:
        mcmc = found.draws["mcmc"]
        chains = mcmc.assignments.shape[0]
        said.append(
            f"MCMC on the model {model.name} ({mcmc.name}) kept {mcmc.num_draws:,} partitions in {chains} "
            "chains."
        )
    if found.guide is not None and "guide" in found.draws:
        drew = f"The guide {found.guide.name} drew {found.draws['guide'].num_draws:,} partitions."
        said.append(drew)
    if not model.has_likelihood:
        said.append(
            "There are no importance weights, no log joint and no log evidence: the likelihood of a "
            f"partition under '{model.name}' has no formula."
        )
    return " ".join([*said, model.in_words]).rstrip()


def _next(work: Work, chains: Verdict | None) -> str:
    """Return the command to go on with; where it takes long, add that to whether to rely on the answer."""
    found = work.analysis
    command = "" if found.repeat is None else found.repeat.command
    if chains is not None and chains.level is not Trust.TRUST:
        if work.settings.thorough or not command:
            return ""
        more = work.kept.get("more_seconds", 0.0)
        if more and isfinite(more):
            found.about["rely"] += f" --thorough may take {duration(more)} of processor time."
        source, options = work.kept["typed"]
        # What keeps the chains from converging is left out.
        asked = {name: one for name, one in options.items() if name not in _LENGTHS}
        longer = command_line(found.command, [source], asked | {"thorough": True}, found.seed)
        # The folder holds the results of this run, which is another one.
        place = f" --out {shlex.quote(str(found.folder))} --overwrite" if found.folder is not None else ""
        return f"{longer}{place}"
    is_of_rows = found.data is not None and found.data.shape is None
    if found.folder is not None and is_of_rows and found.model and found.model.description is not None:
        return f"pyroclust predict {shlex.quote(str(found.folder))} new.csv"
    return command.replace("cluster", "compare", 1) if found.command == "cluster" else ""


def _options(
    command: str,
    settings: Settings,
    asked: AskedModel,
    guide: object,
    conditions: Mapping[str, float],
    of_the_table: Mapping[str, Any],
) -> dict[str, Any]:
    """Return what was asked for, by the names of the parameters."""
    usual = Settings()
    options = {
        name: value for name, value in asdict(settings).items() if value != getattr(usual, name)
    } | asked.given
    if isinstance(guide, str | os.PathLike) and not (command == "cluster" and guide == NO_GUIDE):
        options["guide"] = str(guide)
    options |= ({"conditions": dict(conditions)} if conditions else {}) | dict(of_the_table)
    options.pop("seed", None)
    return options


def _repeat(
    command: str,
    table: Table,
    points: Standardised,
    picked: PickedGuide | NoGuide,
    known: Known | None,
    settings: Settings,
    typed: tuple[str, Mapping[str, Any]],
) -> Repeat:
    """Say what repeats an analysis."""
    source, options = typed
    content = _content_of(picked)
    run = name_of_run(
        command,
        table=table_content(table),
        points=(points.data, points.columns),
        guide=content,
        settings=repr(settings),
        **({} if known is None else {"known": known.content}),
    )
    return Repeat(
        command=command_line(command, [source], options, settings.seed),
        arguments=arguments_of(options),
        seed=settings.seed,
        run=run,
        table=name_of_run("table", content=table_content(table)),
        guide=name_of_run("guide", content=content),
    )


def _content_of(picked: PickedGuide | NoGuide) -> tuple[Any, ...]:
    """Return what tells a guide from another of the same name, and one model from another."""
    if isinstance(picked, NoGuide):
        return NO_GUIDE, repr(picked.model)
    weights = [
        (name, value.detach().cpu().to(torch.float64).numpy())
        for name, value in sorted(picked.module.state_dict().items())
    ]
    return picked.name, repr(picked.module.model), weights


def _described(model: Any) -> dict[str, Any] | None:
    """Return what builds a model again; ``None`` for programs that nothing describes."""
    free = model.under(None) if getattr(model, "constraints", None) is not None else model
    try:
        return describe_model(free)
    except ValueError:
        return None


def _about_vectors(table: Table) -> tuple[str, ...]:
    """Say what pictures and classical methods see of a table that is not all numbers."""
    if table.are_numbers and not table.has_missing:
        return ()
    return (
        "Pictures and classical methods need complete vectors: they have a column of 0 and 1 for each "
        "category, and missing cells at the mean of their column. The posterior has neither.",
    )
