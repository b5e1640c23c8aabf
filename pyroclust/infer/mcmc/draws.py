"""What chains return: draws of :meth:`run`, and label vectors out of Pyro's MCMC."""

from dataclasses import dataclass, field

import torch
from pyro.infer import MCMC
from torch import Tensor

from pyroclust.partitions import is_canonical, label_range

__all__ = ["ChainDraws", "assignments"]


@dataclass(frozen=True)
class ChainDraws:
    """Draws of several chains.

    Attributes:
        assignments: canonical labels, ``(chains, draws, N)`` int64.
        log_joint: log p(assignments, data, hyperparameters) in nats, a Gamma-distributed concentration
            integrated out, ``(chains, draws)`` float64.
        hyperparameters: sampled hyperparameters by name, ``(chains, draws)`` float64 each.
        seconds: wall-clock seconds of all draws, warm-up included, compilation not.
        seconds_compile: wall-clock seconds of setting up: compiling, or loading from numba's cache.
        interrupted: whether Ctrl-C stopped the run, usually before all draws were made; reports on such
            draws say so.
    """

    assignments: Tensor
    log_joint: Tensor
    hyperparameters: dict[str, Tensor] = field(default_factory=dict)
    seconds: float = 0.0
    seconds_compile: float = 0.0
    interrupted: bool = False

    def __repr__(self) -> str:
        """How many draws, and how many clusters they have."""
        chains, draws, points = self.assignments.shape
        clusters = self.num_clusters.double().mean().item()
        stopped = ", interrupted" if self.interrupted else ""
        return (
            f"ChainDraws({chains} chains of {draws} draws, {points} points, "
            f"{clusters:.1f} clusters on average{stopped})"
        )

    @property
    def concentration(self) -> Tensor | None:
        """The concentration, ``(chains, draws)`` float64, or None where it was not sampled."""
        return self.hyperparameters.get("concentration")

    @property
    def num_clusters(self) -> Tensor:
        """Number of clusters of each draw, ``(chains, draws)`` int64."""
        return label_range(self.assignments)


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
