"""From a guide's draws to draws of the posterior: weigh, resample, and move by a kernel."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.large_tables import most_sweeps, sweep_cost
from pyroclust.core.long_runs import progress_bar
from pyroclust.core.machine import check_memory
from pyroclust.core.numbers import check_count, check_seed
from pyroclust.core.random_state import seed_from_torch, seeded
from pyroclust.diagnostics import EvidenceHeadline, LogEvidence, evidence_headline
from pyroclust.diagnostics.chains import (
    bits_without_rounding,
    cluster_share_entropy,
    pairs_together,
    shares,
    without_rounding,
)
from pyroclust.diagnostics.frequencies import count_clusters
from pyroclust.diagnostics.importance import importance_efficiency, importance_weights, pareto_k
from pyroclust.diagnostics.limits import MIN_SETTLED
from pyroclust.diagnostics.losses import variation_of_information
from pyroclust.diagnostics.short_chains import CheckedRound, drift, start_memory, start_test
from pyroclust.distributions import ConjugateComponent
from pyroclust.distributions.points import Points, as_points
from pyroclust.distributions.protocols import CollapsedModel, PartitionGuide, is_of_graphs
from pyroclust.distributions.sequential.partition import num_orders_of
from pyroclust.infer.checks import constrained_guide, points_of
from pyroclust.infer.importance import (
    NUM_ORDERS,
    PROPOSALS,
    Clock,
    draw_proposals,
    evidences_of,
    inside,
    most_at_once,
    resampled,
)
from pyroclust.infer.mcmc.chains import Chains
from pyroclust.infer.mcmc.kernel import DOUBLE, PartitionKernel
from pyroclust.infer.mcmc.named_kernels import kernel_or_default
from pyroclust.infer.mcmc.states import ChainStates, Trace
from pyroclust.partitions import Draws

# The first look is after at most so many sweeps, every next one after twice as many; then it stops. The first
# cannot end it, and each later one finds change where there is none once in twenty times: where few sweeps
# are allowed, the first comes earlier, so that there are three others.
_FIRST_LOOK, _MOST_SWEEPS, _LOOKS = 10, 640, 4
# Points among which pairs are chosen that chains are looked at by, and how many pairs.
_POINTS, _PAIRS = 64, 24
# Parts whose seconds are those of the draws; the rest is looking at what came out.
_PAID = ("draw", "weigh", "sweep")


@dataclass(frozen=True, kw_only=True)
class Refinement:
    """What :func:`refine` knows of its draws beside them.

    Attributes:
        ancestors: which proposal each draw came from, ``(S,)`` int64.
        kernel: what moved them.
        proposals: the guide's draws, one chain of P, with log q, and log p where it has a formula.
        is_exact: whether log q of the proposals is exact, not an estimate.
        num_orders: visiting orders that share the proposals in equal parts, one after the other.
        evidences: estimates of log p(data), bridge sampling first; empty without weights. Which to rely on,
            if any, says ``log_evidence``.
        rounds: what was seen at every look.
        seconds: wall-clock seconds of each part, by name; compilation is not among them.
    """

    ancestors: np.ndarray
    kernel: str
    proposals: Draws
    is_exact: bool
    num_orders: int
    evidences: tuple[LogEvidence, ...] = ()
    rounds: tuple[CheckedRound, ...]
    seconds: dict[str, float]

    def __repr__(self) -> str:
        end = "settled" if self.settled else "not settled"
        return (
            f"Refinement({len(self.ancestors)} draws from {self.num_ancestors} ancestors, "
            f"{end} after {self.sweeps} sweeps)"
        )

    @property
    def pareto_k(self) -> float:
        """Shape of the tail of the proposals' weights, reliable below 0.7; nan without weights."""
        log_weights = self.proposals.log_ratios
        return math.nan if log_weights is None else pareto_k(log_weights)

    @property
    def efficiency(self) -> float:
        """Effective share of the proposals; nan without weights."""
        log_weights = self.proposals.log_ratios
        return math.nan if log_weights is None else importance_efficiency(log_weights)

    @property
    def sweeps(self) -> int:
        """Draws of the kernel that each chain has taken."""
        return self.rounds[-1].sweeps if self.rounds else 0

    @property
    def settled(self) -> bool:
        """Whether at the last look nothing moved, and no start was remembered."""
        return bool(self.rounds) and self.rounds[-1].has_settled

    @property
    def num_ancestors(self) -> int:
        """Distinct proposals that the draws came from."""
        return len(np.unique(self.ancestors))

    @property
    def log_evidence(self) -> EvidenceHeadline:
        """Log p(data) by the estimate that can be relied on, or why there is none."""
        return evidence_headline(self.evidences)

    @property
    def effective_draws(self) -> float:
        """Effective number of draws: fewer than there are where those of one ancestor are alike."""
        return self.rounds[-1].effective_draws if self.rounds else float(self.num_ancestors)

    @property
    def nested_rhat(self) -> float:
        """Largest nested R-hat of the last look; nan where no two chains have one ancestor."""
        return self.rounds[-1].nested_rhat if self.rounds else math.nan

    def figures(self) -> dict[str, Any]:
        """Return them as JSON can hold them; numbers may not be finite."""
        return {
            "settled": self.settled,
            "sweeps": self.sweeps,
            "kernel": self.kernel,
            "draws": len(self.ancestors),
            "proposals": self.proposals.num_draws,
            "ancestors": self.num_ancestors,
            "effective_draws": self.effective_draws,
            "nested_rhat": self.nested_rhat,
            "pareto_k": self.pareto_k,
            "efficiency": self.efficiency,
            "seconds_of_parts": self.seconds,
            "looks": [vars(look) for look in self.rounds],
        }


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
       posteriors, each with a visiting order of its own where the guide allows it.
    2. ``num_draws`` of them are resampled, stratified, by their smoothed weights p(c, x) / q(c | x). Where
       the model has no ``log_joint``, only ``num_draws`` are drawn, and all go on.
    3. From each a chain of the kernel runs. With ``sweeps=None`` the chains are looked at after 10, 20,
       40, ... up to 640 sweeps, fewer where tables are large or sweeps cost more. They have settled when a
       test finds no change since the look before, and chains of one ancestor are no more alike than others,
       or so little that nested R-hat is at most 1.05 and half of the draws, or 400, are effective.

    Resampling mends what the guide has wrong of the whole, sweeps what it has wrong nearby.

    Cost: that of the proposals with their log-probabilities, and S T sweeps; memory O((P + S) N) labels.

    Args:
        model: a mixture; kernels need its prior and family.
        guide: a guide whose ``posterior(data)`` has log-probabilities; it is put under the model's
            constraints.
        data: one data set, ``(N, D)``.
        num_draws: S, draws to return.
        proposals: proposals a draw; more of them leave more distinct ancestors.
        kernel: a kernel of the model's posterior; the default kernel of the model by default.
        sweeps: draws of the kernel that each chain takes; ``None`` goes on until nothing moves.
        num_orders: posteriors that share the proposals.
        most_seconds: wall time of the sweeps; a round is not begun that would last longer.
        seed: same seed, same draws; None takes one from torch's generator.
        progress: show bars on standard error.

    Raises:
        ValueError: if no kernel can run on the model, the data do not fit, or a number is out of range.

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
    kernel, guide = _kernel_of(model, kernel), constrained_guide(guide, model)
    points = points_of(model, data) if is_of_graphs(model) else as_points(data, like=DOUBLE)
    kernel.check(points.double())
    check_memory(
        8 * 2 * (proposals + 3) * num_draws * len(points),
        f"num_draws is {num_draws} and proposals {proposals}: partitions of {len(points)} points",
        remedy="take fewer",
    )
    root = seed_from_torch() if seed is None else check_seed(seed)
    clock, seen = Clock(), points.to(_dtype_of(guide, points))
    with seeded(root), torch.no_grad():
        drawn, posteriors = draw_proposals(
            model,
            lambda: guide.posterior(seen),
            points,
            number=num_draws * (proposals if model.has_likelihood else 1),
            at_once=most_at_once(points),
            num_orders=num_orders,
            clock=clock,
            shown=progress,
        )
        drawn, posteriors, share = inside(drawn, posteriors, model.constraints)
        if not share:
            raise ValueError(
                "no draw of the guide has as many clusters as the model may have, expected some: use "
                "CollapsedGibbs or MergeSplit"
            )
        ancestors = np.arange(num_draws) % drawn.num_draws
        if drawn.log_ratios is not None:
            ancestors = resampled(importance_weights(drawn.log_ratios), num_draws)
    with clock.timed("prepare"):
        starts = drawn.flat[ancestors]
        chains = Chains(kernel, points.double(), torch.from_numpy(starts), seed=root)
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
        evidences = evidences_of(drawn, posteriors, draws)
    return draws, Refinement(
        ancestors=ancestors,
        kernel=repr(kernel),
        proposals=drawn,
        is_exact=all(posterior.is_exact for posterior in posteriors),
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
    return kernel_or_default(model, kernel)


def _dtype_of(guide: PartitionGuide, data: Tensor) -> torch.dtype:
    """Return the dtype of a guide's weights, and that of the data where it has none."""
    parameters = getattr(guide, "parameters", None)
    first = None if parameters is None else next(iter(parameters()), None)
    return data.dtype if first is None else first.dtype


def _run(
    chains: Chains,
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
        monitor = ConvergenceMonitor(chains.states, ancestors=ancestors, seed=seed)
    with progress_bar("sweeps", looks[-1], shown=shown) as tell:
        for until in looks:
            with clock.timed("sweep"):
                begun, further = chains.sweeps, until - chains.sweeps

                def so_far(done: int, *, begun: int = begun, further: int = further) -> None:
                    tell(begun + further * done // len(ancestors), "")

                chains.advance(further, tell=so_far)
            with clock.timed("look"):
                rounds.append(monitor.look_again(chains.states, sweeps=until))
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
    looks = [min(_FIRST_LOOK, max(1, most // 2 ** (_LOOKS - 1)))]
    while 2 * looks[-1] <= most:
        looks.append(2 * looks[-1])
    return looks


class ConvergenceMonitor:
    """Functionals of many short chains, and what has changed in them from one look to the next.

    The functionals are ``num_clusters``, ``entropy`` of the cluster shares in bits, ``largest_share``,
    ``log_joint``, ``distance`` to the draw of highest log joint at the first look (variation of information,
    in bits), and ``together_i_j`` for the 24 pairs among 64 points that the first draws are least sure of.
    ``ancestors`` says which proposal each chain began at.
    """

    def __init__(self, states: ChainStates, *, ancestors: np.ndarray, seed: int) -> None:
        draws = states.assignments.numpy()
        self._ancestors, self._seed = ancestors, seed
        self._pairs = _doubtful_pairs(draws, np.random.default_rng(seed))
        # Where the kernel keeps parameters, it is known with them alone, and not yet.
        self._has_joint = bool(states.log_joint.isfinite().all())
        self._reference = draws[int(states.log_joint.nan_to_num(nan=-np.inf).argmax())]
        self._before = self._functionals(states)

    def look_again(self, states: ChainStates, *, sweeps: int) -> CheckedRound:
        """Return what has changed since the last look, and remember this one."""
        before, self._before = self._before, self._functionals(states)
        names, now = list(self._before), np.stack(list(self._before.values()), -1)
        change = drift(np.stack(list(before.values()), -1), now, seed=self._seed)
        memories = [start_memory(column, self._ancestors) for column in self._before.values()]
        by_chance = start_test(now, self._ancestors, seed=self._seed)
        rhats = [kept.rhat for kept in memories if np.isfinite(kept.rhat) or by_chance < MIN_SETTLED]
        return CheckedRound(
            sweeps=sweeps,
            p_value=change.p_value,
            moved=names[change.worst] if change.worst >= 0 else "",
            change=float(change.changes[change.worst]) if change.worst >= 0 else 0.0,
            nested_rhat=max((rhat for rhat in rhats if not np.isnan(rhat)), default=math.nan),
            start_p_value=by_chance,
            effective_draws=min(kept.effective for kept in memories),
            num_chains=len(now),
        )

    def _functionals(self, states: ChainStates) -> dict[str, np.ndarray]:
        """Return the functionals by name, ``(S,)`` each."""
        draws = states.assignments.numpy()
        share = shares(draws)
        values = {
            "num_clusters": count_clusters(draws).astype(np.float64),
            "entropy": bits_without_rounding(cluster_share_entropy(share)),
            "largest_share": share.max(-1),
            "distance": bits_without_rounding(variation_of_information(draws, self._reference)),
        }
        if self._has_joint:
            values["log_joint"] = without_rounding(states.log_joint.numpy())
        together = pairs_together(draws, self._pairs)
        return values | {f"together_{i}_{j}": together[:, place] for place, (i, j) in enumerate(self._pairs)}


def _doubtful_pairs(draws: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return the pairs among some points that draws are least sure of, ``(P, 2)``."""
    chosen = np.sort(generator.permutation(draws.shape[1])[:_POINTS])
    first, second = (chosen[place] for place in np.triu_indices(len(chosen), 1))
    together = (draws[:, first] == draws[:, second]).mean(0)
    doubtful = np.argsort(np.abs(together - 0.5), kind="stable")[:_PAIRS]
    return np.stack([first[doubtful], second[doubtful]], -1)
