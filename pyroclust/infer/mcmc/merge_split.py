"""Merge-split moves with sequential allocation."""

from pyroclust.infer.mcmc.proposal_kernel import ProposalKernel
from pyroclust.infer.mcmc.sequential_allocation import SequentialAllocation

__all__ = ["MergeSplit"]


class MergeSplit(ProposalKernel):
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

    One pass over the points instead of several scans: a proposal costs O(N) to find the points, then O(n D),
    and O(n D^3) for full covariances, n the number of points in the clusters concerned.

    Args:
        model: a model of a conjugate family with compiled functions.
        init: where chains start, see :class:`PartitionKernel`.
        thin: steps a draw.
        proposals: splits or merges proposed a step.

    Raises:
        ValueError: if ``thin`` or ``proposals`` is not positive.

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

    def moves(self) -> tuple[SequentialAllocation]:
        """Return ``thin`` steps of ``proposals`` proposals each."""
        return (SequentialAllocation(self.proposals, self.thin, self._new_counts()),)
