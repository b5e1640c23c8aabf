"""The contract of distributions over partitions."""

from typing import Any

import torch
from pyro.distributions import TorchDistribution
from torch import Size, Tensor

from pyroclust.partitions import as_partitions, check_num_points, enumerate_partitions, partition

__all__ = ["PartitionDistribution"]


class PartitionDistribution(TorchDistribution):
    """A distribution over canonical label vectors.

    Subclasses write ``_sample(shape) -> (*shape, *batch_shape, N)`` and ``_log_prob(value)``, and
    override :meth:`sample_and_log_prob` where the two are cheaper together; the shapes and the support
    are checked here, once.

    Shape:
        batch_shape: data sets; event_shape: ``(num_points,)``.

    Attributes:
        is_exact: log-probabilities are exact; where they are estimates the class says how, and
            :meth:`log_prob_and_error` by how much.

    Raises:
        ValueError: if there are no points.
    """

    support = partition
    arg_constraints: dict[str, Any] = {}  # noqa: RUF012  (torch's own class attribute)
    has_enumerate_support = False
    is_exact: bool = True

    def __init__(
        self, num_points: int, *, batch_shape: Size = Size(), validate_args: bool | None = None
    ) -> None:
        if num_points < 1:
            raise ValueError(f"num_points is {num_points}, expected at least 1")
        super().__init__(Size(batch_shape), Size((num_points,)), validate_args=validate_args)

    @property
    def num_points(self) -> int:
        """Number of points that are partitioned."""
        return self.event_shape[0]

    def __repr__(self) -> str:
        """Say how many data sets of how many points there are."""
        sets = " x ".join(map(str, self.batch_shape))
        many = "" if not sets else f"{sets} data set{'s' if self.batch_shape.numel() != 1 else ''} of "
        points = f"{self.num_points} point{'s' if self.num_points != 1 else ''}"
        return f"{type(self).__name__}({many}{points})"

    def _sample(self, sample_shape: Size) -> Tensor:
        raise TypeError(f"{type(self).__name__} must define _sample")

    def _log_prob(self, value: Tensor) -> Tensor:
        raise TypeError(f"{type(self).__name__} must define _log_prob")

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Draw partitions, ``(*sample_shape, *batch_shape, N)`` int64."""
        with torch.no_grad():
            return self._sample(Size(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """Log-probability in nats of each partition, ``(...)`` broadcast with ``batch_shape``.

        Raises:
            ValueError: if the shape does not fit, or (under validation, Pyro's switch) a vector is not
                canonical. Without validation such a vector has no meaningful result.
        """
        return self._log_prob(self._checked(value))

    def _checked(self, value: Tensor) -> Tensor:
        """Return given partitions as int64, refused where they do not fit."""
        check_num_points("value", value, self.num_points)
        try:
            torch.broadcast_shapes(value.shape[:-1], self.batch_shape)
        except RuntimeError:
            raise ValueError(
                f"value has shape {tuple(value.shape)}, expected (..., {self.num_points}) where ... "
                "broadcasts "
                f"with the batch {tuple(self.batch_shape)}"
            ) from None
        return as_partitions("value", value) if self._validate_args else value.long()

    def sample_and_log_prob(self, sample_shape: Any = Size()) -> tuple[Tensor, Tensor]:
        """Draw partitions and return them with their log-probabilities in nats."""
        value = self.sample(sample_shape)
        return value, self._log_prob(value)

    def merged_log_prob(self, value: Tensor) -> Tensor:
        """Log-probability of many partitions in nats, without gradients; cheaper where they share prefixes.

        Shape:
            value: ``(*shape, *batch_shape, N)`` canonical; output: ``(*shape, *batch_shape)``.

        Raises:
            ValueError: as :meth:`log_prob`.
        """
        with torch.no_grad():
            return self.log_prob(value)

    def log_prob_and_error(self, value: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities in nats with their standard errors, zero where ``is_exact``.

        Shape:
            value: ``(..., N)``; output: ``(...)`` each, broadcast with ``batch_shape``.

        Raises:
            ValueError: as :meth:`log_prob`.
        """
        log_prob = self.log_prob(value)
        return log_prob, torch.zeros_like(log_prob)

    def enumerate_support(self, expand: bool = True) -> Tensor:  # noqa: FBT001, FBT002  (Pyro's signature)
        """List all partitions, ``(Bell(N), *batch_shape, N)``; needs N <= 10."""
        if not self.has_enumerate_support:
            return super().enumerate_support(expand)
        values = enumerate_partitions(self.num_points)
        values = values.reshape(len(values), *(1,) * len(self.batch_shape), self.num_points)
        return values.expand(-1, *self.batch_shape, -1) if expand else values
