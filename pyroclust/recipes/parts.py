"""The tables of a recipe besides those of the model and the training."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyroclust.guides import NeuralClusteringProcess
from pyroclust.guides.arguments import ENCODERS, FUTURES, build_order
from pyroclust.guides.neural_clustering_process import light_scorer_for
from pyroclust.guides.retarget import retarget
from pyroclust.infer.choices import Choice, HardSimulations, HardStandardised
from pyroclust.nn import LightScorer, NeighbourScorer, RandomOrder, SummedScorer
from pyroclust.saving.guides import load_guide
from pyroclust.saving.parts import PRIORS, build_part

__all__ = [
    "ChoicePart",
    "GuidePart",
    "LightPart",
    "NeighboursPart",
    "PointwisePart",
    "PublishedPart",
    "StartPart",
    "TablesPart",
]


class PointwisePart:
    """A network that scores the candidates of one point after the other."""

    def build(self, model: Any, conditions: tuple[str, ...]) -> Any:
        """Build the scorer."""
        raise TypeError(f"{type(self).__name__} must define build")

    def make(
        self, model: Any, guide: "GuidePart", order: Mapping[str, Any] | None
    ) -> NeuralClusteringProcess:
        """Build the untrained guide, which visits points in random order where none is given."""
        return guide.build(model, self.build(model, guide.conditions), order)


@dataclass(frozen=True)
class LightPart(PointwisePart):
    """``[light]``: arguments of the light scorer, see ``light_scorer_for``.

    Attributes:
        width: hidden width.
        num_bandwidths: of the look-ahead.
        bandwidth_ratio: of one bandwidth to the one before.
        second_moments: look also at the second moments of neighbourhoods.
        num_attention: blocks of attention over all points.
        use_filter: add the exact filter's log-weights to the logits.
        future: ``[light.future]``, class and arguments of contexts of the points still to come.
        encoder: ``[light.encoder]``, class and arguments of an encoder.
    """

    width: int = 48
    num_bandwidths: int = 4
    bandwidth_ratio: float = 2.0
    second_moments: bool = False
    num_attention: int = 0
    use_filter: bool = True
    future: dict[str, Any] | None = None
    encoder: dict[str, Any] | None = None

    def build(self, model: Any, conditions: tuple[str, ...]) -> LightScorer:
        """Build the scorer."""
        inputs = {
            "future": _future(self.future, width=self.width, where="light.future"),
            "encoder": _encoder(self.encoder, where="light.encoder"),
        }
        return light_scorer_for(model, **asdict(self) | inputs, conditions=conditions)


@dataclass(frozen=True)
class PublishedPart(PointwisePart):
    """``[published]``: arguments of the published scorer.

    Attributes:
        width: hidden width of all four networks.
        sizes: output sizes of h and u, and of g.
        future: ``[published.future]``, class and arguments of contexts of the points still to come, instead
            of a sum over them.
        encoder: ``[published.encoder]``, class and arguments of an encoder.
    """

    width: int = 128
    sizes: tuple[int, ...] = (256, 512)
    future: dict[str, Any] | None = None
    encoder: dict[str, Any] | None = None

    def build(self, model: Any, conditions: tuple[str, ...]) -> SummedScorer:
        """Build the scorer, whose points have the conditions as further columns."""
        encoder = _encoder(self.encoder, where="published.encoder")
        dim = model.component.dim + len(conditions) if encoder is None else encoder.dim
        future = _future(self.future, width=self.width, where="published.future")
        return SummedScorer(dim, width=self.width, sizes=self.sizes, future=future, encoder=encoder)


@dataclass(frozen=True)
class NeighboursPart(PointwisePart):
    """``[neighbours]``: arguments of the neighbour scorer."""

    width: int = 48

    def build(self, model: Any, conditions: tuple[str, ...]) -> NeighbourScorer:
        """Build the scorer, in units of the model's typical scale."""
        if conditions:
            raise ValueError(f"conditions are {', '.join(conditions)}, expected none with [neighbours]")
        return NeighbourScorer(model.component.typical_scale, width=self.width)


@dataclass(frozen=True)
class GuidePart:
    """``[guide]``: what the network is told besides the data.

    Attributes:
        conditions: random hyperparameters of the model that are inputs of the guide.
        num_orders: random orders that its posteriors mix.
    """

    conditions: tuple[str, ...] = ()
    num_orders: int = 1

    def build(self, model: Any, scorer: Any, order: Mapping[str, Any] | None) -> NeuralClusteringProcess:
        """Build the untrained guide around a scorer."""
        return NeuralClusteringProcess(
            model,
            scorer=scorer,
            order=RandomOrder() if order is None else build_order(order),
            conditions=self.conditions,
            num_orders=self.num_orders,
        )


@dataclass(frozen=True)
class StartPart:
    """``[start]``: an existing guide to train further, by name or folder.

    Attributes:
        guide: its name or folder.
        num_orders: visiting orders that its posteriors mix from now on, then visited in random order whatever
            its rule was; it stays as it is without this.
    """

    guide: str
    num_orders: int | None = None

    def build(self, model: Any) -> Any:
        """Load the guide and carry it over to the model.

        Raises:
            ValueError: if the guide is not known or does not fit the model, or ``num_orders`` is below 1.
        """
        guide = load_guide(self.guide)
        if self.num_orders is not None:
            guide.order = RandomOrder()
            guide = guide.mixed(self.num_orders)
        return retarget(guide, model)


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
        from pyroclust.data.labelled import read_labelled_folder
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


def _future(table: Mapping[str, Any] | None, *, width: int, where: str) -> Any:
    """Build contexts of the points still to come, of the scorer's width where none is given."""
    return None if table is None else build_part({"width": width, **table}, FUTURES, where=where)


def _encoder(table: Mapping[str, Any] | None, *, where: str) -> Any:
    return None if table is None else build_part(table, ENCODERS, where=where)
