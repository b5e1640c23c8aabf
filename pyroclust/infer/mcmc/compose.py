"""Kernels one after the other."""

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from torch import Tensor

from pyroclust.infer.mcmc.compiled_kernel import CompiledKernel, CompiledTransition, moves_in_turn
from pyroclust.infer.mcmc.kernel import PartitionKernel, Transition
from pyroclust.infer.mcmc.states import ChainStates, Starts


class Compose(PartitionKernel):
    """Apply several kernels of one model in turn: each leaves the posterior unchanged, so do all together.

    Kernels know nothing of one another: they hand over partitions and hyperparameters. Neighbours that are
    made of compiled moves run as one compiled loop. A kernel's own ``thin`` says how many of its steps a
    round has.

    Args:
        kernels: one or more kernels of the same model.
        init: where chains start; the first kernel's choice by default.
        thin: rounds a draw.

    Raises:
        ValueError: if there are no kernels, or they do not go together.

    Example:
        >>> import torch
        >>> from pyroclust.infer.mcmc import CollapsedGibbs, SplitMerge
        >>> from pyroclust.models import gaussian2d
        >>> model = gaussian2d()
        >>> kernel = Compose([CollapsedGibbs(model), SplitMerge(model)])
        >>> data = torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]])
        >>> kernel.run(data, num_draws=5, num_chains=2, seed=0).assignments.shape
        (2, 5, 3)
    """

    def __init__(
        self, kernels: Sequence[PartitionKernel], *, init: Starts | Tensor | None = None, thin: int = 1
    ) -> None:
        if not kernels:
            raise ValueError("kernels is empty, expected one or more kernels")
        if any(one.model is not kernels[0].model for one in kernels):
            raise ValueError(
                "kernels belong to different models, expected kernels made of one and the same model"
            )
        _check_kept_parameters(kernels)
        self.keeps_constraints = all(one.keeps_constraints for one in kernels)
        self.keeps_number = all(one.keeps_constraints or one.keeps_number for one in kernels)
        super().__init__(kernels[0].model, init=kernels[0].init if init is None else init, thin=thin)
        self.kernels = tuple(kernels)
        self.moves_points = any(one.moves_points for one in kernels)

    def __repr__(self) -> str:
        thin = f", thin={self.thin}" if self.thin > 1 else ""
        return f"Compose([{', '.join(map(repr, self.kernels))}]{thin})"

    @property
    def keeps_parameters(self) -> bool:
        return any(one.keeps_parameters for one in self.kernels)

    @property
    def updates(self) -> frozenset[str]:
        return frozenset().union(*(one.updates for one in self.kernels))

    def check_data(self, data: Tensor) -> None:
        for one in self.kernels:
            one.check_data(data)

    def bind(self, data: Tensor, states: ChainStates, generator: np.random.Generator) -> Transition:
        """Bind every kernel, neighbours of compiled moves as one."""
        parts: list[tuple[Transition, int]] = []
        for compiled, group in groupby(self.kernels, key=lambda one: isinstance(one, CompiledKernel)):
            if compiled:
                moves = moves_in_turn((one for one in group if isinstance(one, CompiledKernel)), len(data))
                fused = CompiledTransition(
                    self.model, data, moves, states=states, generator=generator.spawn(1)[0]
                )
                parts.append((fused, 1))
            else:
                parts.extend((one.bind(data, states, generator.spawn(1)[0]), one.thin) for one in group)
        return parts[0][0] if len(parts) == 1 and parts[0][1] == 1 else _InTurn(parts)


def _check_kept_parameters(kernels: Sequence[PartitionKernel]) -> None:
    """Refuse kernels that change what another kernel's parameters belong to: they are not handed over."""
    keepers = [type(one).__name__ for one in kernels if one.keeps_parameters]
    movers = [type(one).__name__ for one in kernels if one.moves_points]
    if keepers and len(movers) > 1:
        raise ValueError(
            f"kernels has {keepers[0]}, which keeps cluster parameters, and {len(movers)} kernels that move "
            f"points ({', '.join(movers)}), expected one: only hyperparameters may be drawn beside it"
        )


class _InTurn(Transition):
    """Transitions one after the other, with the steps of each a round."""

    def __init__(self, parts: list[tuple[Transition, int]]) -> None:
        self._parts = parts

    def prepare(self, states: ChainStates) -> None:
        for part, _ in self._parts:
            part.prepare(states)

    def step(self, states: ChainStates) -> ChainStates:
        for part, thin in self._parts:
            states = part.advance(states, 1, every=thin).last()
        return states
