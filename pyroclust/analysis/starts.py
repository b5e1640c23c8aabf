"""Where the chains of ``compare`` start: from few clusters and from many."""

import time

import numpy as np
import torch
from torch import Tensor

from pyroclust.guides.exact_filter import exact_filter
from pyroclust.infer.mcmc import CollapsedModel, FromDraws, Overdispersed
from pyroclust.infer.mcmc.coarse_starts import coarse_starts
from pyroclust.infer.refining.proposals import posterior_of
from pyroclust.partitions import canonical
from pyroclust.random_state import own_random_numbers, seed_from_torch

__all__ = ["starts_from_both_sides"]


def starts_from_both_sides(
    model: CollapsedModel,
    data: Tensor,
    *,
    num_chains: int,
    seed: int,
) -> tuple[FromDraws, float]:
    """Return starts with few clusters for one half of the chains, with many for the other, and the seconds.

    The first half comes from :func:`~pyroclust.infer.mcmc.coarse_starts.coarse_starts`, the other from the
    exact filter. This opens a cluster for a point that fits none so far and never takes it back: in many
    dimensions it ends with several times as many clusters as chains from the first half have, and chains of
    every kernel may keep them. Agreement of chains from one side alone says nothing of the other; where both
    do not meet, R-hat sees it. Families that are not conjugate have no exact filter: the other half is
    :class:`~pyroclust.infer.mcmc.Overdispersed` there.
    """
    num_many = num_chains // 2
    few, seconds = coarse_starts(model, data, num_chains=num_chains - num_many, seed=seed)
    began = time.perf_counter()
    # The chains must not repeat these random numbers.
    with own_random_numbers(seed, num_chains), torch.no_grad():
        many = _many(model, data, num_many)
    return FromDraws(torch.cat([few.draws, many])), seconds + time.perf_counter() - began


def _many(model: CollapsedModel, data: Tensor, number: int) -> Tensor:
    if number == 0:
        return torch.empty(0, len(data), dtype=torch.int64)
    if not model.is_conjugate:
        generator = np.random.default_rng(seed_from_torch())
        return canonical(torch.from_numpy(Overdispersed()(len(data), number, generator=generator)))
    random = model.hyperpriors.keys() - model.prior.integrated_names
    known = model.given({name: model.hyperpriors[name].sample() for name in sorted(random)})
    found: Tensor = posterior_of(exact_filter(known), data).sample_and_log_prob((number,))[0]
    return found
