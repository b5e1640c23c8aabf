"""From a guide's draws to draws of the posterior: weigh, resample, and move by a kernel."""

import math

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.counts import check_count, check_seed
from pyroclust.core.memory import check_memory
from pyroclust.core.progress import progress_bar
from pyroclust.core.random_state import seed_from_torch, seeded
from pyroclust.diagnostics.chains.short_chains import CheckedRound
from pyroclust.distributions import ConjugateComponent
from pyroclust.distributions.points import Points, as_points
from pyroclust.distributions.protocols import CollapsedModel, PartitionGuide, is_of_graphs
from pyroclust.distributions.sequential.partition import num_orders_of
from pyroclust.infer.checks import held_to_constraints, points_of
from pyroclust.infer.large_tables import most_sweeps, sweep_cost
from pyroclust.infer.mcmc.defaults import own_or_default_kernel
from pyroclust.infer.mcmc.kernel import DOUBLE, PartitionKernel
from pyroclust.infer.mcmc.short_chains import ShortChains
from pyroclust.infer.mcmc.states import Trace
from pyroclust.infer.refining.clock import Clock
from pyroclust.infer.refining.proposals import (
    NUM_ORDERS,
    PROPOSALS,
    draw_proposals,
    evidences_of,
    inside,
    most_at_once,
    resampled_proposals,
)
from pyroclust.infer.refining.refinement import Refinement
from pyroclust.infer.refining.settling import Watch
from pyroclust.partitions import Draws

__all__ = ["refine"]

# The first look is after at most so many sweeps, every next one after twice as many; then it stops. The first
# cannot end it, and each later one finds change where there is none once in twenty times: where few sweeps
# are allowed, the first comes earlier, so that there are three others.
_FIRST_LOOK, _MOST_SWEEPS, _LOOKS = 10, 640, 4
_BYTES_A_LABEL = 8
# Parts whose seconds are those of the draws; the rest is looking at what came out.
_PAID = ("draw", "weigh", "sweep")


def refine(
    model: CollapsedModel,
    guide: PartitionGuide,
    data: Points,
    *,
    num_draws: int = 1000,
    proposals: int = PROPOSALS,
    kernel: PartitionKernel | None = None,
    sweeps: int | None = None,
    num_orders: int = NUM_ORDERS,
    most_seconds: float = math.inf,
    seed: int | None = None,
    progress: bool = False,
) -> tuple[Draws, Refinement]:
    r"""Return draws near the posterior: a guide's, resampled by their weights and moved by a kernel.

    1. ``proposals * num_draws`` partitions are drawn from the guide, in equal parts from ``num_orders``
       posteriors, each of which visits the points in its own order where the guide allows it.
    2. Their weights p(c, x) / q(c | x) are smoothed, and ``num_draws`` are resampled by stratified sampling.
       Where the model has no ``log_joint``, only ``num_draws`` are drawn, and all go on.
    3. From each a chain of the kernel runs, many at a time in threads. With ``sweeps=None`` the chains are
       looked at after 10, 20, 40, ... up to 640 sweeps, fewer above 1,000 points
       and where sweeps cost more
       (:mod:`~pyroclust.infer.large_tables`), as with full covariances above four columns. Below 80
       sweeps they are looked at four times. They have settled when a test finds no change since the look
       before, and chains of one ancestor are no more alike than others, or so little that the nested R-hat of
       every functional is at most 1.05 and half of the draws, or 400, are effective.

    Resampling mends what the guide has wrong of the whole, sweeps what it has wrong nearby. Chains from one
    ancestor are independent given it, and count as fewer draws while they are alike.

    Cost: that of the proposals with their log-probabilities, and S T sweeps; memory O((P + S) N) labels.

    Args:
        model: a mixture; kernels need its prior and family.
        guide: a guide whose ``posterior(data)`` has log-probabilities; ``PredictiveFilter(model)`` will do.
            Where the model has constraints it is held to them; proposals with more or fewer clusters than
            the model may have are left out.
        data: one data set, ``(N, D)``.
        num_draws: S, draws to return.
        proposals: proposals a draw; more of them leave more distinct ancestors.
        kernel: a kernel of the model's posterior; by default merge-split moves and a Gibbs sweep, and for
            families that are not conjugate Gibbs sampling with auxiliary parameters.
        sweeps: draws of the kernel that each chain takes; ``None`` goes on until nothing moves.
        num_orders: posteriors that share the proposals.
        most_seconds: wall time of the sweeps; a round is not begun that would last longer.
        seed: same seed, same draws; None takes one from torch's generator.
        progress: show bars on standard error.

    Raises:
        ValueError: if the model has no prior and family to run a kernel on, the kernel belongs to another
            model, the data are no one finite data set, a number is out of range, or the draws do not fit into
            memory.

    Example:
        >>> from pyroclust.guides import PredictiveFilter
        >>> from pyroclust.models import gaussian2d
        >>> model, data = gaussian2d(), torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]])
        >>> draws, refinement = refine(model, PredictiveFilter(model), data, num_draws=50, seed=0)
        >>> draws.assignments.shape, refinement.settled
        ((1, 50, 3), True)

    References:
        Margossian et al. (2024), Nested R-hat. https://doi.org/10.1214/24-BA1453
        Vehtari et al. (2024), Pareto smoothed importance sampling. https://jmlr.org/papers/v25/19-556.html
    """
    num_draws, proposals = check_count("num_draws", num_draws), check_count("proposals", proposals)
    num_orders = check_count("num_orders", num_orders)
    if sweeps is not None:
        sweeps = check_count("sweeps", sweeps, at_least=0)
    kernel, guide = _kernel_of(model, kernel), held_to_constraints(guide, model)
    points = points_of(model, data) if is_of_graphs(model) else as_points(data, like=DOUBLE)
    kernel.check(points.double())
    _check_room(num_draws, proposals, len(points))
    root = seed_from_torch() if seed is None else check_seed(seed)
    clock, seen = Clock(), points.to(_dtype_of(guide, points))
    with seeded(root), torch.no_grad():
        made, posteriors = draw_proposals(
            model,
            lambda: guide.posterior(seen),
            points,
            number=num_draws * (proposals if model.has_likelihood else 1),
            at_once=most_at_once(points),
            num_orders=num_orders,
            clock=clock,
            shown=progress,
        )
        made, posteriors, share = inside(made, posteriors, model.constraints)
        if not share:
            raise ValueError(
                "no draw of the guide has as many clusters as the model may have, expected some: use "
                "CollapsedGibbs or MergeSplit"
            )
        ancestors = resampled_proposals(made, num_draws)
    with clock.timed("prepare"):
        starts = made.flat[ancestors]
        chains = ShortChains(kernel, points.double(), torch.from_numpy(starts), seed=root)
    component = model.component
    num_moments = component.num_moments if isinstance(component, ConjugateComponent) else 0
    cost = sweep_cost(num_moments, num_clusters=float(starts.max(-1).mean()) + 1)
    looks = _looks(sweeps, num_points=len(points), num_chains=num_draws, cost=cost)
    rounds = _run(
        chains,
        ancestors,
        looks=looks,
        goes_on=sweeps is None,
        most_seconds=most_seconds,
        seed=root,
        clock=clock,
        shown=progress,
    )
    paid = sum(clock.seconds.get(part, 0.0) for part in _PAID)
    draws = Trace.of_rows([chains.states]).draws("the refined draws", seconds=paid)
    with clock.timed("score"), seeded(root), torch.no_grad():
        evidences = evidences_of(made, posteriors, draws)
    return draws, Refinement(
        ancestors=ancestors,
        kernel=repr(kernel),
        proposals=made,
        is_exact=all(one.is_exact for one in posteriors),
        # What is left of draws are no equal parts.
        num_orders=num_orders_of(posteriors) if share == 1 else 1,
        evidences=evidences,
        rounds=rounds,
        seconds=clock.seconds,
    )


def _kernel_of(model: CollapsedModel, kernel: PartitionKernel | None) -> PartitionKernel:
    if not (hasattr(model, "prior") and hasattr(model, "component")):
        raise ValueError(
            f"model is a {type(model).__name__} that can only be simulated, expected a mixture of a prior "
            "and a component family: refine moves draws by a kernel, which needs the likelihood of a cluster"
        )
    return own_or_default_kernel(model, kernel)


def _dtype_of(guide: PartitionGuide, data: Tensor) -> torch.dtype:
    """Return the dtype of a guide's weights, and that of the data where it has none."""
    parameters = getattr(guide, "parameters", None)
    first = None if parameters is None else next(iter(parameters()), None)
    return data.dtype if first is None else first.dtype


def _check_room(num_draws: int, proposals: int, num_points: int) -> None:
    check_memory(
        2 * (proposals + 3) * num_draws * num_points * _BYTES_A_LABEL,
        f"num_draws is {num_draws} and proposals {proposals}: partitions of {num_points} points",
        remedy="take fewer",
    )


def _run(
    chains: ShortChains,
    ancestors: np.ndarray,
    *,
    looks: list[int],
    goes_on: bool,
    most_seconds: float,
    seed: int,
    clock: Clock,
    shown: bool,
) -> tuple[CheckedRound, ...]:
    """Advance the chains and look at them, as :func:`refine` says."""
    if not looks:
        return ()
    rounds: list[CheckedRound] = []
    with clock.timed("look"):
        watch = Watch(chains.states.assignments, chains.states.log_joint, ancestors=ancestors, seed=seed)
    with progress_bar("sweeps", looks[-1], shown=shown) as tell:
        for until in looks:
            with clock.timed("sweep"):
                begun, further = chains.sweeps, until - chains.sweeps

                def so_far(done: int, *, begun: int = begun, further: int = further) -> None:
                    tell(begun + further * done // len(ancestors), "")

                chains.advance(further, tell=so_far)
            with clock.timed("look"):
                rounds.append(watch.again(chains.states.assignments, chains.states.log_joint, sweeps=until))
            tell(until, "")
            # The first look compares with the guide's own draws, which are to move. The next round is twice
            # as long.
            if goes_on and len(rounds) > 1 and rounds[-1].has_settled:
                break
            if 2 * clock.seconds["sweep"] > most_seconds:
                break
    return tuple(rounds)


def _looks(sweeps: int | None, *, num_points: int, num_chains: int, cost: float) -> list[int]:
    """Return after how many sweeps the chains are looked at."""
    if sweeps is not None:
        return sorted({sweeps // 2, sweeps} - {0})
    most = int(most_sweeps(num_points, num_chains=num_chains, most=_MOST_SWEEPS) / cost)
    found = [min(_FIRST_LOOK, max(1, most // 2 ** (_LOOKS - 1)))]
    while 2 * found[-1] <= most:
        found.append(2 * found[-1])
    return found
