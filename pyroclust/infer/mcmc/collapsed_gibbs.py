"""Collapsed Gibbs sampling of a conjugate mixture."""

from typing import NamedTuple

import numpy as np

from pyroclust.infer.mcmc.compiled.proposals import Proposals
from pyroclust.infer.mcmc.compiled.runner import END_OF_STEP
from pyroclust.infer.mcmc.compiled.sweep import GibbsSweep
from pyroclust.infer.mcmc.compiled_kernel import CompiledKernel


class CollapsedGibbs(CompiledKernel):
    r"""Gibbs sampling of the partition, the cluster parameters integrated out (Neal's Algorithm 3), compiled.

    .. math:: p(c_i = k \mid c_{-i}, x) \propto (n_{-i,k} - d) \, p(x_i \mid x_{-i,k}), \qquad
        p(c_i = \text{new} \mid \cdot) \propto \frac{V_N(K + 1)}{V_N(K)} \, p(x_i)

    Nodes of a graph are visited likewise: there a node's edges with all blocks count, O(K^2) a node.

    Under constraints points that belong together move as one, and so do rows with weights,

    .. math:: p(c_G = k \mid c_{-G}, x) \propto \frac{w(n_k + |G|)}{w(n_k)} \,
        \frac{p(x_k, x_G)}{p(x_k)}

    and clusters that hold points apart from them are closed. A bounded number of clusters is kept to.

    A sweep visits the points in the order of the data and, where the concentration has a Gamma prior, ends
    with Escobar and West's draw of it, so that :math:`V_N(K+1)/V_N(K) = \alpha`. Cost O(N K D) a sweep, and
    O(N K D^2) for full covariances.

    Args:
        model: a model of a conjugate family with compiled functions.
        init: where chains start, see :class:`PartitionKernel`.
        thin: sweeps a draw.

    Raises:
        ValueError: if the family is not conjugate or ``thin`` is not positive.

    Example:
        >>> import torch
        >>> from pyroclust.infer.mcmc import OneCluster
        >>> from pyroclust.models import gaussian2d
        >>> data = torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]])
        >>> kernel = CollapsedGibbs(gaussian2d(), init=OneCluster())
        >>> kernel.run(data, num_draws=5, warmup=5, num_chains=2, seed=0).assignments.shape
        (2, 5, 3)

    References:
        Neal (2000), Markov chain sampling methods for Dirichlet process mixture models.
        https://doi.org/10.1080/10618600.2000.10474879
        Escobar and West (1995), Bayesian density estimation and inference using mixtures.
        https://doi.org/10.1080/01621459.1995.10476550
    """

    def moves(self, num_points: int) -> tuple[NamedTuple, ...]:
        sweep: tuple[NamedTuple, ...] = (GibbsSweep(),)
        constraints = self.model.constraints
        if constraints is not None and constraints.has_one_number and len(constraints.over(num_points).apart):
            # Where clusters hold rivals, single moves may not lead to all partitions.
            sweep += (Proposals(-1, 1, True, np.zeros((2, 2), dtype=np.int64)),)
        return (*sweep, *END_OF_STEP)
