"""Which points of labelled tables a simulated data set consists of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from pyro.distributions import TorchDistribution
from torch import Size, Tensor
from torch.distributions import constraints

from pyroclust.distributions.priors.prior import PartitionPrior
from pyroclust.partitions import num_clusters

__all__ = ["ClassesByPrior", "LabelledRows", "PointsAtRandom"]

_ROUNDS = 1000


@dataclass(frozen=True)
class LabelledRows:
    """Tables as one padded array of classes, T tables of at most M rows and C classes.

    Attributes:
        classes: class of each row, ``(T, M)`` int64, C where there is no row.
        sizes: rows of each table, ``(T,)``.
        class_sizes: rows of each class, ``(T, C)``, 0 where a table has fewer classes.
    """

    classes: Tensor
    sizes: Tensor
    class_sizes: Tensor

    @classmethod
    def of(cls, labels: Sequence[Tensor]) -> "LabelledRows":
        """Pad tables, each with classes numbered 0, 1, ...

        Example:
            >>> LabelledRows.of([torch.tensor([0, 1, 1]), torch.tensor([0, 0])]).class_sizes.tolist()
            [[1, 2], [2, 0]]
        """
        num_classes = max(int(one.max()) for one in labels) + 1
        rows = torch.nn.utils.rnn.pad_sequence(list(labels), batch_first=True, padding_value=num_classes)
        counts = torch.stack([one.bincount(minlength=num_classes) for one in labels])
        return cls(rows, torch.tensor([len(one) for one in labels]), counts)


class _LabelledDraws(TorchDistribution):
    """Rows of one table, drawn for every data set; simulation only.

    Values are ``row + M table``: places in the tables laid end to end with their padding.
    """

    support = constraints.independent(constraints.nonnegative_integer, 1)
    arg_constraints: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, rows: LabelledRows, num_points: int, *, batch_shape: Size = Size()) -> None:
        self.rows, self.num_points = rows, num_points
        super().__init__(batch_shape, Size((num_points,)), validate_args=False)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Draw places of points, ``(*sample_shape, *batch_shape, N)`` int64."""
        shape = self._extended_shape(Size(sample_shape))
        with torch.no_grad():
            return self._draw(Size(shape[:-1]).numel()).view(shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """Refuse: the model can only be simulated.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no log_prob: labelled tables can only be drawn from; "
            "train a guide on them with InclusiveKL"
        )

    def _draw(self, num_datasets: int) -> Tensor:
        raise TypeError(f"{type(self).__name__} must define _draw")


class PointsAtRandom(_LabelledDraws):
    r"""A table, uniformly among those with N rows or more, then N of its rows without replacement.

    Cost O(M log M) a data set.

    Args:
        rows: the tables.
        num_points: N.
        batch_shape: data sets.

    Raises:
        ValueError: if no table has N rows.

    Example:
        >>> rows = LabelledRows.of([torch.tensor([0, 1, 1]), torch.tensor([0, 0])])
        >>> PointsAtRandom(rows, 3).sample((2,)).sort(-1).values.tolist()
        [[0, 1, 2], [0, 1, 2]]
    """

    def __init__(self, rows: LabelledRows, num_points: int, *, batch_shape: Size = Size()) -> None:
        if int(rows.sizes.max()) < num_points:
            raise ValueError(
                f"num_points is {num_points}, expected at most {int(rows.sizes.max())}, the size of the "
                "largest table: ask for fewer points or add tables"
            )
        super().__init__(rows, num_points, batch_shape=batch_shape)

    def expand(self, batch_shape: Any, _instance: Any = None) -> "PointsAtRandom":
        """Return the same distribution with a larger batch shape."""
        return PointsAtRandom(self.rows, self.num_points, batch_shape=Size(batch_shape))

    def _draw(self, num_datasets: int) -> Tensor:
        large = (self.rows.sizes >= self.num_points).nonzero()[:, 0]
        table = large[torch.randint(len(large), (num_datasets,))]
        width = self.rows.classes.shape[1]
        key = torch.rand(num_datasets, width, dtype=torch.float64)
        key = torch.where(torch.arange(width) < self.rows.sizes[table, None], key, torch.inf)
        return key.argsort(-1)[:, : self.num_points] + width * table.unsqueeze(-1)


class ClassesByPrior(_LabelledDraws):
    r"""A partition from a prior, a table, a class for every cluster, then points of these classes.

    .. math:: p(c) \propto \text{prior}(c) \, P(\text{all clusters of } c \text{ find room})

    The table is uniform, the classes of the clusters are distinct and uniform, rows are drawn without
    replacement. Where a table has fewer classes than there are clusters, or a class fewer rows than its
    cluster, partition, table and classes are drawn again, together: the law is the joint one given that
    everything fits, and partitions follow the prior exactly only where everything always fits. Cost O(M log
    M) a data set and round.

    Args:
        rows: the tables.
        num_points: N.
        prior: law of the partition, hyperparameters known or random.
        batch_shape: data sets.

    Example:
        >>> from pyroclust.distributions import ChineseRestaurantPrior
        >>> rows = LabelledRows.of([torch.tensor([0, 1, 1]), torch.tensor([0, 0])])
        >>> drawn = ClassesByPrior(rows, 2, prior=ChineseRestaurantPrior(0.7)).sample((5,))
        >>> drawn.shape
        torch.Size([5, 2])

    References:
        Pakman et al. (2020), Neural Clustering Processes. https://arxiv.org/abs/1901.00409
    """

    def __init__(
        self, rows: LabelledRows, num_points: int, *, prior: PartitionPrior, batch_shape: Size = Size()
    ) -> None:
        self.prior = prior
        super().__init__(rows, num_points, batch_shape=batch_shape)

    def expand(self, batch_shape: Any, _instance: Any = None) -> "ClassesByPrior":
        """Return the same distribution with a larger batch shape."""
        return ClassesByPrior(self.rows, self.num_points, prior=self.prior, batch_shape=Size(batch_shape))

    def _draw(self, num_datasets: int) -> Tensor:
        """Draw until every data set has room.

        Raises:
            ValueError: if some have none after a thousand rounds.
        """
        found = torch.zeros(num_datasets, self.num_points, dtype=torch.int64)
        left = torch.arange(num_datasets)
        for _ in range(_ROUNDS):
            places, fits = self._attempt(len(left))
            found[left[fits]] = places[fits]
            left = left[~fits]
            if not len(left):
                return found
        raise ValueError(
            f"prior gives partitions of {self.num_points} points that fit no table (at most "
            f"{self.rows.class_sizes.shape[1]} classes of at most {int(self.rows.class_sizes.max())} rows), "
            "expected room for most: ask for fewer points, fewer clusters, or add tables"
        )

    def _attempt(self, num_datasets: int) -> tuple[Tensor, Tensor]:
        """Draw everything once; say for which data sets it fits."""
        labels = self._partitions(num_datasets)
        table = torch.randint(len(self.rows.sizes), (num_datasets,))
        sizes, width = self.rows.class_sizes[table], self.rows.classes.shape[1]
        key = torch.rand(sizes.shape, dtype=torch.float64)
        shuffled = torch.where(sizes > 0, key, torch.inf).argsort(-1)
        clusters = int(num_clusters(labels).max())
        counts = torch.nn.functional.one_hot(labels, clusters).sum(1)
        room = torch.nn.functional.pad(sizes.gather(-1, shuffled), (0, max(0, clusters - sizes.shape[1])))
        fits = (counts <= room[:, :clusters]).all(-1)
        # Rows of a class lie together, in random order; the r-th point of a cluster takes the r-th of them.
        rows = self.rows.classes[table]
        order = (rows + torch.rand(rows.shape, dtype=torch.float64)).argsort(-1)
        first = sizes.cumsum(-1) - sizes
        chosen = shuffled.gather(-1, labels.clamp(max=sizes.shape[1] - 1))
        place = (first.gather(-1, chosen) + _rank(labels)).clamp(max=width - 1)
        return order.gather(-1, place) + width * table.unsqueeze(-1), fits

    def _partitions(self, num_datasets: int) -> Tensor:
        return self.prior.partition(self.num_points).expand(Size((num_datasets,))).sample()


def _rank(labels: Tensor) -> Tensor:
    """Count the points of the same cluster before each point, ``(B, N)``, by one sort."""
    ranked, order = labels.sort(dim=-1, stable=True)
    position = torch.arange(labels.shape[-1]).expand_as(labels)
    starts = torch.ones_like(ranked, dtype=torch.bool)
    starts[..., 1:] = ranked[..., 1:] != ranked[..., :-1]
    first = torch.where(starts, position, 0).cummax(-1).values
    return torch.empty_like(labels).scatter_(-1, order, position - first)
