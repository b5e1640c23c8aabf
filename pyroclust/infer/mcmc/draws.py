"""Label vectors out of Pyro's MCMC."""

import torch
from pyro.infer import MCMC
from torch import Tensor

from pyroclust.partitions import is_canonical

__all__ = ["assignments"]


def assignments(mcmc: MCMC) -> Tensor:
    """Return the label vectors of a finished MCMC run as integers.

    Pyro stores all sites of a kernel in one floating-point vector; labels come back exactly.

    Args:
        mcmc: a run with a kernel that has the site ``"assignments"``.

    Shape:
        output: ``(chains, draws, N)`` int64, canonical.

    Raises:
        ValueError: if nothing was run, there is no such site, or it does not hold canonical labels.

    Example:
        >>> from pyroclust.infer.mcmc import CollapsedGibbs
        >>> from pyroclust.models import gaussian2d
        >>> mcmc = MCMC(CollapsedGibbs(gaussian2d()), num_samples=3, warmup_steps=1, disable_progbar=True)
        >>> mcmc.run(torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]]))
        >>> assignments(mcmc).shape
        torch.Size([1, 3, 3])
    """
    samples = mcmc.get_samples(group_by_chain=True) if mcmc._samples is not None else {}
    if "assignments" not in samples:
        raise ValueError(
            f"mcmc holds the sites {sorted(samples)}, expected 'assignments': "
            "call mcmc.run(data) with a partition kernel first"
        )
    labels = samples["assignments"].round().to(torch.int64)
    if not bool(is_canonical(labels).all()):
        raise ValueError(
            "mcmc holds label vectors that are not canonical: its kernel must return canonical labels"
        )
    return labels
