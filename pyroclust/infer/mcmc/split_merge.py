"""Kernels that split one cluster or merge two, by restricted Gibbs sampling or sequential allocation."""

from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from pyroclust.core.numbers import check_count
from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.infer.mcmc.compiled.proposals import ACCEPTED, MERGES, PROPOSED, SPLITS, Proposals
from pyroclust.infer.mcmc.compiled.runner import END_OF_STEP
from pyroclust.infer.mcmc.compiled_kernel import CompiledKernel
from pyroclust.infer.mcmc.states import Starts


def shares_accepted(counts: np.ndarray) -> dict[str, float]:
    """Return the shares of splits and of merges accepted from :attr:`Proposals.counts`."""
    with np.errstate(invalid="ignore"):
        shares = counts[:, ACCEPTED] / counts[:, PROPOSED]
    return {"splits accepted": float(shares[SPLITS]), "merges accepted": float(shares[MERGES])}


class MergeSplit(CompiledKernel):
    r"""Dahl's merge-split moves: Metropolis-Hastings with sequential allocation, compiled.

    As :class:`SplitMerge`, except for the proposal. The points of the cluster that is split come in random
    order; each joins the side of one of both anchors by its predictive density given the points allocated so
    far,

    .. math::
        q(A, B) = \prod_i \frac{(n_{s_i} - d) \, p(x_i \mid x_{s_i})}
            {(n_A - d) \, p(x_i \mid x_A) + (n_B - d) \, p(x_i \mid x_B)}

    with :math:`n_A`, :math:`x_A` the size and the points of a side just before i comes and :math:`s_i` the
    side it takes. A merge evaluates the same product, in an order drawn in the same way, for the two clusters
    as they are: the probability of the order cancels.

    A proposal costs O(N) to find the points, then O(n D), and O(n D^3) for full covariances, n the number of
    points in the clusters concerned.

    Arguments are those of :class:`SplitMerge` but ``scans``.

    Example:
        >>> import torch
        >>> from pyroclust.infer.mcmc import Singletons
        >>> from pyroclust.models import gaussian2d
        >>> data = torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]])
        >>> kernel = MergeSplit(gaussian2d(), init=Singletons(), proposals=5)
        >>> draws = kernel.run(data, num_draws=5, warmup=20, num_chains=2, seed=0)
        >>> draws.assignments[:, -1].tolist()
        [[0, 0, 1], [0, 0, 1]]

    References:
        Dahl (2003), An improved merge-split sampler for conjugate Dirichlet process mixture models.
        Technical report 1086, University of Wisconsin.
        Dahl and Newcomb (2022), Sequentially allocated merge-split samplers for conjugate Bayesian
        nonparametric models. https://doi.org/10.1080/00949655.2021.1998502
    """

    # Under constraints both anchors are groups of points that belong together, groups are allocated whole,
    # and clusters that hold points apart from one another are not merged. Of a known number of clusters a
    # proposal merges the clusters of two points and splits one around two others.

    # Of restricted Gibbs sampling; -1 is sequential allocation alone.
    scans = -1

    def __init__(
        self,
        model: CollapsedModel,
        *,
        init: Starts | Tensor | None = None,
        thin: int = 1,
        proposals: int = 1,
    ) -> None:
        super().__init__(model, init=init, thin=thin)
        self.proposals = check_count("proposals", proposals)
        self._counts = np.zeros((2, 2), dtype=np.int64)

    def moves(self, num_points: int) -> tuple[NamedTuple, ...]:
        constraints = self.model.constraints
        is_bound = constraints is not None and (
            constraints.has_one_number or len(constraints.over(num_points).bound) > 0
        )
        self._counts = np.zeros((2, 2), dtype=np.int64)
        return (Proposals(self.scans, self.proposals, is_bound, self._counts), *END_OF_STEP)

    def diagnostics(self) -> dict[str, Any]:
        """Return the shares of splits and of merges accepted in the latest run, its warm-up and all chains.

        A share is nan where nothing was proposed. Chains that run side by side add to the counts without
        locks, which may lose a few.
        """
        return {**super().diagnostics(), **shares_accepted(self._counts)}


class SplitMerge(MergeSplit):
    r"""Jain and Neal's split-merge moves: Metropolis-Hastings with restricted Gibbs sampling, compiled.

    Two points are drawn uniformly. If they share a cluster S, it is proposed to split into A and B around
    them; else their clusters A and B are proposed to merge. The split is accepted with probability min(1, r),
    the merge with min(1, 1/r):

    .. math::
        r = \frac{V_N(K + 1)}{V_N(K)} \, \frac{w(|A|) \, w(|B|)}{w(|S|)} \,
            \frac{p(x_A) \, p(x_B)}{p(x_S)} \, \frac{1}{q(A, B)}

    K the number of clusters before the split. q is the probability of a restricted Gibbs scan that ends at A
    and B: it draws the side of every other point given all others, from a launch state which ``scans`` such
    scans have reached after the points had joined the sides in turn, as in :class:`MergeSplit` (in the paper
    they start at random sides). Put :class:`CollapsedGibbs` beside it in :class:`Compose` for small steps.

    Cost of a proposal: O(N) to find the points of the clusters, then O(n D) a scan, n their number; for full
    covariances O(n D^3) at first, then O(n D^2) a scan and O(D^3) for each point that changes sides.

    Args:
        model: a model of a conjugate family with compiled functions.
        init: where chains start, see :class:`PartitionKernel`.
        thin: steps a draw.
        scans: restricted Gibbs scans that lead to the launch state.
        proposals: splits or merges proposed a step.

    Raises:
        ValueError: if ``thin`` or ``proposals`` is not positive, or ``scans`` is negative.

    Example:
        >>> import torch
        >>> from pyroclust.infer.mcmc import CollapsedGibbs, Compose, OneCluster
        >>> from pyroclust.models import gaussian2d
        >>> model = gaussian2d()
        >>> kernel = Compose([SplitMerge(model), CollapsedGibbs(model)], init=OneCluster())
        >>> data = torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]])
        >>> draws = kernel.run(data, num_draws=5, warmup=20, num_chains=2, seed=0)
        >>> draws.assignments[:, -1].tolist()
        [[0, 0, 1], [0, 0, 1]]

    References:
        Jain and Neal (2004), A split-merge Markov chain Monte Carlo procedure for the Dirichlet process
        mixture model. https://doi.org/10.1198/1061860043001
    """

    def __init__(
        self,
        model: CollapsedModel,
        *,
        init: Starts | Tensor | None = None,
        thin: int = 1,
        scans: int = 3,
        proposals: int = 1,
    ) -> None:
        super().__init__(model, init=init, thin=thin, proposals=proposals)
        self.scans = check_count("scans", scans, at_least=0)
