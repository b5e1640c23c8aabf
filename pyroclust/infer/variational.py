"""Variational posteriors of a companion program by Pyro, as a reference for partitions."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyro
import torch
from pyro import poutine
from pyro.infer import Predictive, TraceEnum_ELBO, infer_discrete
from pyro.infer.autoguide import AutoGuide, AutoNormal
from pyro.infer.autoguide.initialization import init_to_sample
from pyro.poutine.util import prune_subsample_sites
from torch import Tensor

from pyroclust.core.numbers import check_count, check_number, check_seed
from pyroclust.core.random_state import seeded
from pyroclust.distributions.points import Points, as_points, check_data_set
from pyroclust.distributions.protocols import CompanionProgram
from pyroclust.infer.checks import MAX_LEARNING_RATE
from pyroclust.partitions import Draws, canonical

# Entries of the largest work array, 32 MiB of float64.
_MAX_ENTRIES = 1 << 22
# The learning rate falls to this share of its first value.
_LAST_RATE = 0.02


@torch.no_grad()
def sample_companion_labels(program: CompanionProgram, data: Tensor, values: dict[str, Tensor]) -> Tensor:
    """Draw components ``(S, N)`` from their exact conditional given each of S draws of the other sites.

    All draws at once by ``pyro.infer.infer_discrete``, in blocks that bound the memory.
    """
    nodes: Any = poutine.trace(program).get_trace(data).nodes
    lifted = {
        name: value if nodes[name]["fn"].batch_shape else value.unsqueeze(1) for name, value in values.items()
    }
    num_draws = len(next(iter(values.values())))
    size = max(1, _MAX_ENTRIES // (len(data) * program.num_components**2))
    labels = []
    for first in range(0, num_draws, size):
        block = {name: value[first : first + size] for name, value in lifted.items()}
        conditioned, draws = pyro.condition(program, data=block), min(size, num_draws - first)

        def batched(conditioned: Any = conditioned, draws: int = draws) -> Tensor:
            with pyro.plate("draws", draws, dim=-2):
                return conditioned(data)

        trace = poutine.trace(infer_discrete(batched, first_available_dim=-3)).get_trace()
        labels.append(trace.nodes["labels"]["value"].expand(draws, len(data)))
    return torch.cat(labels)


def variational_posterior(
    program: CompanionProgram,
    data: Points,
    *,
    num_steps: int = 500,
    num_draws: int = 1000,
    seed: int | None = None,
    guide: Callable[..., AutoGuide] = AutoNormal,
    learning_rate: float = 0.1,
    num_particles: int = 4,
    num_starts: int = 20,
) -> tuple[Draws, np.ndarray]:
    r"""Fit weights and parameters by ``TraceEnum_ELBO``, labels summed out, then draw partitions.

    .. math:: \max_\phi \; E_{q_\phi(w, \theta)} \left[ \log \frac{p(w) \, p(\theta)}{q_\phi(w, \theta)}
        + \sum_i \log \sum_k w_k F(x_i; \theta_k) \right] \le \log p(x)

    The guide is the best of several started at draws of the prior, judged by the first bound. Labels are
    drawn from their exact conditional given draws of the guide. A step costs O(P N T) for P particles and T
    components, and is about ``learning_rate`` long in the units of the data, which should be standardised.

    Args:
        program: a mixture with explicit parameters and enumerable labels, ``models.companion(model, ...)``.
        data: points, ``(N, D)``.
        num_steps: gradient steps of Adam, its rate falling to a fiftieth.
        num_draws: partitions S.
        seed: same seed, same draws; None takes one from torch's generator.
        guide: how the continuous sites are approximated: an autoguide of Pyro.
        learning_rate: the first one.
        num_particles: draws of the guide a step, in one batch.
        num_starts: starts to choose from.

    Returns:
        one chain of independent draws, and the evidence lower bound after each step in nats, ``(steps,)``.

    Raises:
        ValueError: if the data are not one data set in the family's support, or a count is not positive.

    Example:
        >>> from pyroclust.models import companion, gaussian2d
        >>> data = torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]])
        >>> program = companion(gaussian2d(), 4)
        >>> draws, elbo = variational_posterior(program, data, num_steps=5, num_draws=6, seed=0)
        >>> draws.assignments.shape, elbo.shape
        ((1, 6, 3), (5,))

    References:
        Blei & Jordan (2006), Variational inference for Dirichlet process mixtures.
        https://doi.org/10.1214/06-BA104
    """
    num_steps, num_draws = check_count("num_steps", num_steps), check_count("num_draws", num_draws)
    num_particles = check_count("num_particles", num_particles)
    num_starts = check_count("num_starts", num_starts)
    learning_rate = check_number("learning_rate", learning_rate, above=0, at_most=MAX_LEARNING_RATE)
    component = program.mixture.component
    points = as_points(data)
    check_data_set(points, component.dim)
    component.check(points)
    points = points.detach().double()
    root = int(torch.randint(2**31 - 1, ())) if seed is None else check_seed(seed)
    elbo = TraceEnum_ELBO(
        num_particles=num_particles, vectorize_particles=num_particles > 1, max_plate_nesting=1
    )
    began = time.perf_counter()
    local = pyro.settings.context(module_local_params=True)
    with seeded(root), local, pyro.validation_enabled(False):
        fitted = _best_start(program, points, elbo, guide, num_starts=num_starts)
        bounds = _fit(program, points, elbo, fitted, num_steps=num_steps, learning_rate=learning_rate)
        labels = sample_companion_labels(program, points, _draw(program, points, fitted, num_draws=num_draws))
    draws = Draws(
        name="the variational posterior",
        assignments=canonical(labels).unsqueeze(0).numpy(),
        seconds=time.perf_counter() - began,
    )
    return draws, np.array(bounds)


def _best_start(
    program: CompanionProgram,
    data: Tensor,
    elbo: TraceEnum_ELBO,
    guide: Callable[..., AutoGuide],
    *,
    num_starts: int,
) -> AutoGuide:
    candidates: list[tuple[float, AutoGuide]] = []
    for _ in range(num_starts):
        candidate = guide(
            poutine.block(program, hide=list(program.discrete_sites)), init_loc_fn=init_to_sample
        )
        candidate(data)
        candidates.append((elbo.loss(program, candidate, data), candidate))
    return min(candidates, key=lambda scored: scored[0])[1]


def _fit(
    program: CompanionProgram,
    data: Tensor,
    elbo: TraceEnum_ELBO,
    guide: AutoGuide,
    *,
    num_steps: int,
    learning_rate: float,
) -> list[float]:
    parameters = list(guide.parameters())
    optimizer = torch.optim.Adam(parameters, lr=learning_rate, betas=(0.9, 0.99))
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, _LAST_RATE ** (1 / num_steps))
    bounds = []
    for _ in range(num_steps):
        optimizer.zero_grad()
        loss = elbo.differentiable_loss(program, guide, data)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 10.0 * len(data))
        optimizer.step()
        schedule.step()
        bounds.append(-loss.item())
    return bounds


def _draw(program: CompanionProgram, data: Tensor, guide: AutoGuide, *, num_draws: int) -> dict[str, Tensor]:
    """Draw the continuous sites, ``(S, *site shape)`` each."""
    trace: Any = prune_subsample_sites(poutine.trace(program).get_trace(data))
    names = [name for name in trace.stochastic_nodes if name not in program.discrete_sites]
    draws = Predictive(guide, num_samples=num_draws, return_sites=names, parallel=True)(data)
    return {
        name: draws[name].reshape(num_draws, *trace.nodes[name]["value"].shape).detach() for name in names
    }
