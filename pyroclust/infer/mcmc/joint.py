"""The log joint density of chains whose hyperparameters may be random."""

import torch
from torch import Tensor

from pyroclust.distributions import ConjugateComponent, GammaConcentration
from pyroclust.infer.mcmc.protocol import CollapsedModel

__all__ = ["conditional_log_joint", "log_hyperprior", "log_joint", "log_prior_of_states", "marginal_names"]


def marginal_names(model: CollapsedModel) -> frozenset[str]:
    """Return the random hyperparameters that the prior can integrate out, which no kernel needs to sample."""
    return frozenset(model.prior.hyperpriors) if isinstance(model.prior, GammaConcentration) else frozenset()


def log_hyperprior(model: CollapsedModel, hyperparameters: dict[str, Tensor]) -> Tensor | float:
    """Return the log density of the hyperparameters in nats, those that are integrated out apart."""
    marginal = marginal_names(model)
    terms = [
        prior.log_prob(hyperparameters[name].to(prior.mean.dtype)).double()
        for name, prior in model.hyperpriors.items()
        if name not in marginal
    ]
    return sum(terms[1:], terms[0]) if terms else 0.0


def log_prior_of_states(
    model: CollapsedModel, assignments: Tensor, hyperparameters: dict[str, Tensor]
) -> Tensor:
    """Return log p(assignments, hyperparameters) in nats, a Gamma concentration apart, ``(..., C)``."""
    names = hyperparameters.keys() & model.prior.hyperpriors.keys() - marginal_names(model)
    prior = model.given({name: hyperparameters[name] for name in names}).prior
    return prior.log_prob(assignments) + log_hyperprior(model, hyperparameters)


def conditional_log_joint(
    model: CollapsedModel, data: Tensor, assignments: Tensor, hyperparameters: dict[str, Tensor]
) -> Tensor:
    """Return log p(assignments, data | hyperparameters) in nats, ``(..., C, N) -> (..., C)``.

    This is what a move of the partition alone leaves unchanged up to a constant: the hyperparameters that the
    chains carry are given, others are integrated out.
    """
    known = model.given(hyperparameters) if hyperparameters else model
    return known.log_joint(data, assignments)


def log_joint(
    model: CollapsedModel, data: Tensor, assignments: Tensor, hyperparameters: dict[str, Tensor]
) -> Tensor:
    """Return log p(assignments, data, hyperparameters) in nats, ``(..., C)``, a Gamma concentration apart.

    Components that are not conjugate have no such formula: there it is nan.
    """
    if not isinstance(model.component, ConjugateComponent):
        return torch.full(assignments.shape[:-1], torch.nan, dtype=torch.float64)
    marginal = marginal_names(model)
    given = {name: values for name, values in hyperparameters.items() if name not in marginal}
    return conditional_log_joint(model, data, assignments, given) + log_hyperprior(model, hyperparameters)
