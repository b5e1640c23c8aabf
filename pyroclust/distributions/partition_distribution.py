"""The contract of distributions over partitions."""

import math
from copy import copy
from typing import Any, ClassVar, Self

import torch
from pyro.distributions import TorchDistribution
from torch import Size, Tensor

from pyroclust.core.machine import check_memory
from pyroclust.core.numbers import check_count
from pyroclust.core.random_state import exclusive_random_state
from pyroclust.distributions.points import broadcast_shapes
from pyroclust.partitions import as_partitions, check_num_points, enumerate_partitions, partition

# Labels, and copies of them in another order; smaller draws are not worth a look at what is free.
_BYTES_A_LABEL, _SMALL = 4 * 8, 1 << 28
# Draws that a search takes for each unit of width where there is no beam.
_DRAWS_A_BEAM = 16


class PartitionDistribution(TorchDistribution):
    """A distribution over canonical label vectors.

    Subclasses write ``_sample(shape) -> (*shape, *batch_shape, N)`` or, where the two are cheaper together,
    ``_sample_and_log_prob(shape)``, ``_log_prob(value)``, and ``_merged_log_prob(value)`` where equal
    prefixes can be scored once, and list in ``batched`` what has an entry for each data set. Shapes, support,
    memory and whether log-probabilities are numbers are checked here, once. Draws in several threads wait for
    one another.

    Shape:
        batch_shape: data sets; event_shape: ``(num_points,)``.

    Attributes:
        is_exact: whether log-probabilities are exact; else :meth:`log_prob_and_error` says by how much.

    Raises:
        ValueError: if there are no points.
    """

    support = partition
    arg_constraints: dict[str, Any] = {}  # noqa: RUF012  (torch's own class attribute)
    has_enumerate_support = False
    is_exact: bool = True
    batched: ClassVar[dict[str, int]] = {}
    """Attributes that have an entry for each data set, and the dimensions of one."""

    def __init__(
        self, num_points: int, *, batch_shape: Size = Size(), validate_args: bool | None = None
    ) -> None:
        num_points = check_count("num_points", num_points)
        try:
            super().__init__(Size(batch_shape), Size((num_points,)), validate_args=validate_args)
        except ValueError as error:
            # Torch writes a tensor over several lines.
            raise ValueError(" ".join(str(error).split())) from None

    @property
    def num_points(self) -> int:
        """Number of points that are partitioned."""
        return self.event_shape[0]

    def __repr__(self) -> str:
        sets = " x ".join(map(str, self.batch_shape))
        many = "" if not sets else f"{sets} data set{'s' if self.batch_shape.numel() != 1 else ''} of "
        points = f"{self.num_points} point{'s' if self.num_points != 1 else ''}"
        return f"{type(self).__name__}({many}{points})"

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        """Return the same distribution with a larger batch shape; nothing is computed again."""
        if not self.batched:
            found: Self = super().expand(batch_shape, _instance)
            return found
        new = copy(self)
        for name, dims in self.batched.items():
            value = getattr(self, name)
            setattr(new, name, value.expand((*batch_shape, *value.shape[value.dim() - dims :])))
        PartitionDistribution.__init__(
            new, self.num_points, batch_shape=Size(batch_shape), validate_args=False
        )
        new._validate_args = self._validate_args
        return new

    def _sample(self, sample_shape: Size) -> Tensor:
        if type(self)._sample_and_log_prob is PartitionDistribution._sample_and_log_prob:
            raise TypeError(f"{type(self).__name__} must define _sample")
        return self._sample_and_log_prob(sample_shape)[0]

    def _log_prob(self, value: Tensor) -> Tensor:
        raise TypeError(f"{type(self).__name__} must define _log_prob")

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Draw partitions, ``(*sample_shape, *batch_shape, N)`` int64.

        Raises:
            ValueError: if they do not fit into memory, or log-probabilities came out as no numbers.
        """
        shape = self._checked_shape(sample_shape)
        if 0 in shape:
            return torch.zeros(*self._extended_shape(shape), dtype=torch.int64)
        with torch.no_grad(), exclusive_random_state():
            return self._sample(shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """Log-probability in nats of each partition, ``(...)`` broadcast with ``batch_shape``.

        Raises:
            ValueError: if the shape does not fit, (under validation, Pyro's switch) a vector is not
            canonical, or a
                log-probability is nan or plus infinity.
        """
        return self._checked_log_prob(self._log_prob(self._checked(value)))

    def _checked(self, value: Tensor) -> Tensor:
        check_num_points("value", value, self.num_points)
        try:
            broadcast_shapes(value.shape[:-1], self.batch_shape)
        except ValueError:
            raise ValueError(
                f"value has shape {tuple(value.shape)}, expected (..., {self.num_points}) where ... "
                f"broadcasts with the batch {tuple(self.batch_shape)}"
            ) from None
        return as_partitions("value", value) if self._validate_args else value.long()

    def _expanded(self, value: Tensor) -> Tensor:
        """Return partitions expanded to the broadcast of their shape with ``batch_shape``."""
        return value.expand(*broadcast_shapes(value.shape[:-1], self.batch_shape), -1)

    def sample_and_log_prob(self, sample_shape: Any = Size()) -> tuple[Tensor, Tensor]:
        """Draw partitions and return them with their log-probabilities in nats.

        Raises:
            ValueError: if they do not fit into memory, or a log-probability is not finite.
        """
        shape = self._checked_shape(sample_shape)
        if 0 in shape:
            return self.sample(shape), torch.zeros(*shape, *self.batch_shape, dtype=torch.float64)
        with exclusive_random_state():
            value, log_prob = self._sample_and_log_prob(shape)
        return value, self._checked_log_prob(log_prob, drawn=True)

    def _sample_and_log_prob(self, sample_shape: Size) -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            value = self._sample(sample_shape)
        return value, self._log_prob(value)

    def _checked_shape(self, sample_shape: Any) -> Size:
        if not isinstance(sample_shape, tuple | list):
            raise ValueError(f"sample_shape is {sample_shape!r}, expected a shape, such as (100,) or ()")
        sizes = [check_count("sample_shape", one, at_least=0) for one in sample_shape]
        count = math.prod([*sizes, *self.batch_shape])
        if count * self.num_points * _BYTES_A_LABEL > _SMALL:
            check_memory(
                count * self.num_points * _BYTES_A_LABEL,
                f"sample_shape is {tuple(sizes)}: {count:.3g} draws of {self.num_points} points",
                remedy="draw fewer at a time",
            )
        return Size(sizes)

    def _checked_log_prob(self, log_prob: Tensor, *, drawn: bool = False) -> Tensor:
        """Refuse what is no log-probability; a training sees what it does itself."""
        if log_prob.requires_grad:
            return log_prob
        wrong = ~log_prob.isfinite() if drawn else log_prob.isnan() | (log_prob == torch.inf)
        if bool(wrong.any()):
            worst = log_prob[wrong].reshape(-1)[0].item()
            raise ValueError(
                f"{int(wrong.sum())} of {wrong.numel()} log-probabilities of {self!r} are not finite, such "
                f"as {worst}, expected numbers: the weights of the guide are damaged or overflow, or the "
                "data lie too far from those of its training; rescale the data, or train the guide again"
            )
        return log_prob

    def merged_log_prob(self, value: Tensor) -> Tensor:
        """Do as :meth:`log_prob`, without gradients; cheaper where partitions share prefixes."""
        value = self._checked(value)
        with torch.no_grad():
            return self._checked_log_prob(self._merged_log_prob(value))

    def _merged_log_prob(self, value: Tensor) -> Tensor:
        return self._log_prob(value)

    def log_prob_and_error(self, value: Tensor) -> tuple[Tensor, Tensor]:
        """Do as :meth:`log_prob`, and return standard errors in nats too, zero where ``is_exact``."""
        log_prob = self.log_prob(value)
        return log_prob, torch.zeros_like(log_prob)

    def map_partition(self, *, width: int = 16) -> Tensor:
        """Search for the most probable partition of each data set, without gradients.

        Guides that label points one after the other search by a beam, at the cost of ``width`` draws; a
        mixture of visiting orders takes the best of its orders' beams. Clusterwise guides let each cluster
        have all points that are in it rather than not, for ``width`` choices of the anchors. All others take
        the best of 16 ``width`` draws. For a summary of the posterior see
        :func:`pyroclust.diagnostics.point_estimate`.

        Args:
            width: of the beam.

        Shape:
            output: ``(*batch_shape, N)`` int64, canonical.

        Raises:
            ValueError: if ``width`` is not positive, or log-probabilities are not finite.

        Example:
            >>> from pyroclust.guides import PredictiveFilter
            >>> from pyroclust.models import gaussian2d
            >>> data = torch.tensor([[0.0, 0.0], [0.1, 0.0], [30.0, 0.0]])
            >>> PredictiveFilter(gaussian2d()).posterior(data).map_partition().tolist()
            [0, 0, 1]
        """
        width = check_count("width", width)
        with torch.no_grad(), exclusive_random_state():
            candidates = self._candidates(width)
        if len(candidates) == 1:
            return candidates[0]
        place = self.merged_log_prob(candidates).argmax(0, keepdim=True)
        return candidates.gather(0, place.unsqueeze(-1).expand(1, *candidates.shape[1:])).squeeze(0)

    def _candidates(self, width: int) -> Tensor:
        """Return partitions among which to look for the most probable, ``(C, *batch_shape, N)``."""
        return self._sample(self._checked_shape((_DRAWS_A_BEAM * width,)))

    def enumerate_support(self, expand: bool = True) -> Tensor:  # noqa: FBT001, FBT002  (Pyro's signature)
        """List all partitions, ``(Bell(N), *batch_shape, N)``; needs N <= 10."""
        if not self.has_enumerate_support:
            return super().enumerate_support(expand)
        values = enumerate_partitions(self.num_points)
        values = values.reshape(len(values), *(1,) * len(self.batch_shape), self.num_points)
        return values.expand(-1, *self.batch_shape, -1) if expand else values
