"""From points to the posterior of their partition by a guide and, where possible, by MCMC of its model."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import Any

import torch
from torch import Tensor

from pyroclust.analysis.chains import ChainsOfModel, draw_mcmc
from pyroclust.analysis.drawing import cross_scored, draw_and_refine
from pyroclust.analysis.evidence import annealed_where_needed
from pyroclust.analysis.outputs import name_of_run, results_folder, table_content, write_result
from pyroclust.analysis.picking import AskedModel, NoGuide, PickedGuide, pick_guide
from pyroclust.attempts import Attempts, left_out
from pyroclust.calibration import calibrate_near
from pyroclust.calibration.training_world import simulated_world
from pyroclust.data.standardise import Standardised
from pyroclust.data.tables import Table
from pyroclust.diagnostics import Finding
from pyroclust.diagnostics.draws.pairs import about_pairs
from pyroclust.diagnostics.verdicts.findings import Question, untold
from pyroclust.errors import first_line, lacks_memory
from pyroclust.infer.mcmc.defaults import default_kernel_name, has_kernel
from pyroclust.infer.mcmc.named_kernels import named_kernel
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

__all__ = ["compare_points"]

_WORLD = "The simulations of the guide's model"


def compare_points(
    table: Table,
    points: Standardised,
    *,
    guide: str | PathLike[str] | torch.nn.Module | None,
    asked: AskedModel,
    conditions: Mapping[str, float],
    num_draws: int,
    num_chains: int,
    mcmc_draws: int,
    kernel: str | None,
    warmup: int | None,
    calibrate: bool,
    refine: bool,
    tolerance: float | None,
    out: str | PathLike[str] | None,
    overwrite: bool,
    seed: int,
    tell: Callable[[str], None],
) -> ComparisonResult:
    """Do what :func:`pyroclust.compare` says, with a table that was read and put on its scale.

    Args:
        table: the points in the units of their source.
        points: the same as the guide is to see them.
        guide: name on the shelf, folder, or a guide; ``None`` for one of the model, ``"none"`` for none.
        asked: the model by name.
        conditions: hyperparameters that the guide is told.
        num_draws: draws of the guide.
        num_chains: chains of MCMC.
        mcmc_draws: draws each chain keeps.
        kernel: name of their kernel; ``None`` for the default of the model.
        warmup: sweeps that each chain drops first; ``None`` to go on until they have converged.
        calibrate: whether to calibrate the guide near the data.
        refine: whether to refine the guide's draws.
        tolerance: limit on co-assignment differences, ``None`` for the library's.
        out: folder of the files, or ``None``.
        overwrite: whether results of another run in that folder may be replaced.
        seed: same seed, same draws.
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
    )
    if kernel is not None:
        # A wrong name is refused before anything is drawn.
        named_kernel(kernel, picked.model if isinstance(picked, NoGuide) else picked.module.model)
    run = name_of_run(
        "compare",
        table=table_content(table),
        points=(points.data, points.columns),
        guide=_content_of(picked),
        numbers=(num_draws, num_chains, mcmc_draws, calibrate, seed),
        chains=(kernel or "", -1 if warmup is None else warmup),
        refining=(refine, tolerance),
    )
    settings = _Settings(
        num_draws, num_chains, mcmc_draws, kernel, warmup, calibrate, refine, tolerance, seed
    )
    with results_folder(out, run=run, overwrite=overwrite) as folder, lines_instead_of_bars(tell):
        summary = (
            _by_mcmc(table, points, picked, settings, tell)
            if isinstance(picked, NoGuide)
            else _by_guide(table, points, picked, settings, tell)
        )
        result = ComparisonResult(table, summary, folder, run)
        if folder is not None:
            tell("writing the report")
            result = write_result(folder, result, draws=result.comparison)
    return result


@dataclass(frozen=True)
class _Settings:
    num_draws: int
    num_chains: int
    mcmc_draws: int
    kernel: str | None
    warmup: int | None
    calibrate: bool
    refine: bool
    tolerance: float | None
    seed: int


def _by_guide(
    table: Table,
    points: Standardised,
    picked: PickedGuide,
    settings: _Settings,
    tell: Callable[[str], None],
) -> ComparisonSummary | AloneSummary:
    """Draw from the guide, and by MCMC where its model has a likelihood."""
    notes, seed = picked.notes_on(table, points), settings.seed
    data, model = _as_guides_see(table, points), picked.module.model
    simulated = _simulated(picked, data, calibrate=settings.calibrate, seed=seed, tell=tell)
    drawn = draw_and_refine(
        picked, data, num_draws=settings.num_draws, refine=settings.refine, seed=seed, tell=tell
    )
    about = _about(table, points, model, (*notes, *_about_log_prob(model, is_exact=drawn.is_exact)))
    about |= simulated | {"guide_name": picked.name, "guide": drawn.guide, "refined": drawn.refined}
    about["failures"] += drawn.failures
    about["untold"] += drawn.untold
    chains, why = None, None
    if has_kernel(model):
        chains, why = _mcmc(model, data, settings, tell)
    elif model.has_likelihood:
        why = f"no kernel can run on the model '{model.name}'"
    tell("comparing")
    if chains is None:
        about["failures"] += () if why is None else (left_out("MCMC", why),)
        return summarise_alone(
            GuideAlone(**about, certificate=picked.certificate, why_no_mcmc=why), seed=seed
        )
    about["notes"] += chains.notes
    tries, cross = Attempts(), None
    if drawn.posteriors:
        scored = partial(cross_scored, drawn.posteriors, chains.draws)
        cross = tries.make("The guide's log q of draws of MCMC", scored)
    about["failures"] += tries.failures
    found = Comparison(**about, mcmc=chains.draws, cross=cross, tolerance=settings.tolerance)
    annealed, said = annealed_where_needed(model, data, own_evidences(found), seed=seed, tell=tell)
    found = replace(found, annealed=annealed, notes=(*found.notes, *said))
    return summarise(found, seed=seed)


def _by_mcmc(
    table: Table, points: Standardised, picked: NoGuide, settings: _Settings, tell: Callable[[str], None]
) -> McmcSummary:
    """Draw by MCMC alone."""
    chains, why = _mcmc(picked.model, torch.tensor(points.data), settings, tell)
    if chains is None:
        raise ValueError(f"MCMC of the model {picked.model.name} failed ({why}), and there is no guide")
    annealed, said = annealed_where_needed(
        picked.model, torch.tensor(points.data), (), seed=settings.seed, tell=tell
    )
    tell("summarising")
    about = _about(table, points, picked.model, (*picked.about, *chains.notes, *said))
    alone = McmcAlone(**about, mcmc=chains.draws, annealed=annealed)
    return summarise_mcmc(alone, seed=settings.seed)


def _mcmc(
    model: Any, data: Tensor, settings: _Settings, tell: Callable[[str], None]
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
            tell=tell,
        )
    except Exception as error:
        if (isinstance(error, ValueError) and model.has_likelihood) or lacks_memory(error):
            raise
        return None, first_line(error)
    return drawn, None


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
        "columns": points.columns,
        "data": points.data,
        "location": points.location,
        "scale": points.scale,
        "true_labels": table.labels,
        "row_names": table.row_names,
        "shape": table.shape,
        "notes": (*table.notes, *points.notes, *_about_size(len(points.data)), *notes),
    }


def _as_guides_see(table: Table, points: Standardised) -> Tensor:
    """Return the points in the shape that they have for a guide."""
    data = torch.tensor(points.data)
    return data if table.shape is None else data.unflatten(-1, table.shape.event_shape)


def _about_size(num_points: int) -> tuple[str, ...]:
    return (*about_draws(num_points), *about_pairs(num_points))


def _simulated(
    picked: PickedGuide, data: Tensor, *, calibrate: bool, seed: int, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Return what simulations of the guide's model say."""
    tell("simulating data sets like those of the training")
    tries, open_ones = Attempts(), list[Finding]()
    guide = picked.module
    least, most = picked.min_points, picked.max_points
    world = tries.make(
        _WORLD, lambda: simulated_world(guide, data, seed=seed, min_points=least, max_points=most)
    )
    failed = () if world is None else world.failures
    if (why := tries.reason(_WORLD)) is not None:
        open_ones.append(untold(Question.FAMILIAR, why))
    if failed or (why is not None and guide.model.has_likelihood):
        open_ones.append(untold(Question.WITNESSED, why))
    near, what = None, f"The calibration of guide '{picked.name}' near the data"
    if calibrate:
        tell("calibrating on simulations near the data")
        near = tries.make(what, lambda: calibrate_near(guide, guide.model, data, seed=seed))
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
