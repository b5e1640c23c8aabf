"""A trained guide inside exact Markov chains: proposals of the whole partition, or of a block of points."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.numbers import check_count
from pyroclust.distributions import PartitionDistribution
from pyroclust.distributions.protocols import CollapsedModel, JointModel, PointwiseGuide
from pyroclust.distributions.sequential.partition import OrderAveragedPartition, SequentialPartition
from pyroclust.infer.checks import log_joint_of
from pyroclust.infer.mcmc.compiled_kernel import require_conjugate
from pyroclust.infer.mcmc.kernel import PartitionKernel, Transition
from pyroclust.infer.mcmc.states import ChainStates, Starts, log_joint


@dataclass(frozen=True)
class MovedChains:
    """Where C chains are after some proposals, each accepted or not.

    Attributes:
        assignments: canonical labels, ``(C, N)`` int64.
        log_joint: log p(assignments, data) in nats, ``(C,)`` float64.
        log_q: log-probability of the assignments under the law of the proposals, ``(C,)`` float64.
        accepted: how many of the proposals were accepted, ``(C,)`` int64.
    """

    assignments: Tensor
    log_joint: Tensor
    log_q: Tensor
    accepted: Tensor


class BlockRule(Protocol):
    """Chooses a block of points for every chain; exactness needs that it looks at the data alone."""

    def __call__(self, data: Tensor, num_chains: int, *, generator: np.random.Generator) -> Tensor: ...


@dataclass(frozen=True)
class UniformBlocks:
    """A uniform random subset of the points.

    Args:
        size: points in a block; all of them where there are fewer.

    Raises:
        ValueError: if ``size`` is no count.

    Example:
        >>> import torch
        >>> UniformBlocks(2)(torch.zeros(5, 1), 3, generator=np.random.default_rng(0)).shape
        torch.Size([3, 2])
    """

    size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", check_count("size", self.size))

    def __call__(self, data: Tensor, num_chains: int, *, generator: np.random.Generator) -> Tensor:
        size, noise = min(self.size, len(data)), generator.random((num_chains, len(data)))
        return torch.from_numpy(noise.argpartition(size - 1, axis=-1)[:, :size].copy())


@dataclass(frozen=True)
class NeighbourBlocks:
    """A uniform random point and its nearest neighbours: what a split or a merge would move.

    ``size`` is that of :class:`UniformBlocks`.

    Example:
        >>> import torch
        >>> NeighbourBlocks(2)(torch.zeros(5, 1), 3, generator=np.random.default_rng(0)).shape
        torch.Size([3, 2])
    """

    size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", check_count("size", self.size))

    def __call__(self, data: Tensor, num_chains: int, *, generator: np.random.Generator) -> Tensor:
        centre = torch.from_numpy(generator.integers(len(data), size=num_chains))
        distance = torch.cdist(data[centre].double(), data.double())
        return distance.topk(min(self.size, len(data)), largest=False).indices


class GuideProposal(PartitionKernel):
    r"""Metropolis-Hastings with proposals of an amortized guide: exact, however poor the guide.

    .. math::
        a(c \to c') = \min\Big(1, \frac{p(c', x) \, q(c \mid x)}{p(c, x) \, q(c' \mid x)}\Big)

    for whole partitions, and the same with :math:`q(c_B \mid c_{-B}, x)` for blocks B of points that the
    guide re-draws given the rest. A whole partition jumps between modes that no local move connects; a block
    of a few points is accepted more often where the data set is large. Proposals of a step are one batch over
    all chains: O(P C N K) candidates of the guide, equal prefixes merged. This pays where chains stick.

    A guide whose log-probabilities are estimates, as a clusterwise one, proposes whole partitions
    (``blocks=()``); the chain is exact on the space extended by what they average over (pseudo-marginal).

    Args:
        model: a conjugate model; it need not be the guide's.
        guide: a guide that labels points one after the other, or any for whole partitions alone.
        num_proposals: proposals of the whole partition a step, and of each block; 0 for blocks alone.
        blocks: rules that choose the points of block moves, one move each a step; empty for none.
        init: where chains start, see :class:`PartitionKernel`.
        thin: steps a draw.

    Raises:
        ValueError: if the family is not conjugate, there is nothing to propose, or ``thin`` is not positive.

    Example:
        >>> from pyroclust.guides import PredictiveFilter
        >>> from pyroclust.infer.mcmc import CollapsedGibbs, Compose
        >>> from pyroclust.models import gaussian2d
        >>> model = gaussian2d()
        >>> kernel = Compose([GuideProposal(model, PredictiveFilter(model)), CollapsedGibbs(model)])
        >>> data = torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]])
        >>> kernel.run(data, num_draws=5, num_chains=2, seed=0).assignments.shape
        (2, 5, 3)

    References:
        Tierney (1994), Markov chains for exploring posterior distributions.
        https://doi.org/10.1214/aos/1176325750
        Andrieu & Roberts (2009), The pseudo-marginal approach. https://arxiv.org/abs/0903.5480
    """

    # Proposals that break constraints have density zero.
    keeps_constraints = True

    def __init__(
        self,
        model: CollapsedModel,
        guide: PointwiseGuide,
        *,
        num_proposals: int = 20,
        blocks: Sequence[BlockRule] = (UniformBlocks(10), NeighbourBlocks(10)),
        init: Starts | Tensor | None = None,
        thin: int = 1,
    ) -> None:
        require_conjugate(model)
        super().__init__(model, init=init, thin=thin)
        num_proposals = check_count("num_proposals", num_proposals, at_least=0)
        if num_proposals == 0 and not blocks:
            raise ValueError(
                f"num_proposals is {num_proposals} with {len(blocks)} rules for blocks, expected at least 1, "
                "or 0 with at least one rule"
            )
        self.guide, self.num_proposals, self.blocks = guide, num_proposals, tuple(blocks)
        self.bound: GuideTransition | None = None

    def diagnostics(self) -> dict[str, Any]:
        """Return the shares of proposals accepted since the last start, by rule."""
        rates = {} if self.bound is None else self.bound.rates
        shares = {f"{name} accepted": float(np.mean(one)) for name, one in rates.items() if one}
        return {**super().diagnostics(), **shares}

    def bind(self, data: Tensor, states: ChainStates, generator: np.random.Generator) -> "GuideTransition":
        """Encode the data set once; the guide's visiting order is fixed here."""
        self.bound = GuideTransition(self, data, generator.spawn(1)[0])
        return self.bound


class GuideTransition(Transition):
    """Guide proposals for all chains of one data set."""

    def __init__(self, kernel: GuideProposal, data: Tensor, generator: np.random.Generator) -> None:
        self._kernel, self._data, self._generator = kernel, data, generator
        with torch.no_grad():
            self._posterior = kernel.guide.posterior(data.to(torch.get_default_dtype()))
        if kernel.blocks and not isinstance(self._posterior, SequentialPartition | OrderAveragedPartition):
            raise ValueError(
                f"guide has posteriors of class {type(self._posterior).__name__}, which do not re-draw "
                "blocks of points, expected one that labels points one after the other: pass blocks=()"
            )
        self._last: MovedChains | None = None
        blocks = [(f"block {index}", rule) for index, rule in enumerate(kernel.blocks)]
        whole: list[tuple[str, BlockRule | None]] = [("partition", None)] if kernel.num_proposals else []
        self._rules = [*whole, *blocks]
        self.rates: dict[str, list[float]] = {name: [] for name, _ in self._rules}

    def step(self, states: ChainStates) -> ChainStates:
        """Propose whole partitions, then a block by every rule."""
        kernel, hyper, labels = self._kernel, states.hyperparameters, states.assignments
        model = kernel.model.given(hyper) if hyper else kernel.model
        log_joints = model.log_joint(self._data, labels)
        for name, rule in self._rules:
            moved = self._moved(model, labels, log_joints, rule)
            labels, log_joints = moved.assignments, moved.log_joint
            self.rates[name].append(float(moved.accepted.double().mean()) / max(kernel.num_proposals, 1))
        return ChainStates(labels, hyper, log_joint(kernel.model, self._data, labels, hyper))

    def _moved(
        self, model: CollapsedModel, labels: Tensor, log_joints: Tensor, rule: BlockRule | None
    ) -> MovedChains:
        """Propose blocks that a rule chooses, or whole partitions where there is none."""
        if rule is not None:
            return block_steps(
                model,
                self._kernel.guide,
                self._data,
                assignments=labels,
                log_joint=log_joints,
                block=rule(self._data, len(labels), generator=self._generator),
                order=self._posterior.order[0],
                num_proposals=max(self._kernel.num_proposals, 1),
                generator=self._generator,
            )
        if self._last is not None and torch.equal(self._last.assignments, labels):
            log_q = self._last.log_q
        else:
            with torch.no_grad():
                log_q = self._posterior.log_prob(labels).double()
        self._last = independence_steps(
            model,
            self._posterior,
            self._data,
            assignments=labels,
            log_joint=log_joints,
            log_q=log_q,
            num_proposals=self._kernel.num_proposals,
            generator=self._generator,
        )
        return self._last


@torch.no_grad()
def independence_steps(
    model: JointModel,
    posterior: PartitionDistribution,
    data: Tensor,
    *,
    assignments: Tensor,
    log_joint: Tensor,
    log_q: Tensor,
    num_proposals: int,
    generator: np.random.Generator,
) -> MovedChains:
    """Propose whole partitions from a guide and accept them one after the other.

    All P C proposals are drawn and scored in one batch. The guide draws with torch's own generator.
    """
    draws, drawn_log_q = posterior.sample_and_log_prob((num_proposals, len(assignments)))
    labels = torch.cat([assignments.unsqueeze(0), draws])
    joint = torch.cat([log_joint.unsqueeze(0), log_joint_of(model, data, draws)])
    return _accept_in_turn(labels, joint, torch.cat([log_q.unsqueeze(0), drawn_log_q.double()]), generator)


@torch.no_grad()
def block_steps(
    model: JointModel,
    guide: PointwiseGuide,
    data: Tensor,
    *,
    assignments: Tensor,
    log_joint: Tensor,
    block: Tensor,
    order: Tensor,
    num_proposals: int,
    generator: np.random.Generator,
) -> MovedChains:
    """Re-draw a block of points, ``(C, F)``, from a guide given the others, and accept one after the other.

    The guide visits the rest in its own order, ``(N,)``, then the block. The posterior is left unchanged
    however poor the guide, provided that the block is chosen without looking at the chains. Cost: one
    encoding a chain, and for each point of the block one batched step over the P C proposals, equal ones
    merged. ``log_q`` of what is returned is that of the block given the rest.
    """
    copies = data.to(torch.get_default_dtype()).expand(len(assignments), *data.shape)
    posterior = guide.posterior(copies, order=block_last(order, block))
    if isinstance(posterior, OrderAveragedPartition):
        raise ValueError(
            "guide.posterior(data, order=...) mixes several orders, expected a SequentialPartition"
        )
    law = posterior.given(assignments, num_free=block.shape[-1])
    draws, drawn_log_q, log_q = law.propose(num_proposals)
    labels = torch.cat([assignments.unsqueeze(0), draws])
    joint = torch.cat([log_joint.unsqueeze(0), log_joint_of(model, data, draws)])
    return _accept_in_turn(labels, joint, torch.cat([log_q.unsqueeze(0), drawn_log_q]), generator)


def block_last(order: Tensor, block: Tensor) -> Tensor:
    """Move the points of each block ``(C, F)`` to the end of a visiting order, both parts keeping theirs."""
    free = torch.zeros(len(block), len(order), dtype=torch.int64, device=order.device).scatter_(1, block, 1)
    return order[free[:, order].argsort(dim=-1, stable=True)]


def _accept_in_turn(
    labels: Tensor, joint: Tensor, log_q: Tensor, generator: np.random.Generator
) -> MovedChains:
    """Step through the proposals of all chains; row 0 is where the chains are, ``(P + 1, C, ...)``."""
    # A chain outside the support of the model accepts whatever is inside.
    weights = torch.where(joint == -torch.inf, -torch.inf, joint - log_q).cpu().numpy()
    patience = -generator.exponential(size=weights[1:].shape)
    current, chosen = weights[0], np.zeros(weights.shape[1], dtype=np.int64)
    accepted = np.zeros_like(chosen)
    for step, (weight, log_uniform) in enumerate(zip(weights[1:], patience, strict=True), start=1):
        accept = current + log_uniform < weight
        current, chosen = np.where(accept, weight, current), np.where(accept, step, chosen)
        accepted += accept
    row, chain = torch.from_numpy(chosen), torch.arange(len(chosen))
    taken = labels[row, chain], joint[row, chain], log_q[row, chain]
    return MovedChains(*taken, torch.from_numpy(accepted))
