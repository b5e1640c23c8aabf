"""From points to the posterior of their partition by a guide and, where possible, by MCMC of its model."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from os import PathLike
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from pyroclust.analysis.outputs import name_of_run, results_folder, table_content, write_result
from pyroclust.analysis.picking import PickedGuide, pick_guide
from pyroclust.attempts import Attempts, left_out
from pyroclust.calibration import calibrate_near
from pyroclust.calibration.training_world import simulated_world
from pyroclust.data.standardise import Standardised
from pyroclust.data.tables import Table
from pyroclust.diagnostics import Finding
from pyroclust.diagnostics.verdicts.findings import Question, untold
from pyroclust.errors import first_line, lacks_memory
from pyroclust.infer.checks import log_joint_of
from pyroclust.infer.mcmc import CollapsedGibbs
from pyroclust.random_state import seeded
from pyroclust.results.comparison import Comparison, CrossScored, PartitionDraws
from pyroclust.results.comparison_result import ComparisonResult
from pyroclust.results.comparison_summary import ComparisonSummary, summarise
from pyroclust.results.guide_alone import AloneSummary, GuideAlone, summarise_alone

__all__ = ["compare_points", "cross_scored", "draw_guide", "draw_mcmc"]

Made = TypeVar("Made")

_WORLD = "The simulations of the guide's model"
_SWEEPS_A_DRAW = 10
_NUMBERS_AT_ONCE = 1 << 22
# Labels of MCMC that the guide scores, for estimates of the evidence: as many as 400 draws of 500 points.
_CROSS_DRAWS, _CROSS_LABELS = 400, 200_000


def draw_guide(
    guide: Any, data: Tensor, *, name: str, num_draws: int, seed: int
) -> tuple[PartitionDraws, Any]:
    """Encode the points once and draw; return the draws and the posterior that they come from.

    Seconds exclude one draw to warm up. A second ``guide.posterior(data)`` may visit the points in another
    order, and then has another log q.

    Args:
        guide: with its ``model``.
        data: the points, ``(N, D)``.
        name: what reports call the guide.
        num_draws: independent draws, one chain.
        seed: same seed, same draws; the caller's random state is left alone.
    """
    with seeded(seed), torch.no_grad():
        guide.posterior(data).sample((1,))
        began = time.perf_counter()
        posterior = guide.posterior(data)
        draws, log_prob = posterior.sample_and_log_prob((num_draws,))
        seconds = time.perf_counter() - began
    found = PartitionDraws(
        name=name,
        assignments=draws.unsqueeze(0).numpy(),
        log_joint=_log_joint(guide.model, data, draws) if guide.model.has_likelihood else None,
        seconds=seconds,
        log_prob=log_prob.double().unsqueeze(0).numpy(),
    )
    return found, posterior


def draw_mcmc(model: Any, data: Tensor, *, num_draws: int, num_chains: int, seed: int) -> PartitionDraws:
    """Run collapsed Gibbs chains, started far apart; a fifth of each is dropped, one draw in ten sweeps kept.

    Args:
        model: a collapsed mixture.
        data: the points, ``(N, D)``.
        num_draws: draws each chain keeps.
        num_chains: chains.
        seed: of the chains.

    Raises:
        KeyboardInterrupt: after Ctrl-C, whatever was drawn until then.
    """
    kernel = CollapsedGibbs(model, thin=_SWEEPS_A_DRAW)
    run = kernel.run(data, num_draws=num_draws, warmup=num_draws // 4, num_chains=num_chains, seed=seed)
    if run.interrupted:
        raise KeyboardInterrupt(f"after {run.assignments.shape[1]:,} of {num_draws:,} draws of each chain")
    return PartitionDraws("CollapsedGibbs", run.assignments.numpy(), run.log_joint.numpy(), run.seconds)


def cross_scored(posterior: Any, mcmc: PartitionDraws) -> CrossScored | None:
    """Score every k-th draw of each chain by the guide; ``None`` where log q is estimated.

    Args:
        posterior: the very one that the guide's draws come from.
        mcmc: draws with their ``log_joint``.
    """
    if mcmc.log_joint is None or not posterior.is_exact:
        return None
    chains, draws, num_points = mcmc.assignments.shape
    wanted = max(1, min(_CROSS_DRAWS, _CROSS_LABELS // num_points) // chains)
    kept = slice(None, None, -(-draws // wanted))
    with torch.no_grad():
        some = torch.from_numpy(mcmc.assignments[:, kept].reshape(-1, num_points))
        log_prob = posterior.log_prob(some).double().numpy()
    log_joint = mcmc.log_joint[:, kept]
    return CrossScored(log_joint, log_prob.reshape(log_joint.shape))


def _log_joint(model: Any, data: Tensor, draws: Tensor) -> np.ndarray:
    rows = max(1, _NUMBERS_AT_ONCE // data.numel())
    found = torch.cat([log_joint_of(model, data, part) for part in draws.split(rows)])
    return found.double().unsqueeze(0).numpy()


def compare_points(
    table: Table,
    points: Standardised,
    *,
    guide: str | PathLike[str] | torch.nn.Module | None,
    conditions: Mapping[str, float],
    num_draws: int,
    num_chains: int,
    mcmc_draws: int,
    calibrate: bool,
    out: str | PathLike[str] | None,
    overwrite: bool,
    seed: int,
    tell: Callable[[str], None],
) -> ComparisonResult:
    """Do what :func:`pyroclust.compare` says, with a table that was read and put on its scale.

    Args:
        table: the points in the units of their source.
        points: the same as the guide is to see them.
        guide: name on the shelf, folder, or a guide; ``None`` for the one of as many columns.
        conditions: hyperparameters that the guide is told.
        num_draws: draws of the guide.
        num_chains: Gibbs chains.
        mcmc_draws: draws each chain keeps.
        calibrate: whether to calibrate the guide near the data.
        out: folder of the files, or ``None``.
        overwrite: whether results of another run in that folder may be replaced.
        seed: same seed, same draws.
        tell: called with the name of each stage.

    Raises:
        ValueError: if the guide or the folder cannot be used.
    """
    picked = pick_guide(guide, dim=points.data.shape[1], conditions=conditions)
    notes = picked.notes_on(table, points)
    data, model = torch.tensor(points.data), picked.module.model
    run = name_of_run(
        "compare",
        table=table_content(table),
        points=(points.data, points.columns),
        guide=_content_of(picked),
        numbers=(num_draws, num_chains, mcmc_draws, calibrate, seed),
    )
    with results_folder(out, run=run, overwrite=overwrite) as folder:
        simulated = _simulated(picked, data, calibrate=calibrate, seed=seed, tell=tell)
        tell(f"drawing {num_draws} partitions from {picked.name}")
        drawn, posterior = _drawn(
            picked.name,
            lambda: draw_guide(picked.module, data, name=picked.name, num_draws=num_draws, seed=seed),
        )
        notes += _about_log_prob(posterior)
        about = _about(table, points, picked, notes) | simulated | {"guide": drawn}
        mcmc, why = None, None
        if model.has_likelihood:
            tell(f"running {num_chains} Gibbs chains")
            mcmc, why = _mcmc(model, data, num_draws=mcmc_draws, num_chains=num_chains, seed=seed)
        tell("comparing")
        summary: ComparisonSummary | AloneSummary
        if mcmc is None:
            about["failures"] += () if why is None else (left_out("MCMC", why),)
            alone = GuideAlone(**about, certificate=picked.certificate, why_no_mcmc=why)
            summary = summarise_alone(alone, seed=seed)
        else:
            tries = Attempts()
            cross = tries.make("The guide's log q of draws of MCMC", partial(cross_scored, posterior, mcmc))
            about["failures"] += tries.failures
            summary = summarise(Comparison(**about, mcmc=mcmc, cross=cross), seed=seed)
        result = ComparisonResult(table, summary, folder, run)
        if folder is not None:
            tell("writing the report")
            result = write_result(folder, result, draws=result.comparison)
    return result


def _drawn(name: str, draw: Callable[[], Made]) -> Made:
    """Draw from the guide, which no result can do without; say in one sentence why that failed."""
    try:
        return draw()
    except Exception as error:
        if isinstance(error, ValueError | OSError) or lacks_memory(error):
            raise
        raise ValueError(
            f"guide '{name}' could not draw partitions of these points ({first_line(error)}); use another "
            "guide with --guide"
        ) from error


def _mcmc(
    model: Any, data: Tensor, *, num_draws: int, num_chains: int, seed: int
) -> tuple[PartitionDraws | None, str | None]:
    """Return the draws of MCMC, or why there are none; points that MCMC refuses are refused."""
    try:
        return draw_mcmc(model, data, num_draws=num_draws, num_chains=num_chains, seed=seed), None
    except Exception as error:
        if isinstance(error, ValueError) or lacks_memory(error):
            raise
        return None, first_line(error)


def _content_of(picked: PickedGuide) -> tuple[Any, ...]:
    """Return what tells a guide from another of the same name."""
    weights = [
        (name, value.detach().cpu().to(torch.float64).numpy())
        for name, value in sorted(picked.module.state_dict().items())
    ]
    return picked.name, repr(picked.module.model), weights


def _about(table: Table, points: Standardised, picked: PickedGuide, notes: tuple[str, ...]) -> dict[str, Any]:
    """Return what a comparison says of its table and guide."""
    return {
        "source": table.name,
        "model_name": picked.module.model.name,
        "guide_name": picked.name,
        "columns": points.columns,
        "data": points.data,
        "location": points.location,
        "scale": points.scale,
        "true_labels": table.labels,
        "row_names": table.row_names,
        "notes": (*table.notes, *points.notes, *notes),
    }


def _simulated(
    picked: PickedGuide, data: Tensor, *, calibrate: bool, seed: int, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Return what simulations of the guide's model say."""
    tell("simulating data sets like those of the training")
    tries, open_ones = Attempts(), list[Finding]()
    guide = picked.module
    world = tries.make(_WORLD, lambda: simulated_world(guide, data, max_points=picked.max_points, seed=seed))
    failed = () if world is None else world.failures
    if (why := tries.reason(_WORLD)) is not None:
        open_ones.append(untold(Question.FAMILIAR, why))
    near, what = None, f"The calibration of guide '{picked.name}' near the data"
    if calibrate:
        tell("calibrating on simulations near the data")
        near = tries.make(what, lambda: calibrate_near(guide, guide.model, data, seed=seed))
    if (why := tries.reason(what)) is not None:
        open_ones.append(untold(Question.NEAR, why))
    failures = (*failed, *tries.failures)
    return {"world": world, "calibration": near, "failures": failures, "untold": tuple(open_ones)}


def _about_log_prob(posterior: Any) -> tuple[str, ...]:
    """Say where log q of the guide is estimated; a guide that does not say so has it exactly."""
    if posterior.is_exact:
        return ()
    return (
        "The guide's log q is estimated by simulation: its importance weights stay right on average, "
        "and are more uneven for it.",
    )
