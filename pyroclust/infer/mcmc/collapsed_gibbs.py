"""Collapsed Gibbs sampling of a conjugate mixture."""

from typing import NamedTuple

import numpy as np
from torch import Tensor

from pyroclust.core.numbers import check_count
from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.infer.mcmc.compiled.proposals import Proposals
from pyroclust.infer.mcmc.compiled.runner import END_OF_STEP
from pyroclust.infer.mcmc.compiled.sweep import GibbsSweep
from pyroclust.infer.mcmc.compiled_kernel import CompiledKernel
from pyroclust.infer.mcmc.states import Starts


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
        begin: rows before this one are not visited: what is drawn is the law of the others given their
            clusters.

    Raises:
        ValueError: if the family is not conjugate, ``thin`` is not positive, or ``begin`` is negative,
            anything but 0 under constraints, or leaves no row to visit.

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

    def __init__(
        self, model: CollapsedModel, *, init: Starts | Tensor | None = None, thin: int = 1, begin: int = 0
    ) -> None:
        super().__init__(model, init=init, thin=thin)
        self._begin = check_count("begin", begin, at_least=0)
        if begin and model.constraints is not None:
            raise ValueError(f"begin is {begin}, and model has constraints, whose groups of rows move as one")

    def moves(self, num_points: int) -> tuple[NamedTuple, ...]:
        if self._begin >= num_points:
            raise ValueError(f"begin is {self._begin}, expected less than {num_points}, the number of points")
        sweep: tuple[NamedTuple, ...] = (GibbsSweep(self._begin),)
        constraints = self.model.constraints
        if constraints is not None and constraints.has_one_number and len(constraints.over(num_points).apart):
            # Where clusters hold rivals, single moves may not lead to all partitions.
            sweep += (Proposals(-1, 1, True, np.zeros((2, 2), dtype=np.int64)),)
        return (*sweep, *END_OF_STEP)
