"""From points to the posterior of their partition by a guide and, where possible, by MCMC of its model."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pyroclust.analysis import showing  # noqa: F401  (results show themselves)
from pyroclust.analysis.asked_model import AskedModel
from pyroclust.analysis.chains import ChainsOfModel, draw_mcmc
from pyroclust.analysis.confirming import are_confirmed
from pyroclust.analysis.constraining import ABOUT_SIMULATIONS, Known, free_of, held, knowledge_of
from pyroclust.analysis.drawing import DrawsOfGuide, cross_scored, draw_and_refine
from pyroclust.analysis.evidence import annealed_where_needed
from pyroclust.analysis.filling import missing_cells
from pyroclust.analysis.outputs import name_of_run, results_folder, table_content, write_result
from pyroclust.analysis.picking import NoGuide, PickedGuide, pick_guide
from pyroclust.analysis.settings import CompareSettings
from pyroclust.arrays import without_gaps
from pyroclust.attempts import Attempts, left_out
from pyroclust.calibration import calibrate_near
from pyroclust.calibration.training_world import simulated_world
from pyroclust.data.columns_of_table import ColumnsOfTable
from pyroclust.data.standardise import Standardised, indicators
from pyroclust.data.tables import Table
from pyroclust.diagnostics import Finding
from pyroclust.diagnostics.draws.pairs import about_pairs
from pyroclust.diagnostics.verdicts.findings import Question, untold
from pyroclust.errors import first_line, lacks_memory
from pyroclust.infer.mcmc.defaults import default_kernel_name, has_kernel
from pyroclust.infer.mcmc.named_kernels import named_kernel
from pyroclust.infer.mcmc.states import Trace
from pyroclust.large_tables import about_draws
from pyroclust.models import in_words
from pyroclust.progress import lines_instead_of_bars
from pyroclust.results.comparison import Comparison
from pyroclust.results.comparison_figures import summarise
from pyroclust.results.comparison_result import ComparisonResult
from pyroclust.results.comparison_summary import ComparisonSummary
from pyroclust.results.evidence import own_evidences
from pyroclust.results.guide_alone import AloneSummary, GuideAlone, summarise_alone
from pyroclust.results.mcmc_alone import McmcAlone, McmcSummary, summarise_mcmc
from pyroclust.saving.cards import NO_GUIDE
from pyroclust.saving.models import describe_model
from pyroclust.threads import one_torch_thread

__all__ = ["compare_points"]

_CONFIRMING = "Whether MCMC confirms the guide"
_WORLD = "The simulations of the guide's model"


def compare_points(
    table: Table,
    points: Standardised,
    *,
    guide: str | PathLike[str] | torch.nn.Module | None,
    asked: AskedModel,
    conditions: Mapping[str, float],
    known: Known | None,
    settings: CompareSettings,
    out: str | PathLike[str] | None,
    overwrite: bool,
    tell: Callable[[str], None],
) -> ComparisonResult:
    """Do what :func:`pyroclust.compare` says, with a table that was read and put on its scale.

    Args:
        table: the points in the units of their source.
        points: the same as the guide is to see them.
        guide: name on the shelf, folder, or a guide; ``None`` for one of the model, ``"none"`` for none.
        asked: the model by name.
        conditions: hyperparameters that the guide is told.
        known: what is known of the rows, or ``None``.
        settings: of draws and chains.
        out: folder of the files, or ``None``.
        overwrite: whether results of another run in that folder may be replaced.
        tell: called with the name of each stage.

    Raises:
        ValueError: if the guide or the folder cannot be used.
    """
    num_points, dim = points.data.shape
    picked = pick_guide(
        guide,
        dim=dim,
        num_points=num_points,
        conditions=conditions,
        asked=asked,
        is_raw=points.is_raw,
        shape=table.shape,
        columns=None if table.shape is not None else ColumnsOfTable.of(table, points),
    )
    if isinstance(picked, PickedGuide):
        picked = replace(picked, about=picked.notes_on(table, points))
    free = picked
    if known is not None:
        free, picked = held(picked, known.constraints, is_default=guide is None)
    if settings.kernel is not None:
        # A wrong name is refused before anything is drawn.
        named_kernel(settings.kernel, picked.model if isinstance(picked, NoGuide) else picked.module.model)
    one = settings
    run = name_of_run(
        "compare",
        table=table_content(table),
        points=(points.data, points.columns),
        guide=_content_of(picked),
        numbers=(one.num_draws, one.num_chains, one.mcmc_draws, one.calibrate, one.seed),
        chains=(one.kernel or "", -1 if one.warmup is None else one.warmup),
        refining=(one.refine, one.tolerance),
        **({} if known is None else {"known": known.content}),
    )
    # Networks on images and graphs are large enough to gain from threads.
    threads = one_torch_thread() if table.shape is None else nullcontext()
    with threads, results_folder(out, run=run, overwrite=overwrite) as folder, lines_instead_of_bars(tell):
        run_of = _Run(table, points, settings, tell, known, free)
        summary = _by_mcmc(run_of, picked) if isinstance(picked, NoGuide) else _by_guide(run_of, picked)
        result = _with_missing(ComparisonResult(table, summary, folder, run), seed=settings.seed)
        if folder is not None:
            tell("writing the report")
            result = write_result(folder, result, draws=result.comparison)
    return result


def _with_missing(result: ComparisonResult, *, seed: int) -> ComparisonResult:
    """Say what missing cells may hold, where there are some and the model has a predictive law of them."""
    if not result.table.missing.any():
        return result
    tries = Attempts()
    found = tries.make("What the missing cells may hold", lambda: missing_cells(result, seed=seed))
    result = result.with_failures(tries.failures) if tries.failures else result
    return replace(result, missing=found)


@dataclass(frozen=True)
class _Run:
    """What is compared, and how; ``free`` is the guide or the model that no constraints hold."""

    table: Table
    points: Standardised
    settings: CompareSettings
    tell: Callable[[str], None]
    known: Known | None
    free: PickedGuide | NoGuide

    def knowledge(self, model: Any, data: Tensor) -> dict[str, Any]:
        """Return what a result keeps of constraints; nothing without any."""
        if self.known is None:
            return {}
        free, failures = free_of(self.free, data, self.known.constraints, self.settings, self.tell)
        return {"knowledge": knowledge_of(self.known, model, free), "failures": failures}


def _by_guide(run: _Run, picked: PickedGuide) -> ComparisonSummary | AloneSummary:
    """Draw from the guide, and by MCMC where its model has a likelihood."""
    table, points, settings, tell, seed = run.table, run.points, run.settings, run.tell, run.settings.seed
    data, model = _as_guides_see(table, points), picked.module.model
    # Simulations know of no constraints.
    free = picked if isinstance(run.free, NoGuide) else run.free
    simulated = _simulated(free, data, run, tell)
    drawn = draw_and_refine(
        picked, data, num_draws=settings.num_draws, refine=settings.refine, seed=seed, tell=tell
    )
    notes = (*picked.about, *_about_log_prob(model, is_exact=drawn.is_exact))
    if run.known is not None:
        notes += (ABOUT_SIMULATIONS,)
    about = _about(table, points, model, notes)
    about |= simulated | {"guide_name": picked.name, "guide": drawn.guide, "refined": drawn.refined}
    about["failures"] += drawn.failures
    about["untold"] += drawn.untold
    chains, why = None, None
    if has_kernel(model):
        chains, why = _mcmc(model, data, settings, tell, are_enough=partial(_confirm, drawn, settings))
    elif model.has_likelihood:
        why = f"no kernel can run on the model '{model.name}'"
    knowledge = run.knowledge(model, data)
    about["failures"] += knowledge.pop("failures", ())
    about |= knowledge
    tell("comparing")
    if chains is None:
        about["failures"] += () if why is None else (left_out("MCMC", why),)
        return summarise_alone(
            GuideAlone(
                **about,
                certificate=picked.certificate,
                why_no_mcmc=None if why is None else f"MCMC failed ({why})",
            ),
            seed=seed,
        )
    about["notes"] += chains.notes
    tries, cross = Attempts(), None
    if drawn.posteriors:
        scored = partial(cross_scored, drawn.posteriors, chains.draws)
        cross = tries.make("The guide's log q of draws of MCMC", scored)
    about["failures"] += tries.failures
    found = Comparison(**about, mcmc=chains.draws, cross=cross, tolerance=settings.tolerance)
    known = (*own_evidences(found), *chains.evidences)
    annealed, said = annealed_where_needed(model, data, known, seed=seed, tell=tell)
    found = replace(found, annealed=(*chains.evidences, *annealed), notes=(*found.notes, *said))
    return summarise(found, seed=seed)


def _by_mcmc(run: _Run, picked: NoGuide) -> McmcSummary:
    """Draw by MCMC alone."""
    table, points, settings, tell = run.table, run.points, run.settings, run.tell
    data = torch.tensor(points.data)
    chains, why = _mcmc(picked.model, data, settings, tell, are_enough=lambda trace: False)
    if chains is None:
        raise ValueError(f"MCMC of the model {picked.model.name} failed ({why}), and there is no guide")
    annealed, said = annealed_where_needed(
        picked.model, data, chains.evidences, seed=settings.seed, tell=tell
    )
    knowledge = run.knowledge(picked.model, data)
    tell("summarising")
    about = _about(table, points, picked.model, (*picked.about, *chains.notes, *said))
    alone = McmcAlone(**about, **knowledge, mcmc=chains.draws, annealed=(*chains.evidences, *annealed))
    return summarise_mcmc(alone, seed=settings.seed)


def _mcmc(
    model: Any,
    data: Tensor,
    settings: CompareSettings,
    tell: Callable[[str], None],
    *,
    are_enough: Callable[[Trace], bool],
) -> tuple[ChainsOfModel | None, str | None]:
    """Return the draws of MCMC, or why there are none.

    Points that MCMC of a model with a likelihood refuses are refused. Where cluster parameters are kept, what
    it refuses may be no more than a start.
    """
    tell(f"running {settings.num_chains} chains of {settings.kernel or default_kernel_name(model)}")
    try:
        drawn = draw_mcmc(
            model,
            data,
            num_draws=settings.mcmc_draws,
            num_chains=settings.num_chains,
            seed=settings.seed,
            kernel=settings.kernel,
            warmup=settings.warmup,
            are_enough=are_enough,
            tell=tell,
        )
    except Exception as error:
        if (isinstance(error, ValueError) and model.has_likelihood) or lacks_memory(error):
            raise
        return None, first_line(error)
    return drawn, None


def _confirm(drawn: DrawsOfGuide, settings: CompareSettings, trace: Trace) -> bool:
    """Return whether MCMC confirms draws of the guide; what fails here fails again where it is shown."""
    mcmc, tolerance = trace.assignments.numpy(), settings.tolerance
    return bool(Attempts().make(_CONFIRMING, lambda: are_confirmed(drawn, mcmc, tolerance=tolerance)))


def _content_of(picked: PickedGuide | NoGuide) -> tuple[Any, ...]:
    """Return what tells a guide from another of the same name, and one model from another."""
    if isinstance(picked, NoGuide):
        return NO_GUIDE, repr(picked.model)
    weights = [
        (name, value.detach().cpu().to(torch.float64).numpy())
        for name, value in sorted(picked.module.state_dict().items())
    ]
    return picked.name, repr(picked.module.model), weights


def _about(table: Table, points: Standardised, model: Any, notes: tuple[str, ...]) -> dict[str, Any]:
    """Return what a comparison says of its table and model."""
    return {
        "source": table.name,
        "model_name": model.name,
        "model_in_words": in_words(model),
        "model_description": _described(model),
        "columns": points.columns,
        "data": points.data,
        "location": points.location,
        "scale": points.scale,
        "true_labels": table.labels,
        "row_names": table.row_names,
        "shape": table.shape,
        **_kinds_of(table, points),
        "notes": (
            *table.notes,
            *points.notes,
            *_about_vectors(table),
            *_about_size(len(points.data)),
            *notes,
        ),
    }


def _kinds_of(table: Table, points: Standardised) -> dict[str, Any]:
    """Return kinds and levels of the columns, those of a table that its principal components do not have."""
    if table.shape is not None or points.data.shape[1] != len(table.kinds):
        return {}
    return {"kinds": table.kinds, "levels": table.levels}


def _summarised(kinds: dict[str, Any]) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return what turns simulations into what :attr:`OnData.summarised` is of the data."""
    return (lambda data: without_gaps(indicators(data, **kinds))) if kinds else None


def _described(model: Any) -> dict[str, Any] | None:
    """Return what builds a model again; ``None`` for programs that nothing describes."""
    free = model.under(None) if getattr(model, "constraints", None) is not None else model
    try:
        return describe_model(free)
    except ValueError:
        return None


def _as_guides_see(table: Table, points: Standardised) -> Tensor:
    """Return the points in the shape that they have for a guide."""
    data = torch.tensor(points.data)
    return data if table.shape is None else data.unflatten(-1, table.shape.event_shape)


def _about_vectors(table: Table) -> tuple[str, ...]:
    """Say what pictures and classical methods see of a table that is not all numbers."""
    if table.are_numbers and not table.has_missing:
        return ()
    return (
        "Pictures and classical methods need complete vectors: they have a column of 0 and 1 for each "
        "category, and missing cells at the mean of their column. The posterior has neither.",
    )


def _about_size(num_points: int) -> tuple[str, ...]:
    return (*about_draws(num_points), *about_pairs(num_points))


def _simulated(picked: PickedGuide, data: Tensor, run: _Run, tell: Callable[[str], None]) -> dict[str, Any]:
    """Return what simulations of the guide's model say."""
    tell("simulating data sets like those of the training")
    tries, open_ones = Attempts(), list[Finding]()
    guide = picked.module
    seed, least, most = run.settings.seed, picked.min_points, picked.max_points
    see = _summarised(_kinds_of(run.table, run.points))
    world = tries.make(
        _WORLD, lambda: simulated_world(guide, data, seed=seed, min_points=least, max_points=most, see=see)
    )
    failed = () if world is None else world.failures
    if (why := tries.reason(_WORLD)) is not None:
        open_ones.append(untold(Question.FAMILIAR, why))
    if failed or (why is not None and guide.model.has_likelihood):
        open_ones.append(untold(Question.WITNESSED, why))
    near, what = None, f"The calibration of guide '{picked.name}' near the data"
    if run.settings.calibrate:
        tell("calibrating on simulations near the data")
        near = tries.make(what, lambda: calibrate_near(guide, guide.model, data, see=see, seed=seed))
    if (why := tries.reason(what)) is not None:
        open_ones.append(untold(Question.NEAR, why))
    failures = (*failed, *tries.failures)
    return {"world": world, "calibration": near, "failures": failures, "untold": tuple(open_ones)}


def _about_log_prob(model: Any, *, is_exact: bool) -> tuple[str, ...]:
    """Say where log q of the guide is estimated, if there are weights that it matters for."""
    if is_exact or not model.has_likelihood:
        return ()
    return (
        "The guide's log q is estimated by simulation: its importance weights stay right on average, "
        "and are more uneven for it.",
    )
