"""Starts with few clusters, found by chains whose prior wants few."""

from copy import copy

import numpy as np

from pyroclust.distributions import ChineseRestaurantPrior
from pyroclust.distributions.points import Points
from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.infer.mcmc.long_chains import LongChains
from pyroclust.infer.mcmc.named_kernels import allowed_kernel_name, named_kernel
from pyroclust.infer.mcmc.starts import FromDraws

__all__ = ["coarse_starts"]

# A new cluster costs 21 nats beside what it costs at concentration 1.
_CONCENTRATION = 1e-9
_SWEEPS = 200


def coarse_starts(
    model: CollapsedModel,
    data: Points,
    *,
    num_chains: int,
    sweeps: int = _SWEEPS,
    seed: int,
) -> tuple[FromDraws, float]:
    r"""Return starts that chains reach under a prior of very few clusters, and the seconds this took.

    These chains have overdispersed starts, and of a conjugate family the kernel with most proposals to merge
    clusters, whatever moves the chains that follow. Compilation is not among the seconds.

    In many dimensions a partition into many small clusters, once there, stays: each of these is worth keeping
    as long as the others are, since its points, one by one or a cluster at a time, fit a large cluster badly
    that has not taken in the others yet. Wine with 13 columns keeps 20 of them for tens of thousands of
    sweeps, at a log joint 25 nats below that of the posterior. Under a Chinese restaurant prior with
    concentration :math:`10^{-9}` most of them go within tens of sweeps.

    The starts are no draws of the posterior, and need not be: chains may start anywhere. Chains from these
    alone may all miss the same side: :func:`~pyroclust.analysis.chains.overdispersed_starts` has others
    beside them.

    Args:
        model: a mixture; its prior is replaced while the starts are sought.
        data: points, ``(N, D)``.
        num_chains: how many starts.
        sweeps: draws of the kernel under the other prior.
        seed: same seed, same starts.

    Raises:
        ValueError: if the kernel cannot run on the model or the data.

    Example:
        >>> import torch
        >>> from pyroclust.models import gaussian2d
        >>> data = torch.tensor([[0.0, 0.0], [0.1, 0.0], [0.0, 0.3]], dtype=torch.float64)
        >>> starts, seconds = coarse_starts(gaussian2d(), data, num_chains=2, seed=0)
        >>> starts.draws.tolist()
        [[0, 0, 0], [0, 0, 0]]
    """
    few = copy(model)
    few.prior = ChineseRestaurantPrior(_CONCENTRATION)
    # The chains that start here must not repeat these random numbers.
    own = int(np.random.default_rng(seed).integers(2**31))
    kernel = named_kernel(allowed_kernel_name("merge-split+gibbs", few), few)
    chains = LongChains(kernel, data, num_chains=num_chains, seed=own)
    starts = FromDraws(chains.draw(1, warmup=sweeps - 1).assignments[:, 0])
    return starts, chains.seconds
