"""Points looked at twice, each time a little changed: deformations, and what a loss asks of such views."""

import math
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from pyroclust.core.numbers import check_number
from pyroclust.core.registry import register


class Deformation(Protocol):
    """Whatever makes of points others of the same clusters, ``(*batch, *event_shape)`` to the same."""

    def __call__(self, data: Tensor) -> Tensor: ...


@register(Deformation)
class ImageDeformation:
    """Shift, turn, lean and scale images at random, each number uniform between its bound and minus it.

    Pixels from beyond the border are 0, dark. Cost O(H W) an image.

    Args:
        shift: in pixels, along both axes.
        rotation: in degrees.
        shear: how far a row moves to the side for each row up.
        scale: by how much sides are longer or shorter, as a share of 1.

    Example:
        >>> ImageDeformation(shift=1, rotation=10)(torch.rand(3, 5, 8, 8)).shape
        torch.Size([3, 5, 8, 8])
    """

    def __init__(
        self, *, shift: float = 1.0, rotation: float = 10.0, shear: float = 0.1, scale: float = 0.1
    ) -> None:
        self.shift = check_number("shift", shift, at_least=0)
        self.rotation = check_number("rotation", rotation, at_least=0, at_most=180)
        self.shear = check_number("shear", shear, at_least=0)
        self.scale = check_number("scale", scale, at_least=0, below=1)

    def __call__(self, data: Tensor) -> Tensor:
        if data.dim() < 2:
            raise ValueError(f"data has shape {tuple(data.shape)}, expected images (..., H, W)")
        height, width = data.shape[-2:]
        images = data.reshape(-1, 1, height, width)
        bounds = (self.rotation * math.pi / 180, self.scale, self.shear)
        turn, grow, lean = (bound * _either_way(len(images), data) for bound in bounds)
        cos, sin = turn.cos() * (1 + grow), turn.sin() * (1 + grow)
        across, down = (2 * self.shift / side * _either_way(len(images), data) for side in (width, height))
        maps = torch.stack([cos, lean - sin, across, sin, cos, down], -1).view(-1, 2, 3)
        grid = F.affine_grid(maps, list(images.shape), align_corners=False)
        return F.grid_sample(images, grid, align_corners=False).view(data.shape)


@register(Deformation)
class NormalNoise:
    """Add normal noise to every number.

    Args:
        scale: standard deviation, in units of the data.

    Example:
        >>> NormalNoise(0.1)(torch.zeros(3, 2)).shape
        torch.Size([3, 2])
    """

    def __init__(self, scale: float) -> None:
        self.scale = check_number("scale", scale, at_least=0)

    def __call__(self, data: Tensor) -> Tensor:
        return data + self.scale * torch.randn_like(data)


def _either_way(number: int, like: Tensor) -> Tensor:
    """Draw numbers between -1 and 1."""
    return 2 * torch.rand(number, dtype=like.dtype, device=like.device) - 1


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
