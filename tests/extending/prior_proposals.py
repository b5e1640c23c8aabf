"""A kernel in one file: partitions proposed by the prior, kept with the Metropolis-Hastings probability."""

from dataclasses import replace

import numpy as np
import torch
from torch import Size, Tensor

from pyroclust.infer.mcmc.kernel import PartitionKernel, Transition
from pyroclust.infer.mcmc.states import ChainStates
from pyroclust.models import Mixture


class _Proposals(Transition):
    """Moves all chains at once; what it returns depends on the states given alone."""

    def __init__(self, model: Mixture, data: Tensor, generator: np.random.Generator) -> None:
        self.model, self.data, self.generator = model, data, generator

    def step(self, states: ChainStates) -> ChainStates:
        """Propose a partition to every chain: the ratio of likelihoods decides."""
        chains = len(states.assignments)
        proposed = self.model.prior.partition(len(self.data)).sample(Size((chains,)))
        log_joint = self.model.log_joint(self.data, proposed)
        gain = log_joint - self.model.prior.log_prob(proposed)
        gain = gain - states.log_joint + self.model.prior.log_prob(states.assignments)
        accepted = torch.from_numpy(self.generator.random(chains)).log() < gain
        return replace(
            states,
            assignments=torch.where(accepted.unsqueeze(-1), proposed, states.assignments),
            log_joint=torch.where(accepted, log_joint, states.log_joint),
        )


class PriorProposals(PartitionKernel):
    """Proposals of the prior, accepted with the ratio of the likelihoods where that is below 1."""

    def bind(self, data: Tensor, states: ChainStates, generator: np.random.Generator) -> Transition:
        """Prepare chains on a data set."""
        return _Proposals(self.model, data, generator)
