"""Chains of a model on points, which go on until they have converged or have used their time."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from pyroclust.analysis.steps import Settings
from pyroclust.core.large_tables import (
    ALL_AT_ONCE,
    GROWTH,
    LARGE_TABLE,
    SUBSAMPLE,
    chain_seconds,
    most_sweeps,
    populations_may_take,
    takes_long,
)
from pyroclust.core.messages import duration, listed
from pyroclust.core.random_state import pyro_seeded, seed_from_torch
from pyroclust.diagnostics import Convergence, LogEvidence, max_rhat
from pyroclust.diagnostics.chains import (
    can_converge_well,
    convergence_with_log_joint,
    functional_name,
    have_converged_well,
    min_ess,
)
from pyroclust.diagnostics.findings import convergence_findings
from pyroclust.diagnostics.importance import stratified_draws
from pyroclust.diagnostics.limits import GOOD_ESS, GOOD_RHAT
from pyroclust.diagnostics.verdict import all_passed
from pyroclust.distributions import NormalInverseWishart
from pyroclust.distributions.protocols import is_of_graphs
from pyroclust.guides.exact_filters import exact_filter
from pyroclust.infer import annealed_log_evidence, tempered_populations
from pyroclust.infer.checks import log_joint_of
from pyroclust.infer.mcmc import CollapsedModel, FromDraws, Overdispersed
from pyroclust.infer.mcmc.blocked_gibbs import can_draw_at_once
from pyroclust.infer.mcmc.chains import MOST_SWEEPS, Chains, coarse_starts
from pyroclust.infer.mcmc.named_kernels import (
    BLOCKED,
    default_kernel,
    default_kernel_name,
    kernel_names,
    named_kernel,
)
from pyroclust.infer.mcmc.subsamples import PartOfRows, extended, log_joint_of_draws
from pyroclust.partitions import Draws, canonical

# Sweeps between two draws where the length is fixed; where chains go on, they begin with every second.
_SWEEPS_A_DRAW, _FIRST_EVERY = 10, 2
# Of chains on a subsample of a large table.
_COARSE_SWEEPS, _SWEEPS_OF_SUBSAMPLE = 100, 100
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
    """Draws of chains, sentences on them, and the estimates of log p(data) that came with them."""

    draws: Draws
    notes: tuple[str, ...]
    evidences: tuple[LogEvidence, ...] = ()
    # Processor seconds of a sweep of one chain, and what ``thorough`` may take where they have not converged.
    sweep_seconds: float = math.nan
    more_seconds: float = 0.0


def draw_mcmc(
    model: Any,
    data: Tensor,
    settings: Settings,
    *,
    seed: int,
    tell: Callable[[str], None] = lambda stage: None,
) -> ChainsOfModel:
    """Run chains from overdispersed starts, and keep ``mcmc_draws`` of each."""
    # Of chains that keep fewer draws than are wanted effective ones nothing can be judged: one round, one
    # draw in ten sweeps. Ctrl-C ends with the last whole round.
    name = settings.kernel or default_kernel_name(model, num_points=len(data))
    num_draws, num_chains, warmup = settings.mcmc_draws, settings.num_chains, settings.warmup
    moves = named_kernel(name, model)
    moves.init, to_start = overdispersed_starts(
        model, data, num_chains=num_chains, seed=seed, expect=partial(_tell_of_starts, tell, model)
    )
    chains = Chains(moves, data, num_chains, seed=seed)
    goes_on = warmup is None and can_converge_well(num_draws * num_chains)
    every = _FIRST_EVERY if goes_on else _SWEEPS_A_DRAW
    if goes_on and name == BLOCKED:
        every = 1
    usual = chain_seconds(len(data), data.shape[-1])
    budget, used = usual * (_THOROUGH if settings.thorough else 1), 0.0

    def further(**length: int) -> Draws:
        nonlocal used
        began = time.process_time()
        drawn = chains.draw(num_draws, **length, expect=say if chains.sweeps == 0 else lambda seconds: None)
        used += time.process_time() - began
        return drawn

    def say(seconds: float) -> None:
        most = most_seconds(seconds / first, budget) if goes_on else seconds
        if takes_long(most):
            at_least = "about" if most == seconds else f"{duration(seconds)} to"
            quicker = "leave --thorough out" if settings.thorough else f"take --mcmc-draws {num_draws // 4}"
            tell(f"chains take {at_least} {duration(most)} of processor time; quicker: {quicker}")

    dropped = num_draws // 4 if warmup is None else warmup
    first = dropped + num_draws * every
    most_seconds = partial(_most_seconds, len(data), first=first, num_draws=num_draws, num_chains=num_chains)
    draws = further(warmup=dropped, every=every)
    # Sweeps take the same time in warm-up and after it.
    last = chains.seconds * num_draws * every / chains.sweeps
    rows = _rows(draws, model)
    while goes_on and not have_converged_well(rows):
        every *= 2
        sweeps = num_draws * every
        expected = used * sweeps / chains.sweeps
        times = _ROUGHLY if settings.thorough and _is_usable(rows) else 1
        if not chains.may_take(sweeps, times=times) or used + expected > times * budget:
            break
        tell(
            f"no convergence after {chains.sweeps:,} sweeps a chain, running {sweeps:,} more, about "
            f"{duration(expected)}"
        )
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
        log_joint=_log_joint(draws, model, data),
        seconds=to_start + chains.seconds,
        seconds_warmup=to_start + chains.seconds - last,
    )
    of_model = ChainsOfModel(
        draws,
        _notes(draws, rows, model=model, sweeps=chains.sweeps),
        sweep_seconds=used / (chains.sweeps * num_chains),
        more_seconds=0.0
        if have_converged_well(rows) or settings.thorough
        else most_seconds(used / chains.sweeps, usual * _THOROUGH),
    )
    tempers = goes_on and settings.thorough and settings.kernel is None and can_be_tempered(model)
    if not tempers or _is_usable(rows):
        return of_model
    return _or_populations(of_model, rows, model, data, seed=seed, tell=tell)


def _tell_of_starts(tell: Callable[[str], None], model: Any, seconds: float) -> None:
    """Say what starts take, where that is long: chains take at least ten times as many sweeps."""
    if takes_long(seconds):
        quicker = (
            ", or --family diagonal"
            if isinstance(getattr(model, "component", None), NormalInverseWishart)
            else ""
        )
        tell(
            f"starts of chains take about {duration(seconds)} of processor time, and chains more than ten "
            f"times as much; quicker: take fewer columns or rows{quicker}"
        )


def _most_seconds(
    num_points: int, sweep: float, budget: float, *, first: int, num_draws: int, num_chains: int
) -> float:
    """Return what all rounds within a budget take together, where a sweep of all chains takes so long."""
    most = most_sweeps(num_points, num_chains=num_chains, most=MOST_SWEEPS)
    sweeps, further = first, num_draws * _FIRST_EVERY * 2
    while sweeps + further <= min(most, budget / sweep):
        sweeps, further = sweeps + further, 2 * further
    return sweep * sweeps


def overdispersed_starts(
    model: CollapsedModel,
    data: Tensor,
    *,
    num_chains: int,
    seed: int,
    expect: Callable[[float], None] = lambda seconds: None,
) -> tuple[FromDraws, float]:
    """Return starts with few clusters for one half of the chains, with many for the other, and seconds."""
    # The filter opens clusters and never takes them back: in many dimensions it ends with several times as
    # many as chains from few have, and chains may keep either. R-hat sees it where both sides do not meet.
    num_many = num_chains // 2
    if len(data) >= ALL_AT_ONCE and can_draw_at_once(model):
        return _starts_from_subsamples(model, data, num_chains=num_chains, num_many=num_many, seed=seed)
    few, seconds = coarse_starts(model, data, num_chains=num_chains - num_many, seed=seed, expect=expect)
    began = time.perf_counter()
    # The chains must not repeat these random numbers.
    with pyro_seeded(seed, num_chains), torch.no_grad():
        many = _with_many_clusters(model, data, num_many)
    return FromDraws(torch.cat([few.draws, many])), seconds + time.perf_counter() - began


def _starts_from_subsamples(
    model: CollapsedModel, data: Tensor, *, num_chains: int, num_many: int, seed: int
) -> tuple[FromDraws, float]:
    """Return where chains have come, from few clusters or many, on rows that grow from a subsample each."""
    began, generator = time.perf_counter(), np.random.default_rng(seed)
    order, size = generator.permutation(len(data)), SUBSAMPLE * GROWTH
    parts = []
    for chain, own in enumerate(generator.integers(2**31, size=num_chains).tolist()):
        rows = np.sort(generator.choice(order[:size], SUBSAMPLE, replace=False))
        some = data[torch.from_numpy(rows)]
        kernel = default_kernel(model)
        if chain < num_many:
            with pyro_seeded(own), torch.no_grad():
                kernel.init = FromDraws(_with_many_clusters(model, some, 1))
        else:
            kernel.init, _ = coarse_starts(model, some, num_chains=1, sweeps=_COARSE_SWEEPS, seed=own)
        chains = Chains(kernel, some, 1, seed=own)
        chains.advance(_SWEEPS_OF_SUBSAMPLE)
        parts += _parts(chains, rows)
    while size < len(data):
        # A cluster of few rows that is one too many goes, one that is missing is found: of many, neither.
        rows = np.sort(order[:size])
        some, kernel = data[torch.from_numpy(rows)], named_kernel(BLOCKED, model)
        within = [part._replace(rows=np.searchsorted(rows, part.rows)) for part in parts]
        kernel.init = FromDraws(extended(model, some, within, seed=seed))
        chains = Chains(kernel, some, num_chains, seed=seed)
        chains.advance(_SWEEPS_OF_SUBSAMPLE)
        parts, size = _parts(chains, rows), size * GROWTH
    starts = extended(model, data, parts, seed=seed)
    return FromDraws(starts), time.perf_counter() - began


def _parts(chains: Chains, rows: np.ndarray) -> list[PartOfRows]:
    """Return where chains on some rows are."""
    labels, hyper = chains.states.assignments.numpy(), chains.states.hyperparameters
    return [
        PartOfRows(rows, labels[chain], {name: float(values[chain]) for name, values in hyper.items()})
        for chain in range(len(labels))
    ]


def _with_many_clusters(model: CollapsedModel, data: Tensor, number: int) -> Tensor:
    if number == 0:
        return torch.empty(0, len(data), dtype=torch.int64)
    if not model.is_conjugate:
        generator = np.random.default_rng(seed_from_torch())
        return canonical(torch.from_numpy(Overdispersed()(len(data), number, generator=generator)))
    if model.row_weights is not None:
        model = cast(Any, model).weighted(None)
    random = model.hyperpriors.keys() - model.prior.integrated_names
    known = model.given({name: model.hyperpriors[name].sample() for name in sorted(random)})
    return exact_filter(known).posterior(data).sample_and_log_prob((number,))[0]


def _or_populations(
    chains: ChainsOfModel,
    rows: tuple[Convergence, ...],
    model: Any,
    data: Tensor,
    *,
    seed: int,
    tell: Callable[[str], None],
) -> ChainsOfModel:
    """Return tempered populations where they are nearer to one another than chains are."""
    num_chains, num_draws = chains.draws.assignments.shape[:2]
    expected = seconds_of_populations(num_chains, chains.sweep_seconds)
    if not populations_may_take(expected):
        note = (
            "Tempered populations may meet where chains do not; here they would take about "
            f"{duration(expected)}: see pyroclust.infer.tempered_populations."
        )
        return replace(chains, notes=(*chains.notes, note))
    tell(f"no convergence, drawing tempered populations, about {duration(expected)}")
    draws, evidence, about = draw_populations(
        model, data, num_draws=num_draws, num_populations=num_chains, seed=seed
    )
    by_chains, log_joint = np.asarray(chains.draws.log_joint), np.asarray(draws.log_joint)
    missed = by_chains.mean(1).max() > log_joint.max()
    if missed or max_rhat(_rows(draws, model)) >= max_rhat(rows):
        note = f"{about}, and they {_MISSED if missed else _FARTHER}."
        return replace(chains, notes=(*chains.notes, note), evidences=() if missed else (evidence,))
    return replace(
        chains, draws=draws, notes=(*chains.notes, f"{about}, and they {_NEARER}."), evidences=(evidence,)
    )


def _is_usable(rows: tuple[Convergence, ...]) -> bool:
    """Return whether a verdict would take the chains for converged, roughly or well."""
    return all_passed(convergence_findings("MCMC", max_rhat=max_rhat(rows), min_ess=min_ess(rows)))


def _log_joint(draws: Draws, model: Any, data: Tensor) -> np.ndarray | None:
    """Return log p(partition, data), without the hyperparameters that chains keep."""
    if not model.has_likelihood:
        return None
    if not draws.parameters.keys() & model.hyperpriors.keys() - model.prior.integrated_names:
        return draws.log_joint
    if draws.assignments.shape[-1] > LARGE_TABLE and model.constraints is None:
        return log_joint_of_draws(model, data, draws.assignments)
    distinct, place = np.unique(draws.flat, axis=0, return_inverse=True)
    log_joint = log_joint_of(model, data, torch.from_numpy(distinct)).numpy()
    return np.asarray(log_joint[place].reshape(draws.assignments.shape[:2]))


def _rows(draws: Draws, model: Any) -> tuple[Convergence, ...]:
    # Without a likelihood the kernel's density is that of what it keeps beside the partition, too.
    name = "log_joint" if model.has_likelihood else "log_joint_with_parameters"
    assert draws.log_joint is not None
    times = getattr(model, "row_weights", None)
    return convergence_with_log_joint(
        draws.assignments,
        draws.log_joint,
        name=name,
        row_weights=None if times is None else times.numpy(),
    )


def _notes(draws: Draws, rows: tuple[Convergence, ...], *, model: Any, sweeps: int) -> tuple[str, ...]:
    chains, kept, _ = draws.assignments.shape
    length = (
        f"MCMC: {chains} chain{'s' * (chains != 1)} of {draws.name}, {sweeps:,} sweeps each from starts with "
        f"few clusters and with many, in {draws.seconds:.3g} seconds, {draws.seconds_warmup:.3g} of them for "
        "warm-up."
    )
    if have_converged_well(rows):
        return (length,)
    stuck = [row for row in rows if not have_converged_well((row,))]
    worst = max(stuck, key=lambda row: np.inf if np.isnan(row.rhat) else row.rhat)
    # Families that are not conjugate have one kernel.
    others = [name for name in kernel_names() if model.is_conjugate and name != draws.name]
    kernels = f"another --kernel ({listed(others, len(others))}), " if others else ""
    longer = _LONGER * sweeps
    seconds = draws.seconds * (longer + _SWEEPS_A_DRAW * kept) / sweeps
    counts = listed((f"{one:.1f}" for one in np.sort(draws.num_clusters.mean(-1))), chains)
    return (
        length,
        f"MCMC has not converged well after {sweeps:,} sweeps a chain: {functional_name(worst.name)} has "
        f"R-hat {worst.rhat:.3g} and {worst.ess_bulk:.0f} effective draws, where R-hat of at most "
        f"{GOOD_RHAT:g} and {GOOD_ESS:.0f} draws are wanted. The chains have {counts} clusters on "
        f"average. Take --thorough, --warmup {longer} (about {duration(seconds)}), more --chains, {kernels}"
        "or refined draws.",
    )


MOST_ANNEALED = 500
"""Points up to which the log evidence is annealed: its time grows with their square."""
_PARTICLES, _SWEEPS = 200, 8
# Powers on the way to the posterior, of wide tables of some hundred rows.
_POWERS = 120


def annealed(model: Any, data: Tensor, *, seed: int) -> tuple[LogEvidence, ...]:
    """Estimate log p(data) by annealing, of few points under a model that can be annealed."""
    if len(data) > MOST_ANNEALED or not can_be_annealed(model):
        return ()
    return (annealed_log_evidence(model, data, seed=seed),)


def can_be_annealed(model: Any) -> bool:
    """Return whether :func:`~pyroclust.infer.annealed_log_evidence` takes a model."""
    is_one = model.is_conjugate and model.has_likelihood and not is_of_graphs(model)
    return bool(is_one and model.row_weights is None)


def can_be_tempered(model: Any) -> bool:
    """Return whether :func:`~pyroclust.infer.tempered_populations` takes a model."""
    return can_be_annealed(model) and model.constraints is None


def seconds_of_populations(num_populations: int, sweep_seconds: float) -> float:
    """Return about how many seconds populations take where a sweep takes so many."""
    return num_populations * _PARTICLES * _SWEEPS * _POWERS * sweep_seconds


def draw_populations(
    model: Any, data: Tensor, *, num_draws: int, num_populations: int, seed: int
) -> tuple[Draws, LogEvidence, str]:
    """Draw by independent tempered populations; with log p(data), and the beginning of a sentence on them."""
    # Resampled in random order, so that R-hat compares populations as it does chains.
    drawn, run = tempered_populations(
        model, data, num_particles=_PARTICLES, num_populations=num_populations, sweeps=_SWEEPS, seed=seed
    )
    assert drawn.log_weights is not None
    assert drawn.log_joint is not None
    rng = np.random.default_rng(seed)
    shares = np.exp(drawn.log_weights - np.logaddexp.reduce(drawn.log_weights, axis=1, keepdims=True))
    rows = np.stack([rng.permutation(stratified_draws(one, rng.random(num_draws))) for one in shares])
    draws = replace(
        drawn,
        assignments=np.take_along_axis(drawn.assignments, rows[..., None], axis=1),
        log_joint=np.take_along_axis(drawn.log_joint, rows, axis=1),
        log_weights=None,
        parameters={},
    )
    about = (
        f"As the chains had not converged, there are {num_populations} independent populations of "
        f"{_PARTICLES} partitions, which went from the prior to the posterior by "
        f"{max(map(len, run.powers)) - 1} powers of the likelihood in {duration(drawn.seconds)}. They come "
        f"from {len(np.unique(run.ancestors))} draws of the prior, their log evidences spread "
        f"{run.evidence.spread:.1f} nats"
    )
    return draws, run.evidence, about
