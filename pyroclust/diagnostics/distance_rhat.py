"""R-hat of the distances of draws to reference partitions: convergence on the space of partitions itself."""

import math
from dataclasses import dataclass

import numpy as np

from pyroclust.diagnostics.convergence import bulk_ess, rhats
from pyroclust.diagnostics.membership import as_chains
from pyroclust.diagnostics.pairwise import pairwise_loss
from pyroclust.diagnostics.partition_losses import PartitionLoss, VariationOfInformation

__all__ = ["DistanceRhat", "distance_rhat"]

_DEFAULT_LOSS = VariationOfInformation()


@dataclass(frozen=True)
class DistanceRhat:
    """Convergence of the distances to each of some reference partitions.

    Attributes:
        references: partitions taken from the draws, ``(R, N)``.
        rhats: split rank-normalised R-hat of the distances to each, ``(R,)``; nan where undefined (constant
            distances, fewer than four draws), inf for chains that each stand still apart from each other.
        ess: bulk effective draws of the same, ``(R,)``; nan where undefined.
        rhat: the largest R-hat over the references whose distances vary, inf where one of these is
            undefined; 1 when all distances are constant.
    """

    references: np.ndarray
    rhats: np.ndarray
    ess: np.ndarray
    rhat: float

    @property
    def min_ess(self) -> float:
        """The fewest effective draws; inf when all distances are constant."""
        moving = self.ess[~np.isnan(self.ess)]
        return float(moving.min()) if moving.size else math.inf


def distance_rhat(
    draws: np.ndarray, *, num_references: int = 8, seed: int, loss: PartitionLoss = _DEFAULT_LOSS
) -> DistanceRhat:
    r"""Return the R-hat of the distances of each draw to reference partitions taken from the draws.

    .. math:: x^{(r)}_{m,t} = L(c^{(r)}, c_{m,t}), \qquad \hat R = \max_r \hat R(x^{(r)})

    Chains stuck in different modes can have equal numbers of clusters and equal cluster sizes, but not equal
    distances to a partition of one of the modes. The references are spread evenly over the chains, a random
    draw each, so that every chain's mode is among them while there are at least as many references as chains.

    Cost: O(chains draws R N) in compiled code.

    Shape:
        draws: ``(chains, draws, N)`` or ``(draws, N)``.

    Args:
        draws: posterior draws.
        num_references: how many reference partitions.
        seed: of the choice of the references.
        loss: the distance.

    Raises:
        ValueError: if the labels are not integers from 0 to N - 1, or ``num_references`` is not positive.

    References:
        Lanfear, Hua and Warren (2016), Estimating the effective sample size of tree topologies from Bayesian
        phylogenetic analyses. https://doi.org/10.1093/gbe/evw171
        Duttweiler et al. (2025), The traceplot thickens: convergence diagnostics for any Markov chain Monte
        Carlo algorithm. https://arxiv.org/abs/2408.15392
        Vehtari et al. (2021), Rank-normalization, folding, and localization.
        https://doi.org/10.1214/20-BA1221

    Example:
        >>> stuck = np.repeat([[[0, 0, 1, 1]], [[0, 1, 0, 1]]], 100, axis=1)
        >>> distance_rhat(stuck, seed=0).rhat
        inf
    """
    if num_references < 1:
        raise ValueError(f"num_references is {num_references}, expected at least 1")
    draws = as_chains(draws)
    chains, length, points = draws.shape
    chain = np.arange(num_references) % chains
    references = draws[chain, np.random.default_rng(seed).integers(length, size=num_references)]
    distances = pairwise_loss(references, draws.reshape(-1, points), loss=loss)
    distances = distances.round(9).T.reshape(chains, length, num_references)
    found = rhats(distances)
    varies = ~(distances == distances[:1, :1]).all((0, 1))
    undefined_is_worst = np.nan_to_num(found[varies], nan=np.inf, posinf=np.inf)
    return DistanceRhat(references, found, bulk_ess(distances), float(undefined_is_worst.max(initial=1.0)))
