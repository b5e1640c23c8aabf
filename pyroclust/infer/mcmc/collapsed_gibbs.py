"""Collapsed Gibbs sampling of a conjugate mixture."""

import time
from typing import Any

import numpy as np
import torch
from pyro.infer.mcmc.mcmc_kernel import MCMCKernel
from torch import Tensor

from pyroclust.infer.checks import check_points
from pyroclust.infer.mcmc.chain import Chain, place, start_chain
from pyroclust.infer.mcmc.draws import GibbsDraws
from pyroclust.infer.mcmc.parallel import advance, run_chains
from pyroclust.infer.mcmc.protocol import CollapsedModel
from pyroclust.infer.mcmc.starts import Overdispersed, Starts, as_starts

__all__ = ["CollapsedGibbs"]


class CollapsedGibbs(MCMCKernel):
    r"""Gibbs sampling of the partition, the cluster parameters integrated out (Neal's Algorithm 3), compiled.

    .. math:: p(c_i = k \mid c_{-i}, x) \propto n_{-i,k} \, p(x_i \mid x_{-i,k}), \qquad
        p(c_i = \text{new} \mid \cdot) \propto \frac{V_N(K + 1)}{V_N(K)} \, p(x_i)

    A sweep visits the points in the order of the data and, where the concentration has a Gamma prior, ends
    with Escobar and West's draw of it, so that :math:`V_N(K+1)/V_N(K) = \alpha`. Cost O(N K D) a sweep, and
    O(N K D^2) for full covariances. :meth:`run` keeps all chains and draws in compiled code;
    ``pyro.infer.MCMC`` costs about 0.1 ms a draw on top. Both obey the same law.

    Sites: ``"assignments"`` (N labels, canonical), ``"log_joint"`` (nats, the concentration integrated out:
    equal to ``model.log_joint``), ``"num_clusters"``, and ``"concentration"`` where that is random. The
    first draw of a chain comes after one sweep; labels leave Pyro's MCMC as floats, see :func:`assignments`.

    Args:
        model: a model with ``prior``, ``component`` and ``log_joint``, of a family with compiled functions.
        init: where chains start: :class:`OneCluster`, :class:`Singletons`, :class:`Overdispersed`,
            :class:`FromDraws`, or labels, ``(N,)`` or ``(S, N)``.
        thin: sweeps a draw.

    Raises:
        ValueError: if ``thin`` is not positive.

    Example:
        >>> from pyro.infer import MCMC
        >>> from pyroclust.infer.mcmc import OneCluster
        >>> from pyroclust.models import gaussian2d
        >>> data = torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]])
        >>> kernel = CollapsedGibbs(gaussian2d(), init=OneCluster())
        >>> kernel.run(data, num_draws=5, warmup=5, num_chains=2, seed=0).assignments.shape
        torch.Size([2, 5, 3])
        >>> mcmc = MCMC(kernel, num_samples=5, warmup_steps=5, disable_progbar=True)
        >>> mcmc.run(data)
        >>> sorted(mcmc.get_samples())
        ['assignments', 'log_joint', 'num_clusters']

    References:
        Neal (2000), Markov chain sampling methods for Dirichlet process mixture models.
        https://doi.org/10.1080/10618600.2000.10474879
        Escobar and West (1995), Bayesian density estimation and inference using mixtures.
        https://doi.org/10.1080/01621459.1995.10476550
    """

    def __init__(self, model: CollapsedModel, *, init: Starts | Tensor | None = None, thin: int = 1) -> None:
        if thin < 1:
            raise ValueError(f"thin is {thin}, expected at least 1")
        self.model, self.thin = model, thin
        self.init = Overdispersed() if init is None else as_starts(init)
        self.transforms: dict[str, Any] = {}
        self._chain: Chain | None = None
        self._params: dict[str, Tensor] = {}
        self._given: dict[str, Tensor] = {}

    def setup(self, warmup_steps: int, *args: Any, **kwargs: Any) -> None:
        """Start a new chain on the data; nothing of an earlier chain is kept."""
        (data,) = (*args, *kwargs.values())
        check_points(data, self.model.component.dim)
        generator = np.random.default_rng(_seed_from_torch())
        given, self._given = self._given, {}
        starts = as_starts(given["assignments"].long()) if "assignments" in given else self.init
        self._chain = start_chain(self.model, data, starts(len(data), 1, generator=generator)[0], generator)
        if given:
            _place(self._chain, {**_sites(self._chain, thin=0), **given})
        self._params = _sites(self._chain, thin=0)

    @property
    def initial_params(self) -> dict[str, Tensor]:
        """The sites at the start of the chain."""
        return self._params

    @initial_params.setter
    def initial_params(self, params: dict[str, Tensor]) -> None:
        """Start the next chain at ``params["assignments"]``, and ``params["concentration"]`` where given."""
        self._given = dict(params)

    def sample(self, params: dict[str, Tensor]) -> dict[str, Tensor]:
        """Advance by ``thin`` sweeps from ``params``, whoever made them, and return the new sites."""
        if self._chain is None:
            raise ValueError(
                "the kernel has no data, expected setup(warmup_steps, data) first: use pyro.infer.MCMC"
            )
        if params["assignments"] is not self._params["assignments"]:
            _place(self._chain, params)
        self._params = _sites(self._chain, thin=self.thin)
        return self._params

    def logging(self) -> dict[str, str]:
        """Return what the progress bar shows."""
        return {"clusters": str(int(self._params["num_clusters"]))}

    def diagnostics(self) -> dict[str, list[int]]:
        """Return the divergent draws, of which a Gibbs sampler has none; ArviZ asks for them."""
        return {"divergences": []}

    def run(
        self, data: Tensor, *, num_draws: int, warmup: int = 0, num_chains: int = 4, seed: int | None = None
    ) -> GibbsDraws:
        """Run several chains in compiled code, one thread a chain.

        Args:
            data: points, ``(N, D)``.
            num_draws: draws a chain keeps.
            warmup: draws a chain discards first.
            num_chains: chains, each with its own start and random numbers.
            seed: same seed, same draws; None takes one from torch's generator.

        Raises:
            ValueError: if ``data`` is not one finite data set of two or more points, or a count is too small.
        """
        check_points(data, self.model.component.dim)
        if num_draws < 1 or warmup < 0 or num_chains < 1:
            raise ValueError(
                f"num_draws, warmup and num_chains are {num_draws}, {warmup} and {num_chains}, "
                "expected at least 1, 0 and 1"
            )
        root = np.random.SeedSequence(_seed_from_torch() if seed is None else seed)
        first, *seeds = root.spawn(num_chains + 1)
        starts = self.init(len(data), num_chains, generator=np.random.default_rng(first))
        began = time.perf_counter()
        chains = [
            start_chain(self.model, data, start, np.random.default_rng(own))
            for start, own in zip(starts, seeds, strict=True)
        ]
        advance(chains[0], 0, thin=self.thin)
        compiled = time.perf_counter()
        columns = run_chains(chains, warmup=warmup, num_draws=num_draws, thin=self.thin)
        assignments, log_joint, concentration = (torch.from_numpy(column) for column in columns)
        return GibbsDraws(
            assignments=assignments,
            log_joint=log_joint,
            concentration=concentration if concentration.numel() > 0 else None,
            seconds=time.perf_counter() - compiled,
            seconds_compile=compiled - began,
        )


def _place(chain: Chain, params: dict[str, Tensor]) -> None:
    concentration = float(params["concentration"]) if "concentration" in params else 1.0
    place(chain, params["assignments"].cpu().numpy().astype(np.int64), concentration)


def _seed_from_torch() -> int:
    return int(torch.randint(2**63 - 1, ()))


def _sites(chain: Chain, *, thin: int) -> dict[str, Tensor]:
    assignments, log_joint, concentration = (
        torch.from_numpy(column) for column in advance(chain, 1, thin=thin)
    )
    sites = {
        "assignments": assignments[0],
        "log_joint": log_joint[0],
        "num_clusters": assignments[0].max() + 1,
    }
    if concentration.numel() > 0:
        sites["concentration"] = concentration[0]
    return sites
