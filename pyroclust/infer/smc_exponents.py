"""How strongly to resample at each step: learned from a pilot run, because some proposals look ahead."""

import torch
from torch import Tensor

from pyroclust.infer.smc_population import Population

__all__ = ["learn_exponents"]

_SMALLEST = 0.01


def learn_exponents(pilot: Population, num_points: int) -> Tensor:
    r"""Run a pilot without resampling and regress final log weights on those of every step.

    .. math::
        \beta_n = \frac{\mathrm{Cov}(\log w_N, \log w_n)}{\mathrm{Var}(\log w_n)}, \qquad
        w_n = \frac{p(c_{\le n}, x_{\le n})}{q(c_{\le n} \mid x)}

    clamped to [0.01, 1]. The best weight to resample by is what a particle's final weight can be expected to
    be, given its present one. For a proposal that is blind to the future, log weights add up without being
    taken back, and beta is about 1: the usual targets :math:`\gamma_n = p(c_{\le n}, x_{\le n})`. A guide
    that looks ahead pays now for what the points to come give back: its prefixes look bad by :math:`\gamma_n`
    although they are right, and beta is small until the end. Cost of one run of S particles; memory O(N S) a
    group.

    Shape:
        output: ``(num_points, G)`` float64; the first row is 1.
    """
    ones = torch.ones(pilot.num_groups, dtype=torch.float64)
    reports = [pilot.advance(step, exponent=ones, ess_threshold=0.0) for step in range(1, num_points)]
    member, backwards = pilot.members(), []
    for report in reversed(reports):
        backwards.append(report.log_weight[member])
        member = report.parent[member]
    # At the first step all weights are equal.
    backwards.append(torch.zeros(len(member), dtype=torch.float64))
    log_weights = torch.stack(backwards[::-1]).view(num_points, pilot.num_groups, -1)
    alive = log_weights.isfinite() & log_weights[-1].isfinite()
    centred = _centred(log_weights, alive)
    covariance = (centred * _centred(log_weights[-1].expand_as(log_weights), alive)).sum(-1)
    slope = covariance / centred.square().sum(-1)
    return slope.nan_to_num(nan=1.0, posinf=1.0, neginf=1.0).clamp(_SMALLEST, 1.0)


def _centred(values: Tensor, alive: Tensor) -> Tensor:
    kept = torch.where(alive, values, 0.0)
    mean = kept.sum(-1, keepdim=True) / alive.sum(-1, keepdim=True).clamp(min=1)
    return torch.where(alive, kept - mean, 0.0)
