"""Chains of a model on points, which go on until they have converged."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from torch import Tensor

from pyroclust.analysis.populations import can_be_tempered, draw_populations, seconds_of_populations
from pyroclust.analysis.starts import starts_from_both_sides
from pyroclust.diagnostics import Convergence, LogEvidence, max_rhat
from pyroclust.diagnostics.chains.convergence import can_converge_well, have_converged_well, min_ess
from pyroclust.diagnostics.chains.functionals import functional_name
from pyroclust.diagnostics.chains.partition_convergence import convergence_with_log_joint
from pyroclust.diagnostics.limits import GOOD_ESS, GOOD_RHAT
from pyroclust.diagnostics.verdicts.findings import convergence_findings
from pyroclust.diagnostics.verdicts.verdict import all_passed
from pyroclust.infer.mcmc.defaults import default_kernel_name
from pyroclust.infer.mcmc.long_chains import LongChains
from pyroclust.infer.mcmc.named_kernels import kernel_names, named_kernel
from pyroclust.infer.mcmc.states import Trace
from pyroclust.large_tables import populations_may_take
from pyroclust.results.comparison import PartitionDraws
from pyroclust.text import duration, listed

__all__ = ["ChainsOfModel", "draw_mcmc"]

# Sweeps between two draws where the length is fixed; where chains go on, they begin with every second.
_SWEEPS_A_DRAW, _FIRST_EVERY = 10, 2
_NEARER = "are nearer to one another: where pages say MCMC, they are meant"
_FARTHER = "are no nearer to one another, and were left out"
_MISSED = "have missed partitions of higher density, at which a chain stays, and were left out"
# Chains that have not converged are offered a warm-up of so many times their sweeps.
_LONGER = 4
# Chains that have roughly converged, and have to stand alone, may take so many times the usual limits.
_ALONE = 5


@dataclass(frozen=True)
class ChainsOfModel:
    """Draws of chains, and what to say of them.

    Attributes:
        draws: with the name of the kernel; their seconds include the warm-up.
        notes: sentences for the reader.
        converged: whether every functional has a good R-hat and enough effective draws.
        evidences: estimates of log p(data) that came with the draws.
    """

    draws: PartitionDraws
    notes: tuple[str, ...]
    converged: bool
    evidences: tuple[LogEvidence, ...] = ()


def draw_mcmc(
    model: Any,
    data: Tensor,
    *,
    num_draws: int,
    num_chains: int,
    seed: int,
    kernel: str | None = None,
    warmup: int | None = None,
    are_enough: Callable[[Trace], bool] = lambda trace: True,
    tell: Callable[[str], None] = lambda stage: None,
) -> ChainsOfModel:
    """Run chains from starts with few clusters and with many, and keep ``num_draws`` of each.

    Where both sides meet, R-hat vouches for more than chains from one side: see
    :func:`~pyroclust.analysis.starts.starts_from_both_sides`. The sweeps that found the starts count as
    warm-up.

    With ``warmup=None`` the first round drops a quarter of ``num_draws`` and keeps one draw in two sweeps.
    While a functional or the log joint has not converged, a round twice as long follows, and the one before
    becomes warm-up, until a limit of sweeps or seconds is met. Chains that have roughly converged then, and
    are not enough, may take five times as many of both. Chains that keep fewer draws in all than are wanted
    effective ones cannot be judged: they keep one draw in ten sweeps of one round.

    Where chains of the default kernel have not even roughly converged at the limit, as many tempered
    populations are drawn, if that takes ten minutes or less, and returned where their R-hat is smaller, and
    no chain has on average a higher log joint than the best of them: see
    :func:`~pyroclust.infer.tempered_populations`.

    Args:
        model: a mixture.
        data: the points, ``(N, D)``.
        num_draws: draws each chain keeps.
        num_chains: chains.
        seed: of the chains.
        kernel: name of the kernel; ``None`` for the default of the model.
        warmup: sweeps that are dropped, of which one in ten is kept afterwards; ``None`` to go on.
        are_enough: called with draws of chains that have roughly converged; says whether that is enough, as
            it is where they only confirm others.
        tell: called with what is being done.

    Raises:
        ValueError: if no kernel has that name, or it cannot run on the points.
        KeyboardInterrupt: after Ctrl-C, whatever was drawn until then.
    """
    name = default_kernel_name(model) if kernel is None else kernel
    own = named_kernel(name, model)
    own.init, to_start = starts_from_both_sides(model, data, num_chains=num_chains, seed=seed)
    chains = LongChains(own, data, num_chains=num_chains, seed=seed)
    judged = warmup is None and can_converge_well(num_draws * num_chains)
    every = _FIRST_EVERY if judged else _SWEEPS_A_DRAW
    trace = chains.draw(num_draws, warmup=num_draws // 4 if warmup is None else warmup, every=every)
    # Sweeps take the same time in warm-up and after it.
    last = chains.seconds * num_draws * every / chains.sweeps
    rows = _rows(trace, model)
    while judged and not have_converged_well(rows):
        every *= 2
        further = partial(chains.may_go_on, num_draws * every, seconds=2 * last)
        if not further() and not (further(times=_ALONE) and _is_usable(rows) and not are_enough(trace)):
            break
        tell(f"no convergence after {chains.sweeps:,} sweeps a chain, running {num_draws * every:,} more")
        before = chains.seconds
        trace = chains.draw(num_draws, every=every)
        last = chains.seconds - before
        rows = _rows(trace, model)
    draws = PartitionDraws(
        name,
        trace.assignments.numpy(),
        trace.log_joint.numpy() if model.has_likelihood else None,
        to_start + chains.seconds,
        seconds_warmup=to_start + chains.seconds - last,
    )
    converged = have_converged_well(rows)
    notes = _notes(draws, rows, model=model, sweeps=chains.sweeps, kernel=name, converged=converged)
    found = ChainsOfModel(draws, notes, converged)
    if not judged or kernel is not None or _is_usable(rows) or not can_be_tempered(model):
        return found
    sweep_seconds = chains.seconds / (chains.sweeps * num_chains)
    return _or_populations(found, rows, model, data, seed=seed, sweep_seconds=sweep_seconds, tell=tell)


def _or_populations(
    found: ChainsOfModel,
    rows: tuple[Convergence, ...],
    model: Any,
    data: Tensor,
    *,
    seed: int,
    sweep_seconds: float,
    tell: Callable[[str], None],
) -> ChainsOfModel:
    """Return tempered populations where they are nearer to one another than chains are."""
    num_chains, num_draws = found.draws.assignments.shape[:2]
    expected = seconds_of_populations(num_chains, sweep_seconds)
    if not populations_may_take(expected):
        return replace(found, notes=(*found.notes, _too_long(expected)))
    tell("no convergence, drawing tempered populations")
    other = draw_populations(model, data, num_draws=num_draws, num_populations=num_chains, seed=seed)
    by_chains, log_joint = (np.asarray(one.draws.log_joint) for one in (found, other))
    own = _judged(other.draws.assignments, log_joint, model)
    missed = by_chains.mean(1).max() > log_joint.max()
    if missed or max_rhat(own) >= max_rhat(rows):
        said = other.said(_MISSED if missed else _FARTHER)
        return replace(found, notes=(*found.notes, said), evidences=() if missed else (other.evidence,))
    return ChainsOfModel(
        other.draws, (*found.notes, other.said(_NEARER)), have_converged_well(own), (other.evidence,)
    )


def _is_usable(rows: tuple[Convergence, ...]) -> bool:
    """Return whether a verdict would take the chains for converged, roughly or well."""
    return all_passed(convergence_findings("MCMC", max_rhat=max_rhat(rows), min_ess=min_ess(rows)))


def _too_long(seconds: float) -> str:
    return (
        "Tempered populations may meet where chains do not; here they would take about "
        f"{duration(seconds)}: see pyroclust.infer.tempered_populations."
    )


def _rows(trace: Trace, model: Any) -> tuple[Convergence, ...]:
    return _judged(trace.assignments.numpy(), trace.log_joint.numpy(), model)


def _judged(draws: np.ndarray, log_joint: np.ndarray, model: Any) -> tuple[Convergence, ...]:
    # Without a likelihood the kernel's density is that of what it keeps beside the partition, too.
    name = "log_joint" if model.has_likelihood else "log_joint_with_parameters"
    return convergence_with_log_joint(draws, log_joint, name=name)


def _notes(
    draws: PartitionDraws,
    rows: tuple[Convergence, ...],
    *,
    model: Any,
    sweeps: int,
    kernel: str,
    converged: bool,
) -> tuple[str, ...]:
    chains = len(draws.assignments)
    told = (
        f"MCMC: {chains} chains of {kernel}, {sweeps:,} sweeps each from starts with few clusters and with "
        f"many, in {draws.seconds:.3g} seconds, {draws.seconds_warmup:.3g} of them for warm-up.",
    )
    if converged:
        return told
    stuck = [row for row in rows if not have_converged_well((row,))]
    worst = max(stuck, key=_badness)
    others = _other_kernels(model, kernel)
    longer = _LONGER * sweeps
    seconds = draws.seconds * (longer + _SWEEPS_A_DRAW * draws.assignments.shape[1]) / sweeps
    clusters = np.sort((draws.assignments.max(-1) + 1).mean(-1))
    counts = listed((f"{one:.1f}" for one in clusters), chains)
    return (
        *told,
        f"MCMC has not converged after {sweeps:,} sweeps a chain: {functional_name(worst.name)} has "
        f"R-hat {worst.rhat:.3g} and {worst.ess_bulk:.0f} effective draws, where R-hat of at most "
        f"{GOOD_RHAT:g} and {GOOD_ESS:.0f} draws are wanted. The chains have {counts} clusters on "
        f"average. Take --warmup {longer} (about {duration(seconds)}), more --chains, {others}or refined "
        "draws.",
    )


def _other_kernels(model: Any, kernel: str) -> str:
    """Name the kernels that can be taken instead; families that are not conjugate have one."""
    if not model.is_conjugate:
        return ""
    others = [name for name in kernel_names() if name != kernel]
    return f"another --kernel ({listed(others, len(others))}), "


def _badness(row: Convergence) -> float:
    return np.inf if np.isnan(row.rhat) else row.rhat
