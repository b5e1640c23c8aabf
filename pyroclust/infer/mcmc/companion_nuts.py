"""NUTS on the companion program of a mixture: what a Pyro user can do without a kernel for partitions."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyro
import torch
from pyro.infer import NUTS
from pyro.infer.autoguide.initialization import init_to_uniform
from pyro.infer.mcmc.mcmc_kernel import MCMCKernel
from torch import Tensor

from pyroclust.core.long_runs import interrupt_between_steps, progress_bar
from pyroclust.core.numbers import check_count, check_seed
from pyroclust.core.random_state import preserved_random_state, seed_from_torch
from pyroclust.distributions.families.component import parameters_of_points
from pyroclust.distributions.points import Points, as_points, check_data_set
from pyroclust.distributions.protocols import CollapsedModel, CompanionProgram
from pyroclust.infer.mcmc.kernel import DOUBLE, check_draws
from pyroclust.infer.mcmc.states import ChainStates, Trace, log_joint, log_prior_of_states
from pyroclust.infer.variational import sample_companion_labels
from pyroclust.partitions import Draws, canonical, num_clusters

_PARTITION_SITES = ("assignments", "log_joint", "num_clusters")


@torch.no_grad()
def partitions_given(program: CompanionProgram, data: Tensor, values: dict[str, Tensor]) -> ChainStates:
    """Draw a partition given each of S draws of the continuous sites, ``(S, *site shape)``.

    The log joint is that of partition, data and hyperparameters where the component family is conjugate;
    elsewhere also of the parameters of the clusters that have points.
    """
    model = program.mixture
    labels = sample_companion_labels(program, data, values)
    partitions = canonical(labels)
    hyper = {name: values[name].double() for name in sorted(model.hyperpriors)}
    if model.is_conjugate:
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


class CompanionNUTS(MCMCKernel):
    r"""The No-U-Turn sampler over weights and parameters of a companion program, its labels summed out.

    .. math:: p(w, \theta \mid x) \propto p(w) \, p(\theta) \prod_i \sum_k w_k F(x_i; \theta_k)

    After each draw the labels are sampled from their exact conditional, so the partitions have the exact
    posterior of the companion. This is the baseline that Pyro offers. Gradients cost O(N T), a draw takes up
    to ``2**max_tree_depth`` of them, and the sampler rarely crosses from one way of splitting the data to
    another.

    Sites under ``pyro.infer.MCMC``: every continuous site of the program, ``"assignments"`` (N labels,
    canonical), ``"num_clusters"`` and ``"log_joint"``, in nats: of partition, data and hyperparameters, and
    without conjugacy of the parameters of occupied clusters. It takes no turns in a :class:`Compose`.

    Args:
        program: a mixture with explicit parameters and enumerable labels, ``models.companion(model, ...)``.
        target_accept_prob: larger values take smaller, safer steps.
        max_tree_depth: a draw takes at most 2 to this power steps.
        full_mass: adapt a full mass matrix instead of a diagonal one.
        init_strategy: where chains start, one of Pyro's ``init_to_...``.
        jit_compile: trace the potential by torch's JIT: a tenth of a second once, then 2 to 3 times as fast.

    Example:
        >>> from pyroclust.models import companion, gaussian2d
        >>> kernel = CompanionNUTS(companion(gaussian2d(), 5), max_tree_depth=2)
        >>> data = torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]])
        >>> kernel.run(data, num_draws=5, warmup=5, num_chains=1, seed=0).assignments.shape
        (1, 5, 3)

    References:
        Hoffman & Gelman (2014), The No-U-Turn Sampler. https://arxiv.org/abs/1111.4246
    """

    def __init__(
        self,
        program: CompanionProgram,
        *,
        target_accept_prob: float = 0.8,
        max_tree_depth: int = 10,
        full_mass: bool = False,
        init_strategy: Callable[..., Any] = init_to_uniform,
        jit_compile: bool = True,
    ) -> None:
        self.model = program
        self._new_nuts = partial(
            NUTS,
            program,
            target_accept_prob=target_accept_prob,
            max_tree_depth=max_tree_depth,
            full_mass=full_mass,
            init_strategy=init_strategy,
            jit_compile=jit_compile,
            ignore_jit_warnings=True,
            max_plate_nesting=1,
        )
        self._nuts = self._new_nuts()
        self._data = torch.empty(0, 0)
        self._params: dict[str, Tensor] = {}
        self._first_params: dict[str, Tensor] | None = None

    def __repr__(self) -> str:
        return f"CompanionNUTS({self.model.mixture.name}, {self.model.num_components} components)"

    @property
    def transforms(self) -> dict[str, Any]:
        """From the program's spaces to unconstrained ones, by site."""
        return self._nuts.transforms or {}

    def setup(self, warmup_steps: int, *args: Any, **kwargs: Any) -> None:
        """Start a new chain on the data; nothing of an earlier chain is kept.

        Raises:
            ValueError: if the data are not one data set in the family's support.
        """
        (data,) = (*args, *kwargs.values())
        data = as_points(data, like=DOUBLE)
        component = self.model.mixture.component
        check_data_set(data, component.dim)
        component.check(data)
        self._data = data.detach().double()
        self._nuts = self._new_nuts()
        self._nuts.initial_params, self._first_params = self._first_params, None
        self._nuts.setup(warmup_steps, self._data)
        self._params = self._sites(self._nuts.initial_params)

    @property
    def initial_params(self) -> dict[str, Tensor]:
        """The sites at the start of the chain, continuous ones unconstrained."""
        return self._params

    @initial_params.setter
    def initial_params(self, params: dict[str, Tensor]) -> None:
        """Start the next chain at given values of all continuous sites, unconstrained."""
        self._first_params = _continuous(params)

    def sample(self, params: dict[str, Tensor]) -> dict[str, Tensor]:
        """Advance by one draw of NUTS, then draw the labels."""
        self._params = self._sites(self._nuts.sample(_continuous(params)))
        return self._params

    def logging(self) -> dict[str, str]:
        return {"clusters": str(int(self._params["num_clusters"])), **self._nuts.logging()}

    def diagnostics(self) -> dict[str, Any]:
        """Return the divergent draws and the acceptance rate of the latest chain."""
        return self._nuts.diagnostics() if self._params else {"divergences": []}

    def run(
        self,
        data: Points,
        *,
        num_draws: int,
        warmup: int,
        num_chains: int = 4,
        seed: int | None = None,
        progress: bool = False,
    ) -> Draws:
        """Run several chains one after the other, in the words of :meth:`PartitionKernel.run`.

        ``warmup`` draws of a chain adapt it and are discarded. After Ctrl-C whole chains are kept, or what
        there is of the first.
        """
        num_draws, num_chains = check_count("num_draws", num_draws), check_count("num_chains", num_chains)
        warmup = check_count("warmup", warmup)
        check_draws(num_chains, num_draws, len(as_points(data)))
        root = seed_from_torch() if seed is None else check_seed(seed)
        chains: list[list[dict[str, Tensor]]] = []
        began, starting, steps = time.perf_counter(), 0.0, warmup + num_draws
        with (
            preserved_random_state(),
            pyro.validation_enabled(False),
            progress_bar("draws", num_chains * steps, shown=progress) as tell,
            interrupt_between_steps() as interrupt,
        ):
            for index, own in enumerate(np.random.SeedSequence(root).generate_state(num_chains).tolist()):
                if interrupt.requested:
                    break
                torch.manual_seed(own)
                at = time.perf_counter()
                self.setup(warmup, data)
                starting += time.perf_counter() - at
                chains.append([])
                for step, draw in enumerate(self._steps(steps)):
                    tell(index * steps + step + 1, "")
                    if step >= warmup:
                        chains[-1].append(draw)
                    if interrupt.requested:
                        break
            whole = [one for one in chains if len(one) == num_draws] or [one for one in chains[:1] if one]
            if not whole:
                raise KeyboardInterrupt
            rows = [self._partitions(_stacked(one)) for one in whole]
        return Trace.of_rows(rows).draws(
            repr(self),
            interrupted=interrupt.requested,
            seconds=time.perf_counter() - began - starting,
            seconds_compile=starting,
        )

    def _steps(self, count: int) -> Iterator[dict[str, Tensor]]:
        """Yield the continuous sites of each step, unconstrained."""
        params = self._nuts.initial_params
        for _ in range(count):
            params = self._nuts.sample(params)
            yield params

    def _partitions(self, params: dict[str, Tensor]) -> ChainStates:
        values = {name: self.transforms[name].inv(one) for name, one in params.items()}
        return partitions_given(self.model, self._data, values)

    def _sites(self, params: dict[str, Tensor]) -> dict[str, Tensor]:
        states = self._partitions({name: one.detach().unsqueeze(0) for name, one in params.items()})
        labels = states.assignments[0]
        return {
            **params,
            "assignments": labels,
            "log_joint": states.log_joint[0],
            "num_clusters": num_clusters(labels),
        }


def _continuous(params: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: one for name, one in params.items() if name not in _PARTITION_SITES}


def _stacked(draws: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    return {name: torch.stack([draw[name] for draw in draws]).detach() for name in draws[0]}
