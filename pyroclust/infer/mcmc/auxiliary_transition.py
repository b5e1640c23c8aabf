"""Chains of the auxiliary-parameter Gibbs sampler."""

import numpy as np
import torch
from pyro.distributions import validation_enabled
from torch import Tensor

from pyroclust.infer.mcmc.auxiliary_pass import AuxiliaryPass, seating_weights
from pyroclust.infer.mcmc.auxiliary_pool import AuxiliaryPool
from pyroclust.infer.mcmc.chain_clusters import ChainClusters, ChainFamilies
from pyroclust.infer.mcmc.joint import log_joint, log_prior_of_states
from pyroclust.infer.mcmc.parameter_target import working_dtype
from pyroclust.infer.mcmc.parameter_updates import ParameterUpdates
from pyroclust.infer.mcmc.protocol import CollapsedModel
from pyroclust.infer.mcmc.states import ChainStates, Trace
from pyroclust.infer.mcmc.transition import Transition
from pyroclust.partitions import canonical

__all__ = ["AuxiliaryTransition"]

# Labels whose collapsed log joint is computed at once.
_MAX_LABELS = 1 << 20


class AuxiliaryTransition(Transition):
    """Chains that draw parameters given partitions and partitions given parameters.

    Args:
        model: the model.
        data: points, ``(N, D)``.
        updates: how parameters are drawn.
        num_auxiliary: auxiliary parameters a visit.
        thin: sweeps a draw.
        states: where the chains start.
        generator: where compiled code takes its randomness from; parameters come from torch's.
    """

    def __init__(
        self,
        model: CollapsedModel,
        data: Tensor,
        *,
        updates: ParameterUpdates,
        num_auxiliary: int,
        thin: int,
        states: ChainStates,
        generator: np.random.Generator,
    ) -> None:
        self._model, self._thin, self._num_auxiliary = model, thin, num_auxiliary
        self._raw = data.detach().cpu()
        self._keeps = updates.keeps_parameters
        self._component_names = frozenset(model.component.hyperpriors) - set(model.prior.hyperpriors)
        self._set(states)
        component = self._families.of(torch.tensor(0))
        points = self._raw.double()
        with torch.no_grad(), validation_enabled(False):
            dtype = working_dtype(component, points)
            points = points.to(dtype)
            pool = AuxiliaryPool(points, num_auxiliary, num_chains=len(states.assignments), dtype=dtype)
            self._visit = AuxiliaryPass(points, pool, generator)
            self._updates = updates.bind(component, points, dtype=dtype, generator=generator)
            self.clusters = self._updates.start(ChainClusters.of(canonical(states.assignments)))

    def prepare(self, states: ChainStates) -> None:
        """Compile, by a sweep that is thrown away."""
        with torch.no_grad(), validation_enabled(False):
            self._sweep(self.clusters)

    def step(self, states: ChainStates) -> ChainStates:
        """Advance every chain by one draw."""
        return self.advance(states, 1).last()

    def advance(self, states: ChainStates, num_draws: int) -> Trace:
        """Advance every chain by several draws.

        Raises:
            ValueError: if parameters are kept and the partitions are not those of the latest draw.
        """
        if states.hyperparameters:
            self._set(states)
        self._resume(states)
        labels, scores = [], []
        with torch.no_grad(), validation_enabled(False):
            for _ in range(num_draws):
                for _ in range(self._thin):
                    self.clusters, log_own = self._sweep(self.clusters)
                labels.append(self.clusters.labels)
                if self._keeps:
                    scores.append(self.log_prior_of_parameters() + log_own.sum(-1))
            found = torch.stack(labels)
            if self._keeps:
                score = self._uncollapsed(found, torch.stack(scores), states)
            else:
                score = self._collapsed(found, states)
        given = states.hyperparameters.items()
        hyper = {name: value.unsqueeze(-1).expand(-1, num_draws) for name, value in given}
        return Trace(found.transpose(0, 1), hyper, score.mT)

    def _set(self, states: ChainStates) -> None:
        """Take over the hyperparameters of the chains."""
        model, (num_chains, num_points) = self._model, states.assignments.shape
        hyper = states.hyperparameters
        of_component = {name: hyper[name] for name in hyper if name in self._component_names}
        of_prior = {name: hyper[name] for name in hyper if name not in self._component_names}
        self._families = ChainFamilies(model, of_component)
        prior = model.given(of_prior).prior
        self._weights = seating_weights(
            prior, num_points, num_chains=num_chains, num_auxiliary=self._num_auxiliary
        )

    def _resume(self, states: ChainStates) -> None:
        labels = canonical(states.assignments)
        if torch.equal(labels, self.clusters.labels):
            return
        if self._keeps:
            raise ValueError(
                "assignments are not those of the kernel's latest draw, whose cluster parameters it keeps: "
                "start a new chain there with setup, and use no other kernel that moves points beside it"
            )
        self.clusters = ChainClusters.of(labels)

    def _sweep(self, clusters: ChainClusters) -> tuple[ChainClusters, Tensor]:
        drawn = self._updates.draw(clusters, self._families)
        return self._visit(drawn, self._families, self._weights)

    def log_prior_of_parameters(self) -> Tensor:
        """Return the log-density of the parameters of each chain's clusters in nats, ``(C,)``."""
        log_prior = self._model.component.log_prior(self.clusters.parameters).double()
        num_chains = len(self.clusters.labels)
        return log_prior.new_zeros(num_chains).index_add_(0, self.clusters.chain_of_row, log_prior)

    def _collapsed(self, labels: Tensor, states: ChainStates) -> Tensor:
        """Return log p(c, x, hyperparameters), ``(draws, C)``."""
        some = max(1, _MAX_LABELS // labels[0].numel())
        parts = [log_joint(self._model, self._raw, few, states.hyperparameters) for few in labels.split(some)]
        return torch.cat(parts)

    def _uncollapsed(self, labels: Tensor, scores: Tensor, states: ChainStates) -> Tensor:
        """Return log p(c, theta, x, hyperparameters), ``(draws, C)``."""
        return scores + log_prior_of_states(self._model, labels, states.hyperparameters)
