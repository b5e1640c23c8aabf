"""A partition prior in one file: Gnedin's, of finitely many clusters whose number has a heavy tail."""

import torch
from torch import Size, Tensor

from pyroclust.core.registry import register
from pyroclust.distributions import PartitionDistribution, PartitionPrior


class GnedinPartition(PartitionDistribution):
    """The law of the partition of N points: what the model draws from."""

    has_enumerate_support = True

    def __init__(self, prior: "GnedinPrior", num_points: int) -> None:
        self.prior = prior
        super().__init__(num_points)

    def _sample(self, sample_shape: Size) -> Tensor:
        labels = torch.zeros(*sample_shape, self.num_points, dtype=torch.int64)
        sizes = torch.zeros(*sample_shape, self.num_points, dtype=torch.float64)
        sizes[..., 0] = 1
        for point in range(1, self.num_points):
            clusters = (sizes > 0).sum(-1, keepdim=True)
            join = torch.where(sizes > 0, sizes - self.prior.block_discount, 0.0)
            opening = self.prior.log_opening_odds(point, clusters).exp()
            weights = join.scatter(-1, clusters, opening)
            chosen = torch.distributions.Categorical(weights).sample()
            labels[..., point] = chosen
            sizes.scatter_add_(-1, chosen.unsqueeze(-1), torch.ones_like(clusters, dtype=sizes.dtype))
        return labels

    def _log_prob(self, value: Tensor) -> Tensor:
        return self.prior.log_prob(value)


@register(PartitionPrior)
class GnedinPrior(PartitionPrior):
    r"""Gibbs-type prior of discount -1 with :math:`V_N(K) = (\gamma)_{N-K} (K-1)! (1-\gamma)_{K-1} / c_N`.

    Args:
        gamma: between 0 and 1; the larger, the fewer clusters.

    References:
        Gnedin (2010), A species sampling model with finitely many types. https://doi.org/10.1214/ECP.v15-1532
    """

    hyper_names = ("gamma",)

    def __init__(self, gamma: float) -> None:
        if not 0 < gamma < 1:
            raise ValueError(f"gamma is {gamma}, expected a number between 0 and 1")
        self.gamma = float(gamma)

    @property
    def block_discount(self) -> Tensor:
        """A cluster of n points attracts the next one with weight n + 1."""
        return torch.tensor(-1.0, dtype=torch.float64)

    def partition(self, num_points: int) -> GnedinPartition:
        """Return the law of the partition of N points."""
        return GnedinPartition(self, num_points)

    def _log_v(self, num_points: int, clusters: Tensor) -> Tensor:
        gamma, k = self.value("gamma"), clusters.double()
        n = torch.tensor(float(num_points), dtype=torch.float64)
        joined = torch.lgamma(gamma + n - k) - torch.lgamma(gamma)
        opened = torch.lgamma(k) + torch.lgamma(k - gamma) - torch.lgamma(1 - gamma)
        return joined + opened - torch.lgamma(n) - torch.lgamma(gamma + n) + torch.lgamma(1 + gamma)
