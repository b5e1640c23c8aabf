"""Split-merge moves with restricted Gibbs sampling."""

from torch import Tensor

from pyroclust.infer.mcmc.proposal_kernel import ProposalKernel
from pyroclust.infer.mcmc.protocol import CollapsedModel
from pyroclust.infer.mcmc.restricted_gibbs import RestrictedGibbs
from pyroclust.infer.mcmc.starts import Starts

__all__ = ["SplitMerge"]


class SplitMerge(ProposalKernel):
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
    they start at random sides). These are large steps through the space of partitions, where Gibbs sampling
    would have to carry points over one by one; put :class:`CollapsedGibbs` beside it in :class:`Compose` for
    the small ones.

    Where the concentration has a Gamma prior, a step ends with a draw of it. Cost of a proposal: O(N) to find
    the points of the clusters, then O(n D) a scan, n their number; for full covariances O(n D^3) at first,
    then O(n D^2) a scan and O(D^3) for each point that changes sides.

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
        if scans < 0:
            raise ValueError(f"scans is {scans}, expected at least 0")
        self.scans = scans

    def moves(self) -> tuple[RestrictedGibbs]:
        """Return ``thin`` steps of ``proposals`` proposals each."""
        return (RestrictedGibbs(self.scans, self.proposals, self.thin, self._new_counts()),)
