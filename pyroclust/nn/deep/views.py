"""What is asked of shares of clusters when points are looked at twice, each time a little changed."""

import torch
from torch import Tensor

from pyroclust.core.counts import check_number
from pyroclust.core.registry import register
from pyroclust.nn.deep.deformations import Deformation

__all__ = ["Views"]


@register(None)
class Views:
    r"""Two terms of a loss: a point and its deformed copy are in one cluster, and all clusters are used.

    .. math::
        \text{views}_i = -\frac{w}{2} \sum_k \big(q_{ik} \log q'_{ik} + q'_{ik} \log q_{ik}\big), \qquad
        \text{balance} = b N \sum_k \bar q_k \log \frac{\bar q_k}{\pi_k}, \quad
        \bar q = \frac{1}{N} \sum_i q_i

    with q' the shares of the deformed copy. The first term alone is least when one cluster has all points,
    which the second rules out. Both are additions of ours to the published losses of deep mixtures: they say
    which differences are none of a cluster's.

    Args:
        deformation: what leaves a point's cluster as it is.
        weight: w, in nats a point and nat of disagreement; on the scale of the reconstruction, a tenth of it.
        balance: b, in nats a point and nat of unequal sizes.

    Example:
        >>> from pyroclust.nn import NormalNoise
        >>> views = Views(NormalNoise(0.1), weight=10.0, balance=20.0)
        >>> even = torch.full((5, 2), 0.5).log()
        >>> {name: one.item() for name, one in views.terms(even, even, even[0]).items()}
        {'views': 34.65..., 'balance': 0.0}

    References:
        Hu et al. (2017), Learning discrete representations via information maximizing self-augmented
        training. https://arxiv.org/abs/1702.08720
    """

    def __init__(self, deformation: Deformation, *, weight: float = 10.0, balance: float = 20.0) -> None:
        self.deformation = deformation
        self.weight = check_number("weight", weight, at_least=0)
        self.balance = check_number("balance", balance, at_least=0)

    def terms(self, log_shares: Tensor, of_view: Tensor, log_weights: Tensor) -> dict[str, Tensor]:
        """Return the terms of data sets, in nats.

        Args:
            log_shares: log q, ``(*batch, N, K)``.
            of_view: log q of the deformed points, ``(*batch, N, K)``.
            log_weights: of the clusters, ``(K,)``.

        Shape:
            output: ``(*batch)`` each, ``views`` summed over points.
        """
        shares = log_shares.exp()
        cross = (shares * of_view + of_view.exp() * log_shares).sum((-1, -2))
        points = log_shares.shape[-2]
        mean = torch.logsumexp(log_shares, -2) - torch.tensor(points, dtype=log_shares.dtype).log()
        unequal = (mean.exp() * (mean - log_weights)).sum(-1)
        return {"views": -0.5 * self.weight * cross, "balance": self.balance * points * unequal}
