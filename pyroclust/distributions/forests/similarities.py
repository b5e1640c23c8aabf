"""Similarities of points whose noise has one unit in all data sets."""

import torch
from torch import Tensor

# Least standard deviation of the distances, in units of their mean, and of the squares of vectors.
_LEAST_SPREAD, _ROUNDING = 1e-3, 1e-10


def standardised_similarity(vectors: Tensor) -> Tensor:
    r"""Return negative squared distances, shifted and scaled to mean 0 and variance 1 over pairs.

    .. math:: D_{uv} = -\lVert x_u - x_v \rVert^2, \qquad S = (D - \text{mean}) / \text{sd}

    With gradients. Between points that are all the same it is 0. Cost O(n^2 D), memory O(n^2).

    Shape:
        vectors: ``(*batch, n, D)`` of floating point; output: ``(*batch, n, n)`` symmetric; the diagonal is
            that of distance 0, and no forest looks at it.

    Example:
        >>> found = standardised_similarity(torch.tensor([[0.0], [1.0], [5.0]]))
        >>> [round(one, 2) for one in found[0, 1:].tolist()]
        [1.31, -1.11]
    """
    centred = vectors - vectors.mean(-2, keepdim=True)
    squares = centred.square().sum(-1)
    products = centred @ centred.mT
    near: Tensor = products + products.mT - (squares.unsqueeze(-1) + squares.unsqueeze(-2))
    u, v = torch.tril_indices(near.shape[-1], near.shape[-1], -1)
    pairs = near[..., u, v]
    if not pairs.shape[-1]:
        return 0.0 * near
    mean = pairs.mean(-1)
    # Of one pair there is no variance, and between points that are all the same are rounding errors.
    error = _ROUNDING * vectors.detach().square().mean((-1, -2))
    least = (_LEAST_SPREAD * mean).square() + error.square() + torch.finfo(near.dtype).tiny
    spread = (pairs.var(-1, correction=0) + least).sqrt()
    return (near - mean[..., None, None]) / spread[..., None, None]
