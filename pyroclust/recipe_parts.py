"""The tables of a recipe besides those of the model and the training."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyroclust.guides import NeuralClusteringProcess
from pyroclust.guides.arguments import build_order
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.infer.choices import Choice, HardSimulations, HardStandardised
from pyroclust.nn import LightScorer, SummedScorer
from pyroclust.part_descriptions import PRIORS, build_part

__all__ = ["ChoicePart", "GuidePart", "LightPart", "PublishedPart", "StartPart", "TablesPart"]


@dataclass(frozen=True)
class LightPart:
    """``[light]``: arguments of the light scorer, see ``light_scorer_for``."""

    width: int = 48
    num_bandwidths: int = 4
    bandwidth_ratio: float = 2.0
    second_moments: bool = False
    num_attention: int = 0
    use_filter: bool = True

    def build(self, model: Any, conditions: tuple[str, ...]) -> LightScorer:
        """Build the scorer."""
        return light_scorer_for(model, **asdict(self), conditions=conditions)


@dataclass(frozen=True)
class PublishedPart:
    """``[published]``: arguments of the published scorer."""

    width: int = 128
    sizes: tuple[int, ...] = (256, 512)

    def build(self, model: Any, conditions: tuple[str, ...]) -> SummedScorer:
        """Build the scorer, whose points have the conditions as further columns."""
        dim = model.component.dim + len(conditions)
        return SummedScorer(dim, width=self.width, sizes=self.sizes)


@dataclass(frozen=True)
class GuidePart:
    """``[guide]``: what the network is told besides the data.

    Attributes:
        conditions: random hyperparameters of the model that are inputs of the guide.
    """

    conditions: tuple[str, ...] = ()

    def build(
        self, model: Any, scorer: LightPart | PublishedPart, order: Mapping[str, Any]
    ) -> NeuralClusteringProcess:
        """Build the untrained guide."""
        return NeuralClusteringProcess(
            model,
            scorer=scorer.build(model, self.conditions),
            order=build_order(order),
            conditions=self.conditions,
        )


@dataclass(frozen=True)
class StartPart:
    """``[start]``: an existing guide to fine-tune, by name or folder."""

    guide: str


@dataclass(frozen=True)
class TablesPart:
    """``[tables]``: labelled tables to train on, instead of ``[model]``.

    Attributes:
        folder: holds the tables; relative to the recipe.
        label: column of the labels.
        prior: class and arguments of a partition prior, whose clusters get classes of their own; without it
            partitions have the proportions of the tables.
    """

    folder: str
    label: str
    prior: dict[str, Any] | None = None

    def build(self, recipe: Path) -> Any:
        """Read the tables."""
        from pyroclust.labelled import read_labelled_folder
        from pyroclust.models import LabelledTables

        tables = read_labelled_folder(recipe.parent / self.folder, label=self.label)
        prior = None if self.prior is None else build_part(self.prior, PRIORS, where="tables.prior")
        pairs = [(one.data, one.labels) for one in tables if one.labels is not None]
        return LabelledTables(pairs, prior=prior)


@dataclass(frozen=True)
class ChoicePart:
    """``[choice]``: train on hard simulations.

    Attributes:
        oversampling: simulations for each data set that is kept.
        hardness: how many nearly standardised data sets compete for each hard one; without it all compete.
    """

    oversampling: int = 4
    hardness: int | None = None

    def build(self, model: Any) -> Choice:
        """Build the choice."""
        if self.hardness is None:
            return HardSimulations(model.component.typical_scale, self.oversampling)
        return HardStandardised(self.oversampling, hardness=self.hardness)
