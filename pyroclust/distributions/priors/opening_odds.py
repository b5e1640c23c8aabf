"""The prior's log-weight of a new cluster, looked up for many decisions at once."""

import torch
from torch import Tensor

from pyroclust.distributions.priors.prior import PartitionPrior
from pyroclust.distributions.priors.two_parameter import TwoParameterPrior

__all__ = ["OpeningOdds", "log_opening_tables"]

_STRIDE = 64


class OpeningOdds:
    r"""Looks up :math:`\log V_{n+1}(K+1) / V_{n+1}(K)` in a table that grows when needed.

    Cost O(1) a decision. The table has O(n K) entries, times B for a batch of hyperparameters whose weights
    have no formula; those of the two-parameter family take O(B K).

    Args:
        prior: Gibbs-type prior with known hyperparameters, numbers or one number a data set, ``(B,)``.

    Example:
        >>> from pyroclust.distributions import ChineseRestaurantPrior
        >>> odds = OpeningOdds(ChineseRestaurantPrior(torch.tensor([0.5, 2.0])))
        >>> at = torch.tensor([0, 1])
        >>> odds(at, step=torch.tensor([3, 3]), clusters=torch.tensor([1, 2])).exp()
        tensor([0.5000, 2.0000], dtype=torch.float64)
    """

    def __init__(self, prior: PartitionPrior) -> None:
        self._prior = prior
        self._batched = len(prior.batch_shape) > 0
        self._table = torch.empty(0, 0, dtype=torch.float64)

    def __call__(self, dataset: Tensor, *, step: Tensor, clusters: Tensor) -> Tensor:
        """Return the log-weight of a new cluster after ``step`` points in ``clusters`` clusters.

        Shape:
            dataset, step, clusters: ``(Q,)``; output: ``(Q,)`` float64.
        """
        steps, width = int(step.max()) + 1, int(clusters.max()) + 1
        if steps > self._table.shape[-2] or width > self._table.shape[-1]:
            self._grow(1 << steps.bit_length(), 1 << width.bit_length())
        self._table = self._table.to(step.device)
        return self._table[dataset, step, clusters] if self._batched else self._table[step, clusters]

    def _grow(self, steps: int, width: int) -> None:
        build = log_opening_tables if self._batched else type(self._prior).log_opening_table
        self._table = build(self._prior, steps, width)


def log_opening_tables(prior: PartitionPrior, num_points: int, width: int) -> Tensor:
    """Tabulate the log-weight of a new cluster for a batch of hyperparameters.

    Weights are computed for every 64th number of points, and those between by the addition rule, for all
    elements of the batch at once.

    Args:
        prior: prior with hyperparameters of shape ``(B,)``.
        num_points: rows, n = 0, ..., num_points - 1.
        width: columns, K = 0, ..., width - 1.

    Shape:
        output: ``(B, num_points, width)`` float64; minus infinity where there can be no further cluster.
    """
    device = prior.block_discount.device
    if isinstance(prior, TwoParameterPrior):
        clusters = torch.arange(width, device=device)
        odds = prior.log_opening_odds(max(num_points, width), clusters.unsqueeze(-1)).T
        return odds.unsqueeze(1).expand(-1, num_points, -1)
    log_v = _log_v_tables(prior, num_points, width + 1)
    more, same = log_v[..., 1:], log_v[..., :-1]
    possible = more.isfinite() & same.isfinite()
    return torch.where(possible, more - same, -torch.inf)


def _log_v_tables(prior: PartitionPrior, num_points: int, width: int) -> Tensor:
    r"""Return log V_n(K) for n = 1, ..., num_points, ``(B, num_points, width)``.

    .. math:: V_n(K) = (n - d K) \, V_{n+1}(K) + V_{n+1}(K+1)
    """
    stride = min(_STRIDE, num_points)
    device = prior.block_discount.device
    clusters = torch.arange(width + stride, device=device)
    ends = torch.arange(stride, num_points + stride, stride, device=device)
    rows = [prior.log_v(n, clusters.unsqueeze(-1)).T for n in ends.tolist()]
    log_v = torch.stack(rows, 1)
    discount = prior.block_discount.reshape(-1, 1, 1)
    found = [log_v[..., :width]]
    for fewer in range(1, stride):
        points = (ends - fewer).unsqueeze(-1)
        kept = clusters[: log_v.shape[-1] - 1]
        stay = (points - discount * kept).clamp(min=1e-300).log() + log_v[..., :-1]
        together = torch.logaddexp(stay, log_v[..., 1:])
        log_v = torch.where((kept >= 1) & (kept <= points), together, -torch.inf)
        found.append(log_v[..., :width])
    return torch.stack(found[::-1], 2).flatten(1, 2)[:, :num_points]
