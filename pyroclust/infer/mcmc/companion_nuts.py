"""NUTS on the companion program of a mixture: what a Pyro user can do without a kernel for partitions."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pyro
import torch
from pyro.infer import NUTS
from pyro.infer.autoguide.initialization import init_to_uniform
from pyro.infer.mcmc.mcmc_kernel import MCMCKernel
from rich.console import Console
from rich.progress import track
from torch import Tensor

from pyroclust.distributions import ConjugateComponent
from pyroclust.infer.checks import check_points
from pyroclust.infer.enumerated_labels import CompanionProgram, sample_partitions
from pyroclust.infer.mcmc.draws import ChainDraws
from pyroclust.infer.mcmc.joint import log_joint

__all__ = ["CompanionNUTS"]

_PARTITION_SITES = ("assignments", "log_joint", "num_clusters")


class CompanionNUTS(MCMCKernel):
    r"""The No-U-Turn sampler over weights and parameters of a companion program, its labels summed out.

    .. math:: p(w, \theta \mid x) \propto p(w) \, p(\theta) \prod_i \sum_k w_k F(x_i; \theta_k)

    After each draw the labels are sampled from their exact conditional given weights and parameters, so the
    partitions have the exact posterior of the companion. This is the baseline that Pyro offers: it cannot relabel
    components on its own (partitions do not mind) and rarely crosses from one way of splitting the data to another.

    Sites under ``pyro.infer.MCMC``: every continuous site of the program, ``"assignments"`` (N labels,
    canonical), ``"num_clusters"`` and ``"log_joint"``, nats: of partition, data and hyperparameters where the family
    is conjugate (as the kernels over partitions report it), of everything the program samples otherwise. Step size
    and mass matrix adapt during warm-up, which must not be short. Gradients cost O(N T), a draw up to
    ``2**max_tree_depth`` of them.

    Args:
        program: a mixture with explicit parameters and enumerable labels, ``models.companion(model, ...)``.
        target_accept_prob: larger values take smaller, safer steps.
        max_tree_depth: a draw takes at most 2 to this power steps.
        full_mass: adapt a full mass matrix instead of a diagonal one.
        init_strategy: where chains start, one of Pyro's ``init_to_...``.
        jit_compile: trace the potential by the torch JIT: slow to start, then faster; not with every torch.

    Example:
        >>> from pyroclust.models import companion, gaussian2d
        >>> kernel = CompanionNUTS(companion(gaussian2d(), 5), max_tree_depth=3)
        >>> data = torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]])
        >>> kernel.run(data, num_draws=5, warmup=5, num_chains=1, seed=0).assignments.shape
        torch.Size([1, 5, 3])

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
        jit_compile: bool = False,
    ) -> None:
        self.model = program
        self._nuts = NUTS(
            program,
            target_accept_prob=target_accept_prob,
            max_tree_depth=max_tree_depth,
            full_mass=full_mass,
            init_strategy=init_strategy,
            jit_compile=jit_compile,
            ignore_jit_warnings=True,
            max_plate_nesting=1,
        )
        self._data = torch.empty(0, 0)
        self._params: dict[str, Tensor] = {}

    @property
    def transforms(self) -> dict[str, Any]:
        """From the program's spaces to unconstrained ones, by site."""
        return self._nuts.transforms or {}

    def setup(self, warmup_steps: int, *args: Any, **kwargs: Any) -> None:
        """Start a new chain on the data.

        Raises:
            ValueError: if the data are not one data set ``(N, D)`` of two or more points in the family's support.
        """
        (data,) = (*args, *kwargs.values())
        self._start(warmup_steps, data)
        self._params = self._with_partition(self._nuts.initial_params)

    @property
    def initial_params(self) -> dict[str, Tensor]:
        """The sites at the start of the chain, continuous ones unconstrained."""
        return self._params

    @initial_params.setter
    def initial_params(self, params: dict[str, Tensor]) -> None:
        """Start the next chain at given values of all continuous sites, unconstrained."""
        self._nuts.initial_params = _continuous(params)

    def sample(self, params: dict[str, Tensor]) -> dict[str, Tensor]:
        """Advance by one draw of NUTS, then draw the labels."""
        self._params = self._with_partition(self._nuts.sample(_continuous(params)))
        return self._params

    def logging(self) -> dict[str, str]:
        """Return what the progress bar shows."""
        clusters = {"clusters": str(int(self._params["num_clusters"]))} if self._params else {}
        return {**clusters, **self._nuts.logging()}

    def diagnostics(self) -> dict[str, Any]:
        """Return the divergent draws and the acceptance rate of the last chain."""
        return self._nuts.diagnostics()

    def cleanup(self) -> None:
        """Forget the chain."""
        self._nuts.cleanup()

    def run(
        self,
        data: Tensor,
        *,
        num_draws: int,
        warmup: int,
        num_chains: int = 4,
        seed: int | None = None,
        progress: bool = False,
    ) -> ChainDraws:
        """Run several chains one after the other; ``pyro.infer.MCMC`` can run them in processes.

        Ctrl-C stops the run; whole chains made so far are kept, and the only one as far as it is.

        Args:
            data: points, ``(N, D)``.
            num_draws: draws a chain keeps.
            warmup: draws a chain adapts in and discards.
            num_chains: chains, each with its own start and random numbers.
            seed: same seed, same draws; None takes one from torch's generator.
            progress: show a bar on standard error.

        Raises:
            ValueError: as :meth:`setup`, or if a count is too small.
        """
        if num_draws < 1 or warmup < 1 or num_chains < 1:
            raise ValueError(
                f"num_draws, warmup and num_chains are {num_draws}, {warmup} and {num_chains}, expected at least 1"
            )
"""
"""
