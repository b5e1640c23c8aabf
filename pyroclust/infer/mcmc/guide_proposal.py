"""A trained guide inside exact Markov chains, and the rules that choose the points it re-draws."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.counts import check_count
from pyroclust.distributions.protocols import CollapsedModel, PointwiseGuide
from pyroclust.distributions.sequential.partition import OrderAveragedPartition, SequentialPartition
from pyroclust.infer.mcmc.compiled.steps import (
    require_conjugate,
)
from pyroclust.infer.mcmc.guide_moves import (
    MovedChains,
    block_steps,
    independence_steps,
    neighbour_blocks,
    uniform_blocks,
)
from pyroclust.infer.mcmc.kernel import PartitionKernel
from pyroclust.infer.mcmc.loop import Transition
from pyroclust.infer.mcmc.starts import Starts
from pyroclust.infer.mcmc.states import ChainStates, log_joint

__all__ = ["BlockRule", "GuideProposal", "NeighbourBlocks", "UniformBlocks"]


class BlockRule(Protocol):
    """Chooses a block of points for every chain; exactness needs that it looks at the data alone."""

    def __call__(self, data: Tensor, num_chains: int, *, generator: np.random.Generator) -> Tensor:
        """Return distinct points, ``(num_chains, F)`` int64."""
        ...


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
        """Check the size."""
        object.__setattr__(self, "size", check_count("size", self.size))

    def __call__(self, data: Tensor, num_chains: int, *, generator: np.random.Generator) -> Tensor:
        """Return a subset for every chain, in O(C N)."""
        size = min(self.size, len(data))
        return uniform_blocks(num_chains, len(data), block_size=size, generator=generator)


@dataclass(frozen=True)
class NeighbourBlocks:
    """A uniform random point and its nearest neighbours: what a split or a merge would move.

    Args:
        size: points in a block; all of them where there are fewer.

    Raises:
        ValueError: if ``size`` is no count.

    Example:
        >>> import torch
        >>> NeighbourBlocks(2)(torch.zeros(5, 1), 3, generator=np.random.default_rng(0)).shape
        torch.Size([3, 2])
    """

    size: int

    def __post_init__(self) -> None:
        """Check the size."""
        object.__setattr__(self, "size", check_count("size", self.size))

    def __call__(self, data: Tensor, num_chains: int, *, generator: np.random.Generator) -> Tensor:
        """Return a neighbourhood for every chain, in O(C N D)."""
        size = min(self.size, len(data))
        return neighbour_blocks(data, num_chains, block_size=size, generator=generator)


class GuideProposal(PartitionKernel):
    r"""Metropolis-Hastings with proposals of an amortized guide: exact, however poor the guide.

    .. math::
        a(c \to c') = \min\Big(1, \frac{p(c', x) \, q(c \mid x)}{p(c, x) \, q(c' \mid x)}\Big)

    for whole partitions, and the same with :math:`q(c_B \mid c_{-B}, x)` for blocks B of points that the
    guide re-draws given the rest. A whole partition jumps between modes that no local move connects; a block
    of a few points is accepted more often where the data set is large. Proposals of a step are drawn and
    scored in one batch over all chains: O(P C N K) candidates of the guide, equal prefixes merged. A guide
    draw costs some hundred Gibbs sweeps of a small data set, so this pays where chains stick: see
    ``benchmarks/guide_proposal.py``.

    A guide whose log-probabilities are estimates, as a clusterwise one, proposes whole partitions
    (``blocks=()``): its estimates for draws have unbiased reciprocals and those for given partitions are
    unbiased, and the chain is exact on the space extended by what they average over (pseudo-marginal).

    Args:
        model: a conjugate model; it need not be the guide's.
        guide: a guide that labels points one after the other, or any for whole partitions alone.
        num_proposals: proposals of the whole partition a step, and of each block; 0 for blocks alone.
        blocks: rules that choose the points of block moves, one move each a step; empty for whole partitions
            alone.
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

    @property
    def acceptance(self) -> dict[str, float]:
        """Share of accepted proposals since the last start, of whole partitions and of every block rule.

        Raises:
            ValueError: if nothing was run.
        """
        if self.bound is None:
            raise ValueError(
                "the kernel has made no proposals, expected run(data, ...) or pyro.infer.MCMC first"
            )
        return {name: float(np.mean(rates)) for name, rates in self.bound.rates.items() if rates}

    def bind(self, data: Tensor, states: ChainStates, generator: np.random.Generator) -> "GuideTransition":
        """Encode the data set once; the guide's visiting order is fixed here."""
        self.bound = GuideTransition(self, data, generator.spawn(1)[0])
        return self.bound


class GuideTransition(Transition):
    """Guide proposals for all chains of one data set.

    Args:
        kernel: the settings.
        data: points, ``(N, D)``.
        generator: for blocks and acceptance.

    Raises:
        ValueError: if blocks are to be drawn again and the posterior of the guide cannot.
    """

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
        names = ["partition", *(f"block {index}" for index in range(len(kernel.blocks)))]
        self.rates: dict[str, list[float]] = {name: [] for name in names}

    def step(self, states: ChainStates) -> ChainStates:
        """Propose whole partitions, then a block by every rule, ``thin`` times."""
        hyper = states.hyperparameters
        model = self._kernel.model.given(hyper) if hyper else self._kernel.model
        labels = states.assignments
        log_joints = model.log_joint(self._data, labels)
        for _ in range(self._kernel.thin):
            if self._kernel.num_proposals > 0:
                moved = self._whole(model, labels, log_joints)
                labels, log_joints = moved.assignments, moved.log_joint
            for index, rule in enumerate(self._kernel.blocks):
                moved = self._block(model, labels, log_joints, index, rule)
                labels, log_joints = moved.assignments, moved.log_joint
        return ChainStates(labels, hyper, log_joint(self._kernel.model, self._data, labels, hyper))

    def _whole(self, model: CollapsedModel, labels: Tensor, log_joints: Tensor) -> MovedChains:
        if self._last is not None and torch.equal(self._last.assignments, labels):
            log_q = self._last.log_q
        else:
            with torch.no_grad():
                log_q = self._posterior.log_prob(labels).double()
        moved = independence_steps(
            model,
            self._posterior,
            self._data,
            assignments=labels,
            log_joint=log_joints,
            log_q=log_q,
            num_proposals=self._kernel.num_proposals,
            generator=self._generator,
        )
        self._last = moved
        self._note("partition", moved)
        return moved

    def _block(
        self, model: CollapsedModel, labels: Tensor, log_joints: Tensor, index: int, rule: BlockRule
    ) -> MovedChains:
        moved = block_steps(
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
        self._note(f"block {index}", moved)
        return moved

    def _note(self, name: str, moved: MovedChains) -> None:
        self.rates[name].append(float(moved.accepted.double().mean()) / max(self._kernel.num_proposals, 1))
