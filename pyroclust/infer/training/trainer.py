"""One step of a training, and the state that the next one needs."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from pyroclust.core.random_state import pyro_seeded
from pyroclust.distributions.protocols import Guide, LawOfModels, as_model, points_shape
from pyroclust.infer.losses import GuideLoss, HasLosses, InclusiveKL, VisitingOrders, require_data
from pyroclust.infer.simulation import Choice
from pyroclust.infer.training.checkpoint import check_same_training, identity
from pyroclust.infer.training.settings import FitSettings

if TYPE_CHECKING:
    from lightning_fabric import Fabric

# The entry of what the law of the data holds, where it holds something.
_DATA = "data"
_SIZES = 1 << 20  # keeps the stream of sizes apart from those of the batches


@dataclass(frozen=True)
class StepFigures:
    """What a step did over all processes: N, data sets simulated, the loss in nats per point, and so on.

    ``stop`` says whether some process was asked to; ``terms`` are those of a loss that has several, in nats
    per point, over the last batch of the first process.
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


class AveragedWeights:
    """Exponential moving average of a module's parameters, from its present weights on.

    Torch's ``AveragedModel`` keeps a second module, replaces the first average and has one decay; here the
    decay grows, and checkpoints hold a list of tensors.
    """

    def __init__(self, module: nn.Module) -> None:
        self._parameters = list(module.parameters())
        self.values = [parameter.detach().clone() for parameter in self._parameters]

    def update(self, decay: float) -> None:
        """Move the average towards the present weights."""
        get_ema_multi_avg_fn(decay)(self.values, list(self._parameters), None)

    def copy_to_module(self) -> None:
        """Give the module the averaged weights."""
        _copy(self._parameters, self.values)

    @contextmanager
    def in_module(self) -> Iterator[None]:
        """Lend the module the averaged weights for a while."""
        kept = [parameter.detach().clone() for parameter in self._parameters]
        self.copy_to_module()
        try:
            yield
        finally:
            _copy(self._parameters, kept)


@torch.no_grad()
def _copy(targets: list[Any], values: list[Tensor]) -> None:
    for target, value in zip(targets, values, strict=True):
        target.copy_(value)


class Trainer:
    """Guide, optimiser and averaged weights, moved on one step at a time.

    The simulations of a step depend on the seed, the number of the step and the process alone.
    """

    def __init__(
        self,
        model: Callable[..., Any],
        guide: nn.Module,
        *,
        settings: FitSettings,
        choice: Choice | None,
        fabric: "Fabric",
        data: Callable[..., Any] | None,
    ) -> None:
        self.model, self.guide, self.settings, self.fabric = model, guide.to(fabric.device), settings, fabric
        self.choice, self.data, self._event_shape = choice, data, as_model(model).event_shape
        self.loss = _loss(guide, settings, choice, data)
        # What a law of data remembers is part of a checkpoint; a module has weights, and stays the same.
        keeps_state = hasattr(data, "load_state_dict") and not isinstance(data, nn.Module)
        self._stateful_data: Any = data if keeps_state else None
        if keeps_state and fabric.world_size > 1:
            raise ValueError(
                f"fit has {fabric.world_size} processes, expected one with a {type(data).__name__}: every "
                "process would have data of its own, of which a checkpoint keeps the first's alone"
            )
        self.parameters = [parameter for parameter in guide.parameters() if parameter.requires_grad]
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

        All processes learn of it where this one was asked to ``stop``.
        """
        settings = self.settings
        with pyro_seeded(settings.seed, self.done, _SIZES):
            points = settings.draw_points()
        datasets = max(1, settings.points_per_step // points)
        rate = settings.learning_rate_at(self.done)
        self.optimizer.zero_grad(set_to_none=True)
        loss = self._backward(datasets, points)
        self._average_gradients()
        mean, asked = cast(Tensor, self.fabric.all_reduce(torch.tensor([loss, float(stop)]))).tolist()
        norm = nn.utils.clip_grad_norm_(self.parameters, settings.clip, foreach=True).item()
        simulated = datasets * settings.batches_per_step * self.fabric.world_size
        by_point = {name: term / points for name, term in self.loss.terms.items()}
        figures = StepFigures(points, simulated, mean, rate, norm, asked > 0, by_point)
        if figures.is_finite:
            self._move(figures)
        return figures

    def state(self) -> dict[str, Any]:
        """Return all that the next step depends on."""
        weights = self.guide.state_dict()
        law = {} if self._stateful_data is None else {_DATA: self._stateful_data.state_dict()}
        return law | {
            "settings": asdict(self.settings),
            "guide": {name: list(value.shape) for name, value in weights.items()},
            "made_of": self._made_of,
            "done": self.done,
            "num_datasets": self.num_datasets,
            "seconds": self.seconds,
            "smooth_loss": self.smooth_loss,
            "weights": {name: value.detach().cpu() for name, value in weights.items()},
            "averages": self.averages.values,
            "optimizer": self.optimizer.state_dict(),
            "choice": None if self.choice is None else self.choice.state_dict(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state of the same training; nothing is changed where it is that of another."""
        check_same_training(state, self.state(), asdict(FitSettings()))
        if self.choice is not None:
            self.choice.load_state_dict(state["choice"])
        if self._stateful_data is not None:
            self._stateful_data.load_state_dict(state[_DATA])
        self.guide.load_state_dict(state["weights"])
        _copy(self.averages.values, state["averages"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.done, self.num_datasets = state["done"], state["num_datasets"]
        self.seconds, self.smooth_loss = state["seconds"], state["smooth_loss"]

    def _backward(self, datasets: int, points: int) -> float:
        batches, rank = self.settings.batches_per_step, self.fabric.global_rank
        total = 0.0
        for batch in range(rank * batches, (rank + 1) * batches):
            with pyro_seeded(self.settings.seed, self.done, batch), self.fabric.autocast():
                model, guide, loss = self._of_batch()
                event_shape = self._event_shape if model is self.model else model.event_shape
                shape = points_shape(event_shape, points)
                template = torch.empty(datasets, *shape, device=self.fabric.device)
                total += loss.backward(model, guide, template, scale=1 / (points * batches))
        return total

    def _of_batch(self) -> tuple[Any, Any, InclusiveKL | GuideLoss]:
        """Return the model of a batch, the guide of that model, and the loss on its data sets."""
        if not isinstance(self.data, LawOfModels):
            return self.model, self.guide, self.loss
        law, guide = self.data.draw_model(), cast(Any, self.guide)
        return law.model, guide.of(law.model), self.loss.on(law)

    def _average_gradients(self) -> None:
        """Average gradients over processes, all in one message; a missing gradient counts as zero."""
        if self.fabric.world_size == 1:
            return
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in self.parameters]
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        mean = cast(Tensor, self.fabric.all_reduce(flat, reduce_op="mean"))
        parts = mean.split([gradient.numel() for gradient in gradients])
        for parameter, part in zip(self.parameters, parts, strict=True):
            parameter.grad = part.view_as(parameter)

    def _move(self, figures: StepFigures) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = figures.learning_rate
        self.optimizer.step()
        self.averages.update(self.settings.decay_at(self.done))
        first = math.isnan(self.smooth_loss)
        self.smooth_loss = figures.loss if first else 0.99 * self.smooth_loss + 0.01 * figures.loss
        self.done += 1
        self.num_datasets += figures.datasets


def _loss(guide: Any, settings: FitSettings, choice: Choice | None, data: Any) -> InclusiveKL | GuideLoss:
    """Return the loss that a guide defines, and the inclusive divergence of all others."""
    require_data(guide, data)
    orders: VisitingOrders | None = settings.visiting_orders()
    if settings.orders == 1 and not (isinstance(guide, Guide) and guide.mixes_orders):
        # One order, by the guide's own rule.
        orders = None
    if not isinstance(guide, HasLosses):
        return InclusiveKL(choice, orders=orders, data=data)
    if orders is not None:
        raise ValueError(
            f"settings has orders {settings.orders}, expected 1: {type(guide).__name__} has a loss of its own"
        )
    return GuideLoss(choice, data=data)
