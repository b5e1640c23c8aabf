"""How good a guide is, while it is still being trained."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from pyroclust.infer.certificate import simulate
from pyroclust.infer.quality import divergences, efficiencies
from pyroclust.infer.training.streams import random_stream

__all__ = ["Validation"]


@dataclass(frozen=True)
class Validation:
    """Measurements at intervals, on the same fresh data sets each time, of the averaged weights.

    Attributes:
        every: steps between two measurements; the last step is always measured.
        num_datasets: data sets for each figure.
        exact_points: their size where all partitions are enumerated, at most 8.
        sampled_points: their size where partitions are drawn.
        num_draws: draws a data set.
        seed: of the data sets, never that of the training.
    """

    every: int = 1000
    num_datasets: int = 40
    exact_points: int = 6
    sampled_points: int = 50
    num_draws: int = 100
    seed: int = 90_210

    def __post_init__(self) -> None:
        """Check ranges."""
        for name in ("every", "num_datasets", "num_draws"):
            if getattr(self, name) < 1:
                raise ValueError(f"validation.{name} is {getattr(self, name)}, expected at least 1")
        if not 2 <= self.exact_points <= 8:
            raise ValueError(f"validation.exact_points is {self.exact_points}, expected from 2 to 8")
        if self.sampled_points < 2:
            raise ValueError(f"validation.sampled_points is {self.sampled_points}, expected at least 2")

    def is_due(self, step: int, last: int) -> bool:
        """Return whether to measure after so many steps of so many."""
        return step == last or step % self.every == 0

    @torch.no_grad()
    def measure(
        self, model: Callable[..., Any], guide: nn.Module, event_shape: tuple[int, ...]
    ) -> dict[str, float]:
        """Return mean KL to the exact posterior, efficiency and mean log q of the truth.

        The log-probability of the simulated partition needs nothing but simulations, the others a
        ``log_joint``.
        """
        mode = guide.training
        guide.eval()
        try:
            with random_stream(self.seed):
                return self._figures(model, guide, event_shape)
        finally:
            guide.train(mode)

    def _figures(self, model: Any, guide: Any, event_shape: tuple[int, ...]) -> dict[str, float]:
        data, truth = simulate(model, torch.empty(self.num_datasets, self.sampled_points, *event_shape))
        found = {"log_prob_truth": guide.posterior(data).log_prob(truth).mean().item()}
        if not hasattr(model, "log_joint"):
            return found
        share = efficiencies(model, guide, data, num_draws=self.num_draws)
        small, _ = simulate(model, torch.empty(self.num_datasets, self.exact_points, *event_shape))
        return found | {
            "median_efficiency": share.median().item(),
            "mean_efficiency": share.mean().item(),
            "mean_kl": divergences(model, guide, small).mean().item(),
        }
