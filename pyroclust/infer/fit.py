"""A small training loop: simulated data, cosine schedule, averaged weights, a CSV log."""

import csv
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

import pyro
import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from torch import nn
from torch.optim.lr_scheduler import LambdaLR
from torch.optim.swa_utils import AveragedModel

from pyroclust.infer.choices import Choice
from pyroclust.infer.inclusive_kl import InclusiveKL

__all__ = ["FitResult", "FitSettings", "fit"]


@dataclass(frozen=True)
class FitSettings:
    """How a guide is trained.

    Attributes:
        steps: optimiser steps.
        min_points: smallest number of points of a simulated data set.
        max_points: largest number; each step draws one N, log-uniformly.
        points_per_step: data sets a step are this number over N, so that steps cost alike.
        learning_rate: of AdamW, at the end of the warm-up.
        final_fraction: of the learning rate at the end of the cosine.
        warmup_steps: linear warm-up.
        weight_decay: of AdamW.
        clip: largest gradient norm.
        averaging: decay of the exponential moving average of the weights.
        seed: of the simulator and the initial order; the guide's initial weights are the caller's.
    """

    steps: int = 5000
    min_points: int = 5
    max_points: int = 100
    points_per_step: int = 900
    learning_rate: float = 2e-3
    final_fraction: float = 0.01
    warmup_steps: int = 200
    weight_decay: float = 1e-4
    clip: float = 1.0
    averaging: float = 0.999
    seed: int = 0

    def __post_init__(self) -> None:
        """Check ranges."""
        if not 2 <= self.min_points <= self.max_points:
            raise ValueError(
                f"min_points and max_points are {self.min_points} and {self.max_points}, "
                "expected 2 <= min_points <= max_points"
            )
        if self.steps < 1 or self.points_per_step < 1:
            raise ValueError(
                f"steps and points_per_step are {self.steps} and {self.points_per_step}, expected positive"
            )


@dataclass(frozen=True)
class FitResult:
    """What a training did.

    Attributes:
        loss: exponentially averaged loss at the end, nats per point.
        num_datasets: data sets simulated.
        seconds: wall time.
        settings: the settings, ready for JSON.
    """

    loss: float
    num_datasets: int
    seconds: float
    settings: dict[str, Any]


def fit(
    model: Callable[..., Any],
    guide: nn.Module,
    *,
    settings: FitSettings | None = None,
    choice: Choice | None = None,
    event_shape: tuple[int, ...] = (2,),
    log: Path | None = None,
    progress: bool = True,
) -> FitResult:
    """Train a guide on fresh simulations of its model by the inclusive KL, on the CPU, in place.

    The guide ends with the averaged weights, in evaluation mode.

    Args:
        model: Pyro model with a template as its argument.
        guide: the guide.
        settings: see :class:`FitSettings`.
        choice: which simulations to train on; all by default.
        event_shape: shape of one point.
        log: CSV file for step, points, nats per data set, nats per point, learning rate and data sets per
            second.
        progress: show a progress bar on standard error.

    Raises:
        ValueError: if the loss is not finite; the guide then keeps the averaged weights of the steps before.

    Example:
        >>> from pyroclust.guides import NeuralClusteringProcess
        >>> from pyroclust.models import gaussian2d
        >>> model = gaussian2d()
        >>> result = fit(model, NeuralClusteringProcess(model), settings=FitSettings(steps=2), progress=False)
        >>> result.num_datasets > 0
        True
    """
    settings = FitSettings() if settings is None else settings
    pyro.set_rng_seed(settings.seed)
    loss_fn = InclusiveKL(choice)
    guide.train()
    parameters = [p for p in guide.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(
        parameters, lr=settings.learning_rate, betas=(0.9, 0.99), weight_decay=settings.weight_decay
    )
    schedule = LambdaLR(optimizer, _cosine(settings))
    averaged = AveragedModel(guide, multi_avg_fn=_warmed_average(settings.averaging))
    start, simulated, smooth = time.perf_counter(), 0, None
    with _logging(log) as write, _bar(progress) as bar:
        task = bar.add_task("training", total=settings.steps, loss=float("nan"), rate=0.0)
        for step in range(settings.steps):
            points = _draw_points(settings)
            datasets = max(1, settings.points_per_step // points)
            loss = (
                loss_fn.per_dataset(model, guide, torch.empty(datasets, points, *event_shape)).mean() / points
            )
            if not torch.isfinite(loss):
                break
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, settings.clip)
            optimizer.step()
            schedule.step()
            averaged.update_parameters(guide)
            simulated += datasets
            smooth = loss.item() if smooth is None else 0.99 * smooth + 0.01 * loss.item()
            rate = simulated / (time.perf_counter() - start)
            write([step, points, points * loss.item(), loss.item(), schedule.get_last_lr()[0], rate])
            bar.update(task, advance=1, loss=smooth, rate=rate)
    guide.load_state_dict(averaged.module.state_dict())
    guide.eval()
    if smooth is None or not torch.isfinite(loss):
        raise ValueError(
            f"loss is {loss.item()} at step {step}, expected a finite number; lower the learning rate"
        )
    return FitResult(smooth, simulated, time.perf_counter() - start, asdict(settings))


def _draw_points(settings: FitSettings) -> int:
    low, high = math.log(settings.min_points), math.log(settings.max_points + 1)
    return min(int(math.exp(low + (high - low) * torch.rand(()).item())), settings.max_points)


def _cosine(settings: FitSettings) -> Callable[[int], float]:
    def factor(step: int) -> float:
        if step < settings.warmup_steps:
            return (step + 1) / settings.warmup_steps
        done = (step - settings.warmup_steps) / max(1, settings.steps - settings.warmup_steps)
        cosine = 0.5 * (1 + math.cos(math.pi * done))
        return settings.final_fraction + (1 - settings.final_fraction) * cosine

    return factor


def _warmed_average(decay: float) -> Callable[..., None]:
    """Average with a decay that grows from 0, so that short trainings do not remember the initial weights."""

    @torch.no_grad()
    def update(average: list[torch.Tensor], current: list[torch.Tensor], num_averaged: torch.Tensor) -> None:
        now = min(decay, (1 + num_averaged.item()) / (10 + num_averaged.item()))
        for mean, value in zip(average, current, strict=True):
            mean.lerp_(value.to(mean.dtype), 1 - now)

    return update


@contextmanager
def _logging(path: Path | None) -> Iterator[Callable[[list[Any]], None]]:
    if path is None:
        yield lambda row: None
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    stream: TextIO
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(
            ["step", "points", "nats_per_dataset", "nats_per_point", "learning_rate", "datasets_per_second"]
        )
        yield writer.writerow


def _bar(shown: bool) -> Progress:  # noqa: FBT001
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn(
            "{task.completed}/{task.total} · {task.fields[loss]:.4f} nats/point"
            " · {task.fields[rate]:.0f} data sets/s"
        ),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not shown,
    )
