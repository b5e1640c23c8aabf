"""What draws of a companion's continuous sites say about the partition."""

import torch
from torch import Tensor

from pyroclust.distributions import ConjugateComponent
from pyroclust.distributions.components import parameters_of_points
from pyroclust.infer.enumerated_labels import CompanionProgram, sample_labels
from pyroclust.infer.mcmc.joint import log_joint, log_prior_of_states
from pyroclust.infer.mcmc.protocol import CollapsedModel
from pyroclust.infer.mcmc.states import ChainStates
from pyroclust.partitions import canonical

__all__ = ["partitions_given"]


@torch.no_grad()
def partitions_given(program: CompanionProgram, data: Tensor, values: dict[str, Tensor]) -> ChainStates:
    """Draw a partition given each of S draws of the continuous sites, and evaluate the joint density.

    Args:
        program: the program.
        data: points, ``(N, D)``.
        values: every continuous site, ``(S, *site shape)``.

    Returns:
        Partitions ``(S, N)``, random hyperparameters ``(S,)`` each, and the log joint in nats ``(S,)``: of
        partition, data and hyperparameters where the component family is conjugate; elsewhere also of the
        parameters of the clusters that have points.
    """
    model = program.mixture
    labels = sample_labels(program, data, values)
    partitions = canonical(labels)
    hyper = {name: values[name].double() for name in sorted(model.hyperpriors)}
    if isinstance(model.component, ConjugateComponent):
        return ChainStates(partitions, hyper, log_joint(model, data, partitions, hyper))
    uncollapsed = _log_density_given_partition(model, data, labels, {**values, **hyper})
    return ChainStates(partitions, hyper, uncollapsed + log_prior_of_states(model, partitions, hyper))


def _log_density_given_partition(
    model: CollapsedModel, data: Tensor, labels: Tensor, values: dict[str, Tensor]
) -> Tensor:
    """Return the log density of data and occupied clusters' parameters given labels ``(S, N)``, ``(S,)``."""
    component = model.component.given({name: values[name] for name in model.component.hyperpriors})
    names = component.sample_prior((len(labels), 1)).keys()
    parameters = {name: values[name] for name in names}
    log_prior = component.log_prior(parameters).double()
    occupied = torch.zeros_like(log_prior, dtype=torch.bool).scatter_(-1, labels, 1)
    log_likelihood = component.likelihood(parameters_of_points(parameters, labels)).log_prob(data)
    return torch.where(occupied, log_prior, 0.0).sum(-1) + log_likelihood.sum(-1)
