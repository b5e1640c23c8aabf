"""The training of a guide: steps, checkpoints, logs, validation, and every way to stop."""

import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from pyroclust.core.files import clear_leftovers, locked_folder
from pyroclust.core.long_runs import interrupt_between_steps, progress_bar
from pyroclust.core.random_state import pyro_seeded
from pyroclust.distributions.protocols import Guide, LawOfModels, as_model, points_shape
from pyroclust.infer.checks import check_model_of_guide
from pyroclust.infer.losses import GuideLoss, HasLosses, InclusiveKL, VisitingOrders, require_data
from pyroclust.infer.simulation import Choice
from pyroclust.infer.training.files import (
    CHECKPOINT_FILE,
    FAILURE,
    TrainingLog,
    check_same_training,
    identity,
    read_checkpoint,
    write_checkpoint,
)
from pyroclust.infer.training.settings import Devices, FitSettings
from pyroclust.infer.training.validation import Validation

if TYPE_CHECKING:
    from lightning_fabric import Fabric

# The entry of what the law of the data holds, where it holds something.
_DATA = "data"
_SIZES = 1 << 20  # keeps the stream of sizes apart from those of the batches
_CHECKPOINT_SECONDS = 20.0
# Figures of the last validation that the progress bar shows, with the words for them.
_SHOWN = {"mean_kl": "KL", "median_efficiency": "efficiency"}


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


@dataclass(frozen=True)
class FitResult:
    """What a training did.

    Attributes:
        loss: exponentially averaged loss at the end, nats per point.
        num_datasets: data sets simulated.
        seconds: wall time, over all resumptions.
        steps: steps taken.
        interrupted: it was stopped by Ctrl-C, or a command by SIGTERM, with the guide as it was then.
        settings: the settings, ready for JSON.
        validation: the last validation; empty if there was none.
    """

    loss: float
    num_datasets: int
    seconds: float
    steps: int
    interrupted: bool
    settings: dict[str, Any]
    validation: dict[str, float] = field(default_factory=dict)


def fit(
    model: Callable[..., Any],
    guide: nn.Module,
    *,
    settings: FitSettings | None = None,
    choice: Choice | None = None,
    data: Callable[..., Any] | None = None,
    folder: Path | None = None,
    resume: bool = False,
    max_steps: int | None = None,
    validation: Validation | None = None,
    devices: Devices | None = None,
    progress: bool = True,
) -> FitResult:
    """Train a guide on fresh simulations of its model by the inclusive KL, in place.

    The guide ends with the averaged weights, in evaluation mode, however the training ends. With a folder it
    writes ``checkpoint.pt`` every 20 seconds, ``log.csv``, ``validation.csv`` and, where tensorboardX is
    installed, TensorBoard events; ``resume=True`` goes on to the same weights, bit for bit, on the same
    machine with as many threads.

    Args:
        model: Pyro model with a template as its argument.
        guide: the guide.
        settings: see :class:`FitSettings`.
        choice: which simulations to train on; all by default.
        data: what data sets are drawn from, a Pyro program as the model, or for a guide that fits any model a
            law of models, as :class:`~pyroclust.models.AnyTable`; the model itself by default. Guides
            that learn their model from data, as :class:`~pyroclust.guides.DeepMixtureGuide`, need it.
        folder: for checkpoints and logs; nothing is written by default.
        resume: go on from the folder's checkpoint, or start if there is none yet.
        max_steps: stop after so many steps, all counted; the schedule remains that of ``settings.steps``.
        validation: measurements at intervals, for a model with an ``event_shape``; none by default.
        devices: see :class:`Devices`; one process on the CPU, or those of ``torchrun``, by default.
        progress: show a line on standard error.

    Raises:
        ValueError: if the model is not the guide's own, a loss is not finite, the disk is full, or the
            folder's checkpoint was not asked for or is that of another training.

    Example:
        >>> from pyroclust.guides import NeuralClusteringProcess
        >>> from pyroclust.models import gaussian2d
        >>> model = gaussian2d()
        >>> result = fit(model, NeuralClusteringProcess(model), settings=FitSettings(steps=2), progress=False)
        >>> result.steps, result.num_datasets > 0
        (2, True)
    """
    settings = FitSettings() if settings is None else settings
    check_model_of_guide(model, guide)
    measured = None if validation is None else validation.up_to(settings.max_points)
    if measured is not None:
        measured.check_memory()
    with _alone_in(folder):
        settings.check_memory(as_model(model).event_shape)
        settings.check_size_of(data)
        fabric = (Devices() if devices is None else devices).launch()
        trainer = Trainer(model, guide, settings=settings, choice=choice, fabric=fabric, data=data)
        writer = folder if fabric.is_global_zero else None
        saved = fabric.broadcast(None if writer is None else _checkpoint_of(writer, resume=resume))
        guide.load_state_dict(fabric.broadcast(guide.state_dict()))
        if saved is not None:
            trainer.restore(saved)
        last = settings.steps if max_steps is None else min(settings.steps, max_steps)
        run = _Run(trainer, writer, last=last, validation=measured, shown=progress and fabric.is_global_zero)
        guide.train()
        try:
            interrupted = run.to_the_end()
        finally:
            trainer.averages.copy_to_module()
            guide.eval()
        return FitResult(
            loss=trainer.smooth_loss,
            num_datasets=trainer.num_datasets,
            seconds=trainer.seconds,
            steps=trainer.done,
            interrupted=interrupted,
            settings=asdict(settings),
            validation=run.measured,
        )


class _Run:
    """The loop of one process, with what it writes and shows."""

    def __init__(
        self, trainer: Trainer, folder: Path | None, *, last: int, validation: Validation | None, shown: bool
    ) -> None:
        self.trainer, self.folder, self.last, self.validation = trainer, folder, last, validation
        self.measured: dict[str, float] = {}
        self._saved: int | None = trainer.done if trainer.done else None
        self._saved_at = time.monotonic()
        self._shown, self._quality = shown, ""
        self._tell: Callable[[int, str], None] = lambda done, figures: None
        self._log: TrainingLog | None = None

    def to_the_end(self) -> bool:
        """Run all steps; return whether somebody stopped them."""
        try:
            with ExitStack() as stack:
                if self.folder is not None:
                    self._log = stack.enter_context(TrainingLog(self.folder, step=self.trainer.done))
                interrupt = stack.enter_context(interrupt_between_steps())
                done = self.trainer.done
                bar = progress_bar("training", self.last, done=done, shown=self._shown)
                self._tell = stack.enter_context(bar)
                stopped = False
                while self.trainer.done < self.last and not stopped:
                    stopped = self._step(stop=interrupt.requested)
                self._save()
                # Whoever asks during the last step is not passed over either.
                return stopped or interrupt.requested
        except OSError as error:
            self._cannot_write(error)

    def _step(self, *, stop: bool) -> bool:
        trainer, start = self.trainer, time.perf_counter()
        step, figures = trainer.done, trainer.step(stop=stop)
        trainer.seconds += time.perf_counter() - start
        if not figures.is_finite:
            self._not_finite(step, figures)
        self._note(step, figures)
        validation = self.validation
        if validation is not None and validation.is_due(trainer.done, self.last):
            self._validate(validation)
        if time.monotonic() - self._saved_at > _CHECKPOINT_SECONDS:
            self._save()
        return figures.stop

    def _note(self, step: int, figures: StepFigures) -> None:
        rate = self.trainer.num_datasets / max(self.trainer.seconds, 1e-9)
        figures_shown = f"{self.trainer.smooth_loss:.4f} nats/point{self._quality} · {rate:.0f} data sets/s"
        self._tell(self.trainer.done, figures_shown)
        if self._log is not None:
            row = {
                "points": figures.points,
                "nats_per_dataset": figures.points * figures.loss,
                "nats_per_point": figures.loss,
                "learning_rate": figures.learning_rate,
                "gradient_norm": figures.gradient_norm,
                "datasets_per_second": rate,
                **figures.terms,
            }
            self._log.step(step, row)

    def _validate(self, validation: Validation) -> None:
        trainer = self.trainer
        if trainer.fabric.is_global_zero:
            with trainer.averages.in_module():
                self.measured = validation.measure(trainer.model, trainer.guide, trainer.data)
            known = [(word, name) for name, word in _SHOWN.items() if name in self.measured]
            self._quality = "".join(f" · {word} {self.measured[name]:.3f}" for word, name in known)
            if self._log is not None:
                self._log.validation(trainer.done, self.measured)

    def _save(self, *, failure: str = "") -> None:
        if self.folder is None or self._log is None or (self._saved == self.trainer.done and not failure):
            return
        self._log.flush()
        mark = {FAILURE: failure} if failure else {}
        write_checkpoint(self.folder / CHECKPOINT_FILE, self.trainer.state() | mark)
        self._saved, self._saved_at = self.trainer.done, time.monotonic()

    def _not_finite(self, step: int, figures: StepFigures) -> NoReturn:
        what, value = ("loss", figures.loss)
        if math.isfinite(value):
            what, value = "gradient norm", figures.gradient_norm
        failure = f"{what} is {value} at step {step}, expected a finite number"
        if self.trainer.done:
            # Weights of no step would be nothing to go on from.
            self._save(failure=failure)
        raise ValueError(f"{failure}; lower the learning rate{self._what_is_left()}")

    def _cannot_write(self, error: OSError) -> NoReturn:
        where = error.filename or self.folder
        raise ValueError(
            f"cannot write '{where}' ({error.strerror or error}) after step {self.trainer.done}; "
            f"make room and resume{self._what_is_left()}"
        ) from None

    def _what_is_left(self) -> str:
        if self._saved is None:
            return "; there is no checkpoint yet, the guide keeps the averaged weights of the steps before"
        return f"; the last good checkpoint has {self._saved} steps"


@contextmanager
def _alone_in(folder: Path | None) -> Iterator[None]:
    """Keep other trainings out of a folder; with several processes the first one does."""
    if folder is None or int(os.environ.get("RANK", "0")) > 0:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with locked_folder(folder):
        clear_leftovers(folder)
        yield


def _checkpoint_of(folder: Path, *, resume: bool) -> dict[str, Any] | None:
    path = folder / CHECKPOINT_FILE
    if not path.exists():
        return None
    if not resume:
        raise ValueError(
            f"folder '{folder}' holds a checkpoint already; go on with --resume (resume=True), "
            "or choose another folder"
        )
    return read_checkpoint(path)
