"""Cholesky factors of scatter matrices."""

import torch
from torch import Tensor


def cholesky(matrix: Tensor) -> Tensor:
    """Return lower Cholesky factors, ``(..., D, D)``."""
    try:
        return torch.linalg.cholesky(matrix)
    except torch.linalg.LinAlgError:
        raise ValueError(
            "data lies too far from 0, or its columns differ too much in scale, for covariances in double "
            "precision: centre and rescale the columns, without --raw on the command line"
        ) from None
