"""The line a training shows on standard error."""

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["TrainingProgress"]


class TrainingProgress(Progress):
    """Steps, loss, last validation, data sets a second and the time left.

    Args:
        total: steps of the training.
        done: steps done before.
        shown: whether there is a line at all.
    """

    def __init__(self, total: int, *, done: int = 0, shown: bool = True) -> None:
        super().__init__(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn(
                "{task.completed}/{task.total} · {task.fields[loss]:.4f} nats/point{task.fields[quality]}"
                " · {task.fields[rate]:.0f} data sets/s"
            ),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not shown,
        )
        self._task = self.add_task(
            "training", total=total, completed=done, loss=float("nan"), rate=0.0, quality=""
        )

    def step(self, loss: float, rate: float) -> None:
        """Show a step."""
        self.update(self._task, advance=1, loss=loss, rate=rate)

    def validation(self, figures: dict[str, float]) -> None:
        """Show the last validation."""
        shown = {"mean_kl": "KL", "median_efficiency": "efficiency"}
        parts = [f" · {word} {figures[name]:.3f}" for name, word in shown.items() if name in figures]
        self.update(self._task, quality="".join(parts))
