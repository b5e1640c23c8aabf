"""Programs with labels that can be enumerated, and their labels given all else."""

from typing import TYPE_CHECKING, Any, Protocol

import pyro
import torch
from pyro import poutine
from pyro.infer import infer_discrete
from torch import Tensor

if TYPE_CHECKING:
    from pyroclust.infer.mcmc.protocol import CollapsedModel

__all__ = ["CompanionProgram", "sample_labels"]

# Entries of the largest work array, 32 MiB of float64.
_MAX_ENTRIES = 1 << 22


class CompanionProgram(Protocol):
    """A mixture with explicit parameters and enumerable labels; :class:`pyroclust.models.Companion` is one.

    Attributes:
        mixture: the model that it spells out.
        num_components: number T of its components.
    """

    mixture: "CollapsedModel"
    num_components: int

    @property
    def discrete_sites(self) -> tuple[str, ...]:
        """Names of the sites that are enumerated; one is ``"labels"``, ``(N,)``."""
        ...

    def __call__(self, data: Tensor) -> Tensor:
        """Run the program on one data set, each site in one plate at most."""
        ...


@torch.no_grad()
def sample_labels(program: CompanionProgram, data: Tensor, values: dict[str, Tensor]) -> Tensor:
    """Draw labels given each of S draws of the continuous sites, from their exact conditional.

    All draws at once by ``pyro.infer.infer_discrete``, in blocks that bound the memory; cost O(S N T) for T
    components, T times that where their number is random.

    Args:
        program: the program.
        data: points, ``(N, D)``.
        values: every continuous site, ``(S, *site shape)``.

    Shape:
        output: ``(S, N)`` int64, names of components.
    """
    nodes: Any = poutine.trace(program).get_trace(data).nodes
    alone = {name: not nodes[name]["fn"].batch_shape for name in values}
    lifted = {name: one.unsqueeze(1) if alone[name] else one for name, one in values.items()}
    draws = len(next(iter(values.values())))
    block = max(1, _MAX_ENTRIES // (len(data) * program.num_components**2))
    found = []
    for first in range(0, draws, block):
        some = {name: one[first : first + block] for name, one in lifted.items()}
        found.append(_sample_block(program, data, some, draws=min(block, draws - first)))
    return torch.cat(found)


def _sample_block(
    program: CompanionProgram, data: Tensor, values: dict[str, Tensor], *, draws: int
) -> Tensor:
    given = pyro.condition(program, data=values)

    def batched() -> Tensor:
        with pyro.plate("draws", draws, dim=-2):
            return given(data)

    trace = poutine.trace(infer_discrete(batched, first_available_dim=-3)).get_trace()
    return trace.nodes["labels"]["value"].expand(draws, len(data))
