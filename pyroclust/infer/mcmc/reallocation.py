"""Joint proposals of a hyperparameter of the family and of the whole partition."""

from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.infer.mcmc.collapsed_gibbs import CollapsedKernel
from pyroclust.infer.mcmc.compiled.chain import hyper_places
from pyroclust.infer.mcmc.compiled.hyperparameters import density_code
from pyroclust.infer.mcmc.compiled.proposals import ACCEPTED, PROPOSED
from pyroclust.infer.mcmc.compiled.reallocation import Reallocation
from pyroclust.infer.mcmc.compiled.runner import END_OF_STEP
from pyroclust.infer.mcmc.starts import Starts

__all__ = ["Reallocate"]

# The farthest step on the log or logit scale: in eight columns a cluster of a hundred points has 40 times the
# scale of many.
_WIDTH = 6.0


class Reallocate(CollapsedKernel):
    r"""Propose another value of a random hyperparameter of the family and, under it, another partition.

    .. math:: r = \frac{p(h', z', x)}{p(h, z, x)} \, \frac{q(z \mid h)}{q(z' \mid h')} \,
        \Bigl(\frac{K'}{K}\Bigr)^2

    on the log or logit scale of h; q allocates points one after the other by their predictive densities, in
    an order that is drawn and the same both ways. The last factor belongs to a random bound of K', which ends
    proposals that would take long. Few wide clusters and many narrow ones can each be a mode, and partitions
    in between be improbable under every scale: then no move of the partition given the scale leads from many
    to few. This one does, and once there hardly anything is accepted: put other kernels beside it in
    :class:`Compose`. A proposal costs about three sweeps.

    Args:
        model: a model of a conjugate family with compiled functions and a random hyperparameter.
        init: where chains start, see :class:`PartitionKernel`.
        thin: steps a draw.
        share: chance that a step proposes at all.

    Raises:
        ValueError: if the model has constraints or weights of rows.
    """

    keeps_constraints = False

    def __init__(
        self,
        model: CollapsedModel,
        *,
        init: Starts | Tensor | None = None,
        thin: int = 1,
        share: float = 1.0,
    ) -> None:
        super().__init__(model, init=init, thin=thin)
        self.share = share
        self._counts = np.zeros(2, dtype=np.int64)

    @property
    def updates(self) -> frozenset[str]:
        """The random hyperparameters of the family, and the concentration where it has a Gamma prior."""
        return super().updates | self.model.component.hyperpriors.keys()

    def moves(self, num_points: int) -> tuple[NamedTuple, ...]:
        """Return ``thin`` proposals."""
        places, names = hyper_places(self.model), sorted(self.model.component.hyperpriors)
        codes = [density_code(self.model.component.hyperpriors[name]) for name in names]
        self._counts = np.zeros(2, dtype=np.int64)
        move: NamedTuple = Reallocation(
            places=np.array([places[name] for name in names]),
            kind=np.array([one[0] for one in codes]),
            parameters=np.array([one[1:] for one in codes]),
            width=_WIDTH,
            share=self.share,
            counts=self._counts,
        )
        return (move, *END_OF_STEP) * self.thin

    def diagnostics(self) -> dict[str, Any]:
        """Return the share of proposals accepted in the latest run, nan where nothing was proposed."""
        with np.errstate(invalid="ignore"):
            share = self._counts[ACCEPTED] / self._counts[PROPOSED]
        return {**super().diagnostics(), "reallocations accepted": float(share)}
