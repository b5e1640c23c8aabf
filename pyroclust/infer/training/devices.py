"""Where a training runs: one process or many, CPU or GPU."""

import atexit
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from lightning_fabric import Fabric

__all__ = ["Devices", "average_gradients"]


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
        """Check names."""
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


def average_gradients(fabric: "Fabric", parameters: list[nn.Parameter]) -> None:
    """Average gradients over processes, all in one message; a missing gradient counts as zero."""
    if fabric.world_size == 1:
        return
    flat = torch.cat([_gradient(one).reshape(-1) for one in parameters])
    mean = cast(Tensor, fabric.all_reduce(flat, reduce_op="mean"))
    for parameter, part in zip(parameters, mean.split([one.numel() for one in parameters]), strict=True):
        parameter.grad = part.view_as(parameter)


def _gradient(parameter: nn.Parameter) -> Tensor:
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
