"""One step of a training, and the state that the next one needs."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

from pyroclust.core.random_state import pyro_seeded
from pyroclust.core.text import listed
from pyroclust.distributions.protocols import Guide, LawOfModels, points_shape
from pyroclust.infer.choices import Choice
from pyroclust.infer.chunked_loss import VisitingOrders
from pyroclust.infer.inclusive_kl import InclusiveKL
from pyroclust.infer.own_loss import HasLosses, OwnLoss, check_has_data
from pyroclust.infer.simulated_loss import keeps_state
from pyroclust.infer.training.averages import AveragedWeights
from pyroclust.infer.training.checkpoint import FAILURE, FORMAT
from pyroclust.infer.training.devices import average_gradients
from pyroclust.infer.training.identity import identity
from pyroclust.infer.training.restoring import (
    check_averages,
    check_entries,
    check_figures,
    check_optimizer,
    check_tensors,
)
from pyroclust.infer.training.settings import FitSettings

if TYPE_CHECKING:
    from lightning_fabric import Fabric

__all__ = ["StepFigures", "Trainer"]

# The entry of what the law of the data holds, where it holds something.
_DATA = "data"
_SIZES = 1 << 20  # keeps the stream of sizes apart from those of the batches


@dataclass(frozen=True)
class StepFigures:
    """What a step did, over all processes.

    Attributes:
        points: N of the step's data sets.
        datasets: data sets simulated.
        loss: nats per point.
        learning_rate: of the optimiser.
        gradient_norm: before clipping.
        stop: some process was asked to stop.
        terms: of a loss that has several, nats per point, over the last batch of the first process.
    """

    points: int
    datasets: int
    loss: float
    learning_rate: float
    gradient_norm: float
    stop: bool
    terms: dict[str, float] = field(default_factory=dict)

    @property
    def is_finite(self) -> bool:
        """Whether the step was taken: a loss or gradient that is not finite changes no weight."""
        return math.isfinite(self.loss) and math.isfinite(self.gradient_norm)


class Trainer:
    """Guide, optimiser and averaged weights, moved on one step at a time.

    The simulations of a step depend on the seed, the number of the step and the process alone.

    Args:
        model: Pyro model with a template as its argument.
        guide: the guide, trained in place.
        settings: see :class:`FitSettings`.
        choice: which simulations to train on; ``None`` for all.
        event_shape: shape of one point.
        fabric: the processes and their device.
        data: what data sets are drawn from; ``None`` for the model.

    Raises:
        ValueError: if the guide has nothing to train.
    """

    def __init__(
        self,
        model: Callable[..., Any],
        guide: nn.Module,
        *,
        settings: FitSettings,
        choice: Choice | None,
        event_shape: tuple[int, ...],
        fabric: "Fabric",
        data: Callable[..., Any] | None = None,
    ) -> None:
        self.model, self.guide, self.settings, self.fabric = model, guide.to(fabric.device), settings, fabric
        self.choice, self.event_shape, self.data = choice, event_shape, data
        self.loss = _loss(guide, settings, choice, data)
        if keeps_state(data) and fabric.world_size > 1:
            raise ValueError(
                f"fit has {fabric.world_size} processes, expected one with a {type(data).__name__}: every "
                "process would have data of its own, of which a checkpoint keeps the first's alone"
            )
        self.parameters = [one for one in guide.parameters() if one.requires_grad]
        if not self.parameters:
            raise ValueError(f"guide {type(guide).__name__} has no parameters, expected some to train")
        self.optimizer = torch.optim.AdamW(
            self.parameters, betas=(0.9, 0.99), weight_decay=settings.weight_decay, fused=True
        )
        self.averages = AveragedWeights(guide)
        self._made_of = {
            **identity(model, guide, choice, data),
            "processes": str(fabric.world_size),
            "precision": str(fabric._precision.precision),
        }
        self.done, self.num_datasets, self.seconds, self.smooth_loss = 0, 0, 0.0, math.nan

    def step(self, *, stop: bool = False) -> StepFigures:
        """Simulate, differentiate, average over processes, and move the weights if all is finite.

        Args:
            stop: this process was asked to stop; all processes learn of it.
        """
        settings, seed = self.settings, self.settings.seed
        with pyro_seeded(seed, self.done, _SIZES):
            points = settings.draw_points()
        datasets = max(1, settings.points_per_step // points)
        rate = settings.learning_rate_at(self.done)
        self.optimizer.zero_grad(set_to_none=True)
        loss = self._backward(datasets, points)
        average_gradients(self.fabric, self.parameters)
        mean, asked = cast(Tensor, self.fabric.all_reduce(torch.tensor([loss, float(stop)]))).tolist()
        norm = nn.utils.clip_grad_norm_(self.parameters, settings.clip, foreach=True).item()
        every = datasets * settings.batches_per_step * self.fabric.world_size
        by_point = {name: one / points for name, one in self.loss.terms.items()}
        figures = StepFigures(points, every, mean, rate, norm, asked > 0, by_point)
        if figures.is_finite:
            self._move(figures)
        return figures

    def state(self) -> dict[str, Any]:
        """Return all that the next step depends on."""
        choice = None if self.choice is None else self.choice.state_dict()
        kept = {_DATA: self.data.state_dict()} if keeps_state(self.data) else {}
        return kept | {
            "settings": asdict(self.settings),
            "guide": self._shapes(),
            "made_of": self._made_of,
            "done": self.done,
            "num_datasets": self.num_datasets,
            "seconds": self.seconds,
            "smooth_loss": self.smooth_loss,
            "weights": {name: value.detach().cpu() for name, value in self.guide.state_dict().items()},
            "averages": self.averages.values,
            "optimizer": self.optimizer.state_dict(),
            "choice": choice,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state.

        Raises:
            ValueError: if it belongs to other settings, another model or guide, or other versions of the
                libraries, or cannot be what a training left; the sentence says what. Nothing is changed then.
        """
        self._check_same(state)
        self._check_possible(state)
        if self.choice is not None:
            self.choice.load_state_dict(state["choice"])
        if keeps_state(self.data):
            self.data.load_state_dict(state[_DATA])
        self.guide.load_state_dict(state["weights"])
        self.averages.load(state["averages"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.done, self.num_datasets = state["done"], state["num_datasets"]
        self.seconds, self.smooth_loss = state["seconds"], state["smooth_loss"]

    def _backward(self, datasets: int, points: int) -> float:
        batches, rank = self.settings.batches_per_step, self.fabric.global_rank
        total = 0.0
        for batch in range(rank * batches, (rank + 1) * batches):
            with pyro_seeded(self.settings.seed, self.done, batch), self.fabric.autocast():
                model, guide, loss = self._of_batch()
                event_shape = self.event_shape if model is self.model else model.event_shape
                shape = points_shape(event_shape, points)
                template = torch.empty(datasets, *shape, device=self.fabric.device)
                total += loss.backward(model, guide, template, scale=1 / (points * batches))
        return total

    def _of_batch(self) -> tuple[Any, Any, InclusiveKL | OwnLoss]:
        """Return the model of a batch, the guide of that model, and the loss on its data sets."""
        if not isinstance(self.data, LawOfModels):
            return self.model, self.guide, self.loss
        law, guide = self.data.draw_model(), cast(Any, self.guide)
        return law.model, guide.of(law.model), self.loss.on(law)

    def _move(self, figures: StepFigures) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = figures.learning_rate
        self.optimizer.step()
        self.averages.update(self.settings.decay_at(self.done))
        first = math.isnan(self.smooth_loss)
        self.smooth_loss = figures.loss if first else 0.99 * self.smooth_loss + 0.01 * figures.loss
        self.done += 1
        self.num_datasets += figures.datasets

    def _shapes(self) -> dict[str, list[int]]:
        return {name: list(value.shape) for name, value in self.guide.state_dict().items()}

    def _check_same(self, state: dict[str, Any]) -> None:
        own = self.state()
        # Checkpoints of earlier versions do not say what they were made of.
        check_entries(state, own, others=("made_of", FORMAT, FAILURE, *(() if _DATA in own else (_DATA,))))
        # A setting that a version did not have was at its default there.
        before = {**asdict(FitSettings()), **state["settings"]}
        mine = own["settings"]
        changed = [str(name) for name, value in before.items() if name not in mine or mine[name] != value]
        if changed:
            raise ValueError(
                f"the checkpoint was made with other settings ({', '.join(changed)}), expected the same: "
                "restore them, or train anew into another folder"
            )
        if state["guide"] != self._shapes() or (state["choice"] is None) != (self.choice is None):
            raise ValueError(
                "the checkpoint belongs to another guide or choice of simulations, expected the same: "
                "train anew into another folder"
            )
        before, now = state.get("made_of", self._made_of), self._made_of
        other = [name for name in {**before, **now} if before.get(name) != now.get(name)]
        if other:
            shown = (f"{one} was {before.get(one, 'absent')}, is {now.get(one, 'absent')}" for one in other)
            raise ValueError(
                f"the checkpoint was made of other things ({listed(shown, 3)}), expected the same: restore "
                "them, or train anew into another folder"
            )

    def _check_possible(self, state: dict[str, Any]) -> None:
        check_figures(state, self.settings)
        if not isinstance(state["choice"], dict | type(None)):
            raise ValueError("the checkpoint was changed: its entry 'choice' is no table; restore the file")
        check_tensors("weights", state["weights"], self.guide.state_dict())
        check_averages(state["averages"], self.averages.values)
        names = {id(one): name for name, one in self.guide.named_parameters()}
        places = {id(one): place for place, one in enumerate(self.guide.parameters())}
        averaged = {
            place: (state["weights"][names[id(one)]], state["averages"][places[id(one)]])
            for place, one in enumerate(self.parameters)
        }
        own, rate_at = self.optimizer.state_dict(), self.settings.learning_rate_at
        check_optimizer(state, own, self.parameters, rate_at, averaged)


def _loss(guide: Any, settings: FitSettings, choice: Choice | None, data: Any) -> InclusiveKL | OwnLoss:
    """Return the loss that a guide defines, and the inclusive divergence of all others."""
    orders = _orders(guide, settings)
    check_has_data(guide, data)
    if not isinstance(guide, HasLosses):
        return InclusiveKL(choice, orders=orders, data=data)
    if orders is not None:
        raise ValueError(
            f"settings has orders {settings.orders}, expected 1: {type(guide).__name__} has a loss of its own"
        )
    return OwnLoss(choice, data=data)


def _orders(guide: Any, settings: FitSettings) -> VisitingOrders | None:
    """Return how data sets are visited, None for one order by the guide's own rule."""
    orders = settings.visiting_orders()
    mixes = isinstance(guide, Guide) and guide.mixes_orders
    return orders if mixes or orders.number > 1 else None
