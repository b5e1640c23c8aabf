"""How and where a guide is trained: sizes, schedule, averaging, seeds; processes and precision."""

import atexit
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, cast

import torch

from pyroclust.core.machine import check_memory
from pyroclust.core.numbers import check_count, check_number, check_seed
from pyroclust.infer.checks import MAX_LEARNING_RATE
from pyroclust.infer.losses import VisitingOrders

if TYPE_CHECKING:
    from lightning_fabric import Fabric

_NO_CLIPPING = 1e6
# The least that counts may be, and the limits of other numbers.
_COUNTS = {
    **{"steps": 1, "min_points": 2, "max_points": 2, "points_per_step": 1},
    **{"orders": 1, "batches_per_step": 1, "warmup_steps": 0},
}
_NUMBERS: dict[str, dict[str, float]] = {
    "learning_rate": {"above": 0, "at_most": MAX_LEARNING_RATE},
    "clip": {"above": 0},
    "weight_decay": {"at_least": 0},
    "consistency": {"at_least": 0},
    "averaging": {"at_least": 0, "at_most": 1},
    "final_fraction": {"at_least": 0, "at_most": 1},
}


@dataclass(frozen=True)
class FitSettings:
    """How a guide is trained.

    Attributes:
        steps: optimiser steps.
        min_points: smallest number of points of a simulated data set.
        max_points: largest number; each step draws one N, log-uniformly.
        points_per_step: data sets a batch are this number over N, so that batches cost alike and memory
            does not depend on N.
        orders: random visiting orders of each data set whose losses are averaged; more than one needs a guide
            that visits points in random order.
        antithetic: orders come in pairs, one the reverse of the other.
        consistency: weight of the variance of log q over the orders of a data set; see
            :class:`~pyroclust.infer.VisitingOrders`.
        batches_per_step: batches in each process whose gradients are averaged into one step.
        learning_rate: of AdamW, at the end of the warm-up.
        final_fraction: of the learning rate at the end of the cosine.
        warmup_steps: linear warm-up.
        weight_decay: of AdamW.
        clip: largest gradient norm.
        averaging: decay of the exponential moving average of the weights; 0 for none.
        seed: of the simulator; the guide's initial weights are the caller's.

    Raises:
        ValueError: if a setting is of another type, or not possible.
    """

    steps: int = 5000
    min_points: int = 5
    max_points: int = 100
    points_per_step: int = 900
    orders: int = 1
    antithetic: bool = False
    consistency: float = 0.0
    batches_per_step: int = 1
    learning_rate: float = 2e-3
    final_fraction: float = 0.01
    warmup_steps: int = 200
    weight_decay: float = 1e-4
    clip: float = 1.0
    averaging: float = 0.999
    seed: int = 0

    def __post_init__(self) -> None:
        for name, fewest in _COUNTS.items():
            self._keep(name, check_count(name, getattr(self, name), at_least=fewest))
        if self.min_points > self.max_points:
            raise ValueError(
                f"min_points and max_points are {self.min_points} and {self.max_points}, "
                "expected 2 <= min_points <= max_points"
            )
        self._keep("seed", check_seed(self.seed))
        for name, limits in _NUMBERS.items():
            self._keep(name, check_number(name, getattr(self, name), **limits))
        if not isinstance(self.antithetic, bool):
            raise ValueError(f"antithetic is {self.antithetic!r}, expected true or false")
        self.visiting_orders()

    def _keep(self, name: str, value: float) -> None:
        object.__setattr__(self, name, value)

    @classmethod
    def of_batches(cls, size: int, *, steps: int, learning_rate: float = 1e-3, seed: int = 0) -> Self:
        """Return settings for a guide that learns its model from one collection of data.

        A step takes one batch. Weights are not averaged, since layers that are normalised over batches keep
        means of their inputs that fit the last weights; gradients, of losses in nats, are not clipped.

        Args:
            size: points of a batch.
            steps: optimiser steps.
            learning_rate: at the end of the warm-up.
            seed: of the batches.

        Example:
            >>> FitSettings.of_batches(100, steps=2000).points_per_step
            100
        """
        return cls(
            min_points=size,
            max_points=size,
            points_per_step=size,
            steps=steps,
            learning_rate=learning_rate,
            averaging=0.0,
            clip=_NO_CLIPPING,
            seed=seed,
        )

    def visiting_orders(self) -> VisitingOrders:
        """Return how each data set is visited."""
        return VisitingOrders(self.orders, antithetic=self.antithetic, consistency=self.consistency)

    def check_size_of(self, data: object) -> None:
        """Refuse, before a training, more points than a law of data has, by its ``most_points``.

        Raises:
            ValueError: if there are fewer.
        """
        most = getattr(data, "most_points", None)
        if most is not None and self.max_points > most:
            raise ValueError(
                f"max_points is {self.max_points}, expected at most {most}, the rows of the longest table "
                "that is trained on"
            )

    def check_memory(self, event_shape: Sequence[int]) -> None:
        """Refuse, before a training, batches whose points alone are more than the memory that is left."""
        # Of graphs a node has as many numbers as there are nodes.
        numbers = math.prod(self.max_points if size == -1 else size for size in event_shape)
        entries = max(self.points_per_step, self.min_points) * self.orders * numbers
        check_memory(
            entries * torch.float32.itemsize,
            f"points_per_step is {self.points_per_step} and orders {self.orders}: a batch would",
            remedy="take fewer points",
        )

    def draw_points(self) -> int:
        """Draw the number of points of a step's data sets, log-uniformly."""
        low, high = math.log(self.min_points), math.log(self.max_points + 1)
        return min(
            int(math.exp(low + (high - low) * torch.rand((), dtype=torch.float32).item())), self.max_points
        )

    def learning_rate_at(self, step: int) -> float:
        """Return the learning rate of a step: a linear warm-up, then a cosine.

        Example:
            >>> settings = FitSettings(steps=1000, warmup_steps=100)
            >>> settings.learning_rate_at(49), settings.learning_rate_at(100)
            (0.001, 0.002)
        """
        if step < self.warmup_steps:
            return self.learning_rate * (step + 1) / self.warmup_steps
        done = (step - self.warmup_steps) / max(1, self.steps - self.warmup_steps)
        cosine = 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))
        return self.learning_rate * (self.final_fraction + (1 - self.final_fraction) * cosine)

    def decay_at(self, step: int) -> float:
        """Return the decay of the average: it grows from 0, so that the initial weights are forgotten."""
        return min(self.averaging, (1 + step) / (10 + step))


@dataclass(frozen=True)
class Devices:
    """Where a training runs, in the words of Lightning Fabric.

    Under ``torchrun`` every process simulates its own batches and gradients are averaged; on CPUs by gloo,
    on GPUs by NCCL. Simulation stays on the CPU.

    Attributes:
        accelerator: ``"cpu"``, ``"gpu"`` or ``"auto"``.
        precision: ``"32-true"``, or ``"bf16-mixed"`` for matrix products in bfloat16.

    Raises:
        ValueError: if a name is unknown, or there is no GPU where one is asked for.

    Example:
        >>> Devices().launch().world_size
        1

    References:
        https://lightning.ai/docs/fabric/stable/api/fabric_args.html
    """

    accelerator: str = "cpu"
    precision: str = "32-true"

    def __post_init__(self) -> None:
        for name, known in (
            ("accelerator", ("cpu", "gpu", "auto")),
            ("precision", ("32-true", "bf16-mixed")),
        ):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is {getattr(self, name)!r}, expected one of {', '.join(known)}")
        if self.accelerator == "gpu" and not torch.cuda.is_available():
            raise ValueError(
                "accelerator is 'gpu', but torch finds none; use 'cpu', or install torch for CUDA"
            )

    def launch(self) -> "Fabric":
        """Join the processes that ``torchrun`` started, or stay alone."""
        from lightning_fabric import Fabric

        world = int(os.environ.get("WORLD_SIZE", "1"))
        local = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        fabric = Fabric(
            accelerator=self.accelerator,
            devices=local,
            num_nodes=max(1, world // local),
            strategy="ddp" if world > 1 else "auto",
            precision=cast(Any, self.precision),
        )
        fabric.launch()
        if world > 1:
            atexit.register(_leave)
        return fabric


def _leave() -> None:
    """Leave the other processes before the interpreter ends: threads of gloo would abort it now and then."""
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
