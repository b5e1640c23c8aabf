"""Calibrations near made-up data: of an exact sampler, of one that is wrong, and far from everything."""

from functools import cache

import torch
from torch import Tensor

from pyroclust import calibrate_near
from pyroclust.calibration.calibrating import LocalCalibration
from pyroclust.infer import exact_posterior
from pyroclust.models import overlap2d


def exact(data: Tensor) -> Tensor:
    partitions, log_probs = exact_posterior(overlap2d(), data)
    return partitions[torch.distributions.Categorical(logits=log_probs).sample((19,))]


def one_cluster(data: Tensor) -> Tensor:
    return torch.zeros(19, *data.shape[:2], dtype=torch.int64)


@cache
def near_case(*, wrong: bool = False, far: bool = False) -> LocalCalibration:
    data = torch.tensor([[0.0, 0.0], [0.3, 0.1], [1.5, 1.0], [1.2, -0.4]]) * (1e3 if far else 1.0)
    sampler = one_cluster if wrong else exact
    return calibrate_near(
        sampler, overlap2d(), data, num_simulations=600, num_nearest=200, num_draws=19, seed=1
    )
