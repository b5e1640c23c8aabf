"""Compiled kernels that move points, the cluster parameters integrated out."""

from torch import Tensor

from pyroclust.infer.mcmc.compiled_kernel import CompiledKernel
from pyroclust.infer.mcmc.protocol import CollapsedModel, require_conjugate
from pyroclust.infer.mcmc.starts import Starts

__all__ = ["CollapsedKernel"]


class CollapsedKernel(CompiledKernel):
    """A compiled kernel that needs the marginal likelihood of clusters.

    Args:
        model: a model of a conjugate family.
        init: where chains start, see :class:`PartitionKernel`.
        thin: steps a draw.

    Raises:
        ValueError: if the family is not conjugate or ``thin`` is not positive.
    """

    def __init__(self, model: CollapsedModel, *, init: Starts | Tensor | None = None, thin: int = 1) -> None:
        require_conjugate(model)
        super().__init__(model, init=init, thin=thin)
