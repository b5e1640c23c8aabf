"""What a comparison of a guide with MCMC holds: one data set, and draws of its partition."""

from dataclasses import dataclass

import numpy as np

from pyroclust.calibration.result import LocalCalibration
from pyroclust.calibration.training_world import TrainingWorld

__all__ = ["Comparison", "CrossScored", "GuideOnData", "PartitionDraws"]


@dataclass(frozen=True)
class PartitionDraws:
    """Draws of partitions from one source, with the model's log joint of each.

    Attributes:
        name: what reports call the source.
        assignments: canonical labels, ``(chains, draws, N)`` int64.
        log_joint: log p(assignments, data) in nats, ``(chains, draws)``; ``None`` without a likelihood.
        seconds: wall time that the draws took.
        log_prob: log q(assignments | data) in nats, ``(chains, draws)``; ``None`` where unknown (MCMC).

    Raises:
        ValueError: if the shapes do not fit.
    """

    name: str
    assignments: np.ndarray
    log_joint: np.ndarray | None
    seconds: float
    log_prob: np.ndarray | None = None

    def __post_init__(self) -> None:
        """Check the shapes."""
        if self.assignments.ndim != 3:
            raise ValueError(
                f"assignments has shape {self.assignments.shape}, expected (chains, draws, points)"
            )
        for name, values in (("log_joint", self.log_joint), ("log_prob", self.log_prob)):
            if values is not None and values.shape != self.assignments.shape[:2]:
                raise ValueError(f"{name} has shape {values.shape}, expected {self.assignments.shape[:2]}")


@dataclass(frozen=True)
class CrossScored:
    """Every k-th draw of MCMC with both densities, for estimates of the evidence that use MCMC.

    Attributes:
        log_joint: log p(assignments, data) in nats, ``(chains, draws)``.
        log_prob: log q(assignments | data) of the guide at the same draws, in nats, ``(chains, draws)``.
    """

    log_joint: np.ndarray
    log_prob: np.ndarray


@dataclass(frozen=True, kw_only=True)
class GuideOnData:
    """One data set, and draws of its partition from a guide.

    Attributes:
        source: name of the data set.
        model_name: name of the model.
        guide_name: name of the guide.
        columns: names of the D columns.
        data: the points as the guide saw them, ``(N, D)``; the original is ``data * scale + location``.
        guide: draws of the guide.
        location: ``(D,)``, in the units of the columns.
        scale: ``(D,)``, in the units of the columns.
        true_labels: known labels, ``(N,)``, or ``None``.
        row_names: names of the N rows, or ``None``.
        world: simulations of the guide's model, or ``None`` where it cannot be simulated.
        calibration: of the guide on simulations near the data; ``None`` where it was not asked for.
        notes: sentences that reports repeat, such as what was left out of the table.

    Raises:
        ValueError: if the shapes do not fit.
    """

    source: str
    model_name: str
    guide_name: str
    columns: tuple[str, ...]
    data: np.ndarray
    guide: PartitionDraws
    location: np.ndarray
    scale: np.ndarray
    true_labels: np.ndarray | None = None
    row_names: tuple[str, ...] | None = None
    world: TrainingWorld | None = None
    calibration: LocalCalibration | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the shapes."""
        if self.data.ndim != 2 or self.data.shape[1] != len(self.columns):
            raise ValueError(f"data has shape {self.data.shape}, expected (N, {len(self.columns)})")
        self._check_points("guide", self.guide)

    def _check_points(self, name: str, draws: PartitionDraws) -> None:
        if draws.assignments.shape[-1] != len(self.data):
            raise ValueError(
                f"{name} has draws of {draws.assignments.shape[-1]} points, expected {len(self.data)}"
            )


@dataclass(frozen=True, kw_only=True)
class Comparison(GuideOnData):
    """One data set, and draws of its partition from a guide and from MCMC on the same model.

    Attributes besides those of :class:`GuideOnData`, whose draws come with ``log_prob``:
        mcmc: draws of MCMC.
        cross: some of them with the guide's log q; ``None`` where that is only estimated.

    Raises:
        ValueError: if the shapes do not fit, or draws come without what weights need.
    """

    mcmc: PartitionDraws
    cross: CrossScored | None = None

    def __post_init__(self) -> None:
        """Check the shapes, and what weights need."""
        super().__post_init__()
        self._check_points("mcmc", self.mcmc)
        if self.guide.log_prob is None:
            raise ValueError("guide has no log_prob, expected log q of each draw: weights need it")
        if self.guide.log_joint is None or self.mcmc.log_joint is None:
            raise ValueError("guide or mcmc has no log_joint, expected log p of each draw: weights need it")
