"""Draws of a partition: what every sampler returns and every diagnostic takes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pyroclust.partitions.raw_labels import (
    DrawsLike,
    canonical_draws,
    check_labels_fit,
    raw_labels,
    values_beside,
    values_of_draws,
)

_MANY_CHAINS, _FEWEST_POINTS = 20, 3


@dataclass(frozen=True, kw_only=True, repr=False)
class Draws:
    """Draws of the partition of N points, with what is known of each, from any sampler.

    Attributes:
        name: what reports call their source.
        assignments: canonical labels, ``(chains, draws, N)`` whole numbers, int32 for large tables;
            independent draws are one chain.
        log_joint: log p(assignments, data) in nats, with the hyperparameters and parameters that a kernel
            carries, ``(chains, draws)`` float64; ``None`` where it has no formula.
        log_prob: log q(assignments | data) in nats of a guide, ``(chains, draws)``; ``None`` where unknown.
        log_weights: unnormalised log importance weights in nats, ``(chains, draws)``; ``None`` for draws of
            equal weight.
        parameters: what was drawn beside the partition, by name, ``(chains, draws, ...)``.
        seconds: wall time of all draws, that of a warm-up included and compilation not; nan where unknown.
        seconds_warmup: part of ``seconds`` whose draws were dropped.
        seconds_compile: wall time of compiling, or of loading machine code.
        interrupted: whether Ctrl-C stopped the run before all draws were made.
        point_names: N names, or ``None``.
        notes: sentences on what was left out or guessed.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> Draws(name="mine", assignments=np.zeros((4, 100, 3), dtype=np.int64))
        Draws(mine: 4 chains of 100 draws, 3 points, 1.0 clusters on average)
    """

    name: str = "draws"
    assignments: np.ndarray
    log_joint: np.ndarray | None = None
    log_prob: np.ndarray | None = None
    log_weights: np.ndarray | None = None
    parameters: Mapping[str, np.ndarray] = field(default_factory=dict)
    seconds: float = math.nan
    seconds_warmup: float = 0.0
    seconds_compile: float = 0.0
    interrupted: bool = False
    point_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.assignments, np.ndarray):
            raise ValueError(
                f"assignments is of type {type(self.assignments).__name__}, expected an array of numpy: "
                "Draws.of takes others"
            )
        if self.assignments.ndim != 3:
            raise ValueError(
                f"assignments has shape {self.assignments.shape}, expected (chains, draws, points)"
            )
        shape = self.assignments.shape[:2]
        per_draw = {"log_joint": self.log_joint, "log_prob": self.log_prob, "log_weights": self.log_weights}
        for name, values in (per_draw | dict(self.parameters)).items():
            if values is not None and values.shape[:2] != shape:
                raise ValueError(f"{name} has shape {values.shape}, expected {shape}, (chains, draws)")

    @classmethod
    def of(cls, source: "Draws | DrawsLike", *, name: str = "the draws") -> "Draws":
        """Return draws of partitions whatever they come from, their labels renumbered by first appearance.

        Args:
            source: an array, a tensor or nested lists, ``(chains, draws, N)`` or ``(draws, N)``, of whole
                numbers or names; an object, or samples by site, with ``assignments``, whose ``log_joint`` and
                ``log_prob`` come along; a finished ``pyro.infer.MCMC``; a container of ArviZ.
            name: what reports call them.

        Raises:
            ValueError: if it holds no labels, or draws with weights; the sentence says what to do.

        Example:
            >>> Draws.of([["b", "b", "a"]], name="mine")
            Draws(mine: 1 chain of 1 draws, 3 points, 2.0 clusters on average)
        """
        if isinstance(source, Draws):
            return source
        if hasattr(source, "columns"):
            raise ValueError(
                f"{name}, a data frame, may hold more than labels: give pyroclust.read_draws(frame), or its "
                "to_numpy()"
            )
        labels = raw_labels(name, source)
        # Arrays that repeat one number take no memory before anything is done with them.
        check_labels_fit(name, labels.size)
        log_joint, log_prob = (values_beside(name, source, one) for one in ("log_joint", "log_prob"))
        return draws_of_labels(labels, where=name, name=name, log_joint=log_joint, log_prob=log_prob)

    @classmethod
    def joined(cls, runs: "Sequence[Draws]") -> "Draws":
        """Return the chains of several runs on the same points, with what is known of all of them.

        Raises:
            ValueError: if there are none, or they differ in the number of draws or of points.
        """
        shapes = sorted({one.assignments.shape[1:] for one in runs})
        if len(shapes) != 1:
            raise ValueError(f"runs have chains of {shapes} draws and points, expected one size")

        def known(values: list[np.ndarray | None]) -> np.ndarray | None:
            found = [one for one in values if one is not None]
            return np.concatenate(found) if len(found) == len(runs) else None

        return replace(
            runs[0],
            assignments=np.concatenate([one.assignments for one in runs]),
            log_joint=known([one.log_joint for one in runs]),
            log_prob=known([one.log_prob for one in runs]),
            log_weights=known([one.log_weights for one in runs]),
            parameters={
                name: np.concatenate([one.parameters[name] for one in runs])
                for name in runs[0].parameters
                if all(name in one.parameters for one in runs)
            },
            seconds=sum(one.seconds for one in runs),
            seconds_warmup=sum(one.seconds_warmup for one in runs),
            seconds_compile=sum(one.seconds_compile for one in runs),
            interrupted=any(one.interrupted for one in runs),
            notes=tuple(note for one in runs for note in one.notes),
        )

    def __repr__(self) -> str:
        chains, draws, points = self.assignments.shape
        stopped = ", interrupted" if self.interrupted else ""
        many = f"{chains} chain{'s' * (chains != 1)} of {draws}"
        mean = self.num_clusters.mean()
        return f"Draws({self.name}: {many} draws, {points} points, {mean:.1f} clusters on average{stopped})"

    @property
    def num_clusters(self) -> np.ndarray:
        """Number of clusters of each draw, ``(chains, draws)`` int64."""
        return self.assignments.max(-1).astype(np.int64) + 1

    @property
    def num_points(self) -> int:
        """N."""
        return int(self.assignments.shape[2])

    @property
    def num_draws(self) -> int:
        """Draws of all chains together."""
        return int(math.prod(self.assignments.shape[:2]))

    @property
    def log_ratios(self) -> np.ndarray | None:
        """Log p - log q in nats, ``(chains, draws)``; ``None`` where one of them is unknown."""
        if self.log_joint is None or self.log_prob is None:
            return None
        return self.log_joint - self.log_prob

    @property
    def flat(self) -> np.ndarray:
        """The draws of all chains one after the other, ``(S, N)``."""
        return self.assignments.reshape(-1, self.num_points)


def draws_of_labels(
    labels: np.ndarray,
    *,
    where: str,
    name: str = "the draws",
    log_joint: np.ndarray | None = None,
    log_prob: np.ndarray | None = None,
    point_names: tuple[str, ...] | None = None,
    notes: tuple[str, ...] = (),
) -> Draws:
    """Return draws of labels of any kind, renumbered, with numbers of each draw in any fitting shape."""
    _refuse_other_axes(labels, where)
    assignments = canonical_draws(labels, where=where)
    chains, number, _ = assignments.shape
    if chains > max(_MANY_CHAINS, number):
        note = f"Read as {chains:,} chains of {number:,} draws: if draws come first, exchange the two axes."
        notes = (*notes, note)
    return Draws(
        name=name,
        assignments=assignments,
        log_joint=values_of_draws(log_joint, assignments, "log_joint", where),
        log_prob=values_of_draws(log_prob, assignments, "log_prob", where),
        point_names=point_names,
        notes=notes,
    )


def _refuse_other_axes(labels: np.ndarray, where: str) -> None:
    """Refuse indicators of clusters, and tables of which points are together, one a draw."""
    if labels.ndim != 3 or labels.dtype.kind not in "biuf" or min(labels.shape) < 2:
        return
    _, rows, columns = labels.shape
    what = ""
    if rows == columns > _FEWEST_POINTS and (labels == labels.swapaxes(1, 2)).all():
        diagonals = np.diagonal(labels, axis1=1, axis2=2)
        is_largest = (labels <= diagonals[..., None]).all() and len(np.unique(diagonals)) == 1
        what = (
            "a table of pairs of points for each draw" if is_largest and labels.min() < labels.max() else ""
        )
    # Where labels count up from the first point, that is never the only 1.
    elif columns < rows and labels[..., 0].any() and np.isin(labels, (0, 1)).all():
        what = "(draws, points, clusters) indicators" if (labels.sum(-1) == 1).all() else ""
    if what:
        raise ValueError(f"{where} holds {what}, expected labels: (draws, points) or (chains, draws, points)")
