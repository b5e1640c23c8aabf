"""How good a guide is, while it is still being trained."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import nn

from pyroclust.core.machine import check_memory
from pyroclust.core.numbers import check_count, check_seed
from pyroclust.core.random_state import pyro_seeded
from pyroclust.distributions.protocols import LawOfModels, data_shape
from pyroclust.infer.losses import GuideLoss, HasLossTerms
from pyroclust.infer.quality import divergences, efficiencies
from pyroclust.infer.simulation import SimulatedBatch, simulate_batches
from pyroclust.nn.modules import evaluating


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

    Raises:
        ValueError: if a number is not possible.
    """

    every: int = 1000
    num_datasets: int = 40
    exact_points: int = 6
    sampled_points: int = 50
    num_draws: int = 100
    seed: int = 90_210

    def __post_init__(self) -> None:
        for name in ("every", "num_datasets", "num_draws"):
            check_count(f"validation.{name}", getattr(self, name))
        check_count("validation.exact_points", self.exact_points, at_least=2, at_most=8)
        check_count("validation.sampled_points", self.sampled_points, at_least=2)
        check_seed(self.seed, name="validation.seed")

    def up_to(self, max_points: int) -> Self:
        """Return the validation without sizes beyond those of the training."""
        sizes = {name: min(getattr(self, name), max_points) for name in ("exact_points", "sampled_points")}
        return replace(self, **sizes)

    def check_memory(self) -> None:
        """Refuse, before a training, draws whose labels alone are more than the memory that is left."""
        labels = self.num_datasets * self.num_draws * self.sampled_points
        check_memory(
            labels * torch.int64.itemsize,
            f"validation.num_draws is {self.num_draws}: labels of {self.num_datasets} data sets of "
            f"{self.sampled_points} points",
            remedy="measure with fewer draws or data sets",
        )

    def is_due(self, step: int, last: int) -> bool:
        """Return whether to measure after so many steps of so many."""
        return step == last or step % self.every == 0

    @torch.no_grad()
    def measure(
        self, model: Callable[..., Any], guide: nn.Module, data: Callable[..., Any] | None = None
    ) -> dict[str, float]:
        """Return mean KL to the exact posterior, efficiency and mean log q of the truth.

        The log-probability of the simulated partition needs nothing but simulations, the others a
        ``log_joint``. Of a guide that learns its model from data, return the terms of its loss in nats a
        point, without those of the training alone.

        Args:
            model: the guide's model.
            guide: the guide.
            data: what it is trained on where that is not the model.
        """
        with evaluating(guide), pyro_seeded(self.seed):
            if data is not None and isinstance(guide, HasLossTerms):
                return self._terms(model, guide, data)
            return self._figures(data if isinstance(data, LawOfModels) else model, guide)

    def _terms(self, model: Any, guide: Any, data: Callable[..., Any]) -> dict[str, float]:
        loss, size = GuideLoss(data=data), data_shape(model, self.sampled_points)
        device = next(guide.parameters()).device
        loss.per_dataset(model, guide, torch.empty(self.num_datasets, *size, device=device))
        return {name: term / self.sampled_points for name, term in loss.terms.items()}

    def _figures(self, model: Any, guide: Any) -> dict[str, float]:
        large = self._simulated(model, guide, self.sampled_points)
        truth = [batch.guide.posterior(batch.data).log_prob(batch.assignments) for batch in large]
        figures = {"log_prob_truth": torch.cat(truth).mean().item()}
        if not large[0].model.has_likelihood:
            return figures
        share = torch.cat(
            [efficiencies(batch.model, batch.guide, batch.data, num_draws=self.num_draws) for batch in large]
        )
        small = self._simulated(model, guide, self.exact_points)
        kl = torch.cat([divergences(batch.model, batch.guide, batch.data) for batch in small])
        return figures | {
            "median_efficiency": share.median().item(),
            "mean_efficiency": share.mean().item(),
            "mean_kl": kl.mean().item(),
        }

    def _simulated(self, model: Any, guide: Any, num_points: int) -> tuple[SimulatedBatch, ...]:
        return simulate_batches(model, guide, None, num_datasets=self.num_datasets, num_points=num_points)
