"""Tests of kernels by the joint law of hyperparameters, partition and data: no exact posterior needed."""

import numpy as np
import torch
from pyro import poutine

from pyroclust.infer.mcmc.states import ChainStates


def simulate(model, *, num_datasets, num_points):
    """Draw hyperparameters, partitions and data from the model."""
    template = torch.empty(num_datasets, num_points, model.component.dim)
    nodes = poutine.trace(poutine.uncondition(model)).get_trace(template).nodes
    hyper = {name: nodes[name]["value"].double() for name in model.hyperpriors}
    return hyper, nodes["assignments"]["value"], nodes["data"]["value"].double()


def states_at(hyper, assignments, index):
    """Return the states of one chain at a simulated data set."""
    own = {name: values[index : index + 1] for name, values in hyper.items()}
    return ChainStates(assignments[index : index + 1], own, torch.zeros(1, dtype=torch.float64))


def functionals(hyper, assignments, data):
    """Return functions of hyperparameters, partitions and data, one column each, ``(sets, F)``."""
    clusters = (assignments.amax(-1) + 1).double()
    spread = data.square().mean((-2, -1)).log1p()
    same = (assignments[..., :1] == assignments).double().mean(-1)
    gap = (data[..., :1, :] - data).abs().mean(-1)
    agree = (gap * (assignments[..., :1] == assignments)).mean(-1)
    columns = [clusters, clusters**2, same, agree, clusters * spread]
    for name in sorted(hyper):
        level = hyper[name].clamp(min=1e-12).log()
        columns += [level, level**2, level * spread, level * clusters]
    return torch.stack(columns, -1)


def invariance_scores(model, kernel, *, num_datasets, num_points, num_steps=1):
    """Return z-scores of functionals before and after a kernel's steps from exact draws of the joint law.

    The kernel leaves p(h, c | x) unchanged for every x only if the joint law of (h, c, x) is the same after
    its steps; differences are paired, so that small biases of a single step show.

    References:
        Gandy and Scott (2020), Unit testing for MCMC. https://arxiv.org/abs/2001.06465
    """
    hyper, assignments, data = simulate(model, num_datasets=num_datasets, num_points=num_points)
    generator = np.random.default_rng(int(torch.randint(2**62, ())))
    after = []
    for index in range(num_datasets):
        states = states_at(hyper, assignments, index)
        after.append(kernel.bind(data[index], states, generator).advance(states, num_steps).last())
    found = {name: torch.cat([one.hyperparameters[name] for one in after]) for name in hyper}
    labels = torch.cat([one.assignments for one in after])
    change = functionals(found, labels, data) - functionals(hyper, assignments, data)
    deviation = change.std(0)
    return change.mean(0) / (deviation / num_datasets**0.5).clamp(min=1e-12), deviation


def geweke_scores(model, kernel, *, num_rounds, num_points, num_batches=40):
    """Return z-scores between the model's joint law and a chain that redraws data and state in turn.

    References:
        Geweke (2004), Getting it right. https://doi.org/10.1198/016214504000001132
    """
    direct = functionals(*simulate(model, num_datasets=20_000, num_points=num_points))
    hyper, assignments, data = simulate(model, num_datasets=1, num_points=num_points)
    generator = np.random.default_rng(int(torch.randint(2**62, ())))
    states, visited = states_at(hyper, assignments, 0), []
    for _ in range(num_rounds):
        states = kernel.bind(data[0], states, generator).step(states)
        known = model.given({name: values for name, values in states.hyperparameters.items()})
        data = known.component.sample(states.assignments).double()
        visited.append(functionals(states.hyperparameters, states.assignments, data)[0])
    chain = torch.stack(visited).reshape(num_batches, -1, direct.shape[-1]).mean(1)
    error = (chain.var(0) / num_batches + direct.var(0) / len(direct)).sqrt()
    return (chain.mean(0) - direct.mean(0)) / error


def sbc_ranks(model, kernel, *, num_datasets, num_points, num_draws, thin):
    """Return ranks of the true functionals among thinned draws of a chain that starts elsewhere.

    Ties are broken at random. A calibrated sampler's ranks are uniform on 0, ..., num_draws.

    References:
        Talts et al. (2018), Validating Bayesian inference algorithms with simulation-based calibration.
        https://arxiv.org/abs/1804.06788
    """
    hyper, assignments, data = simulate(model, num_datasets=num_datasets, num_points=num_points)
    ranks = []
    for index in range(num_datasets):
        draws = kernel.run(
            data[index], num_draws=num_draws * thin, warmup=10 * thin, num_chains=1, seed=index
        )
        found = {name: torch.from_numpy(values[0, ::thin]) for name, values in draws.parameters.items()}
        truth = {name: values[index : index + 1] for name, values in hyper.items()}
        labels = torch.from_numpy(draws.assignments[0, ::thin])
        sampled = functionals(found, labels, data[index].expand(num_draws, -1, -1))
        true = functionals(truth, assignments[index : index + 1], data[index : index + 1])
        jitter = 1e-9 * torch.randn(num_draws + 1, sampled.shape[-1], dtype=torch.float64)
        ranks.append((sampled + jitter[1:] < true + jitter[:1]).sum(0))
    return torch.stack(ranks)
