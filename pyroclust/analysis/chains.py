"""Chains of a model on points, which go on until they have converged or have used their time."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
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
from pyroclust.large_tables import chain_seconds, populations_may_take
from pyroclust.partitions import Draws
from pyroclust.text import duration, listed

__all__ = ["ChainsOfModel", "draw_mcmc"]

# Sweeps between two draws where the length is fixed; where chains go on, they begin with every second.
_SWEEPS_A_DRAW, _FIRST_EVERY = 10, 2
_NEARER = "are nearer to one another: where pages say MCMC, they are meant"
_FARTHER = "are no nearer to one another, and were left out"
_MISSED = "have missed partitions of higher density, at which a chain stays, and were left out"
# Chains that have not converged are offered a warm-up of so many times their sweeps.
_LONGER = 4
# Where every step is taken chains may use so many times the usual seconds, and so many times as much again
# where they have roughly converged.
_THOROUGH, _ROUGHLY = 24, 5


@dataclass(frozen=True)
class ChainsOfModel:
    """Draws of chains, and what to say of them.

    Attributes:
        draws: with the name of the kernel; their seconds include the warm-up.
        notes: sentences for the reader.
        converged: whether every functional has a good R-hat and enough effective draws.
        evidences: estimates of log p(data) that came with the draws.
        sweep_seconds: processor seconds of one sweep of one chain.
        more_seconds: processor seconds that ``thorough`` may take beyond these; 0 where chains have
            converged.
    """

    draws: Draws
    notes: tuple[str, ...]
    converged: bool
    evidences: tuple[LogEvidence, ...] = ()
    sweep_seconds: float = math.nan
    more_seconds: float = 0.0


def draw_mcmc(
    model: Any,
    data: Tensor,
    *,
    num_draws: int,
    num_chains: int,
    seed: int,
    kernel: str | None = None,
    warmup: int | None = None,
    is_thorough: bool = False,
    tell: Callable[[str], None] = lambda stage: None,
) -> ChainsOfModel:
    """Run chains from starts with few clusters and with many, and keep ``num_draws`` of each.

    Where both sides meet, R-hat vouches for more than chains from one side: see
    :func:`~pyroclust.analysis.starts.starts_from_both_sides`. The sweeps that found the starts count as
    warm-up.

    With ``warmup=None`` the first round drops a quarter of ``num_draws`` and keeps one draw in two sweeps.
    While a functional or the log joint has not converged, a round twice as long follows, and the one before
    becomes warm-up, until a round would take chains beyond their processor seconds
    (:func:`~pyroclust.large_tables.chain_seconds`). Chains that keep fewer draws in all than are wanted
    effective ones cannot be judged: they keep one draw in ten sweeps of one round. Ctrl-C ends with the
    last whole round.

    Where chains of the default kernel have not even roughly converged, and time is no object, as many
    tempered populations are drawn, if that takes ten minutes or less, and returned where their R-hat is
    smaller and no chain has on average a higher log joint than the best of them: see
    :func:`~pyroclust.infer.tempered_populations`.
    """
    name = default_kernel_name(model) if kernel is None else kernel
    moves = named_kernel(name, model)
    moves.init, to_start = starts_from_both_sides(model, data, num_chains=num_chains, seed=seed)
    chains = LongChains(moves, data, num_chains=num_chains, seed=seed)
    goes_on = warmup is None and can_converge_well(num_draws * num_chains)
    every = _FIRST_EVERY if goes_on else _SWEEPS_A_DRAW
    usual = chain_seconds(len(data), data.shape[-1])
    budget, used = usual * (_THOROUGH if is_thorough else 1), 0.0

    def further(**length: int) -> Draws:
        nonlocal used
        began = time.process_time()
        drawn = chains.draw(num_draws, **length)
        used += time.process_time() - began
        return drawn

    draws = further(warmup=num_draws // 4 if warmup is None else warmup, every=every)
    # Sweeps take the same time in warm-up and after it.
    last = chains.seconds * num_draws * every / chains.sweeps
    rows = _rows(draws, model)
    while goes_on and not have_converged_well(rows):
        every *= 2
        sweeps = num_draws * every
        expected = used * sweeps / chains.sweeps
        times = _ROUGHLY if is_thorough and _is_usable(rows) else 1
        if not chains.may_take(sweeps, times=times) or used + expected > times * budget:
            break
        tell(f"no convergence after {chains.sweeps:,} sweeps a chain, running {sweeps:,} more")
        before = chains.seconds
        try:
            draws = further(every=every)
        except KeyboardInterrupt:
            tell("interrupted: what was drawn so far is kept")
            draws = replace(draws, interrupted=True)
            break
        last = chains.seconds - before
        rows = _rows(draws, model)
    draws = replace(
        draws,
        name=name,
        log_joint=draws.log_joint if model.has_likelihood else None,
        seconds=to_start + chains.seconds,
        seconds_warmup=to_start + chains.seconds - last,
    )
    converged = have_converged_well(rows)
    more = 0.0 if converged or is_thorough else usual * _THOROUGH - used
    notes = _notes(draws, rows, model=model, sweeps=chains.sweeps, converged=converged)
    found = ChainsOfModel(draws, notes, converged, (), used / (chains.sweeps * num_chains), more)
    if not (goes_on and is_thorough and kernel is None) or _is_usable(rows) or not can_be_tempered(model):
        return found
    return _or_populations(found, rows, model, data, seed=seed, tell=tell)


def _or_populations(
    found: ChainsOfModel,
    rows: tuple[Convergence, ...],
    model: Any,
    data: Tensor,
    *,
    seed: int,
    tell: Callable[[str], None],
) -> ChainsOfModel:
    """Return tempered populations where they are nearer to one another than chains are."""
    num_chains, num_draws = found.draws.assignments.shape[:2]
    expected = seconds_of_populations(num_chains, found.sweep_seconds)
    if not populations_may_take(expected):
        return replace(found, notes=(*found.notes, _too_long(expected)))
    tell(f"no convergence, drawing tempered populations, about {duration(expected)}")
    other = draw_populations(model, data, num_draws=num_draws, num_populations=num_chains, seed=seed)
    by_chains, log_joint = (np.asarray(one.draws.log_joint) for one in (found, other))
    theirs = _rows(other.draws, model)
    missed = by_chains.mean(1).max() > log_joint.max()
    if missed or max_rhat(theirs) >= max_rhat(rows):
        said = other.said(_MISSED if missed else _FARTHER)
        return replace(found, notes=(*found.notes, said), evidences=() if missed else (other.evidence,))
    return replace(
        found,
        draws=other.draws,
        notes=(*found.notes, other.said(_NEARER)),
        converged=have_converged_well(theirs),
        evidences=(other.evidence,),
    )


def _is_usable(rows: tuple[Convergence, ...]) -> bool:
    """Return whether a verdict would take the chains for converged, roughly or well."""
    return all_passed(convergence_findings("MCMC", max_rhat=max_rhat(rows), min_ess=min_ess(rows)))


def _too_long(seconds: float) -> str:
    return (
        "Tempered populations may meet where chains do not; here they would take about "
        f"{duration(seconds)}: see pyroclust.infer.tempered_populations."
    )


def _rows(draws: Draws, model: Any) -> tuple[Convergence, ...]:
    # Without a likelihood the kernel's density is that of what it keeps beside the partition, too.
    name = "log_joint" if model.has_likelihood else "log_joint_with_parameters"
    assert draws.log_joint is not None
    return convergence_with_log_joint(draws.assignments, draws.log_joint, name=name)


def _notes(
    draws: Draws, rows: tuple[Convergence, ...], *, model: Any, sweeps: int, converged: bool
) -> tuple[str, ...]:
    chains, kept, _ = draws.assignments.shape
    told = (
        f"MCMC: {chains} chains of {draws.name}, {sweeps:,} sweeps each from starts with few clusters and "
        f"with many, in {draws.seconds:.3g} seconds, {draws.seconds_warmup:.3g} of them for warm-up.",
    )
    if converged:
        return told
    stuck = [row for row in rows if not have_converged_well((row,))]
    worst = max(stuck, key=_badness)
    others = _other_kernels(model, draws.name)
    longer = _LONGER * sweeps
    seconds = draws.seconds * (longer + _SWEEPS_A_DRAW * kept) / sweeps
    clusters = np.sort(draws.num_clusters.mean(-1))
    counts = listed((f"{one:.1f}" for one in clusters), chains)
    return (
        *told,
        f"MCMC has not converged well after {sweeps:,} sweeps a chain: {functional_name(worst.name)} has "
        f"R-hat {worst.rhat:.3g} and {worst.ess_bulk:.0f} effective draws, where R-hat of at most "
        f"{GOOD_RHAT:g} and {GOOD_ESS:.0f} draws are wanted. The chains have {counts} clusters on "
        f"average. Take --thorough, --warmup {longer} (about {duration(seconds)}), more --chains, {others}or "
        "refined draws.",
    )


def _other_kernels(model: Any, kernel: str) -> str:
    """Name the kernels that can be taken instead; families that are not conjugate have one."""
    if not model.is_conjugate:
        return ""
    others = [name for name in kernel_names() if name != kernel]
    return f"another --kernel ({listed(others, len(others))}), "


def _badness(row: Convergence) -> float:
    return np.inf if np.isnan(row.rhat) else row.rhat
