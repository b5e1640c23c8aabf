"""What kernels that propose to split and merge clusters share."""

from typing import Any

import numpy as np
from torch import Tensor

from pyroclust.infer.mcmc.collapsed_kernel import CollapsedKernel
from pyroclust.infer.mcmc.proposals import ACCEPTED, MERGES, PROPOSED, SPLITS
from pyroclust.infer.mcmc.protocol import CollapsedModel
from pyroclust.infer.mcmc.starts import Starts

__all__ = ["ProposalKernel"]


class ProposalKernel(CollapsedKernel):
    """A compiled kernel whose moves are accepted or rejected, and counted.

    Args:
        model: a model of a conjugate family with compiled functions.
        init: where chains start, see :class:`PartitionKernel`.
        thin: steps a draw.
        proposals: splits or merges proposed a step.

    Raises:
        ValueError: if ``thin`` or ``proposals`` is not positive.
    """

    def __init__(
        self,
        model: CollapsedModel,
        *,
        init: Starts | Tensor | None = None,
        thin: int = 1,
        proposals: int = 1,
    ) -> None:
        super().__init__(model, init=init, thin=thin)
        if proposals < 1:
            raise ValueError(f"proposals is {proposals}, expected at least 1")
        self.proposals = proposals
        self._counts = np.zeros((2, 2), dtype=np.int64)

    def _new_counts(self) -> np.ndarray:
        self._counts = np.zeros((2, 2), dtype=np.int64)
        return self._counts

    def diagnostics(self) -> dict[str, Any]:
        """Return the shares of splits and of merges accepted in the latest run, its warm-up and all chains.

        A share is nan where nothing was proposed. Chains that run side by side add to the counts without
        locks, which may lose a few.
        """
        with np.errstate(invalid="ignore"):
            shares = self._counts[:, ACCEPTED] / self._counts[:, PROPOSED]
        return {
            **super().diagnostics(),
            "splits accepted": float(shares[SPLITS]),
            "merges accepted": float(shares[MERGES]),
        }
