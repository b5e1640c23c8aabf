"""Chains of one model on data sets one after the other: what laws of data draw their partitions from."""

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from pyroclust.core.counts import check_number
from pyroclust.core.random_state import seed_from_torch
from pyroclust.distributions import ConjugateComponent
from pyroclust.distributions.protocols import CollapsedModel
from pyroclust.distributions.sequential.partition import SequentialPartition
from pyroclust.infer.mcmc.defaults import default_kernel
from pyroclust.infer.mcmc.kernel import DOUBLE, PartitionKernel
from pyroclust.infer.mcmc.states import ChainStates
from pyroclust.nn.compiled.filter import CompiledFilterScorer

__all__ = ["PosteriorChains", "check_shares"]


class PosteriorChains:
    """The default kernel of a model, to start chains at draws of the exact filter and to move them on.

    Args:
        model: a mixture of a conjugate family with known hyperparameters; a
            :class:`~pyroclust.distributions.GammaConcentration` is integrated out.
        sweeps: draws of the kernel between two that are kept.

    Attributes:
        names: hyperparameters that the kernel moves, in order.

    Raises:
        ValueError: if the model is not conjugate or has random hyperparameters.

    Example:
        >>> from pyroclust.models import niw_mixture
        >>> chains = PosteriorChains(niw_mixture(2), sweeps=3)
        >>> points = torch.randn(6, 2)
        >>> labels, hyper = chains.start(points), chains.draw_hyperparameters()
        >>> chains.advance(points, labels, hyper=hyper, draws=4).shape
        torch.Size([4, 6])
    """

    def __init__(self, model: CollapsedModel, *, sweeps: int) -> None:
        unknown = [name for name in model.hyperpriors if name not in model.prior.integrated_names]
        if unknown:
            raise ValueError(
                f"model has the random hyperparameters {', '.join(unknown)}, expected known ones: "
                "labels would depend on values that the guide is not given"
            )
        component = ConjugateComponent.of(model.component, otherwise="chains begin at draws of the filter")
        self._priors = model.prior.hyperpriors
        self._scorer = CompiledFilterScorer(model.prior, component)
        self._kernel: PartitionKernel = default_kernel(model, thin=sweeps)
        self.names = tuple(sorted(self._kernel.updates))

    def draw_hyperparameters(self, number: int = 1) -> Tensor:
        """Draw what the kernel moves from its prior, ``(number, H)`` float64."""
        drawn = [self._priors[name].sample(torch.Size((number,))).double() for name in self.names]
        return torch.stack(drawn, -1) if drawn else torch.empty(number, 0, dtype=torch.float64)

    def start(self, points: Tensor) -> Tensor:
        """Draw a partition by the exact filter in a random order, ``(N, ...) -> (1, N)``."""
        filtered = SequentialPartition(
            self._scorer,
            self._scorer.encode(points.unsqueeze(0)),
            order=torch.randperm(len(points)).unsqueeze(0),
            dataset=torch.tensor(0),
        )
        drawn: Tensor = filtered.sample_and_log_prob((1,))[0]
        return drawn

    def advance(self, points: Tensor, labels: Tensor, *, hyper: Tensor, draws: int) -> Tensor:
        """Move a chain on, and return its draws; labels and hyperparameters become those of the last.

        Args:
            points: the data set.
            labels: where the chain is.
            hyper: its hyperparameters.
            draws: how many to return.

        Shape:
            points: ``(N, ...)``; labels: ``(1, N)``; hyper: ``(1, H)``; output: ``(draws, N)``.
        """
        values = {name: hyper[:, i] for i, name in enumerate(self.names)}
        states = ChainStates(labels, values, torch.full((1,), torch.nan))
        generator = np.random.default_rng(seed_from_torch())
        trace = self._kernel.bind(points.to(DOUBLE), states, generator).advance(states, draws)
        labels[0] = trace.assignments[0, -1]
        for i, name in enumerate(self.names):
            hyper[0, i] = trace.hyperparameters[name][0, -1]
        found: Tensor = trace.assignments[0]
        return found


def check_shares(name: str, first: float, laws: Iterable[float]) -> Tensor:
    """Return shares of a model's own simulations and of other laws, ``(1 + L,)`` float64.

    Args:
        name: what messages call the first.
        first: the share of the simulations.
        laws: the shares of the others.

    Raises:
        ValueError: if one is negative or no number, or none is above 0.

    Example:
        >>> check_shares("prior", 0.5, [0.25, 0.25])
        tensor([0.5000, 0.2500, 0.2500], dtype=torch.float64)
    """
    others = [check_number("a share of laws", one, at_least=0) for one in laws]
    shares = torch.tensor([check_number(name, first, at_least=0), *others], dtype=torch.float64)
    if not shares.sum() > 0:
        raise ValueError(f"{name} and laws have only shares of 0, expected one above 0")
    return shares
