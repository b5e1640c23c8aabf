"""Spanning forests of the rows of a table, with what is known of them."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pyroclust.analysis import showing  # noqa: F401  (results show themselves)
from pyroclust.analysis.constraining import Known
from pyroclust.constraints import Constraints
from pyroclust.data.standardise import Standardised
from pyroclust.data.tables import Table
from pyroclust.diagnostics.draws.pairs import about_pairs
from pyroclust.distributions import PerturbedSpanningForest, standardised_similarity
from pyroclust.models.standardised import named_prior
from pyroclust.random_state import seeded
from pyroclust.results.constraints import FreePosterior, Knowledge
from pyroclust.results.forest import FOREST, ForestClustering, ForestOnData, summarise_forest
from pyroclust.results.partition_draws import PartitionDraws

__all__ = ["ForestSettings", "forests_of"]

# Similarities are standardised: what is smaller is rounding.
_ROUNDING = 1e-6


@dataclass(frozen=True, kw_only=True)
class ForestSettings:
    """What is asked of spanning forests besides their data.

    Attributes:
        num_clusters: the same for all draws; ``None`` for the law of a prior.
        prior: its name; ``None`` for the usual one.
        concentration: of the prior.
        expected_clusters: prior mean of the number of clusters.
        noise_scale: standard deviation of the noise, in standard deviations of the similarities.
        num_draws: forests.
        seed: same seed, same draws.
    """

    num_clusters: int | None
    prior: str | None
    concentration: float | None
    expected_clusters: float | None
    noise_scale: float
    num_draws: int
    seed: int

    def number(self, num_points: int) -> tuple[Any, str]:
        """Return the number of clusters or a prior of it, and the same in words."""
        if self.num_clusters is not None:
            return self.num_clusters, f"{self.num_clusters:,} tree{'s' * (self.num_clusters != 1)}"
        name = self.prior or ("gamma-crp" if self.concentration is None else "crp")
        law = named_prior(
            name,
            concentration=self.concentration,
            expected_clusters=self.expected_clusters,
            num_points=num_points,
        )
        mean = float(law.expected_num_clusters(num_points))
        return law, f"as many trees as the prior {name} has clusters, {mean:.2g} on average"


def _similarity(points: np.ndarray) -> Tensor:
    """Return the similarities of rows, and refuse those that say nothing of which are near."""
    found = standardised_similarity(torch.from_numpy(points))
    if torch.allclose(found.tril(-1), torch.zeros_like(found), atol=_ROUNDING):
        raise ValueError("all rows are equally far apart, expected distances that say which rows are near")
    return found


def forests_of(
    table: Table,
    points: Standardised,
    known: Known | None,
    settings: ForestSettings,
    *,
    run: str,
    tell: Callable[[str], None],
) -> ForestClustering:
    """Draw spanning forests, with constraints also without them, and say what they say.

    Args:
        table: the points in the units of their source.
        points: the same on the scale on which they are clustered.
        known: constraints on the rows, or ``None``.
        settings: of the forests.
        run: checksum of all that the result depends on.
        tell: called with the name of each stage.

    Raises:
        ValueError: if constraints leave fewer groups than clusters that are asked for.
    """
    similarity = _similarity(points.data)
    number, asked = settings.number(len(points.data))

    def forest(constraints: Constraints | None) -> PerturbedSpanningForest:
        return PerturbedSpanningForest(
            similarity, number, noise_scale=settings.noise_scale, constraints=constraints
        )

    own = forest(None if known is None else known.constraints)
    tell(f"drawing {settings.num_draws:,} spanning forests")
    drawn = _drawn(own, settings, FOREST)
    knowledge, excess = None, 0.0
    if known is not None:
        tell("drawing as many without the constraints")
        knowledge = _knowledge(known, _drawn(forest(None), settings, "the forest"))
        excess = float(own.excess_rate(num_draws=settings.num_draws, seed=settings.seed))
    tell("summarising")
    on_data = ForestOnData(
        source=table.name,
        model_name="spanning forest",
        columns=points.columns,
        data=points.data,
        location=points.location,
        scale=points.scale,
        true_labels=table.labels,
        row_names=table.row_names,
        notes=(*table.notes, *points.notes, *about_pairs(len(points.data))),
        knowledge=knowledge,
        forest=drawn,
        asked=asked,
        noise_scale=settings.noise_scale,
        excess=excess,
    )
    return summarise_forest(table, on_data, seed=settings.seed, run=run)


def _drawn(forest: PerturbedSpanningForest, settings: ForestSettings, name: str) -> PartitionDraws:
    with seeded(settings.seed), torch.no_grad():
        # The first forest is compiled.
        forest.sample()
    began = time.perf_counter()
    with seeded(settings.seed), torch.no_grad():
        labels = forest.sample(torch.Size((settings.num_draws,)))
    return PartitionDraws(name, labels.unsqueeze(0).numpy(), None, time.perf_counter() - began)


def _knowledge(known: Known, free: PartitionDraws) -> Knowledge:
    kept = known.constraints.allows(torch.from_numpy(free.assignments)).numpy()
    number = float(free.assignments.shape[1])
    why = "a spanning forest has no prior of partitions"
    return Knowledge(known.rows, math.nan, why, FreePosterior(free, kept, number, (), ()))
